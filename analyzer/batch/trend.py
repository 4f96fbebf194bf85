"""What changed since the last run: findings by group, schemas by tool, and when each was seen first and last."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import polars as pl

from analyzer.batch.places import BORNE
from analyzer.batch.store import GROUPS, PLACES, VERSIONS, Store
from analyzer.findings.baseline import KNOWN as IN_BASELINE
from analyzer.report.trend import CHANGES, GREW, KINDS, NOT_LOOKED_AT, SEEN, Trend
from analyzer.rules.catalogue import RULES

_TOLD = ("group", "rule", "slug", "severity", "tool", "agent", "schema_id", "at", "message")


def groups_of(findings: pl.DataFrame, counted: pl.Expr, times: pl.DataFrame) -> pl.DataFrame:
    """GROUPS of those FINDINGS that are `counted`; `times` says since and until when each session was recorded."""
    failure = pl.col("failures").list.first().struct
    of = times.group_by("session").agg(pl.col("since").min(), pl.col("until").max())
    return (
        findings.with_columns(
            counted=counted,
            schema_id=pl.col("contract").struct.field("schema_id"),
            at=pl.concat_str(failure.field("pointer").replace("", "(root)"), failure.field("keyword"), separator=" "),
        )
        .select("session", *_TOLD, "counted")
        .filter("counted")
        .join(of, on="session", how="left", maintain_order="left")
        .group_by("group", maintain_order=True)
        .agg(
            *(pl.col(name).first() for name in _TOLD[1:]),
            count=pl.len().cast(pl.Int64),
            sessions=pl.col("session").n_unique().cast(pl.Int64),
            since=pl.col("since").min(),
            until=pl.col("until").max(),
        )
        .cast(GROUPS)
        .select(list(GROUPS))
        .sort("group")
    )


def versions_of(offers: pl.DataFrame) -> pl.DataFrame:
    """VERSIONS of OFFERS."""
    return (
        offers.filter(pl.col("schema_id").is_not_null())
        .group_by("tool", "role", "schema_id")
        .agg(sessions=pl.col("session").n_unique().cast(pl.Int64))
        .cast(VERSIONS)
        .sort("tool", "role", "schema_id")
    )


def borne_of(findings: pl.DataFrame, times: pl.DataFrame) -> pl.DataFrame:
    """GROUPS of FINDINGS that are suppressed or known, with `why`: they are there, though they do not count."""
    held = findings.select("group", "suppressed").filter(BORNE)
    reasons = held.group_by("group").agg(why=pl.col("suppressed").struct.field("reason").first())
    return groups_of(findings, BORNE, times).join(reasons, on="group", how="left", maintain_order="left")


def rules_of(findings: pl.DataFrame, ran: Collection[str], away: pl.DataFrame) -> list[dict[str, Any]]:
    """The `rules` of RUNS: those that `ran`, how much each found and how much of it is suppressed.

    Nothing found is no number where there are PLACES `away` in which it was found before.
    """
    slugs = {rule.code: rule.slug for rule in RULES}
    counts = findings.group_by("rule").agg(pl.len(), BORNE.sum().alias("borne"))
    known = {rule: (found, borne) for rule, found, borne in counts.iter_rows()}
    rows = ((rule, *known.get(rule, (0, 0))) for rule in sorted({*ran} - ({*away["rule"]} - known.keys())))
    return [{"rule": rule, "slug": slugs[rule], "found": found, "suppressed": borne} for rule, found, borne in rows]


def trend_of(
    store: Store,
    run: dict[str, Any],
    groups: pl.DataFrame,
    versions: pl.DataFrame,
    *,
    borne: pl.DataFrame,
    away: pl.DataFrame,
) -> Trend:
    """What the run changed, beside the runs that the store holds.

    `groups` count; `borne` are those with suppressed and known findings, `away` the PLACES of earlier runs that this
    one did not look at, both with `why`.
    """
    runs = store.runs()
    before = runs.sort("run").tail(1).to_dicts()
    history = [(number, store.groups(number)) for number in runs["run"]]
    last = history[-1][1] if history else GROUPS.to_frame()
    places = store.places(history[-1][0]) if history else PLACES.to_frame()
    there = places["group"].unique()
    earlier = pl.concat([GROUPS.to_frame(), *(frame for _, frame in reversed(history))])
    # What was last seen before the last run, in inputs that it did not look at, and now is gone from where it was.
    looked_for = there.filter(~there.is_in(last["group"].implode()) & ~there.is_in(away["group"].implode()))
    counts = places.filter(pl.col("group").is_in(looked_for.implode())).group_by("group").agg(pl.col("count").sum())
    unheard = earlier.unique("group", keep="first").drop("count").join(counts, on="group").select(list(GROUPS))
    told = pl.concat([last, unheard])
    # What is suppressed or known is told every night: a trend that was silent about it would read as a clean one.
    held = borne.join(groups, on="group", how="anti")
    both = (
        pl.concat([groups, held.select(list(GROUPS))])
        .join(told, on="group", how="full", coalesce=True, suffix="_before")
        .with_columns(count=pl.col("count").fill_null(0), before=pl.col("count_before").fill_null(0))
    )
    known = pl.col("group").is_in(there.implode()) | (pl.col("before") > 0)
    change = (
        pl.when(pl.col("group").is_in(held.filter(why=IN_BASELINE)["group"].implode()))
        .then(pl.lit("known"))
        .when(pl.col("group").is_in(held["group"].implode()))
        .then(pl.lit("suppressed"))
        .when((pl.col("count") == 0) & pl.col("group").is_in(away["group"].implode()))
        .then(pl.lit(NOT_LOOKED_AT))
        .when(pl.col("count") == 0)
        .then(pl.lit("fixed"))
        .when(~known & pl.col("group").is_in(earlier["group"].unique().implode()))
        .then(pl.lit("returned"))
        .when(~known)
        .then(pl.lit("new"))
        .when(_more_than_chance(run, before[0] if before else None))
        .then(pl.lit(GREW))
        .otherwise(pl.lit("recurring"))
    )
    reasons = pl.concat(
        rows.unique("group", keep="first", maintain_order=True).select(pl.lit(kind).alias("change"), "group", "why")
        for kind, rows in (("suppressed", held), ("known", held), (NOT_LOOKED_AT, away))
    )
    columns = [pl.coalesce(pl.col(name), pl.col(f"{name}_before")) for name in _TOLD[1:]]
    order = pl.col("severity").replace_strict({"error": 0, "warning": 1, "info": 2}, default=3)
    changes = (
        both.select(change.alias("change"), "group", *columns, "count", "before")
        .join(reasons, on=["change", "group"], how="left")
        .sort(pl.col("change").replace_strict({name: at for at, name in enumerate(KINDS)}), order, "rule", "group")
        .select(pl.col(name).cast(of) for name, of in CHANGES.items())
    )
    tools = pl.concat([VERSIONS.to_frame(), *(store.schemas(number) for number in runs["run"])])
    fresh = versions.join(tools, on=["tool", "role", "schema_id"], how="anti").filter(
        pl.col("tool").is_in(tools["tool"].unique().implode())
    )
    return Trend(
        run=run,
        before=before[0] if before else None,
        changes=changes,
        versions=fresh.sort("tool", "role", "schema_id"),
        seen=_seen([*history, (run["run"], groups)]),
    )


def _more_than_chance(run: dict[str, Any], last: dict[str, Any] | None) -> pl.Expr:
    """Whether a count is more than before, and above the upper control limit of a c-chart.

    That is what the last run's rate per call lets expect, and three times the square root of it, which is chance.
    """
    calls = run["calls"], (last or {}).get("calls")
    expected = pl.col("before") * (calls[0] / calls[1] if all(calls) else 1.0)
    grown = pl.col("count") > pl.max_horizontal("before", expected + 3 * expected.sqrt())
    return (pl.col("before") > 0) & grown


def _seen(history: list[tuple[int, pl.DataFrame]]) -> pl.DataFrame:
    """First and last run and recorded time of everything that findings name."""
    whole = pl.concat([frame.with_columns(run=pl.lit(number, pl.Int64)) for number, frame in history])
    last = history[-1][0]
    kinds = {"rule": "rule", "tool": "tool", "agent": "agent", "schema": "schema_id"}
    tables = [
        whole.filter(pl.col(column).is_not_null())
        .group_by(pl.col(column).alias("name"))
        .agg(
            first_run=pl.col("run").min(),
            last_run=pl.col("run").max(),
            since=pl.col("since").min(),
            until=pl.col("until").max(),
            count=pl.col("count").filter(pl.col("run") == last).sum(),
        )
        .select(pl.lit(kind).alias("kind"), pl.all())
        .cast(SEEN)
        for kind, column in kinds.items()
    ]
    return pl.concat(tables).sort("kind", "name")
