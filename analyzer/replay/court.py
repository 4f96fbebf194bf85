"""The verdicts on payloads that are owed one: at once where they plainly keep their schema, else with care."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, NamedTuple

import polars as pl

from analyzer.contracts.timeline import SchemaStore
from analyzer.frames import FAULTS, GIVEN, MOST_TOLD, VIOLATIONS
from analyzer.masking import mask_json_at
from analyzer.replay.payloads import (
    Payload,
    in_lots,
    noted_as_cut,
    plain_values,
    read_arguments,
    read_payload,
    value_of,
)
from analyzer.visible import visible

# A status that explains why a text is not whole.
_PARTIAL = {
    **dict.fromkeys(("in_progress", "incomplete", "truncated"), "payload_truncated"),
    "redacted": "payload_redacted",
    "unmapped": "payload_unmapped",
}
_MOST_VERSIONS = 64  # of a tool in a session, that a payload which fails is judged by in turn
# What is broken by too much of something, or by another type, is not broken by a cut.
_NOT_BY_CUTTING = ("additionalProperties", "maxItems", "maxLength", "maxProperties", "type", "unevaluatedProperties")
_SPOILING = ("lone_surrogate", "invalid_utf8", "number_inexact", "duplicate_member")

_JUDGED = {"place": pl.UInt32, "verdict_is": pl.String, "reason": pl.String, "passes": pl.String, "payload": pl.String}
_FAULTS = pl.Schema({**FAULTS, "seq": pl.Int64()})
_NO_VIOLATIONS, _NO_FAULTS = VIOLATIONS.to_frame(), _FAULTS.to_frame()
_CAREFUL, _PLAIN, _VALID, _UNJUDGED = range(4)
_MANY = 20_000  # violations held as Python's values


class _Owed(NamedTuple):
    """One payload and what it is judged by."""

    place: int
    session: str | None
    tool: str
    event: int
    pointer: str
    seq: int
    text: str | None
    said: str | None  # the text beside the structured content
    status: str | None
    container: str | None
    schema_id: str | None
    promised: str | None  # the schema that was advertised
    other_schema: str | None
    between: bool
    plain: bool  # an object or an array that every parser reads alike


class Court:
    """Judges payloads and collects what VERDICTS, VIOLATIONS and FAULTS are made of."""

    def __init__(self, store: SchemaStore, offers: pl.DataFrame, faults: pl.DataFrame) -> None:
        self._store = store
        self._versions = _versions(offers)
        self._spoiled = _spoiled(faults)
        self._verdicts: list[pl.DataFrame] = []
        self._violations: list[tuple[Any, ...]] = []
        self._told: list[pl.DataFrame] = []
        self._faults: list[tuple[Any, ...]] = []
        self._count = 0
        # What schemas expect is said again and again; what payloads hold is not.
        self._expected: Callable[[str], str] = cache(visible)

    def judge(self, owed: pl.DataFrame, role: str) -> None:
        """Judge a frame of payloads by `schema_id`, and again by `given` where a contract file says something else."""
        if owed.is_empty():
            return
        owed = owed.with_columns(text=pl.coalesce("structured", "text"), said="text", promised="schema_id")
        self._side(owed, role, "advertised")
        differs = pl.col("given").is_not_null() & ~pl.col("channel").is_in(list(GIVEN))
        second = owed.filter(differs & pl.col("given").ne_missing(pl.col("schema_id")))
        if second.height:
            executed = second.with_columns(
                schema_id="given",
                channel="given_channel",
                window=pl.lit("exact"),
                between=pl.lit(value=False),
                offer_event=pl.lit(None, pl.Int64),
                offer_pointer=pl.lit(None, pl.String),
                other_schema=pl.lit(None, pl.String),
            )
            self._side(executed, role, "executed")

    def found(self) -> tuple[list[pl.DataFrame], pl.DataFrame, pl.DataFrame]:
        """What was judged, in the columns of VERDICTS that a judgement knows, with its VIOLATIONS and FAULTS."""
        return (
            self._verdicts,
            self._all_violations(),
            pl.DataFrame(self._faults, schema=_FAULTS, orient="row") if self._faults else _NO_FAULTS,
        )

    def _all_violations(self) -> pl.DataFrame:
        self._frame_violations()
        return pl.concat(self._told, rechunk=True) if self._told else _NO_VIOLATIONS

    def _frame_violations(self) -> None:
        if self._violations:
            self._told.append(pl.DataFrame(self._violations, schema=VIOLATIONS, orient="row"))
            self._violations.clear()

    def _side(self, owed: pl.DataFrame, role: str, side: str) -> None:
        owed = owed.with_row_index("place")
        plain = self._plain(owed)
        doubtful = owed.with_columns(plain=plain == _PLAIN).filter(plain < _VALID).select(_Owed._fields)
        rows = (row for lot in in_lots(doubtful) for row in lot.iter_rows())
        careful = [self._carefully(_Owed(*row), role, side) for row in rows]
        judged = pl.DataFrame(careful, schema=_JUDGED, orient="row")
        self._verdicts.append(
            owed.select(
                *("place", "call", "result", "session", "tool", "schema_id", "channel"),
                *("offer_event", "offer_pointer", "window"),
                role=pl.lit(role),
                side=pl.lit(side),
                also=pl.when(pl.col("between") & pl.col("other_schema").is_not_null()).then(
                    pl.concat_list("other_schema")
                ),
            )
            .join(judged, on="place", how="left", maintain_order="left")
            .with_columns(
                verdict_is=pl.when(plain == _VALID)
                .then(pl.lit("valid"))
                .when(plain == _UNJUDGED)
                .then(pl.lit("unverifiable"))
                .otherwise("verdict_is"),
                reason=pl.when(plain == _UNJUDGED).then(pl.lit("schema_unavailable")).otherwise("reason"),
                payload=pl.col("payload").fill_null("value"),
            )
            .drop("place")
        )
        self._count += owed.height

    def _plain(self, owed: pl.DataFrame) -> pl.Series:
        """`_VALID` for what plainly keeps its schema, `_UNJUDGED` for what has none, `_PLAIN` for what may not keep it.

        All that is no plain object or array is `_CAREFUL`. Equal texts under one schema are judged once, and schema by
        schema: a validator that is still in the processor's cache takes half the time.
        """
        simple = ~pl.col("between") & (pl.col("text") != "")
        if self._spoiled:
            simple &= ~pl.col("event").is_in(list(self._spoiled))
        seen = pl.zeros(owed.height, pl.UInt8, eager=True)
        for rows in in_lots(owed.filter(simple).select("schema_id", "text", "place")):
            groups = rows.group_by("schema_id", "text").agg("place").sort("schema_id")
            found = pl.Series(self._glances(groups["schema_id"], groups["text"]), dtype=pl.UInt8)
            every = groups.select("place", found.alias("found")).explode("place")
            seen = seen.scatter(every["place"], every["found"])
        return seen

    def _glances(self, schemas: pl.Series, texts: pl.Series) -> Iterator[int]:
        keeps: Callable[[Any], bool] | None = None
        before: str | None = None
        for schema, value in zip(schemas.to_list(), plain_values(texts), strict=True):
            if value is None:
                yield _CAREFUL
            elif schema is None:
                yield _UNJUDGED
            else:
                if keeps is None or schema != before:
                    keeps, before = self._store.judge(schema).is_valid, schema
                yield _VALID if keeps(value) else _PLAIN

    def _carefully(self, owed: _Owed, role: str, side: str) -> tuple[int, str, str | None, str | None, str]:
        read = read_arguments if role == "arguments" else read_payload
        payload = Payload("value", value_of(owed.text)) if owed.plain else read(owed.text)
        if payload.ambiguous is not None and side == "advertised":
            fault, detail = payload.ambiguous
            self._faults.append((owed.event, owed.session, fault, owed.pointer, visible(detail), None, owed.seq))
        payload = self._as_recorded(payload, owed)
        whole = _as_whole(payload, owed)
        payload = self._as_output(payload, owed) if role == "output" and whole is payload else whole
        verdict, reason = self._judged(payload, owed)
        if verdict == "invalid" and role == "arguments" and self._cut(payload, owed):
            verdict, reason = "unverifiable", "payload_truncated"
        passes = None
        if verdict == "invalid" and payload.kind != "not_json":
            value = _value(payload)
            self._explain(self._count + owed.place, owed.schema_id, value)
            others = self._versions.get((owed.session, owed.tool, role), ())
            passes = next((name for name in others if name != owed.schema_id and self._keeps(name, value)), None)
        return owed.place, verdict, reason, passes, payload.kind

    def _as_recorded(self, payload: Payload, owed: _Owed) -> Payload:
        """A payload below or above a place that was not read as it was written is not what was written."""
        marks = self._spoiled.get(owed.event, ())
        if any(not mark or mark.startswith(owed.pointer) or owed.pointer.startswith(mark) for mark in marks):
            return payload._replace(problem="payload_ambiguous")
        return payload

    def _as_output(self, payload: Payload, owed: _Owed) -> Payload:
        """An output that is not JSON, seen as its contract may: a contract that takes a string is kept by a text."""
        if payload.kind == "not_json" and owed.promised is not None and self._keeps(owed.promised, owed.said):
            return Payload("value", owed.said)
        if payload.kind == "not_json" and noted_as_cut(owed.said):
            return payload._replace(problem=payload.problem or "payload_truncated")
        if payload.kind in ("value", "string") and self._meant_as_text(payload.value, owed):
            return Payload("value", owed.said)
        if payload.kind == "empty":
            return Payload("value", None) if owed.container in ("absent", "null") else Payload("not_json", None)
        return payload

    def _meant_as_text(self, value: Any, owed: _Owed) -> bool:
        """Whether a text that happens to be JSON (`42`, `{}`) is the string that its contract wants, and no value."""
        if owed.promised is None or owed.container not in ("text", "parts") or owed.text != owed.said:
            return False
        if not self._keeps(owed.promised, owed.said):
            return False
        failures = self._store.judge(owed.promised).violations(value, limit=1)
        return [(each.instance_pointer, each.keyword) for each in failures[:1]] == [("", "type")]

    def _judged(self, payload: Payload, owed: _Owed) -> tuple[str, str | None]:
        """Verdict and reason of a payload under a schema, and, in a bracket, under the other candidate too."""
        if payload.problem is not None:
            return "unverifiable", payload.problem
        if payload.kind == "not_json":
            return ("invalid", None) if owed.schema_id is not None else ("unverifiable", "schema_unavailable")
        value = _value(payload)
        first = self._under(owed.schema_id, value)
        if not owed.between or first[0] == self._under(owed.other_schema, value)[0]:
            return first
        return "unverifiable", "schema_ambiguous"

    def _under(self, schema: str | None, value: Any) -> tuple[str, str | None]:
        return ("unverifiable", "schema_unavailable") if schema is None else self._store.judge(schema).judge(value)

    def _keeps(self, schema: str, value: Any) -> bool:
        return self._store.judge(schema).judge(value)[0] == "valid"

    def _cut(self, payload: Payload, owed: _Owed) -> bool:
        """Whether arguments may fail because they were cut: where a wire carries objects, it closes what was open."""
        if owed.status != "incomplete" or owed.container != "object" or owed.schema_id is None:
            return False
        failures = self._store.judge(owed.schema_id).violations(_value(payload), limit=MOST_TOLD)
        return all(each.keyword not in _NOT_BY_CUTTING or each.actual == "null" for each in failures if not each.level)

    def _explain(self, verdict: int, schema: str | None, value: Any) -> None:
        if schema is None:
            return
        if len(self._violations) > _MANY:  # in a frame they take a fifth of the memory
            self._frame_violations()
        for position, failure in enumerate(self._store.judge(schema).violations(value, limit=MOST_TOLD)):
            self._violations.append(
                (
                    *(verdict, position, failure.instance_pointer, failure.schema_pointer, failure.keyword),
                    *(
                        self._expected(failure.expected),
                        visible(mask_json_at(failure.instance_pointer, failure.actual, value)),
                        failure.branch,
                    ),
                    failure.member,
                )
            )


def _as_whole(payload: Payload, owed: _Owed) -> Payload:
    """A payload that its status says not to be whole has no verdict, unless it can be read all the same."""
    reason = _PARTIAL.get(owed.status or "")
    if reason is None or payload.kind not in {"empty", "not_json"}:
        return payload
    return payload._replace(problem=payload.problem or reason)


def _value(payload: Payload) -> Any:
    return {} if payload.kind == "empty" else payload.value


def _versions(offers: pl.DataFrame) -> dict[tuple[str | None, str, str], list[str]]:
    """The latest schemas of each tool of each session that has had more than one."""
    key = ("session", "tool", "role")
    known = offers.filter(pl.col("schema_id").is_not_null()).unique([*key, "schema_id"], maintain_order=True)
    several = known.filter(pl.len().over(key) > 1).group_by(key, maintain_order=True).tail(_MOST_VERSIONS)
    found: dict[tuple[str | None, str, str], list[str]] = {}
    for session, tool, role, identity in several.select(*key, "schema_id").iter_rows():
        found.setdefault((session, tool, role), []).append(identity)
    return found


def _spoiled(faults: pl.DataFrame) -> dict[int, list[str]]:
    """Pointers of faults by event."""
    found: dict[int, list[str]] = {}
    if faults.is_empty():
        return found
    spoiling = faults.filter(pl.col("fault").is_in(list(_SPOILING)))
    for event, pointer in spoiling.select("event", "pointer").iter_rows():
        found.setdefault(event, []).append(pointer)
    return found
