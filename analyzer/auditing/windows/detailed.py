"""What a page shows beside the findings of a session that was judged in windows."""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl

from analyzer.auditing.windows.index import Index
from analyzer.auditing.windows.session import Numbers
from analyzer.auditing.windows.shelf import Shelf
from analyzer.contracts.versions import TALLIES, tallied
from analyzer.findings.details import DETAILS, MOST_MARKS, details_of, with_texts
from analyzer.findings.evidence import added, evidence_of
from analyzer.findings.kept import anew
from analyzer.frames import CALLS, RESULTS, VERDICTS, Frames
from analyzer.trace import Trace

_NARROW = ("call", "session", "role", "side", "verdict_is", "schema_id", "tool", "channel")
_TEXTS = ("text", "structured")


def details_part(part: Trace) -> Frames:
    """What is kept of a window, by its own numbers: how its calls fared, and verdicts on the first of them."""
    first = part.calls["call"].head(MOST_MARKS).implode()
    verdicts = part.verdicts.filter((pl.col("role") == "arguments") & pl.col("call").is_in(first))
    made = {"sessions": part.sessions, "offers": part.offers, "verdicts": part.verdicts}
    evidence = evidence_of({name: getattr(part, name) for name in ("calls", "results", "verdicts", "contracts")})
    return {"marked": verdicts.select(_NARROW), "tallies": tallied(made), "evidence": evidence}


def details_of_windows(shelf: Shelf, numbers: Numbers, index: Index, known: Frames, found: pl.DataFrame) -> Frames:
    """DETAILS of the session. `known` are the frames of which every window has all, `found` is ASKED."""
    named = pl.col("call_id").is_in(found["call_id"].drop_nulls().unique().implode())
    there = pl.col("seq").is_in(found["seq"].drop_nulls().unique().implode())
    first = numbers.calls["call"].head(MOST_MARKS).implode()
    answered = pl.concat(rows.filter(there)["call"] for rows in shelf.each("results", "call", "seq")).drop_nulls()
    wanted = named | there | pl.col("call").is_in(first) | pl.col("call").is_in(answered.implode())
    calls = pl.concat([pl.DataFrame(schema=CALLS), *_narrow(shelf, "calls", wanted)])
    of_these = pl.col("call").is_in(calls["call"].implode())
    results = pl.concat([pl.DataFrame(schema=RESULTS), *_narrow(shelf, "results", of_these)])
    marked = shelf.whole("marked").with_row_index("verdict")
    missing = [pl.lit(None, of).alias(name) for name, of in VERDICTS.items() if name not in marked.columns]
    frames = {
        "events": index.ends,
        **{name: known[name] for name in ("sessions", "turns", "offers", "contracts")},
        "calls": numbers.numbered_calls(calls),
        "results": numbers.numbered(results),
        "verdicts": numbers.numbered(marked).select(pl.all(), *missing),
    }
    details = details_of(frames, found)
    details["spans"] = details["spans"].with_columns(calls=pl.lit(numbers.calls.height, pl.Int64))
    details["told_calls"] = _with_texts(shelf, numbers, frames["results"], details["told_calls"])
    details["tallies"] = _added(shelf.whole("tallies"))
    details["evidence"] = added(shelf.whole("evidence"))
    return {name: details[name].select(list(schema)) for name, schema in DETAILS.items()}


def _narrow(shelf: Shelf, name: str, wanted: pl.Expr) -> Iterable[pl.DataFrame]:
    for rows in shelf.each(name):
        texts = (pl.lit(None, pl.String).alias(text) for text in _TEXTS if text in rows.columns)
        yield anew(rows.filter(wanted).with_columns(texts).select(list(CALLS if name == "calls" else RESULTS)))


def _with_texts(shelf: Shelf, numbers: Numbers, results: pl.DataFrame, told: pl.DataFrame) -> pl.DataFrame:
    """The calls that are told of with the texts that were left out."""
    answers = results.filter(pl.col("rank") == 0).select("session", "call", "result").unique(["session", "call"])
    kept = told.drop("text", "error", "answer").join(answers, on=["session", "call"], how="left", maintain_order="left")
    keys = numbers.calls.filter(pl.col("number").is_in(kept["call"].implode()))["call"].implode()
    texts = {
        name: pl.concat(anew(rows.filter(pl.col("call").is_in(keys))) for rows in shelf.each(name))
        for name in ("calls", "results")
    }
    return with_texts(kept, numbers.numbered(texts["calls"]), numbers.numbered(texts["results"])).select(told.columns)


def _added(tallies: pl.DataFrame) -> pl.DataFrame:
    """TALLIES of all windows as those of the whole session."""
    key = ["tool", "role", "schema_id", "given"]
    counts = list(TALLIES)[list(TALLIES).index("calls") :]
    rest = [name for name in TALLIES if name not in (*key, *counts)]
    return tallies.group_by(key, maintain_order=True).agg(pl.col(rest).first(), pl.col(counts).sum())
