"""Hits to findings: whose call it was, where the evidence lies, by which schema, and the names that last."""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

import polars as pl

from analyzer import pointer as pointers
from analyzer.frames import FINDINGS, LOCATION
from analyzer.trace import Trace
from analyzer.visible import visible

_FAILURE = FINDINGS["failures"].inner  # type: ignore[attr-defined]


def assemble(hits: pl.DataFrame, trace: Trace) -> pl.DataFrame:
    """FINDINGS with `first_event` (of the session), in the order of the report."""
    if hits.is_empty():
        return pl.DataFrame(schema={**FINDINGS, "first_event": pl.Int64()})
    hits = _owned(hits.with_row_index("hit"), trace)
    places = _places(trace)
    hits = hits.join(places, on="event", how="left", maintain_order="left")
    related = _related(hits, places)
    failures = _failures(hits, trace)
    contract = _contract(hits, trace, places)
    hits = (
        hits.drop("failures", "related")
        .join(related, on="hit", how="left", maintain_order="left")
        .join(failures, on="hit", how="left", maintain_order="left")
        .join(contract, on="hit", how="left", maintain_order="left")
        .join(trace.sessions.select("session", "first_event"), on="session", how="left", maintain_order="left")
        .join(
            trace.turns.select("session", "turn", turn_ordinal="ordinal"),
            on=["session", "turn"],
            how="left",
            maintain_order="left",
        )
    )
    hits = hits.with_columns(
        location=_location("pointer"),
        tool_key="tool",
        tool=_bare("tool"),
        message=_each(hits["message"], _shown),
        hint=_each(hits["hint"], _shown),
        suppressed=pl.lit(None, FINDINGS["suppressed"]),
    )
    hits = _named(hits)
    return hits.select(*FINDINGS, "first_event").sort(
        "first_event", "seq", "rule", pl.col("location").struct.field("pointer"), "fingerprint", nulls_last=True
    )


def _owned(hits: pl.DataFrame, trace: Trace) -> pl.DataFrame:
    """Hits with what their call and result say of themselves, where the rule left it open."""
    calls = trace.calls.select(
        "call",
        "ordinal",
        *(pl.col(name).alias(f"call_{name}") for name in _OWN),
        call_agent=pl.coalesce("subagent", "agent"),
    )
    results = trace.results.select("result", *(pl.col(name).alias(f"result_{name}") for name in _OWN), of_call="call")
    verdicts = trace.verdicts.select("verdict", verdict_call="call", verdict_result="result")
    hits = hits.join(verdicts, on="verdict", how="left", maintain_order="left").with_columns(
        call=pl.coalesce("call", "verdict_call"), result=pl.coalesce("result", "verdict_result")
    )
    hits = hits.join(results, on="result", how="left", maintain_order="left")
    hits = hits.with_columns(call=pl.coalesce("call", "of_call"))
    hits = hits.join(calls, on="call", how="left", maintain_order="left")
    given = pl.col("event").is_not_null()
    return hits.with_columns(
        **{name: pl.coalesce(name, f"call_{name}", f"result_{name}") for name in ("session", "call_id", "tool")},
        turn=pl.coalesce("turn", "call_turn", "result_turn"),
        agent=pl.coalesce("agent", "call_agent"),
        pointer=pl.when(given)
        .then(pl.col("pointer").fill_null(""))
        .otherwise(pl.coalesce("pointer", "result_pointer", "call_pointer")),
        event=pl.coalesce("event", "result_event", "call_event"),
    )


_OWN = ("session", "turn", "call_id", "tool", "event", "pointer")


def _places(trace: Trace) -> pl.DataFrame:
    """Where each event's record lies."""
    return trace.events.select(
        "event", "seq", "line", "offset", "length", event_pointer="pointer", source="source"
    ).join(trace.sources.select("source", file="path"), on="source", how="left", maintain_order="left")


def _location(pointer: str) -> pl.Expr:
    whole = pl.col("event_pointer").fill_null("") + pl.col(pointer).fill_null("")
    return pl.when(pl.col("file").is_not_null()).then(
        pl.struct(
            "file", "line", "offset", "length", pointer=whole, path=whole.map_elements(_path, return_dtype=pl.String)
        ).cast(LOCATION)
    )


def _path(pointer: str) -> str:
    return visible(pointers.path(pointer), limit=400)


def _bare(column: str) -> pl.Expr:
    """`function::NAME` as NAME, `mcp:SERVER:NAME` as SERVER/NAME, `namespace:NS:NAME` as NS.NAME."""
    parts = pl.col(column).str.splitn(":", 3).struct
    kind, server, name = (parts.field(f"field_{index}") for index in range(3))
    return (
        pl.when(server == "")
        .then(name)
        .when(kind == "namespace")
        .then(server + "." + name)
        .when(name.is_not_null())
        .then(server + "/" + name)
        .otherwise(column)
    )


def _shown(text: str) -> str:
    return visible(text, limit=1000)


def _each(column: pl.Series, change: Any) -> pl.Series:
    known: dict[str, str] = {}
    return pl.Series(
        column.name,
        [
            None if text is None else known.setdefault(text, change(text)) if text not in known else known[text]
            for text in column
        ],
        dtype=pl.String,
    )


def _related(hits: pl.DataFrame, places: pl.DataFrame) -> pl.DataFrame:
    rows = (
        hits.select("hit", "related")
        .filter(pl.col("related").list.len() > 0)
        .explode("related")
        .unnest("related")
        .join(places.drop("seq"), on="event", how="left", maintain_order="left")
    )
    return rows.group_by("hit", maintain_order=True).agg(
        related=pl.struct(location=_location("pointer"), call_id="call_id", role="role")
    )


def _failures(hits: pl.DataFrame, trace: Trace) -> pl.DataFrame:
    """The failed keywords of the hit's verdict, else those that the rule names itself."""
    columns = ("hit", "pointer", "keyword", "schema_pointer", "expected", "actual")
    judged = (
        hits.select("hit", "verdict")
        .filter(pl.col("verdict").is_not_null())
        .join(trace.violations, on="verdict", how="inner", maintain_order="left_right")
        .select("hit", "keyword", "schema_pointer", "expected", "actual", pointer="instance_pointer")
        .select(columns)
    )
    told = (
        hits.select("hit", "failures")
        .filter(pl.col("failures").list.len() > 0)
        .explode("failures")
        .unnest("failures")
        .select(columns)
    )
    rows = pl.concat([told, judged.join(told.select("hit").unique(), on="hit", how="anti", maintain_order="left")])
    return (
        rows.with_columns(path=pl.col("pointer").map_elements(_path, return_dtype=pl.String))
        .group_by("hit", maintain_order=True)
        .agg(failures=pl.struct(*(field.name for field in _FAILURE.fields)).cast(_FAILURE))
    )


def _contract(hits: pl.DataFrame, trace: Trace, places: pl.DataFrame) -> pl.DataFrame:
    """The schema that judged: its id, who said it, and where it stands."""
    verdicts = trace.verdicts.select(
        "verdict", "passes", v_schema="schema_id", v_event="offer_event", v_pointer="offer_pointer", v_channel="channel"
    )
    files = trace.contracts.select("schema_id", "file", "line", file_pointer="pointer").unique(
        "schema_id", keep="first", maintain_order=True
    )
    rows = (
        hits.select("hit", "verdict", "schema_id", "offer_event", "offer_pointer", "channel", "contract_file")
        .join(verdicts, on="verdict", how="left", maintain_order="left")
        .with_columns(
            schema_id=pl.coalesce("schema_id", "v_schema"),
            event=pl.coalesce("offer_event", "v_event"),
            channel=pl.coalesce("channel", "v_channel"),
            pointer=pl.coalesce("offer_pointer", "v_pointer"),
        )
        .filter(pl.col("schema_id").is_not_null())
        .join(
            places.select("event", "event_pointer", shown_file="file", shown_line="line"),
            on="event",
            how="left",
            maintain_order="left",
        )
        .join(files, on="schema_id", how="left", maintain_order="left")
    )
    given = pl.col("event").is_null()
    fields = FINDINGS["contract"]
    return rows.select(
        "hit",
        contract=pl.struct(
            "schema_id",
            "channel",
            file=pl.when(given).then(pl.coalesce("contract_file", "file")).otherwise("shown_file"),
            line=pl.when(given).then("line").otherwise("shown_line"),
            pointer=pl.when(given)
            .then("file_pointer")
            .otherwise(pl.col("event_pointer").fill_null("") + pl.col("pointer").fill_null("")),
            passes="passes",
        ).cast(fields),
    )


def _named(hits: pl.DataFrame) -> pl.DataFrame:
    """Hits with `group` (the fault, wherever it is) and `fingerprint` (this occurrence, whatever the recorder)."""
    failures = pl.col("failures").list.first().struct
    rows = hits.select(
        "hit",
        "rule",
        "tool_key",
        pl.coalesce("keyword", failures.field("keyword")).alias("keyword"),
        pl.coalesce("instance_pointer", failures.field("pointer")).alias("instance_pointer"),
        pl.coalesce("schema_pointer", failures.field("schema_pointer")).alias("schema_pointer"),
        "session",
        "turn_ordinal",
        "ordinal",
        "seq",
    ).sort("session", "seq", "hit", nulls_last=True)
    names: list[tuple[int, str, str]] = []
    seen: dict[tuple[Any, ...], int] = {}
    for hit, rule, tool, keyword, instance, schema, session, turn, ordinal, _ in rows.iter_rows():
        group = _digest(rule, tool, keyword, pointers.star(instance) if instance else instance, schema)
        # Only the id of the session is of its recording; a session without one has no name that lasts.
        session = None if session is None or session.startswith("(unrecorded") else session  # noqa: PLW2901
        occurrence = (group, session, turn, ordinal)
        count = seen[occurrence] = seen.get(occurrence, -1) + 1
        names.append((hit, group, _digest(*occurrence, count)))
    frame = pl.DataFrame(names, schema={"hit": pl.UInt32, "group": pl.String, "fingerprint": pl.String}, orient="row")
    return hits.join(frame, on="hit", how="left", maintain_order="left")


def _digest(*parts: Any) -> str:
    text = "\x1f".join("" if part is None else str(part) for part in parts)
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=10).hexdigest()
