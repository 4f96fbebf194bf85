"""Verdicts: every payload that is owed one, judged by the schema in force; and in words, what failed."""

from __future__ import annotations

import polars as pl

from analyzer.contracts.spelling import spelled
from analyzer.contracts.timeline import SchemaStore
from analyzer.frames import CUT, VERDICTS
from analyzer.replay.court import Court
from analyzer.trace import of_rows

_JUDGED = ("function", "mcp", "custom", "search", "namespace")


def verdicts_of(  # noqa: PLR0917 - the frames of one stage
    calls: pl.DataFrame,
    results: pl.DataFrame,
    arguments: pl.DataFrame,
    outputs: pl.DataFrame,
    contracts: pl.DataFrame,
    offers: pl.DataFrame,
    faults: pl.DataFrame,
    store: SchemaStore,
) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    """VERDICTS, VIOLATIONS and the FAULTS found inside payloads.

    `arguments` and `outputs` are what `force.in_force` says for the two roles, one row per call, in the order of the
    calls. `calls` may have `running`, the version of the program that brought the tools (`state.running_versions`).
    """
    if "running" not in calls.columns:
        calls = calls.with_columns(running=pl.lit(None, pl.String))
    court = Court(store, offers, faults)
    owed, free = _arguments(calls, arguments, contracts)
    court.judge(owed, "arguments")
    court.judge(_outputs(calls, results, outputs, contracts), "output")
    rest = free.select(
        *("call", "session", "tool", "channel", "offer_event", "offer_pointer", "window"),
        role=pl.lit("arguments"),
        side=pl.lit("advertised"),
        verdict_is=pl.lit("not_applicable"),
        payload=pl.lit("value"),
    )
    judged, violations, found = court.found()
    whole = pl.concat([*judged, rest], how="diagonal").with_columns(verdict=pl.int_range(pl.len(), dtype=pl.Int64))
    columns = [
        pl.col(name).cast(dtype) if name in whole.columns else pl.lit(None, dtype).alias(name)
        for name, dtype in VERDICTS.items()
    ]
    return whole.select(columns), violations, found


def _given(frame: pl.DataFrame, contracts: pl.DataFrame, role: str) -> pl.DataFrame:
    """The rows with `given`: the contract file's schema for their tool, the server's own before the bare name's."""
    contracts = contracts.filter(pl.col("role") == role)
    if contracts.is_empty():
        nothing = pl.lit(None, pl.String)
        return frame.drop("running").with_columns(given=nothing, given_channel=nothing)
    mine = spelled(contracts)
    captured = mine.filter(pl.col("version").is_not_null())
    if captured.height:
        frame, mine = _of_version(frame, captured), mine.filter(pl.col("version").is_null())
    else:
        frame = frame.with_columns(captured=pl.lit(None, pl.String))
    exact = mine.filter(pl.col("server").is_not_null()).select("server", "name", own="schema_id", own_channel="channel")
    bare = mine.filter(pl.col("server").is_null()).select("name", any_server="schema_id", any_channel="channel")
    return (
        frame.join(exact, on=["server", "name"], how="left", maintain_order="left")
        .join(bare, on="name", how="left", maintain_order="left")
        .with_columns(
            given=pl.coalesce("captured", "own", "any_server"),
            # A capture is always a file.
            given_channel=pl.when(pl.col("captured").is_not_null())
            .then(pl.lit("contract"))
            .otherwise(pl.when(pl.col("own").is_not_null()).then("own_channel").otherwise("any_channel")),
        )
        .drop("own", "any_server", "own_channel", "any_channel", "captured", "running")
    )


def _of_version(frame: pl.DataFrame, contracts: pl.DataFrame) -> pl.DataFrame:
    """The rows with `captured`: the schema in the capture of the version that ran, else of the last one before it."""
    captures: dict[tuple[str | None, str], list[tuple[tuple[int, ...], str]]] = {}
    for server, name, version, identity in contracts.select("server", "name", "version", "schema_id").iter_rows():
        captures.setdefault((server, name), []).append((_numbers(version), identity))
    picked = []
    key = ("server", "name", "running")
    for server, name, running in frame.select(key).unique().sort(key).iter_rows():
        known = sorted(captures.get((server, name)) or captures.get((None, name)) or [])
        before = [identity for version, identity in known if running is None or version <= _numbers(running)]
        picked.append((server, name, running, before[-1] if before else known[0][1] if known else None))
    schema = {**{each: pl.String() for each in key}, "captured": pl.String()}
    found = pl.DataFrame(picked, schema=schema, orient="row")
    return frame.join(found, on=list(key), how="left", nulls_equal=True, maintain_order="left")


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdigit())


_FORCE = ("state", "schema_id", "channel", "offer_event", "offer_pointer", "window", "other_state", "other_schema")


def _arguments(
    calls: pl.DataFrame, arguments: pl.DataFrame, contracts: pl.DataFrame
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The calls whose arguments are owed a verdict, each with the schema that judges; and those that owe none."""
    columns = (
        *("call", "session", "tool", "kind", "server", "name", "text", "container", "event", "pointer", "seq"),
        *("status", "running"),
    )
    frame = calls.select(columns).hstack(arguments.select(_FORCE))
    owing = pl.col("kind").is_in(list(_JUDGED)) & (pl.col("container") != "free")
    owed = _given(frame.filter(owing), contracts, "arguments").with_columns(
        between=(pl.col("window") == "bracketed") & pl.col("other_state").is_not_null()
    )
    # Where nothing is advertised the contract file judges in its place.
    stands_in = ~pl.col("between") & pl.col("schema_id").is_null() & pl.col("given").is_not_null()
    usable = pl.col("between") | (pl.col("state") == "offered")
    nothing = pl.lit(None)
    return owed.with_columns(
        result=pl.lit(None, pl.Int64),
        structured=pl.lit(None, pl.String),
        schema_id=pl.when(stands_in).then("given").when(usable).then("schema_id"),
        channel=pl.when(stands_in).then("given_channel").otherwise("channel"),
        offer_event=pl.when(stands_in).then(nothing).otherwise("offer_event"),
        offer_pointer=pl.when(stands_in).then(nothing).otherwise("offer_pointer"),
        other_schema=pl.when(pl.col("other_state") == "offered").then("other_schema"),
    ), frame.filter(~owing)


def _outputs(
    calls: pl.DataFrame, results: pl.DataFrame, outputs: pl.DataFrame, contracts: pl.DataFrame
) -> pl.DataFrame:
    """Results that say they succeeded and whose tool promises an output, each with the schema that judges."""
    promised = calls.select("call", "kind", "server", "name", "running").hstack(outputs.select(_FORCE))
    promised = _given(promised.filter(pl.col("kind").is_in(list(_JUDGED))), contracts, "output")
    return _judged_outputs(promised.filter(pl.col("schema_id").is_not_null() | pl.col("given").is_not_null()), results)


@of_rows
def _judged_outputs(promised: pl.DataFrame, results: pl.DataFrame) -> pl.DataFrame:
    succeeded = pl.col("success").fill_null(value=True) & pl.col("error").is_null()
    columns = (
        *("result", "call", "session", "tool", "text", "container", "structured", "event", "pointer", "seq"),
        "status",
    )
    frame = results.filter(succeeded).select(columns).join(promised, on="call", how="inner", maintain_order="left")
    stands_in = pl.col("schema_id").is_null()
    nothing = pl.lit(None)
    return frame.with_columns(
        status=pl.when(pl.col("status").is_in(CUT)).then("status"),
        between=(pl.col("window") == "bracketed") & pl.col("other_state").is_not_null() & ~stands_in,
        schema_id=pl.coalesce("schema_id", "given"),
        channel=pl.when(stands_in).then("given_channel").otherwise("channel"),
        offer_event=pl.when(stands_in).then(nothing).otherwise("offer_event"),
        offer_pointer=pl.when(stands_in).then(nothing).otherwise("offer_pointer"),
        window=pl.when(stands_in).then(pl.lit("exact")).otherwise("window"),
    )
