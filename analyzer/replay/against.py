"""Recorded calls and results under other schemas: which verdicts change, and over which keyword."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec
import polars as pl

from analyzer.contracts.files import Contracts
from analyzer.contracts.timeline import SchemaStore, contracts_of
from analyzer.contracts.verdicts.engine import Judge
from analyzer.frames import FAILURE, GIVEN, OFFERS, VERDICTS, VIOLATIONS
from analyzer.replay.force import in_force
from analyzer.replay.observations import regretted
from analyzer.replay.payloads import read_arguments
from analyzer.replay.verdicts import verdicts_of

KEYWORD = pl.Struct({"pointer": pl.String, "keyword": pl.String})

_COLUMNS: dict[str, Any] = {
    "call": pl.Int64,  # of the call, also for results; key: call, role
    "role": pl.String,  # arguments, output
    "session": pl.String,
    "turn": pl.String,
    "call_id": pl.String,
    "tool": pl.String,
    "before": pl.String,  # the recorded verdict: valid, invalid, unverifiable, none (nothing judged it)
    "after": pl.String,  # under the other schemas: valid, invalid, unverifiable
    "reason": pl.String,  # why the latter could not be judged
    "regretted": pl.Boolean,  # an error was found in the call
    "version": pl.String,  # another advertised version of the tool that refuses the payload in the same way
    "seq": pl.Int64,
    "keywords_before": pl.List(KEYWORD),
    "failures": pl.List(FAILURE),  # under the other schemas
}
FLIPS = pl.Schema(_COLUMNS)


@dataclass(frozen=True)
class Replayed:
    """What a replay found. `flips` (FLIPS) has every payload that the other schemas judge, changed or not.

    `covered` and `left` are names of tools that were called: those the schemas speak of, and those they do not.
    """

    flips: pl.DataFrame
    covered: tuple[str, ...]
    left: tuple[str, ...]

    @property
    def compared(self) -> bool:
        """Whether any payload had a verdict before: else nothing can have flipped."""
        return not self.flips.filter(pl.col("before").is_in(["valid", "invalid"])).is_empty()

    @property
    def broken(self) -> pl.DataFrame:
        """What passed, had no error found in it, and would fail."""
        return self.flips.filter((pl.col("before") == "valid") & (pl.col("after") == "invalid") & ~pl.col("regretted"))


def replay(
    frames: Mapping[str, pl.DataFrame], findings: pl.DataFrame, contracts: Contracts, *, assert_formats: bool = False
) -> Replayed:
    """Judge the calls and results of an audit that kept its frames by other contracts, beside the recorded verdicts."""
    store = SchemaStore(assert_formats=assert_formats)
    calls = frames["calls"].with_columns(pl.col("session").fill_null("-"))
    results = frames["results"].with_columns(pl.col("session").fill_null("-"))
    # No offers: all that can judge a payload is what the contracts say.
    nothing = OFFERS.to_frame()
    verdicts, violations, _ = verdicts_of(
        *(calls, results, in_force(calls, nothing, "arguments"), in_force(calls, nothing, "output")),
        *(contracts_of(contracts, store), nothing, frames["faults"], store),
    )
    judged = verdicts.filter(pl.col("channel").is_in(list(GIVEN)))
    after = _told(judged, violations).select("call", "role", "reason", "failures", after="verdict_is")
    before = _told(_deciding(frames["verdicts"]), frames["violations"]).select(
        "call", "role", before="verdict_is", keywords_before="failures"
    )
    pair = pl.element().struct
    errors = regretted(findings)
    flips = (
        after.join(before, on=["call", "role"], how="left", maintain_order="left")
        .join(
            frames["calls"].select("call", "session", "turn", "call_id", "tool", "seq"),
            on="call",
            maintain_order="left",
        )
        .join(errors, on=["session", "call_id"], how="left", maintain_order="left")
        .with_columns(
            before=pl.col("before").fill_null("none"),
            regretted=pl.col("regretted").fill_null(value=False),
            version=pl.lit(None, pl.String),
            keywords_before=pl.col("keywords_before").list.eval(
                pl.struct(pointer=pair.field("pointer"), keyword=pair.field("keyword"))
            ),
        )
        .join(frames["sessions"].select("session", "first_event"), on="session", how="left", maintain_order="left")
        .sort("first_event", "seq", "call", "role", nulls_last=True)
        .select(list(FLIPS))
    )
    flips = _with_versions(flips, frames, assert_formats=assert_formats)
    called = set(frames["calls"].filter(pl.col("kind") != "hosted")["tool"].drop_nulls())
    covered = set(flips["tool"])
    return Replayed(flips, tuple(sorted(covered)), tuple(sorted(called - covered)))


def _with_versions(flips: pl.DataFrame, frames: Mapping[str, pl.DataFrame], *, assert_formats: bool) -> pl.DataFrame:
    """FLIPS with `version`: what passed under one version may fail only because the contracts follow another one."""
    offers = frames["offers"].filter((pl.col("state") == "offered") & pl.col("schema_id").is_not_null())
    known: dict[tuple[str, str], list[str]] = {}
    for tool, role, identity in offers.sort("event").select("tool", "role", "schema_id").iter_rows():
        versions = known.setdefault((tool, role), [])
        if identity not in versions:
            versions.append(identity)
    texts = dict(zip(frames["calls"]["call"], frames["calls"]["text"], strict=True))
    schemas = {row["schema_id"]: row for row in frames["schemas"].iter_rows(named=True)}
    judges: dict[str, Judge] = {}
    found: dict[int, str] = {}
    mine = flips.filter(
        (pl.col("before") == "valid") & (pl.col("after") == "invalid") & (pl.col("role") == "arguments")
    )
    for call, tool, failures in mine.select("call", "tool", "failures").iter_rows():
        payload = read_arguments(texts.get(call))
        failing = {(each["pointer"], each["keyword"]) for each in failures}
        for name in known.get((tool, "arguments"), []) if len(known.get((tool, "arguments"), [])) > 1 else []:
            if name not in judges:
                schema = msgspec.json.decode(schemas[name]["text"])
                judges[name] = Judge(schema, dialect=schemas[name]["dialect"], assert_formats=assert_formats)
            told = judges[name].violations({} if payload.kind == "empty" else payload.value)
            if failing and failing <= {(each.instance_pointer, each.keyword) for each in told}:
                found[call] = name
                break
    version = pl.col("call").replace_strict(found, default=None, return_dtype=pl.String)
    return flips.with_columns(version=pl.when(pl.col("role") == "arguments").then(version))


def _deciding(verdicts: pl.DataFrame) -> pl.DataFrame:
    """One verdict per payload: by what was advertised, else by a contract file."""
    sound = verdicts.filter(pl.col("verdict_is") != "not_applicable").with_columns(
        rank=(pl.col("side") != "advertised").cast(pl.Int8)
        + 2 * (pl.col("reason") == "schema_unavailable").fill_null(value=False).cast(pl.Int8)
    )
    first = sound.sort("call", "role", "rank", "verdict").unique(["call", "role"], keep="first", maintain_order=True)
    return first.select(list(VERDICTS)).with_columns(
        verdict_is=pl.when(pl.col("reason") == "schema_unavailable").then(pl.lit("none")).otherwise("verdict_is")
    )


def _told(verdicts: pl.DataFrame, violations: pl.DataFrame) -> pl.DataFrame:
    """VERDICTS with their failed keywords in `failures`; the first verdict of each payload."""
    failed = (
        violations.select(list(VIOLATIONS))
        .sort("verdict", "position")
        .group_by("verdict", maintain_order=True)
        .agg(
            failures=pl.struct(
                pl.col("instance_pointer").alias("pointer"), "keyword", "schema_pointer", "expected", "actual"
            )
        )
    )
    first = verdicts.filter(pl.col("call").is_not_null()).unique(["call", "role"], keep="first", maintain_order=True)
    return first.join(failed, on="verdict", how="left", maintain_order="left").with_columns(
        failures=pl.col("failures").fill_null([])
    )
