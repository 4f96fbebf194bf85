"""Hits to findings: whose call it was, where the evidence lies, by which schema, and the names that last."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import blake2b

import polars as pl

from analyzer import pointer as pointers
from analyzer import secrets
from analyzer.frames import FINDINGS, LOCATION
from analyzer.trace import Trace, of_rows
from analyzer.visible import visible

_LONGEST = 1_000  # characters of a message or a hint that are shown
_FAILURE = FINDINGS["failures"].inner  # type: ignore[attr-defined]
DRESSED = pl.Schema(
    {
        **{name: of for name, of in FINDINGS.items() if name != "fingerprint"},
        "first_event": pl.Int64(),
        "hit": pl.Int64(),
        "turn_ordinal": pl.Int64(),
        "call": pl.Int64(),
        "ordinal": pl.Int64(),  # of the call
    }
)
"""What findings are made of."""
_NONE_DRESSED = DRESSED.to_frame()
_NONE = pl.Schema({**FINDINGS, "first_event": pl.Int64()}).to_frame()


def assemble(hits: pl.DataFrame, trace: Trace) -> pl.DataFrame:
    """FINDINGS with `first_event` (of the session), in the order of the report."""
    return named(dressed(hits, trace))


def dressed(hits: pl.DataFrame, trace: Trace, since: int = 0) -> pl.DataFrame:
    """Hits as FINDINGS, but for the names that last: for these all hits of a session have to be there.

    `since` is how many hits of the trace came before these.
    """
    if hits.is_empty():
        return _NONE_DRESSED
    hits = _owned(hits.with_row_index("hit", since), trace)
    verdicts = _rows(trace.verdicts, "verdict", hits["verdict"])
    related = (
        hits.select("hit", "related").filter(pl.col("related").list.len() > 0).explode("related").unnest("related")
    )
    offered = pl.concat([hits["offer_event"], verdicts["offer_event"]])
    places = _places(trace, pl.concat([hits["event"], related["event"], offered]))
    hits = (
        hits.drop("related")
        .join(places, on="event", how="left", maintain_order="left")
        .join(_related(related, places), on="hit", how="left", maintain_order="left")
        .join(_contract(hits, verdicts, trace, places), on="hit", how="left", maintain_order="left")
        .join(trace.sessions.select("session", "first_event"), on="session", how="left", maintain_order="left")
        .join(
            trace.turns.select("session", "turn", turn_ordinal="ordinal"),
            on=["session", "turn"],
            how="left",
            maintain_order="left",
        )
    )
    failures = _failures(hits, trace)
    hits = hits.drop("failures").join(failures, on="hit", how="left", maintain_order="left")
    hits = _located(_grouped(hits)).with_columns(
        tool=bare("tool"),
        message=_shown(hits["message"]),
        hint=_shown(hits["hint"]),
        suppressed=pl.lit(None, FINDINGS["suppressed"]),
    )
    return hits.select(pl.col(name).cast(of) for name, of in DRESSED.items())


def named(hits: pl.DataFrame) -> pl.DataFrame:
    """FINDINGS with `first_event`, in the order of the report, of all hits of some sessions that were `dressed`.

    `fingerprint` is the name of this occurrence, whatever the recorder.
    """
    if hits.is_empty():
        return _NONE
    # Only the id of the session is of its recording; a session without one has no name that lasts.
    session = pl.when(~pl.col("session").str.starts_with("(unrecorded")).then("session")
    rows = hits.select(
        "group", "turn_ordinal", "ordinal", lasting=session, place=pl.struct("session", "seq", "hit").rank("ordinal")
    )
    occurrence = rows.select("place", occurrence=_spelled("group", "lasting", "turn_ordinal", "ordinal"))
    nth = pl.int_range(pl.len()).over("occurrence", order_by="place")
    fingerprint = _each(occurrence.select(_spelled("occurrence", nth)).to_series(), _digest)
    return ordered([hits.with_columns(fingerprint=fingerprint).select(*FINDINGS, "first_event")])


def ordered(found: list[pl.DataFrame]) -> pl.DataFrame:
    """FINDINGS with `first_event` in the order of the report: session first seen, place in it, rule, pointer, name.

    `found` is empty afterwards: findings are wide, and no more than a column of them is held twice.
    """
    whole = pl.concat([each for each in found if each.height] or found[:1])
    found.clear()
    pointer = pl.col("location").struct.field("pointer")
    order = whole.select(pl.arg_sort_by("first_event", "seq", "rule", pointer, "fingerprint", nulls_last=True))
    rows = order.to_series()
    columns = whole.get_columns()[::-1]
    del whole
    if rows.is_sorted():  # those of one partition nearly always are
        return pl.DataFrame([columns.pop().rechunk() for _ in range(len(columns))])
    # Of one chunk, for of many Polars takes six times the memory to order lists.
    return pl.DataFrame([columns.pop().rechunk().gather(rows) for _ in range(len(columns))])


def _owned(hits: pl.DataFrame, trace: Trace) -> pl.DataFrame:
    """Hits with what their call and result say of themselves, where the rule left it open."""
    verdicts = _rows(trace.verdicts, "verdict", hits["verdict"]).select(
        "verdict", verdict_call="call", verdict_result="result"
    )
    hits = hits.join(verdicts, on="verdict", how="left", maintain_order="left").with_columns(
        call=pl.coalesce("call", "verdict_call"), result=pl.coalesce("result", "verdict_result")
    )
    results = _rows(trace.results, "result", hits["result"]).select(
        "result",
        *(pl.col(name).alias(f"result_{name}") for name in _OWN),
        of_call="call",
        beside=(pl.col("wire") == "mcp-jsonrpc") & pl.col("structured").is_not_null(),
    )
    hits = hits.join(results, on="result", how="left", maintain_order="left")
    # A verdict on an output is one on the structured output where there is one; the result stands at the other.
    structured = pl.col("result_pointer").str.replace("/content$", "/structuredContent")
    hits = hits.with_columns(
        call=pl.coalesce("call", "of_call"),
        result_pointer=pl.when("beside", pl.col("verdict_result").is_not_null())
        .then(structured)
        .otherwise("result_pointer"),
    )
    calls = _rows(trace.calls, "call", hits["call"]).select(
        "call",
        "ordinal",
        *(pl.col(name).alias(f"call_{name}") for name in _OWN),
        call_agent=pl.coalesce("subagent", "agent"),
    )
    given = pl.col("event").is_not_null()
    return hits.join(calls, on="call", how="left", maintain_order="left").with_columns(
        **{name: pl.coalesce(name, f"call_{name}", f"result_{name}") for name in ("session", "call_id", "tool")},
        turn=pl.coalesce("turn", "call_turn", "result_turn"),
        agent=pl.coalesce("agent", "call_agent"),
        pointer=pl.when(given)
        .then(pl.col("pointer").fill_null(""))
        .otherwise(pl.coalesce("pointer", "result_pointer", "call_pointer")),
        event=pl.coalesce("event", "result_event", "call_event"),
    )


_OWN = ("session", "turn", "call_id", "tool", "event", "pointer")
_PLACED = ("call", "result", "verdict", "session", "turn", "call_id", "tool", "agent", "event", "pointer")


def placed(hits: pl.DataFrame, trace: Trace) -> pl.DataFrame:
    """For each hit `first_event` (of its session) and `seq`, by which findings are ordered first."""
    owned = _owned(hits.select(_PLACED).with_row_index("hit"), trace).select("hit", "session", "event")
    return (
        owned.join(trace.events.select("event", "seq"), on="event", how="left", maintain_order="left")
        .join(trace.sessions.select("session", "first_event"), on="session", how="left", maintain_order="left")
        .sort("hit")
        .select("first_event", "seq")
    )


def _places(trace: Trace, events: pl.Series) -> pl.DataFrame:
    """Where the records of these events lie."""
    return (
        _rows(trace.events, "event", events)
        .select("event", "seq", "line", "offset", "length", "source", event_pointer="pointer")
        .join(trace.sources.select("source", file="path"), on="source", how="left", maintain_order="left")
    )


def _path(pointer: str) -> str:
    return visible(pointers.path(pointer), limit=400)


def bare(column: str) -> pl.Expr:
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


def _shown(texts: pl.Series) -> pl.Series:
    """Each text as a human may see it; only those that may have to change are looked at one by one."""
    text = pl.col(texts.name)
    may_change = (
        text.str.contains(r"[^ -~]") | (text.str.len_bytes() > _LONGEST) | text.str.contains_any(list(secrets.MARKS))
    )
    odd = texts.to_frame().select(may_change.arg_true()).to_series()
    return texts.clone().scatter(odd, _each(texts.gather(odd), _visible)) if odd.len() else texts


def _each(column: pl.Series, change: Callable[[str], str]) -> pl.Series:
    """The changed texts, each different one changed once."""
    texts = column.to_list()
    known = {text: None if text is None else change(text) for text in dict.fromkeys(texts)}
    return pl.Series(column.name, [known[text] for text in texts], dtype=pl.String)


@of_rows
def _related(rows: pl.DataFrame, places: pl.DataFrame) -> pl.DataFrame:
    placed = rows.join(places.drop("seq"), on="event", how="left", maintain_order="left")
    return _located(placed).group_by("hit", maintain_order=True).agg(related=pl.struct("location", "call_id", "role"))


def _failures(hits: pl.DataFrame, trace: Trace) -> pl.DataFrame:
    """The failed keywords that the rule names itself, else those of the hit's verdict."""
    columns = ("hit", "pointer", "keyword", "schema_pointer", "expected", "actual")
    named = hits.select("hit", "failures").filter(pl.col("failures").list.len() > 0)
    judged = hits.select("hit", "verdict").filter(
        pl.col("verdict").is_not_null() & ~pl.col("hit").is_in(named["hit"].implode())
    )
    rows = judged.join(trace.violations, on="verdict", how="inner", maintain_order="left_right").select(
        "hit", "keyword", "schema_pointer", "expected", "actual", pointer="instance_pointer"
    )
    if named.height:
        rows = pl.concat([named.explode("failures").unnest("failures").select(columns), rows.select(columns)])
    return _by_hit(rows)


@of_rows
def _by_hit(rows: pl.DataFrame) -> pl.DataFrame:
    return (
        rows.with_columns(_each(rows["pointer"], _path).alias("path"))
        .group_by("hit", maintain_order=True)
        .agg(failures=pl.struct(*(field.name for field in _FAILURE.fields)).cast(_FAILURE))
    )


def _contract(hits: pl.DataFrame, verdicts: pl.DataFrame, trace: Trace, places: pl.DataFrame) -> pl.DataFrame:
    """The schema that judged: its id, who said it, and where it stands."""
    judged = verdicts.select(
        "verdict", "passes", v_schema="schema_id", v_event="offer_event", v_pointer="offer_pointer", v_channel="channel"
    )
    files = trace.contracts.select("schema_id", "file", "line", file_pointer="pointer").unique(
        "schema_id", keep="first", maintain_order=True
    )
    rows = (
        hits.select("hit", "verdict", "schema_id", "offer_event", "offer_pointer", "channel", "contract_file")
        .join(judged, on="verdict", how="left", maintain_order="left")
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


def _grouped(hits: pl.DataFrame) -> pl.DataFrame:
    """Hits with `group`: the fault, wherever it is."""
    failed = pl.col("failures").list.first().struct
    rows = hits.select(
        "rule",
        "tool",
        keyword=pl.coalesce("keyword", failed.field("keyword")),
        pointer=pl.coalesce("instance_pointer", failed.field("pointer")),
        schema_pointer=pl.coalesce("schema_pointer", failed.field("schema_pointer")),
    )
    place = _each(rows["pointer"], pointers.star)
    group = rows.select(_spelled("rule", "tool", "keyword", place, "schema_pointer")).to_series()
    return hits.with_columns(group=_each(group, _digest))


def _digest(text: str) -> str:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=10).hexdigest()


def _rows(frame: pl.DataFrame, key: str, wanted: pl.Series) -> pl.DataFrame:
    """The few rows of a frame that the hits need."""
    if wanted.null_count() == wanted.len():
        return frame.clear()
    return frame.filter(pl.col(key).is_in(wanted.drop_nulls().implode()))


def _located(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows with `location`, from the place of their event and their pointer."""
    whole = rows.select(pointer=pl.col("event_pointer").fill_null("") + pl.col("pointer").fill_null(""))["pointer"]
    place = pl.struct("file", "line", "offset", "length", pointer=whole, path=_each(whole, _path)).cast(LOCATION)
    return rows.with_columns(location=pl.when(pl.col("file").is_not_null()).then(place))


def _visible(text: str) -> str:
    return visible(text, limit=_LONGEST)


def _spelled(*parts: pl.Expr | pl.Series | str) -> pl.Expr:
    """The parts as one text, nothing where one is null."""
    columns = (
        pl.col(part) if isinstance(part, str) else pl.lit(part) if isinstance(part, pl.Series) else part
        for part in parts
    )
    return pl.concat_str([column.cast(pl.String).fill_null("") for column in columns], separator="\x1f")
