"""Repairs as hints: what the smallest edit would be under which a payload passes, told with the finding."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec
import polars as pl

from analyzer.replay.payloads import read_payload
from analyzer.trace import Trace

if TYPE_CHECKING:
    from analyzer.contracts.repair import Repair

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
    said = _repaired(texts, trace)
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


def _repaired(texts: pl.DataFrame, trace: Trace) -> dict[int, str]:
    """By verdict, the smallest edit in words."""
    from analyzer.contracts.repair import repairer  # only where a payload failed

    schemas = {schema_id: (dialect, text) for schema_id, dialect, text in _schemas(texts, trace).iter_rows()}
    ways: dict[str, Callable[[object], Repair | None]] = {}
    known: dict[tuple[str, str], str | None] = {}
    for schema_id, text in texts.select("schema_id", "text").iter_rows():
        if (schema_id, text) in known:
            continue
        if schema_id not in ways:
            dialect, schema = schemas[schema_id]
            ways[schema_id] = repairer(
                msgspec.json.decode(schema),
                budget=_BUDGET,
                dialect=dialect,
                assert_formats=trace.settings.assert_formats,
            )
        known[schema_id, text] = _told(ways[schema_id], text)
    rows = texts.select("verdict", "schema_id", "text").iter_rows()
    return {verdict: told for verdict, schema_id, text in rows if (told := known[schema_id, text]) is not None}


def _schemas(texts: pl.DataFrame, trace: Trace) -> pl.DataFrame:
    wanted = pl.col("schema_id").is_in(texts["schema_id"].unique().implode())
    return trace.schemas.filter(wanted).select("schema_id", "dialect", "text")


def _told(repair: Callable[[object], Repair | None], text: str) -> str | None:
    from analyzer.contracts.repair import describe

    payload = read_payload(text)
    if payload.problem is not None or payload.kind == "not_json":
        return None
    found = repair({} if payload.kind == "empty" else payload.value)
    if found is None or not found.edits:
        return None
    end = "no guess at what was meant" if found.guesses else "nothing is lost by it"
    return f"Smallest edit that passes ({end}): {describe(found)}."
