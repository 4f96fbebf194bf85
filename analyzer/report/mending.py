"""What would have passed: the smallest edit of an invalid payload, and the smallest payload that its schema allows."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import polars as pl

from analyzer.contracts.repairs.edits import shown
from analyzer.contracts.repairs.repair import repair, smallest
from analyzer.replay.payloads import read_arguments, read_payload
from analyzer.report.outline import outline
from analyzer.report.paper import Paper, Words
from analyzer.visible import visible, visible_value

if TYPE_CHECKING:
    from analyzer.auditing import Audit

_MOST_EDITS = 20


def mending(paper: Paper, audit: Audit, verdict: dict[str, Any], text: str | None, *, heading: bool = True) -> None:
    """The repair of a payload with an invalid verdict; nothing for any other verdict."""
    if verdict["verdict_is"] != "invalid" or verdict["schema_id"] is None or verdict["payload"] == "not_json":
        return
    rows = audit.frames["schemas"].filter(pl.col("schema_id") == verdict["schema_id"]).to_dicts()
    payload = read_arguments(text) if verdict["role"] == "arguments" else read_payload(text)
    if not rows or payload.problem is not None:
        return
    schema, dialect = json.loads(rows[0]["text"]), rows[0]["dialect"]
    sent = {} if payload.kind == "empty" else payload.value
    found = repair(schema, sent, dialect=dialect)
    if heading:
        paper.heading("What would have passed")
    if found is None:
        paper.wrapped("no edit was found that makes it pass; the search is bounded", indent=2, hang=2)
    else:
        paper.wrapped(
            ("the smallest edit, checked", "head"), "; it is no guess at what the model meant", indent=2, hang=2
        )
        for edit in (shown(each, sent) for each in found.edits[:_MOST_EDITS]):
            place = visible(edit.pointer, limit=200) or "(root)"
            paper.wrapped((f"{edit.op:8}", "dim"), (place, "guilty"), *_sides(edit), indent=4, hang=4)
        if len(found.edits) > _MOST_EDITS:
            paper.line(f"and {len(found.edits) - _MOST_EDITS} more edits", indent=4)
    least = smallest(schema, dialect=dialect)
    if least is None:
        return
    left: list[Words] = [("sent", "dim"), *(line.text for line in outline(sent, most=60))]
    right: list[Words] = [
        ("the smallest that the schema allows", "dim"),
        *(line.text for line in outline(least, most=60)),
    ]
    paper.columns(left, right, indent=2)


def _sides(edit: Any) -> list[Words]:
    """Both sides of an edit and why."""
    words: list[Words] = ["  "]
    if edit.op in ("replace", "remove", "rename"):
        words.append((visible_value(edit.before, limit=100), "actual"))
    if edit.op in ("replace", "rename"):
        words.append(" -> ")
    if edit.op in ("replace", "add", "rename"):
        words.append((visible_value(edit.after, limit=100), "expected"))
    return [*words, (f"  {visible(edit.why, limit=120)}", "dim")]
