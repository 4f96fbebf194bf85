"""Repairs as hints: what the smallest edit would be under which a payload passes, told with the finding."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import msgspec
import polars as pl

from analyzer.replay.payloads import read_payload
from analyzer.trace import Trace

if TYPE_CHECKING:
    from analyzer.contracts.repairs.repair import Repair

RULES = ("ARG001", "OUT004")
#: Distinct failing payloads of one session and role that are repaired; the others keep the hint of their rule. By
#: session, so that the hints do not depend on what else is audited with it.
MOST = 20
#: Payloads beyond this many characters are data: their repair would be longer than anybody reads.
MOST_TEXT = 20_000
_SEEN = pl.Schema(dict.fromkeys(("session", "role", "schema_id", "text"), pl.String()))
_MOST_KEPT = 2_000  # schemas whose repairers are kept from one partition to the next
_BUDGET = 60  # payloads judged in search of one repair


def with_repairs(hits: pl.DataFrame, trace: Trace, repairers: Repairers | None = None) -> pl.DataFrame:
    """HITS whose `hint` begins with the smallest edit that passes, where one was found in bounded work.

    After it the other advertised tools are named that take the arguments. Only payloads that were judged invalid by
    the verdict of the hit are looked at; without any the hits come back as they are.
    """
    judged = hits["rule"].is_in(RULES) & hits["verdict"].is_not_null()
    if not judged.any():
        return hits
    from analyzer.findings.mistaken import takers  # with the engine: only where a payload failed

    repairers = repairers or Repairers()
    texts, seen = _foremost(_texts(hits.filter(judged), trace), repairers.seen)
    if repairers.going_on:
        repairers.seen = seen
    said = _repaired(texts, trace, repairers)
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
    )


def _foremost(texts: pl.DataFrame, before: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The texts that are repaired, and the different ones that have been, with those before."""
    payload, owner = ["session", "role", "schema_id", "text"], ["session", "role"]
    seen = pl.concat([before, texts.select(payload)]).unique(payload, keep="first", maintain_order=True)
    seen = seen.filter(pl.int_range(pl.len()).over(owner) < MOST)
    return texts.join(seen, on=payload, how="semi", nulls_equal=True, maintain_order="left").drop("session"), seen


class Repairers:
    """What repairs the payloads of each schema: compiled once for all partitions of a process.

    While a session is `going_on`, the payloads that were repaired in it count for what comes next.
    """

    def __init__(self) -> None:
        self._known: dict[tuple[str, bool], Callable[[object], Repair | None]] = {}
        self.going_on = False
        self.seen = _SEEN.to_frame()

    def session(self, *, going_on: bool) -> None:
        """A session begins that is seen part by part, or has ended."""
        self.going_on, self.seen = going_on, _SEEN.to_frame()

    def of(self, schema: dict[str, Any], *, assert_formats: bool) -> Callable[[object], Repair | None]:
        """The one of a row of SCHEMAS."""
        from analyzer.contracts.repairs.repair import repairer  # only where a payload failed

        key = schema["schema_id"], assert_formats
        if key not in self._known:
            if len(self._known) >= _MOST_KEPT:
                self._known.clear()
            self._known[key] = repairer(
                msgspec.json.decode(schema["text"]),
                budget=_BUDGET,
                dialect=schema["dialect"],
                assert_formats=assert_formats,
            )
        return self._known[key]


def _repaired(texts: pl.DataFrame, trace: Trace, repairers: Repairers) -> dict[int, str]:
    """By verdict, the smallest edit in words."""
    wanted = pl.col("schema_id").is_in(texts["schema_id"].unique().implode())
    schemas = {row["schema_id"]: row for row in trace.schemas.filter(wanted).iter_rows(named=True)}
    known: dict[tuple[str, str], str | None] = {}
    said = {}
    for verdict, schema_id, text in texts.select("verdict", "schema_id", "text").iter_rows():
        if (schema_id, text) not in known:
            repair = repairers.of(schemas[schema_id], assert_formats=trace.settings.assert_formats)
            known[schema_id, text] = _told(repair, text)
        if (told := known[schema_id, text]) is not None:
            said[verdict] = told
    return said


def _told(repair: Callable[[object], Repair | None], text: str) -> str | None:
    from analyzer.contracts.repairs.repair import describe

    payload = read_payload(text)
    if payload.problem is not None or payload.kind == "not_json":
        return None
    sent = {} if payload.kind == "empty" else payload.value
    found = repair(sent)
    if found is None or not found.edits:
        return None
    end = "no guess at what was meant" if found.guesses else "nothing is lost by it"
    return f"Smallest edit that passes ({end}): {describe(found, sent)}."
