"""Verdicts: every payload that is owed one, judged by the schema in force; and in words, what failed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import polars as pl

from analyzer.contracts.timeline import SchemaStore
from analyzer.frames import FAULTS, VERDICTS, VIOLATIONS
from analyzer.replay.payloads import Payload, read_payload
from analyzer.visible import visible

Row = tuple[Any, ...]

_JUDGED = ("function", "mcp", "custom", "search")
# A status that explains why a text is not whole.
_PARTIAL = {
    "in_progress": "payload_truncated",
    "incomplete": "payload_truncated",
    "truncated": "payload_truncated",
    "redacted": "payload_redacted",
}
_EXPLAINED = 50  # keywords told of one payload


class _Court:
    """Collects the rows of VERDICTS, VIOLATIONS and FAULTS while payloads are judged."""

    def __init__(self, store: SchemaStore) -> None:
        self.store = store
        self.verdicts: list[Row] = []
        self.violations: list[Row] = []
        self.faults: list[Row] = []

    def judge(self, payload: Payload, schema: str | None, other: str | None, *, between: bool) -> tuple[str, str | None]:
        """Verdict and reason of a payload under a schema, and, in a bracket, under the other candidate too."""
        if payload.problem is not None:
            return "unverifiable", payload.problem
        if schema is None:
            return "unverifiable", "schema_unavailable"
        if payload.kind == "not_json":
            return "invalid", None
        value = {} if payload.kind == "empty" else payload.value
        judge = self.store.judge(schema)
        if judge.problem is None and judge.is_valid(value):
            first: tuple[str, str | None] = ("valid", None)
        else:
            first = judge.judge(value)
        if not between:
            return first
        second = ("unverifiable", "schema_unavailable") if other is None else self.store.judge(other).judge(value)
        if first[0] == second[0]:
            return first
        return "unverifiable", "schema_ambiguous"

    def explain(self, verdict: int, schema: str, value: Any) -> None:
        """Append what failed."""
        for position, failure in enumerate(self.store.judge(schema).violations(value, limit=_EXPLAINED)):
            self.violations.append(
                (
                    *(verdict, position, failure.instance_pointer, failure.schema_pointer, failure.keyword),
                    *(visible(failure.expected), visible(failure.actual), failure.branch),
                    failure.members[0] if failure.members else None,
                )
            )

    def passes(self, value: Any, versions: list[str], judged: str) -> str | None:
        """Another version of the tool that the payload satisfies."""
        for name in versions:
            if name != judged and self.store.judge(name).judge(value)[0] == "valid":
                return name
        return None


def verdicts_of(
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

    `arguments` and `outputs` are what `force.in_force` says for the two roles, one row per call, in the order of the calls.
    """
    court = _Court(store)
    files = _by_name(contracts)
    versions = _versions(offers)
    spoiled = _spoiled(faults)
    for row in _argument_rows(calls, arguments):
        _judge_arguments(court, row, files, versions, spoiled)
    for row in _output_rows(calls, results, outputs):
        _judge_output(court, row, files, versions, spoiled)
    verdicts = pl.DataFrame(
        [pl.Series(name, column, dtype=dtype) for (name, dtype), column in zip(VERDICTS.items(), _columns(court.verdicts), strict=True)]
    )
    return (
        verdicts,
        pl.DataFrame(court.violations, schema=VIOLATIONS, orient="row"),
        pl.DataFrame(court.faults, schema={**FAULTS, "seq": pl.Int64()}, orient="row"),
    )


def _columns(rows: list[Row]) -> Iterator[tuple[Any, ...]]:
    return iter(zip(*rows, strict=True)) if rows else iter([()] * len(VERDICTS))


def _by_name(contracts: pl.DataFrame) -> dict[tuple[str | None, str, str], str]:
    return {
        (server, name, role): identity
        for server, name, role, identity in contracts.select("server", "name", "role", "schema_id").iter_rows()
    }


def _versions(offers: pl.DataFrame) -> dict[tuple[str, str, str], list[str]]:
    found: dict[tuple[str, str, str], list[str]] = {}
    known = offers.filter(pl.col("schema_id").is_not_null())
    for session, tool, role, identity in known.select("session", "tool", "role", "schema_id").iter_rows():
        names = found.setdefault((session, tool, role), [])
        if identity not in names:
            names.append(identity)
    return found


def _spoiled(faults: pl.DataFrame) -> dict[int, list[str]]:
    """Pointers of faults by event: a payload below or above one was not read as it was written."""
    found: dict[int, list[str]] = {}
    kinds = ["lone_surrogate", "invalid_utf8", "number_inexact", "duplicate_member"]
    for event, pointer in faults.filter(pl.col("fault").is_in(kinds)).select("event", "pointer").iter_rows():
        found.setdefault(event, []).append(pointer)
    return found


def _argument_rows(calls: pl.DataFrame, arguments: pl.DataFrame) -> Iterator[Row]:
    frame = calls.select(
        "call", "session", "tool", "kind", "server", "name", "text", "container", "event", "pointer", "seq", "status"
    ).hstack(
        arguments.select(
            "state", "schema_id", "channel", "offer_event", "offer_pointer", "window", "other_state", "other_schema"
        )
    )
    return frame.iter_rows()


def _judge_arguments(
    court: _Court,
    row: Row,
    files: dict[tuple[str | None, str, str], str],
    versions: dict[tuple[str, str, str], list[str]],
    spoiled: dict[int, list[str]],
) -> None:
    call, session, tool, kind, server, name, text, container, event, pointer, seq, status = row[:12]
    state, schema, channel, offer_event, offer_pointer, window, other_state, other = row[12:]
    role = "arguments"
    if kind not in _JUDGED or container == "free":
        place = (None, channel, offer_event, offer_pointer, "not_applicable", None, window, None, None, "value")
        court.verdicts.append((len(court.verdicts), call, None, session, tool, role, "advertised", *place))
        return
    payload = _payload(court, text, event, pointer, session, seq, spoiled)
    if status in _PARTIAL and payload.kind in ("empty", "not_json") and payload.problem is None:
        payload = payload._replace(problem=_PARTIAL[status])
    given = files.get((server, name, role)) or files.get((None, name, role))
    between = window == "bracketed" and other_state is not None
    if schema is None and not between and given is not None:
        schema, channel, offer_event, offer_pointer = given, "contract", None, None
    if state != "offered" and channel != "contract" and not between:
        schema = None
    verdict, reason = court.judge(payload, schema, other if other_state == "offered" else None, between=between)
    _record(court, payload, call, None, session, tool, role, "advertised", schema, verdict, reason, window,
            channel, offer_event, offer_pointer, versions, [other] if other else None)
    if given is not None and channel != "contract" and schema is not None and given != schema:
        verdict, reason = court.judge(payload, given, None, between=False)
        _record(court, payload, call, None, session, tool, role, "executed", given, verdict, reason, "exact",
                "contract", None, None, versions, None)


def _record(  # noqa: PLR0913 - one row, spelled out
    court: _Court,
    payload: Payload,
    call: int | None,
    result: int | None,
    session: str,
    tool: str,
    role: str,
    side: str,
    schema: str | None,
    verdict: str,
    reason: str | None,
    window: str,
    channel: str | None,
    offer_event: int | None,
    offer_pointer: str | None,
    versions: dict[tuple[str, str, str], list[str]],
    also: list[str] | None,
) -> None:
    number = len(court.verdicts)
    passes = None
    if verdict == "invalid" and schema is not None and payload.kind != "not_json":
        value = {} if payload.kind == "empty" else payload.value
        court.explain(number, schema, value)
        others = versions.get((session, tool, role), [])
        if len(others) > 1:
            passes = court.passes(value, others, schema)
    court.verdicts.append(
        (
            *(number, call, result, session, tool, role, side, schema, channel, offer_event, offer_pointer),
            *(verdict, reason, window, also, passes, payload.kind),
        )
    )


def _payload(
    court: _Court,
    text: str | None,
    event: int,
    pointer: str,
    session: str,
    seq: int,
    spoiled: dict[int, list[str]],
) -> Payload:
    payload = read_payload(text)
    if payload.ambiguous is not None:
        fault, detail = payload.ambiguous
        court.faults.append((event, session, fault, pointer, visible(detail), None, seq))
    if event in spoiled and any(
        not place or place.startswith(pointer) or pointer.startswith(place) for place in spoiled[event]
    ):
        return payload._replace(problem="payload_ambiguous")
    return payload


def _output_rows(calls: pl.DataFrame, results: pl.DataFrame, outputs: pl.DataFrame) -> Iterator[Row]:
    """Results that say they succeeded, each with the output contract in force at its call."""
    answered = results.filter(pl.col("call").is_not_null() & pl.col("success").fill_null(value=True) & pl.col("error").is_null())
    frame = answered.select(
        "result", "call", "session", "tool", "text", "container", "structured", "event", "pointer", "seq"
    ).join(
        calls.select("call", "kind", "server", called="name").hstack(
            outputs.select("state", "schema_id", "channel", "offer_event", "offer_pointer", "window", "other_state", "other_schema")
        ),
        on="call",
        how="left",
        maintain_order="left",
    )
    return frame.iter_rows()


def _judge_output(
    court: _Court,
    row: Row,
    files: dict[tuple[str | None, str, str], str],
    versions: dict[tuple[str, str, str], list[str]],
    spoiled: dict[int, list[str]],
) -> None:
    result, call, session, tool, text, container, structured, event, pointer, seq, kind, server, name = row[:13]
    _, schema, channel, offer_event, offer_pointer, window, other_state, other = row[13:]
    given = files.get((server, name, "output")) or files.get((None, name, "output"))
    between = window == "bracketed" and other_state is not None
    if schema is None and given is not None:
        schema, channel, offer_event, offer_pointer, window, between = given, "contract", None, None, "exact", False
    if schema is None or kind not in _JUDGED:
        return  # no output is promised: nothing is owed a verdict
    if structured is not None:
        payload = read_payload(structured)
    else:
        payload = _payload(court, text, event, pointer, session, seq, spoiled)
        if payload.kind == "not_json" and court.store.judge(schema).judge(text)[0] == "valid":
            payload = Payload("value", text)  # a contract that takes a string is kept by a text
    if payload.kind == "empty" and container in ("absent", "null"):
        payload = Payload("value", None)
    elif payload.kind == "empty":
        payload = Payload("not_json", None)
    verdict, reason = court.judge(payload, schema, other, between=between)
    _record(court, payload, call, result, session, tool, "output", "advertised", schema, verdict, reason, window,
            channel, offer_event, offer_pointer, versions, [other] if other else None)
    if given is not None and channel != "contract" and given != schema:
        verdict, reason = court.judge(payload, given, None, between=False)
        _record(court, payload, call, result, session, tool, "output", "executed", given, verdict, reason, "exact",
                "contract", None, None, versions, None)
