"""Repairs as hints: what the smallest edit would be under which a payload passes, told with the finding."""

from __future__ import annotations

from typing import Any

import msgspec
import polars as pl

from analyzer.replay.payloads import read_payload
from analyzer.trace import Trace

RULES = ("ARG001", "OUT004")
#: Distinct failing payloads of one session that are repaired; the others keep the hint of their rule. By session, so
#: that the hints do not depend on what else is audited with it.
MOST = 20
#: Payloads beyond this many characters are data: their repair would be longer than anybody reads.
MOST_TEXT = 20_000
_BUDGET = 60  # payloads judged in search of one repair


def with_repairs(hits: pl.DataFrame, trace: Trace) -> pl.DataFrame:
    """HITS whose `hint` begins with the smallest edit that passes, where one was found in bounded work.

    After it the other advertised tools are named that take the arguments. Only payloads that were judged invalid by
    the verdict of the hit are looked at; without any the hits come back as they are.
    """
    judged = hits["rule"].is_in(RULES) & hits["verdict"].is_not_null()
    if not judged.any():
        return hits
    from analyzer.findings.mistaken import takers  # with the engine: only where a payload failed

    texts = _texts(hits.filter(judged), trace)
    schemas = {row["schema_id"]: row for row in trace.schemas.iter_rows(named=True)}
    known: dict[tuple[str, str], str | None] = {}
    said: dict[int, str] = {}
    for verdict, schema_id, text in texts.select("verdict", "schema_id", "text").iter_rows():
        key = schema_id, text
        if key not in known:
            known[key] = _told(schemas[schema_id], text, assert_formats=trace.settings.assert_formats)
        if (found := known[key]) is not None:
            said[verdict] = found
    others = takers(texts.filter(pl.col("role") == "arguments"), trace)
    said |= {each: f"{said[each]} {other}" if each in said else other for each, other in others.items()}
    if not said:
        return hits
    repair = pl.col("verdict").replace_strict(said, default=None, return_dtype=pl.String)
    return hits.with_columns(
        hint=pl.when(judged & repair.is_not_null())
        .then(pl.concat_str([repair, "hint"], separator=" ", ignore_nulls=True))
        .otherwise("hint")
    )


def _texts(hits: pl.DataFrame, trace: Trace) -> pl.DataFrame:
    """`verdict`, `role`, `call`, `schema_id` and the payload's text, in the order of the verdicts."""
    rows = trace.verdicts.filter(
        pl.col("verdict").is_in(hits["verdict"].implode())
        & (pl.col("verdict_is") == "invalid")
        & pl.col("schema_id").is_not_null()
        & (pl.col("payload") != "not_json")
    )
    calls = trace.calls.select("call", sent="text")
    results = trace.results.select("result", came=pl.coalesce("structured", "text"))
    text = pl.when(pl.col("role") == "arguments").then("sent").otherwise("came").fill_null("")
    return (
        rows.join(calls, on="call", how="left", maintain_order="left")
        .join(results, on="result", how="left", maintain_order="left")
        .sort("verdict")
        .select("verdict", "session", "role", "call", "schema_id", text=text)
        .filter(pl.col("text").str.len_chars() <= MOST_TEXT)
        .with_columns(place=pl.struct("session", "schema_id", "text").is_first_distinct().cum_sum().over("session"))
        .filter(pl.col("place").first().over("session", "schema_id", "text") <= MOST)
        .drop("session", "place")
    )


def _told(schema: dict[str, Any], text: str, *, assert_formats: bool) -> str | None:
    from analyzer.contracts.repair import describe, repair  # only where a payload failed

    payload = read_payload(text)
    if payload.problem is not None or payload.kind == "not_json":
        return None
    found = repair(
        msgspec.json.decode(schema["text"]),
        {} if payload.kind == "empty" else payload.value,
        budget=_BUDGET,
        dialect=schema["dialect"],
        assert_formats=assert_formats,
    )
    if found is None or not found.edits:
        return None
    end = "no guess at what was meant" if found.guesses else "nothing is lost by it"
    return f"Smallest edit that passes ({end}): {describe(found)}."
