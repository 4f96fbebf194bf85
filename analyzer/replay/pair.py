"""Results to calls: scope first, position second, id third.

Where an id is unique in its scope a result belongs to its call. Where several calls share one, a result answers the
latest call that is still open; the calls of one reply are answered k-th with k-th. A result with none open repeats the
call before it, or is an orphan.
"""

from __future__ import annotations

import polars as pl

from analyzer.frames import CALLS, RESULTS
from analyzer.replay.scopes import nth, number

_SCOPE = ("_scope",)


def pair(calls: pl.DataFrame, results: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """CALLS with `result`, `outcome`, `reply`, and RESULTS with `call`, `rank`, `other_turn`."""
    calls = _replies(calls, results)
    found = _in_turn(calls, results)
    found = pl.concat([found, _elsewhere(calls, results, found)])
    results = (
        results.join(found, on="result", how="left", maintain_order="left")
        .join(calls.select("call", "tool"), on="call", how="left", maintain_order="left")
        .with_columns(other_turn=pl.col("other_turn").fill_null(value=False))
    )
    results = _ranked(results)[list(RESULTS)]
    answer = results.filter(pl.col("rank") == 0).select("call", "result", "success", failure="error")
    failed = ~pl.col("success").fill_null(value=True) | pl.col("failure").is_not_null()
    calls = (
        calls.join(answer, on="call", how="left", maintain_order="left")
        .with_columns(
            outcome=pl.when(pl.col("result").is_null())
            .then(pl.lit("none"))
            .when(failed)
            .then(pl.lit("error"))
            .when(pl.col("success"))
            .then(pl.lit("ok"))
            .otherwise(pl.lit("unknown"))
        )
        .select([name for name in CALLS if name not in ("agent", "subagent")])
    )
    return calls, results


def _ranked(results: pl.DataFrame) -> pl.DataFrame:
    """Results with `rank`: the first result of its own turn answers a call; the others are repeats, in order."""
    owned = pl.col("call").is_not_null()
    alone = pl.when(owned).then(pl.lit(0, pl.Int64))
    several = results.filter(owned & pl.col("call").is_duplicated())
    if several.is_empty():
        return results.with_columns(rank=alone)
    ranks = several.sort("call", "repeat", "other_turn", "seq", "result").select(
        "result", more=pl.int_range(pl.len(), dtype=pl.Int64).over("call")
    )
    return results.join(ranks, on="result", how="left", maintain_order="left").with_columns(
        rank=pl.coalesce("more", alone)
    )


def _replies(calls: pl.DataFrame, results: pl.DataFrame) -> pl.DataFrame:
    """Calls with the number of the model reply they came in: calls of a turn with no result between them share it."""
    marks = pl.concat(
        [
            calls.select("_session", "_turn", "seq", answers=pl.lit(0), call="call"),
            results.select("_session", "_turn", "seq", answers=pl.lit(1), call=pl.lit(None, pl.Int64)),
        ]
    ).sort("_session", "_turn", "seq", "answers", "call")
    marks = marks.with_columns(pl.col("answers").cum_sum().over("_session", "_turn"))
    marks = marks.filter(pl.col("call").is_not_null()).sort("call")
    keys = calls.select("_session", "call", "_turn", named=number("reply_text")).with_columns(
        answers=pl.when(pl.col("named").is_null()).then(marks["answers"])
    )
    # The first call of a reply counts it, in the order of the session's calls.
    first = pl.col("call").min().over("_session", "_turn", "named", "answers")
    keys = keys.with_columns(first=first).with_columns(
        reply=(pl.col("first") == pl.col("call")).cast(pl.Int64).cum_sum().over("_session")
    )
    return calls.with_columns(
        reply=keys["reply"].gather(keys["first"]),
        ordinal=nth(calls.select("_session", "_turn", number("tool"))),
    ).drop("reply_text")


_FOUND = {"result": pl.Int64, "call": pl.Int64, "other_turn": pl.Boolean, "repeat": pl.Boolean}


def _in_turn(calls: pl.DataFrame, results: pl.DataFrame) -> pl.DataFrame:
    """The results whose id a call of their own turn has."""
    single = pl.len().over(_SCOPE) == 1
    alone = calls.select(*_SCOPE, "call", single=single)
    known = results.filter(pl.col("pair_id").is_not_null())
    simple = (
        known.select("result", *_SCOPE)
        .join(alone.filter("single"), on=_SCOPE, nulls_equal=True, maintain_order="left")
        .select("result", "call", other_turn=pl.lit(value=False), repeat=pl.lit(value=False))
    )
    several = calls.filter(~alone["single"])
    if several.is_empty():
        return simple
    return pl.concat([simple, _stacked(several, known)])


def _stacked(calls: pl.DataFrame, results: pl.DataFrame) -> pl.DataFrame:
    """Pairs in scopes where several calls share an id."""
    held = results.join(calls.select(_SCOPE).unique(), on=_SCOPE, how="semi", nulls_equal=True)
    if held.is_empty():
        return pl.DataFrame(schema=_FOUND)
    none = pl.lit(None, pl.Int64)
    rows = pl.concat(
        [
            calls.select(*_SCOPE, "seq", "reply", call="call", result=none, step=pl.lit(1, pl.Int64)),
            held.select(*_SCOPE, "seq", reply=none, call=none, result="result", step=pl.lit(-1, pl.Int64)),
        ]
    ).sort(*_SCOPE, "seq", "step", "call", "result", descending=[False] * 2 + [True, False, False])
    # A stack by sums: the height is what is open; a result that reaches a new low finds nothing open.
    height = pl.col("step").cum_sum().over(_SCOPE)
    rows = rows.with_columns(height=height)
    rows = rows.with_columns(low=pl.min_horizontal(pl.col("height").cum_min().over(_SCOPE), 0))
    before = pl.col("low").shift(1, fill_value=0).over(_SCOPE)
    rows = rows.with_columns(
        open=(pl.col("step") == 1) | (pl.col("low") == before),
        level=pl.col("height") - pl.col("low") + pl.when(pl.col("step") == 1).then(0).otherwise(1),
    )
    opened = rows.filter(pl.col("open")).with_columns(nth=pl.int_range(pl.len()).over(*_SCOPE, "level", pl.col("step")))
    pairs = (
        opened.filter(pl.col("step") == 1)
        .select(*_SCOPE, "level", "nth", "call", "seq", "reply")
        .join(
            opened.filter(pl.col("step") == -1).select(*_SCOPE, "level", "nth", "result", answered="seq"),
            on=[*_SCOPE, "level", "nth"],
            nulls_equal=True,
        )
    )
    # Within one reply the answers go k-th with k-th.
    several = calls.select("call", "reply", *_SCOPE, "seq").with_columns(
        nth=pl.int_range(pl.len()).over("reply", *_SCOPE)
    )
    in_reply = pairs.sort("reply", *_SCOPE, "answered", "result").with_columns(
        nth=pl.int_range(pl.len()).over("reply", *_SCOPE)
    )
    answers = in_reply.select("result", "reply", *_SCOPE, "nth").join(
        several.select("call", "reply", *_SCOPE, "nth"), on=["reply", *_SCOPE, "nth"], nulls_equal=True
    )
    first = answers.select("result", "call", other_turn=pl.lit(value=False), repeat=pl.lit(value=False))
    # A result with nothing open repeats the latest call before it, else it is the first call's (a post before its
    # item).
    late = rows.with_columns(latest=pl.col("call").forward_fill().over(_SCOPE)).with_columns(
        latest=pl.coalesce("latest", pl.col("call").drop_nulls().first().over(_SCOPE))
    )
    late = late.filter(pl.col("result").is_not_null() & ~pl.col("open"))
    repeats = late.select("result", call="latest", other_turn=pl.lit(value=False), repeat=pl.lit(value=True))
    return pl.concat([first, repeats])


def _elsewhere(calls: pl.DataFrame, results: pl.DataFrame, found: pl.DataFrame) -> pl.DataFrame:
    """The results whose id only a call of another turn has: the latest one before it, else the first."""
    left = results.filter(pl.col("pair_id").is_not_null()).join(found.select("result"), on="result", how="anti")
    if left.is_empty():
        return found.clear()
    calls = calls.filter(pl.col("pair_id").is_in(left["pair_id"].implode()))
    open_calls = calls.join(found.select("call").unique(), on="call", how="anti")
    nearest = _nearest(left, open_calls)
    unmatched = left.join(nearest, on="result", how="anti")
    best = pl.concat([nearest, _nearest(unmatched, calls)]).sort("result")
    other = pl.col("turn").is_not_null() & pl.col("call_turn").is_not_null()
    return best.select("result", "call", other_turn=other, repeat=pl.lit(value=False))


def _nearest(results: pl.DataFrame, calls: pl.DataFrame) -> pl.DataFrame:
    """The latest call of its id before each result, else the first after it: as-of, for an id may name thousands."""
    by = ["session", "pair_id"]
    left = results.select("result", "session", "pair_id", "turn", at="seq").sort("at", "result")
    right = calls.select("session", "pair_id", "call", at="seq", call_turn="turn").sort(
        "at", "call", descending=[False, True]
    )
    before = left.join_asof(right, on="at", by=by, strategy="backward", check_sortedness=False)
    missing = before.filter(pl.col("call").is_null()).select(left.columns)
    after = missing.join_asof(right, on="at", by=by, strategy="forward", check_sortedness=False)
    return pl.concat([before, after]).filter(pl.col("call").is_not_null())
