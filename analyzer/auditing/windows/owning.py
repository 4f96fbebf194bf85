"""What of a window is its own: rows that no other window gives, with names that hold for the whole session."""

from __future__ import annotations

import polars as pl

from analyzer.auditing.windows.index import Index
from analyzer.frames import Frames
from analyzer.replay.sightings import sightings_of
from analyzer.rules.final.answers import answers
from analyzer.trace import Trace

_CALL_KEY = ("seq", "event", "pointer", "name", "item_id")
_RESULT_KEY = ("seq", "event", "pointer", "stage")
#: Frames of the window's events alone, as they are.
PLAIN = ("events", "faults", "messages", "approvals", "gates", "summaries", "session_states", "result_sightings")


def keys_of(frame: pl.DataFrame, what: str) -> pl.DataFrame:
    """`call, key` or `result, key`: the key is the same in every window that knows the call or the result."""
    key = pl.struct(_CALL_KEY if what == "call" else _RESULT_KEY).hash(7).reinterpret(signed=True)
    return frame.select(what, key=key)


def keyed(frame: pl.DataFrame, keys: pl.DataFrame, what: str) -> pl.DataFrame:
    """A frame with the key of its calls or results in the place of their number."""
    found = frame.select(what).join(keys, on=what, how="left", maintain_order="left")
    return frame.with_columns(found["key"].alias(what))


def own_part(trace: Trace, index: Index, number: int) -> tuple[Trace, Frames]:
    """The trace of a window's own rows, with its own numbers, and the same rows by keys."""
    since, until = index.windows.span(number)
    own = pl.col("seq").is_between(since, until)
    mine = {name: getattr(trace, name).filter(own) for name in (*PLAIN, "calls", "results", "call_sightings")}
    verdicts = _verdicts(trace, mine["calls"]["call"], mine["results"]["result"], own)
    violations = trace.violations.join(verdicts.select("verdict"), on="verdict", how="semi", maintain_order="left")
    part = trace.with_frames(**mine, verdicts=verdicts, violations=violations)
    calls, results = keys_of(trace.calls, "call"), keys_of(trace.results, "result")
    first = trace.calls.select("call", first=pl.col("call").min().over("session", "reply"))
    replies = first.join(calls.select(first="call", reply="key"), on="first", how="left").select("call", "reply")
    own_calls = mine["calls"].drop("reply").join(replies, on="call", how="left", maintain_order="left")
    by_key = {
        "calls": keyed(keyed(own_calls.select(trace.calls.columns), results, "result"), calls, "call"),
        "results": keyed(keyed(mine["results"], calls, "call"), results, "result"),
        "verdicts": keyed(keyed(verdicts, calls, "call"), results, "result"),
        "violations": violations,
        "sightings": _sightings(trace, own, calls, results),
    }
    return part, {**{name: mine[name] for name in PLAIN}, **by_key}


def _verdicts(trace: Trace, calls: pl.Series, results: pl.Series, own: pl.Expr) -> pl.DataFrame:
    role = pl.col("role")
    finals = trace.verdicts.filter(role == "final").with_columns(
        number=pl.int_range(pl.len(), dtype=pl.Int64).over("session")
    )
    if finals.height:
        mine = answers(trace).filter(own).select("session", number=pl.col("number").cast(pl.Int64))
        finals = finals.join(mine, on=["session", "number"], how="semi", maintain_order="left")
    by_result = (role == "output") & pl.col("result").is_in(results.implode())
    by_call = ~role.is_in(["output", "final"]) & pl.col("call").is_in(calls.implode())
    return trace.verdicts.filter(by_result | by_call | pl.col("verdict").is_in(finals["verdict"].implode()))


def _sightings(trace: Trace, own: pl.Expr, calls: pl.DataFrame, results: pl.DataFrame) -> pl.DataFrame:
    shown = sightings_of(trace.call_sightings.filter(own), trace.result_sightings.filter(own))
    keys = pl.concat(
        [
            keys.select(pl.lit(what).alias("what"), pl.col(what).alias("id"), "key")
            for what, keys in (("call", calls), ("result", results))
        ]
    )
    return shown.join(keys, on=["what", "id"], how="left", maintain_order="left").with_columns(id="key").drop("key")
