"""What a page shows beside the findings: the calls they are about, timelines, how the calls under each schema fared.

It is cut out of each partition while its frames are there, and again when partitions are put together. What is kept is
chosen by an order that does not depend on how the log was split: what stays of all is among what stays of each.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce

import polars as pl

from analyzer.contracts.versions import TALLIES, tallied
from analyzer.findings.evidence import EVIDENCE, evidence_of
from analyzer.frames import CALLS, RESULTS, SESSIONS, TURNS, Frames

MOST_CALLS = 5_000
MOST_DRAWN = 1_000
"""Sessions with a timeline: those with findings first, the worst before the others."""
MOST_MARKS = 2_000
"""Calls of one timeline."""
MOST_TEXT = 20_000
"""Characters of a payload: a longer one is data, and its beginning is kept."""

_SEVERITIES = ("error", "warning", "info")
_ORDER = ("first_event", "seq", "call")
_SHOWN = ("call", "call_id", "seq", "pointer", "outcome")

MADE_OF = ("events", "sessions", "turns", "calls", "results", "offers", "verdicts", "contracts")
"""The frames that details are made of."""
ASKED = ("session", "call_id", "seq", "severity")
"""What is asked of FINDINGS."""

DETAILS: dict[str, pl.Schema] = {
    "told_calls": pl.Schema(
        {
            "session": pl.String(),  # key: session, call
            **{name: CALLS[name] for name in (*_SHOWN, "text")},
            "answered": RESULTS["seq"],
            "error": RESULTS["error"],
            "answer": RESULTS["text"],
            "first_event": SESSIONS["first_event"],
            "rank": pl.Int64(),  # of the worst finding about it: 0 error, 1 warning, 2 info
        }
    ),
    "spans": pl.Schema(
        {
            "session": pl.String(),  # key
            "first_event": SESSIONS["first_event"],
            "end": pl.Int64(),  # the last seq
            "since": pl.Datetime("us", "UTC"),
            "until": pl.Datetime("us", "UTC"),
            "calls": pl.Int64(),
            **dict.fromkeys(_SEVERITIES, pl.Int64()),  # findings
        }
    ),
    "drawn_turns": pl.Schema(
        {name: TURNS[name] for name in ("session", "turn", "since", "until", "status", "subagent")}
    ),
    "drawn_calls": pl.Schema(
        {
            **{name: CALLS[name] for name in ("session", "call", "call_id", "tool", "subagent", "seq", "outcome")},
            "answered": RESULTS["seq"],
            "verdict_is": pl.String(),  # on the arguments
        }
    ),
    "tallies": TALLIES,
    "evidence": EVIDENCE,
}
"""The frames that details are."""


def details_of(frames: Frames, found: pl.DataFrame) -> Frames:
    """DETAILS of the frames of whole sessions and what was found in them (ASKED)."""
    spans = _spans(frames, found)
    drawn = drawn_of(spans)
    answers = (
        frames["results"]
        .filter(pl.col("rank") == 0)
        .select("session", "call", "result", answered="seq")
        .unique(["session", "call"], keep="first", maintain_order=True)
    )
    return _typed(
        {
            "told_calls": _told_calls(frames, found, spans, answers),
            "spans": spans,
            "drawn_turns": frames["turns"].join(drawn, on="session", how="semi", maintain_order="left"),
            "drawn_calls": _drawn_calls(frames, drawn, answers),
            "tallies": tallied(frames),
            "evidence": evidence_of(frames),
        }
    )


def details_in(frames: Frames, found: pl.DataFrame) -> Frames:
    """The DETAILS among the frames of an audit, or made of them where it kept all; none where it kept neither."""
    if DETAILS.keys() <= frames.keys():
        return {name: frames[name] for name in DETAILS}
    return details_of(frames, found) if frames.keys() >= {*MADE_OF} else {}


def together(parts: Iterable[Frames]) -> Frames:
    """DETAILS of what several parts gave, none of which has a part of another's sessions."""
    return reduce(_both, parts, {name: schema.to_frame() for name, schema in DETAILS.items()})


def drawn_of(spans: pl.DataFrame) -> pl.DataFrame:
    """The rows of `spans` whose timelines are drawn."""
    return spans.sort(*(-pl.col(name) for name in _SEVERITIES), "first_event").head(MOST_DRAWN)


def _both(one: Frames, other: Frames) -> Frames:
    whole = {name: pl.concat([one[name], other[name]]) for name in DETAILS}
    drawn = drawn_of(whole["spans"])
    for name in ("drawn_turns", "drawn_calls"):
        whole[name] = whole[name].join(drawn, on="session", how="semi", maintain_order="left")
    whole["told_calls"] = whole["told_calls"].sort("rank", *_ORDER).head(MOST_CALLS)
    return whole


def _typed(frames: Frames) -> Frames:
    return {name: frames[name].select(pl.col(each).cast(of) for each, of in DETAILS[name].items()) for name in DETAILS}


def _spans(frames: Frames, found: pl.DataFrame) -> pl.DataFrame:
    events = (
        frames["events"]
        .group_by("session")
        .agg(end=pl.col("seq").max(), since=pl.col("time").min(), until=pl.col("time").max())
    )
    calls = frames["calls"].group_by("session").agg(calls=pl.len())
    counts = found.group_by("session").agg((pl.col("severity") == name).sum().alias(name) for name in _SEVERITIES)
    spans = frames["sessions"].select("session", "first_event")
    for each in (events, calls, counts):
        spans = spans.join(each, on="session", how="left", nulls_equal=True, maintain_order="left")
    return spans.with_columns(pl.col("calls", *_SEVERITIES).fill_null(0).cast(pl.Int64))


def _told_calls(frames: Frames, found: pl.DataFrame, spans: pl.DataFrame, answers: pl.DataFrame) -> pl.DataFrame:
    """The calls that findings name by id or by place."""
    ranks = {name: rank for rank, name in enumerate(_SEVERITIES)}
    named = found.select("session", "call_id", "seq", rank=pl.col("severity").replace_strict(ranks, default=len(ranks)))
    calls = (
        frames["calls"]
        .select("session", *_SHOWN)
        .join(answers, on=["session", "call"], how="left", maintain_order="left")
        .join(spans.select("session", "first_event"), on="session", how="left", maintain_order="left")
    )
    mine = (
        calls.join(
            named.filter(pl.col(theirs).is_not_null()).group_by("session", theirs).agg(pl.col("rank").min()),
            left_on=["session", key],
            right_on=["session", theirs],
            how="inner",
            maintain_order="left",
        ).select(*calls.columns, "rank")
        for key, theirs in (("call_id", "call_id"), ("seq", "seq"), ("answered", "seq"))
    )
    kept = (
        pl.concat(mine)
        .sort("rank", *_ORDER)
        .unique(["session", "call"], keep="first", maintain_order=True)
        .head(MOST_CALLS)
    )
    return with_texts(kept, frames["calls"], frames["results"])


def with_texts(kept: pl.DataFrame, calls: pl.DataFrame, results: pl.DataFrame) -> pl.DataFrame:
    """Calls with the beginning of what was sent and of what came back; `result` is what answers them."""
    sent = calls.join(kept, on=["session", "call"], how="semi").select("session", "call", _beginning("text"))
    came = results.join(kept, on=["session", "result"], how="semi").select(
        "session", "result", _beginning("error"), answer=pl.coalesce(*map(_beginning, ("text", "structured")))
    )
    return kept.join(sent, on=["session", "call"], how="left", maintain_order="left").join(
        came, on=["session", "result"], how="left", maintain_order="left"
    )


def _beginning(text: str) -> pl.Expr:
    """One character more than is laid out: it says that there are more."""
    column = pl.col(text)
    return (
        pl.when(column.str.len_bytes() > MOST_TEXT).then(column.str.head(MOST_TEXT + 1)).otherwise(column).alias(text)
    )


def _drawn_calls(frames: Frames, drawn: pl.DataFrame, answers: pl.DataFrame) -> pl.DataFrame:
    verdicts = (
        frames["verdicts"]
        .filter(pl.col("role") == "arguments")
        .join(drawn, on="session", how="semi", maintain_order="left")
        .sort("side", maintain_order=True)  # what was advertised to the model speaks first
        .unique(["session", "call"], keep="first", maintain_order=True)
        .select("session", "call", "verdict_is")
    )
    return (
        frames["calls"]
        .drop("text")
        .join(drawn, on="session", how="semi", maintain_order="left")
        .sort("session", "seq", "call")
        .filter(pl.int_range(pl.len()).over("session") < MOST_MARKS)
        .join(verdicts, on=["session", "call"], how="left", maintain_order="left")
        .join(answers, on=["session", "call"], how="left", maintain_order="left")
    )
