"""Failed keywords in words, for the messages of rules about payloads."""

from __future__ import annotations

from itertools import pairwise

import polars as pl

from analyzer.rules.sentence import lookalikes
from analyzer.trace import Trace, shared

_EXTRA = ("additionalProperties", "unevaluatedProperties", "propertyNames")
_SHOWN = 3
_AT_ONCE = 50_000  # verdicts


def _cut(column: str) -> pl.Expr:
    text = pl.col(column)
    return pl.when(text.str.len_chars() > 60).then(text.str.slice(0, 59) + "…").otherwise(text)


def failed_members() -> pl.Expr:
    """The JSON Pointer of the member meant: the absent or the extra one, else the failing place itself."""
    step = pl.col("member").str.replace_all("~", "~0", literal=True).str.replace_all("/", "~1", literal=True)
    named = pl.col("member").is_not_null() & pl.col("keyword").is_in(["required", "dependentRequired", *_EXTRA])
    return pl.when(named).then(pl.concat_str("instance_pointer", pl.lit("/"), step)).otherwise("instance_pointer")


@shared
def failure_words(trace: Trace) -> pl.DataFrame:
    """One row per verdict with violations: `verdict`, `words` (of the first few), `failed` (how many)."""
    violations = trace.violations.sort("verdict", "position")
    # All sentences are made of each failure before one is chosen: not of all failures at once.
    verdicts = violations["verdict"].rle_id()
    starts = [verdicts.search_sorted(each) for each in range(0, max(verdicts.n_unique(), 1), _AT_ONCE)]
    return pl.concat(_words(violations[since:until]) for since, until in pairwise([*starts, violations.height]))


def _words(violations: pl.DataFrame) -> pl.DataFrame:
    keyword, expected, actual = pl.col("keyword"), _cut("expected"), _cut("actual")
    where = pl.col("where")
    value = pl.concat_str(where, pl.lit(" is "), actual.fill_null("something else"))
    said = (
        pl.when(keyword.is_in(["required", "dependentRequired"]))
        .then(pl.concat_str(where, pl.lit(" is missing")))
        .when(keyword.is_in(_EXTRA))
        .then(pl.concat_str(where, lookalikes(violations["member"]), pl.lit(" is not in the schema")))
        .when(keyword == "type")
        .then(pl.concat_str(value, pl.lit(" where the schema wants "), expected.str.replace_all('"', "", literal=True)))
        .when(keyword.is_in(["enum", "const"]))
        .then(pl.concat_str(value, pl.lit(" and not one of "), expected))
        .when(keyword == "pattern")
        .then(pl.concat_str(value, pl.lit(" and does not match "), expected))
        .when(keyword.is_in(["anyOf", "oneOf"]))
        .then(pl.concat_str(value, pl.lit(" and fits no branch of "), keyword))
        .otherwise(pl.concat_str(value, pl.lit(" and breaks "), keyword, pl.lit(" "), expected.fill_null("")))
    )
    at = failed_members()
    return (
        violations.with_columns(where=pl.when(at == "").then(pl.lit("the whole payload")).otherwise(at))
        .select("verdict", said=said.fill_null(where + " fails"))
        .group_by("verdict", maintain_order=True)
        .agg(pl.col("said").head(_SHOWN).str.join("; ").alias("words"), pl.len().cast(pl.Int64).alias("failed"))
        .with_columns(
            words=pl.when(pl.col("failed") > _SHOWN)
            .then(pl.concat_str("words", pl.lit("; and "), pl.col("failed") - _SHOWN, pl.lit(" more")))
            .otherwise("words")
        )
    )


@shared
def refused(trace: Trace, role: str) -> pl.DataFrame:
    """VERDICTS that refuse a payload and decide it: the advertised side's where it judges, else the executed side's.

    Some of their columns, in the order of the calls (`arguments`) or results (`output`).
    """
    by = _BY[role]
    verdicts = trace.verdicts.select(_TOLD)
    mine = verdicts.filter((verdicts["role"] == role) & (verdicts["verdict_is"] == "invalid"))
    if mine.is_empty():
        return mine
    return _deciding(verdicts, role, mine[by]).filter(pl.col("verdict_is") == "invalid")


def accepted(trace: Trace, results: pl.Series) -> pl.Series:
    """Those of the results whose deciding verdict accepts their output."""
    if results.is_empty():
        return results
    return _deciding(trace.verdicts, "output", results).filter(pl.col("verdict_is") == "valid")["result"]


_TOLD = (
    *("verdict", "call", "result", "role", "side", "schema_id", "channel", "verdict_is", "window", "payload"),
    "passes",
)
_BY = {"arguments": "call", "output": "result"}


def _deciding(verdicts: pl.DataFrame, role: str, payloads: pl.Series) -> pl.DataFrame:
    by = _BY[role]
    return (
        verdicts.filter(
            pl.col(by).is_in(payloads.drop_nulls().implode()),
            pl.col("role") == role,
            pl.col("verdict_is").is_in(["valid", "invalid"]),
        )
        .sort(by, pl.col("side") != "advertised", "verdict")
        .unique(by, keep="first", maintain_order=True)
    )
