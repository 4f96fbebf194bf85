"""The sessions for the page, and what their timelines are drawn of: turns, calls and changes of the tool table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from analyzer.findings.details import DETAILS, drawn_of
from analyzer.report.html.shown import shown
from analyzer.report.naming import bare

if TYPE_CHECKING:
    from analyzer.auditing import Audit
    from analyzer.frames import Frames

_MOST = 20_000


class Places:
    """The sessions, and which of them a finding belongs to."""

    def __init__(self, told: dict[str, Any], places: dict[str | None, int]) -> None:
        self.told = told
        self._places = places

    def of(self, session: str | None) -> int | None:
        """The place of a session in the list; None for one that is not shown."""
        return self._places.get(session)


def sessions(audit: Audit, details: Frames) -> Places:
    """All sessions, those with findings first; without details no timelines."""
    found = audit.findings.group_by("session").agg(
        **{f"n_{name}": (pl.col("severity") == name).sum() for name in ("error", "warning", "info")}
    )
    frame = audit.frames.get("sessions")
    if frame is None:
        return Places({"columns": [], "rows": [], "left_out": 0, "timelines": {}}, {})
    counts = [f"n_{name}" for name in ("error", "warning", "info")]
    listed = (
        frame.with_row_index("place")
        .join(found, on="session", how="left", maintain_order="left")
        .with_columns(pl.col(counts).fill_null(0))
        .sort(*(pl.col(name).cast(pl.Int64) * -1 for name in counts), "place")
    )
    kept = listed.head(_MOST)
    spans = details["spans"] if details else DETAILS["spans"].to_frame()
    kept = kept.join(spans.select("session", "calls"), on="session", how="left", maintain_order="left")
    rows = [
        [
            shown(row["session"]),
            shown(row["agent_name"] or row["agent"]),
            shown(row["model"]),
            row["events"],
            row["calls"] or 0,
            *(row[name] for name in counts),
            shown(row["last_status"], 40),
            shown(row["wires"]),
            row["order"] == "files",
        ]
        for row in kept.iter_rows(named=True)
    ]
    columns = ["id", "agent", "model", "events", "calls", "error", "warning", "info", "status", "format", "unproved"]
    places: dict[str | None, int] = {name: place for place, name in enumerate(kept["session"])}
    told = {
        "columns": columns,
        "rows": rows,
        "left_out": listed.height - kept.height,
        "timelines": _timelines(details, audit.frames["offers"], places) if details else {},
    }
    return Places(told, places)


def _timelines(details: Frames, offers: pl.DataFrame, places: dict[str | None, int]) -> dict[int, dict[str, Any]]:
    drawn: dict[int, dict[str, Any]] = {}
    spans = drawn_of(details["spans"]).filter(pl.col("session").is_in(pl.Series(list(places)).implode()))
    for row in spans.sort("session").iter_rows(named=True):
        times = [None if time is None else f"{time:%Y-%m-%d %H:%M:%S}" for time in (row["since"], row["until"])]
        drawn[places[row["session"]]] = {"end": row["end"], "times": times, "turns": [], "calls": [], "changes": []}
    turns = details["drawn_turns"].join(spans, on="session", how="semi").sort("session", "since", "turn")
    for row in turns.iter_rows(named=True):
        drawn[places[row["session"]]]["turns"].append(
            [shown(row["turn"], 60), row["since"], row["until"], shown(row["status"], 40), shown(row["subagent"], 60)]
        )
    calls = details["drawn_calls"].join(spans, on="session", how="semi").sort("session", "seq", "call")
    for row in calls.iter_rows(named=True):
        drawn[places[row["session"]]]["calls"].append(
            [
                row["seq"],
                row["answered"],
                shown(bare(row["tool"] or ""), 60),
                row["verdict_is"] or "not judged",
                row["outcome"],
                shown(row["call_id"], 60),
                shown(row["subagent"], 60),
            ]
        )
    changed = offers.filter((pl.col("role") == "arguments") & pl.col("after").is_not_null()).join(
        spans, on="session", how="semi"
    )
    for row in changed.sort("session", "since", "tool").iter_rows(named=True):
        drawn[places[row["session"]]]["changes"].append([row["since"], shown(bare(row["tool"]), 60), row["state"]])
    return drawn
