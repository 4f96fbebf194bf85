"""What tools were given and gave, call by call, for whoever learns a contract from it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec
import polars as pl

from analyzer.contracts.tightening.tighten import Observation
from analyzer.replay.payloads import read_payload

_JUDGED = ("function", "mcp", "custom", "search")
# An error of these families says that the call itself was wrong, and not only its answer.
_REGRETTED = ("ARG", "RUN", "DRIFT")


@dataclass(frozen=True)
class Observed:
    """One tool's payloads of one role under the version of its schema that most of them were judged by."""

    tool: str
    server: str | None
    name: str
    role: str
    schema_id: str | None
    schema: Any
    dialect: str | None
    observations: tuple[Observation, ...]
    other_versions: int
    """Payloads under other versions of the schema, which are left out."""


def observed(frames: Mapping[str, pl.DataFrame], findings: pl.DataFrame) -> Iterator[Observed]:
    """Every tool that was called, sorted, arguments before output.

    A call is good when its arguments are valid or nothing judges them, it was answered without an error, and no error
    is found in it. An output is good when its result succeeded, it is not invalid, and no error is found in its call.
    """
    schemas = {row["schema_id"]: row for row in frames["schemas"].iter_rows(named=True)}
    judged = frames["verdicts"].filter(pl.col("side") == "advertised")
    errors = regretted(findings)
    calls = (
        frames["calls"]
        .filter(
            pl.col("kind").is_in(_JUDGED)
            & (pl.col("container") != "free")
            & pl.col("session").is_not_null()
            & pl.col("tool").is_not_null()
            & pl.col("name").is_not_null()
        )
        .join(errors, on=["session", "call_id"], how="left", maintain_order="left")
        .join(_verdict(judged, "arguments", "call"), on="call", how="left", maintain_order="left")
        .with_columns(
            good=(
                pl.col("verdict_is").is_null()
                | (pl.col("verdict_is") == "valid")
                | (pl.col("reason") == "schema_unavailable")
            )
            & pl.col("outcome").is_in(["ok", "unknown"])
            & pl.col("regretted").is_null()
        )
    )
    results = (
        frames["results"]
        .filter(pl.col("call").is_not_null() & (pl.col("rank") == 0))
        .join(calls.select("call", "server", "regretted", called="name"), on="call", maintain_order="left")
        .join(_verdict(judged, "output", "result"), on="result", how="left", maintain_order="left")
        .with_columns(
            name="called",
            text=pl.coalesce("structured", "text"),
            good=pl.col("success").fill_null(value=True)
            & pl.col("error").is_null()
            & pl.col("regretted").is_null()
            & (pl.col("verdict_is").is_null() | (pl.col("verdict_is") == "valid")),
        )
    )
    columns = ("tool", "server", "name", "session", "text", "schema_id", "good")
    for tool in sorted(set(calls["tool"])):
        for role, frame in (("arguments", calls), ("output", results)):
            rows = frame.filter(pl.col("tool") == tool).select(columns).rows()
            if rows:
                yield _observed(tool, role, rows, schemas)


def regretted(findings: pl.DataFrame) -> pl.DataFrame:
    """Calls in which an error was found: `session`, `call_id`, and `regretted`, which is true."""
    errors = findings.filter(
        (pl.col("severity") == "error")
        & pl.col("call_id").is_not_null()
        & pl.col("rule").str.contains("^(?:" + "|".join(_REGRETTED) + ")")
    )
    return errors.select("session", "call_id", regretted=pl.lit(value=True)).unique(maintain_order=True)


def _verdict(judged: pl.DataFrame, role: str, by: str) -> pl.DataFrame:
    mine = judged.filter((pl.col("role") == role) & pl.col(by).is_not_null())
    return mine.select(by, "schema_id", "verdict_is", "reason").unique(by, keep="first", maintain_order=True)


def _observed(tool: str, role: str, rows: list[tuple[Any, ...]], schemas: dict[str, dict[str, Any]]) -> Observed:
    counts: dict[str, int] = {}
    for row in rows:
        if row[5] is not None:
            counts[row[5]] = counts.get(row[5], 0) + 1
    chosen = max(counts, key=lambda name: (counts[name], name)) if counts else None
    mine = [row for row in rows if row[5] in (chosen, None) or chosen is None]
    payloads = []
    for _, _, _, session, text, _, good in mine:
        payload = read_payload(text)
        if payload.problem is not None:
            continue
        value = payload.value
        if payload.kind == "not_json":
            value = text
        elif payload.kind == "empty":
            value = {} if role == "arguments" else None
        payloads.append(Observation(session, value, bool(good)))
    schema = schemas.get(chosen) if chosen is not None else None
    return Observed(
        tool,
        rows[0][1],
        rows[0][2],
        role,
        chosen,
        msgspec.json.decode(schema["text"]) if schema else None,
        schema["dialect"] if schema else None,
        tuple(payloads),
        len(rows) - len(mine),
    )
