"""What tools were given and gave, call by call, for whoever learns a contract from it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import msgspec
import polars as pl

from analyzer.contracts.tightening.tighten import Observation
from analyzer.contracts.versions import versions
from analyzer.errors import UsageError
from analyzer.replay.payloads import read_arguments, read_payload

_JUDGED = ("function", "mcp", "custom", "search")
# An error of these families says that the call itself was wrong, and not only its answer.
_REGRETTED = ("ARG", "RUN", "DRIFT")


@dataclass(frozen=True)
class Observed:
    """One tool's payloads of one role, and one version of its schema: the newest, if no other was asked for."""

    tool: str
    server: str | None
    name: str
    role: str
    schema_id: str | None
    schema: Any
    dialect: str | None
    observations: tuple[Observation, ...]
    elsewhere: tuple[Observation, ...] = ()
    """Payloads that were judged by other versions of the schema."""
    number: int | None = None
    """Of the version, from 1 in the order of first sight."""
    newest: int = 0
    later: tuple[int, str | None] | None = None
    """The number of another version that was shown after this one, and its last session."""


def observed(
    frames: Mapping[str, pl.DataFrame], findings: pl.DataFrame, wanted: Mapping[str, int] | None = None
) -> Iterator[Observed]:
    """Every tool that was called, sorted, arguments before output.

    `wanted` names the version of the arguments of a tool, by the tool's label, where it is not the newest.

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
    shown = _shown(frames)
    for tool in sorted(set(calls["tool"])):
        for role, frame in (("arguments", calls), ("output", results)):
            rows = frame.filter(pl.col("tool") == tool).select(columns).rows()
            if rows:
                label = f"{rows[0][1]}/{rows[0][2]}" if rows[0][1] else rows[0][2]
                number = (wanted or {}).get(label) if role == "arguments" else None
                yield _observed(tool, role, rows, schemas, _meant(label, shown.get((tool, role), []), number))


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


class _Shown(NamedTuple):
    """A version that was advertised: its number in `contracts list`, and where it was shown last."""

    number: int
    schema: str
    when: tuple[int, int]
    session: str | None


def _shown(frames: Mapping[str, pl.DataFrame]) -> dict[tuple[str, str], list[_Shown]]:
    """The advertised versions by tool and role, in the order of their numbers."""
    last = (
        frames["offers"]
        .filter((pl.col("state") == "offered") & pl.col("schema_id").is_not_null())
        .join(frames["sessions"].select("session", place="first_event"), on="session", how="left")
        .with_columns(pl.col("place").fill_null(-1))
        .sort("place", "event")
        .unique(["tool", "role", "schema_id"], keep="last", maintain_order=True)
        .join(versions(frames).select("tool", "role", "schema_id", "number"), on=["tool", "role", "schema_id"])
        .sort("tool", "role", "number")
    )
    found: dict[tuple[str, str], list[_Shown]] = {}
    columns = ("tool", "role", "number", "schema_id", "place", "event", "session")
    for tool, role, number, schema, place, event, session in last.select(columns).iter_rows():
        found.setdefault((tool, role), []).append(_Shown(number, schema, (place, event), session))
    return found


class _Meant(NamedTuple):
    """The version that is meant, the number of the newest one, and the last other one that was shown after it."""

    version: _Shown | None
    newest: int
    later: tuple[int, str | None] | None


def _meant(label: str, shown: list[_Shown], number: int | None) -> _Meant:
    if not shown and number is None:
        return _Meant(None, 0, None)
    mine = next((each for each in reversed(shown) if number in (None, each.number)), None)
    if mine is None:
        raise UsageError(f"no version {number} of {label!r}: `analyzer contracts list` numbers them")
    after = max((each for each in shown if each.when > mine.when), key=lambda each: each.when, default=None)
    return _Meant(mine, shown[-1].number, after and (after.number, after.session))


def _observed(
    tool: str, role: str, rows: list[tuple[Any, ...]], schemas: dict[str, dict[str, Any]], meant: _Meant
) -> Observed:
    chosen = meant.version.schema if meant.version else None
    own = [row for row in rows if chosen is None or row[5] in (chosen, None)]
    others = [row for row in rows if chosen is not None and row[5] not in (chosen, None)]
    schema = schemas.get(chosen) if chosen is not None else None
    return Observed(
        tool,
        rows[0][1],
        rows[0][2],
        role,
        chosen,
        msgspec.json.decode(schema["text"]) if schema else None,
        schema["dialect"] if schema else None,
        tuple(_observations(role, own)),
        tuple(_observations(role, others)),
        meant.version.number if meant.version else None,
        meant.newest,
        meant.later,
    )


def _observations(role: str, rows: list[tuple[Any, ...]]) -> Iterator[Observation]:
    for _, _, _, session, text, _, good in rows:
        payload = read_arguments(text) if role == "arguments" else read_payload(text)
        if payload.problem is not None:
            continue
        value = payload.value
        if payload.kind == "not_json":
            value = text
        elif payload.kind == "empty":
            value = {} if role == "arguments" else None
        yield Observation(session, value, bool(good))
