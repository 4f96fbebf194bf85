"""What the reader made of the first records of a log, on paper and as data."""

from __future__ import annotations

import json
from typing import Any

from analyzer.masking import masked
from analyzer.read.tried import Tried
from analyzer.report.accounts import counted
from analyzer.report.paper import Paper
from analyzer.visible import visible

_EVENTS = 12
_WIDE = 60
_PLACES = frozenset({"event", "source", "offset", "length", "line", "seq"})
_PARTS = {
    "session_states": "session",
    "turn_states": "turn",
    "showings": "tools",
    "call_sightings": "call",
    "result_sightings": "result",
    "approvals": "approval",
    "gates": "gate",
    "messages": "message",
    "summaries": "summary",
    "faults": "fault",
}


def page(found: Tried, file: str, *, width: int, colour: bool) -> str:
    """The page."""
    paper = Paper(width=width, colour=colour)
    name = f"read as {', '.join(found.format.split(','))}" if found.format else "no format knows them"
    paper.wrapped((visible(file), "name"), f"  the first {counted(found.records, 'record')}: {name}", hang=2)
    if not found.format:
        paper.wrapped(
            "`analyzer formats` lists what is read. A log of your own is read by a mapping: `[mappings.NAME]` in "
            "analyzer.toml, with one JMESPath for each field.",
            indent=2,
        )
    for each, score in found.scores:
        paper.line(f"{min(score, 1.0):4.0%}  ", (each, "name"), indent=2)
    for field, count, among in found.missed:
        what = "calls" if field == "arguments" else "records"
        paper.wrapped((f"`{field}` found nothing in {count} of {among} {what}", "warning"), indent=2)
    for row in found.frames["events"].head(_EVENTS).iter_rows(named=True):
        paper.blank()
        kind, native = row["kind"], visible(row["type"] or "", limit=_WIDE)
        paper.line((f"line {row['line']}", "head"), f"  {kind}  {native}")
        _members(paper, {name: row[name] for name in ("session", "turn", "time", "pointer")})
        for frame, what in _PARTS.items():
            table = found.frames[frame]
            for part in table.filter(table["event"] == row["event"]).iter_rows(named=True):
                paper.line((what, "expected"), indent=2)
                _members(paper, {name: part[name] for name in part if name not in ("session", "turn")}, indent=4)
    left = found.frames["events"].height - _EVENTS
    if left > 0:
        paper.blank()
        paper.line((f"and {left} events more", "dim"))
    return paper.text()


def document(found: Tried) -> str:
    """The same as JSON: `{"format", "records", "scores", "missed", "frames"}`."""
    frames: dict[str, Any] = {
        name: [
            {key: value for key, value in row.items() if value is not None}
            for row in frame.head(_EVENTS * 4).iter_rows(named=True)
        ]
        for name, frame in found.frames.items()
    }
    scores = [{"format": name, "score": min(score, 1.0)} for name, score in found.scores]
    missed = [{"field": field, "count": count, "of": among} for field, count, among in found.missed]
    whole = {
        "format": found.format,
        "records": found.records,
        "scores": scores,
        "missed": missed,
        "frames": frames,
    }
    return json.dumps(masked(whole), ensure_ascii=True, indent=1, default=str)


def _members(paper: Paper, row: dict[str, Any], *, indent: int = 2) -> None:
    for name, value in row.items():
        if value is not None and value != "" and name not in _PLACES:
            paper.line((f"{name}: ", "dim"), visible(str(value), limit=_WIDE), indent=indent + 2)
