"""Verdicts: every payload that is owed one, judged by the schema in force; and in words, what failed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from analyzer.contracts.timeline import SchemaStore
from analyzer.frames import FAULTS, GIVEN, VERDICTS, VIOLATIONS
from analyzer.replay.payloads import Payload, read_payloads
from analyzer.visible import visible

Row = tuple[Any, ...]

_JUDGED = ("function", "mcp", "custom", "search", "namespace")
_AT_ONCE = 4096  # payloads held as values at a time: of long outputs a million would not fit into memory
_EXPLAINED = 50  # keywords told of one payload
# A status that explains why a text is not whole.
_PARTIAL = {
    **dict.fromkeys(("in_progress", "incomplete", "truncated"), "payload_truncated"),
    "redacted": "payload_redacted",
}
_SPOILING = ("lone_surrogate", "invalid_utf8", "number_inexact", "duplicate_member")


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
    court = _Court(store, _versions(offers), _spoiled(faults))
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
    whole = pl.concat([*court.verdicts, rest], how="diagonal").with_columns(
        verdict=pl.int_range(pl.len(), dtype=pl.Int64)
    )
    columns = [
        pl.col(name).cast(dtype) if name in whole.columns else pl.lit(None, dtype).alias(name)
        for name, dtype in VERDICTS.items()
    ]
    return (
        whole.select(columns),
        pl.DataFrame(court.violations, schema=VIOLATIONS, orient="row"),
        pl.DataFrame(court.faults, schema={**FAULTS, "seq": pl.Int64()}, orient="row"),
    )


def _versions(offers: pl.DataFrame) -> dict[tuple[str, str, str], list[str]]:
    """The schemas of each tool of each session that has had more than one."""
    key = ("session", "tool", "role")
    known = offers.filter(pl.col("schema_id").is_not_null()).unique([*key, "schema_id"], maintain_order=True)
    several = known.filter(pl.len().over(key) > 1)
    found: dict[tuple[str, str, str], list[str]] = {}
    for session, tool, role, identity in several.select(*key, "schema_id").iter_rows():
        found.setdefault((session, tool, role), []).append(identity)
    return found


def _spoiled(faults: pl.DataFrame) -> dict[int, list[str]]:
    """Pointers of faults by event: a payload below or above one was not read as it was written."""
    found: dict[int, list[str]] = {}
    spoiling = faults.filter(pl.col("fault").is_in(list(_SPOILING)))
    for event, pointer in spoiling.select("event", "pointer").iter_rows():
        found.setdefault(event, []).append(pointer)
    return found


def _given(frame: pl.DataFrame, contracts: pl.DataFrame, role: str) -> pl.DataFrame:
    """The rows with `given`: the contract file's schema for their tool, the server's own before the bare name's."""
    mine = contracts.filter(pl.col("role") == role)
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
    promised = promised.filter(pl.col("schema_id").is_not_null() | pl.col("given").is_not_null())
    succeeded = pl.col("success").fill_null(value=True) & pl.col("error").is_null()
    columns = ("result", "call", "session", "tool", "text", "container", "structured", "event", "pointer", "seq")
    frame = results.filter(succeeded).select(columns).join(promised, on="call", how="inner", maintain_order="left")
    stands_in = pl.col("schema_id").is_null()
    nothing = pl.lit(None)
    return frame.with_columns(
        between=(pl.col("window") == "bracketed") & pl.col("other_state").is_not_null() & ~stands_in,
        schema_id=pl.coalesce("schema_id", "given"),
        channel=pl.when(stands_in).then("given_channel").otherwise("channel"),
        offer_event=pl.when(stands_in).then(nothing).otherwise("offer_event"),
        offer_pointer=pl.when(stands_in).then(nothing).otherwise("offer_pointer"),
        window=pl.when(stands_in).then(pl.lit("exact")).otherwise("window"),
    )


@dataclass
class _Court:
    """Judges payloads and collects what VERDICTS, VIOLATIONS and FAULTS are made of."""

    store: SchemaStore
    versions: dict[tuple[str, str, str], list[str]]
    spoiled: dict[int, list[str]]
    verdicts: list[pl.DataFrame] = field(default_factory=list)
    violations: list[Row] = field(default_factory=list)
    faults: list[Row] = field(default_factory=list)
    count: int = 0
    _quick: dict[str, Callable[[Any], bool] | None] = field(default_factory=dict)

    def judge(self, owed: pl.DataFrame, role: str) -> None:
        """Judge a frame of payloads by `schema_id`, and again by `given` where a contract file says something else."""
        for part in owed.iter_slices(_AT_ONCE):
            self._judge(part, role)

    def _judge(self, owed: pl.DataFrame, role: str) -> None:
        values, odd = self._payloads(owed, role)
        self._side(owed, values, odd, role, "advertised")
        differs = pl.col("given").is_not_null() & ~pl.col("channel").is_in(list(GIVEN))
        second = owed.with_row_index("place").filter(differs & pl.col("given").ne_missing(pl.col("schema_id")))
        if second.is_empty():
            return
        places = second["place"].to_list()
        executed = second.with_columns(
            schema_id="given",
            channel="given_channel",
            window=pl.lit("exact"),
            between=pl.lit(value=False),
            offer_event=pl.lit(None, pl.Int64),
            offer_pointer=pl.lit(None, pl.String),
            other_schema=pl.lit(None, pl.String),
        )
        again = {number: odd[place] for number, place in enumerate(places) if place in odd}
        self._side(executed, [values[place] for place in places], again, role, "executed")

    def _payloads(self, owed: pl.DataFrame, role: str) -> tuple[list[Any], dict[int, Payload]]:
        """The payloads as values, and those that are not simply one, by their place."""
        values, odd = read_payloads(owed.select(pl.coalesce("structured", "text")).to_series())
        for place, payload in odd.items():
            if payload.ambiguous is not None:
                event, session, pointer, seq = owed.select("event", "session", "pointer", "seq").row(place)
                fault, detail = payload.ambiguous
                self.faults.append((event, session, fault, pointer, visible(detail), None, seq))
        if self.spoiled:
            self._spoil(owed, values, odd)
        if role == "arguments":
            states = owed["status"]
            for place, payload in odd.items():
                reason = _PARTIAL.get(states[place] or "")
                if reason is not None and payload.kind in {"empty", "not_json"}:
                    odd[place] = payload._replace(problem=payload.problem or reason)
        if role == "output":
            said = owed[list(odd)].select("text", "container", "schema_id").rows()
            for (place, payload), (text, container, schema) in zip(odd.items(), said, strict=True):
                odd[place] = self._as_output(payload, text, container, schema)
        return values, odd

    def _spoil(self, owed: pl.DataFrame, values: list[Any], odd: dict[int, Payload]) -> None:
        for place, (event, pointer) in enumerate(owed.select("event", "pointer").iter_rows()):
            marks = self.spoiled.get(event, ())
            if any(not mark or mark.startswith(pointer) or pointer.startswith(mark) for mark in marks):
                odd[place] = odd.get(place, Payload("value", values[place]))._replace(problem="payload_ambiguous")

    def _as_output(self, payload: Payload, text: str | None, container: str, schema: str | None) -> Payload:
        """An output that is no JSON, seen as its contract may: a contract that takes a string is kept by a text."""
        if payload.kind == "not_json" and schema is not None and self.store.judge(schema).judge(text)[0] == "valid":
            return Payload("value", text)
        if payload.kind == "empty":
            return Payload("value", None) if container in ("absent", "null") else Payload("not_json", None)
        return payload

    def _side(self, owed: pl.DataFrame, values: list[Any], odd: dict[int, Payload], role: str, side: str) -> None:
        verdicts: list[str] = []
        reasons: list[str | None] = []
        names = owed["schema_id"].to_list()
        others = owed["other_schema"].to_list()
        between = owed["between"].to_list()
        failed: list[int] = []
        for place, schema in enumerate(names):
            quick = None
            if place not in odd and schema is not None and not between[place]:
                quick = self._quick[schema] if schema in self._quick else self._quickly(schema)
            if quick is not None and quick(values[place]):
                verdicts.append("valid")
                reasons.append(None)
                continue
            payload = odd.get(place) or Payload("value", values[place])
            verdict, reason = self._carefully(payload, schema, others[place], between=between[place])
            verdicts.append(verdict)
            reasons.append(reason)
            if verdict == "invalid" and payload.kind != "not_json":
                failed.append(place)
        passes: list[str | None] = [None] * len(names)
        tools = owed.select("session", "tool")[failed].rows() if failed else []
        for place, (session, tool) in zip(failed, tools, strict=True):
            payload = odd.get(place) or Payload("value", values[place])
            value = {} if payload.kind == "empty" else payload.value
            self._explain(self.count + place, names[place], value)
            for name in self.versions.get((session, tool, role), ()):
                if name != names[place] and self.store.judge(name).judge(value)[0] == "valid":
                    passes[place] = name
                    break
        kinds = ["value"] * len(names)
        for place, payload in odd.items():
            kinds[place] = payload.kind
        self.count += len(names)
        self.verdicts.append(
            owed.select(
                *(
                    "call",
                    "result",
                    "session",
                    "tool",
                    "schema_id",
                    "channel",
                    "offer_event",
                    "offer_pointer",
                    "window",
                ),
                pl.Series("verdict_is", verdicts, dtype=pl.String),
                pl.Series("reason", reasons, dtype=pl.String),
                pl.Series("passes", passes, dtype=pl.String),
                pl.Series("payload", kinds, dtype=pl.String),
                role=pl.lit(role),
                side=pl.lit(side),
                also=pl.when(pl.col("between") & pl.col("other_schema").is_not_null()).then(
                    pl.concat_list("other_schema")
                ),
            )
        )

    def _quickly(self, schema: str) -> Callable[[Any], bool] | None:
        judge = self.store.judge(schema)
        quick = self._quick[schema] = judge.is_valid if judge.problem is None else None
        return quick

    def _carefully(
        self, payload: Payload, schema: str | None, other: str | None, *, between: bool
    ) -> tuple[str, str | None]:
        """Verdict and reason of a payload under a schema, and, in a bracket, under the other candidate too."""
        if payload.problem is not None:
            return "unverifiable", payload.problem
        if payload.kind == "not_json":
            return ("invalid", None) if schema is not None else ("unverifiable", "schema_unavailable")
        value = {} if payload.kind == "empty" else payload.value
        first = ("unverifiable", "schema_unavailable") if schema is None else self.store.judge(schema).judge(value)
        if not between:
            return first
        second = ("unverifiable", "schema_unavailable") if other is None else self.store.judge(other).judge(value)
        return first if first[0] == second[0] else ("unverifiable", "schema_ambiguous")

    def _explain(self, verdict: int, schema: str, value: Any) -> None:
        for position, failure in enumerate(self.store.judge(schema).violations(value, limit=_EXPLAINED)):
            self.violations.append(
                (
                    *(verdict, position, failure.instance_pointer, failure.schema_pointer, failure.keyword),
                    *(visible(failure.expected), visible(failure.actual), failure.branch),
                    failure.members[0] if failure.members else None,
                )
            )
