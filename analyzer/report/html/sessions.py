"""The sessions for the page, and what their timelines are drawn of: turns, calls and changes of the tool table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from analyzer.report.html.shown import shown
from analyzer.report.versions import bare

if TYPE_CHECKING:
    from analyzer.auditing import Audit

_MOST = 20_000
_DRAWN = 1_000  # sessions with a timeline, those with findings first
_MARKS = 2_000  # calls of one timeline


class Places:
    """The sessions, and which of them a finding belongs to."""

    def __init__(self, told: dict[str, Any], places: dict[str | None, int]) -> None:
        self.told = told
        self._places = places

    def of(self, session: str | None) -> int | None:
        """The place of a session in the list; None for one that is not shown."""
        return self._places.get(session)


def sessions(audit: Audit) -> Places:
    """All sessions, those with findings first; without kept frames only what the findings say."""
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
    calls = audit.frames.get("calls")
    if calls is not None:
        kept = kept.join(calls.group_by("session").agg(calls=pl.len()), on="session", how="left", maintain_order="left")
    else:
        kept = kept.with_columns(calls=pl.lit(None, pl.Int64))
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
        "timelines": _timelines(audit.frames, kept.head(_DRAWN)["session"], places),
    }
    return Places(told, places)


def _timelines(
    frames: dict[str, pl.DataFrame], names: pl.Series, places: dict[str | None, int]
) -> dict[int, dict[str, Any]]:
    if "calls" not in frames or "events" not in frames:
        return {}
    mine = pl.col("session").is_in(names.implode())
    drawn: dict[int, dict[str, Any]] = {}
    spans = (
        frames["events"]
        .filter(mine)
        .group_by("session")
        .agg(end=pl.col("seq").max(), since=pl.col("time").min(), until=pl.col("time").max())
    )
    for name, end, since, until in spans.sort("session").iter_rows():
        times = [None if time is None else f"{time:%Y-%m-%d %H:%M:%S}" for time in (since, until)]
        drawn[places[name]] = {"end": end, "times": times, "turns": [], "calls": [], "changes": []}
    for row in frames["turns"].filter(mine).sort("session", "since").iter_rows(named=True):
        if row["session"] in places and places[row["session"]] in drawn:
            drawn[places[row["session"]]]["turns"].append(
                [
                    shown(row["turn"], 60),
                    row["since"],
                    row["until"],
                    shown(row["status"], 40),
                    shown(row["subagent"], 60),
                ]
            )
    for row in _judged_calls(frames, mine).iter_rows(named=True):
        marks = drawn[places[row["session"]]]["calls"]
        if len(marks) < _MARKS:
            marks.append(
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
    changed = frames["offers"].filter(mine & (pl.col("role") == "arguments") & pl.col("after").is_not_null())
    for row in changed.sort("session", "since", "tool").iter_rows(named=True):
        drawn[places[row["session"]]]["changes"].append([row["since"], shown(bare(row["tool"]), 60), row["state"]])
    return drawn


def _judged_calls(frames: dict[str, pl.DataFrame], mine: pl.Expr) -> pl.DataFrame:
    """Calls with the verdict on their arguments and the place of their answer."""
    verdicts = (
        frames["verdicts"]
        .filter(mine & (pl.col("role") == "arguments"))
        .sort("side")  # what was advertised to the model speaks first
        .unique(["session", "call"], keep="first", maintain_order=True)
        .select("session", "call", "verdict_is")
    )
    answers = (frames["results"].filter(mine & (pl.col("rank") == 0)).select("session", "call", answered="seq")).unique(
        ["session", "call"], keep="first", maintain_order=True
    )
    return (
        frames["calls"]
        .filter(mine)
        .join(verdicts, on=["session", "call"], how="left", maintain_order="left")
        .join(answers, on=["session", "call"], how="left", maintain_order="left")
        .sort("session", "seq", "call")
    )
