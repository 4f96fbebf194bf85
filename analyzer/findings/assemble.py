"""Hits to findings: whose call it was, where the evidence lies, by which schema, and of which group it is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import polars as pl

from analyzer import pointer as pointers
from analyzer import secrets
from analyzer.findings.naming import digest, each, named, spelled
from analyzer.findings.owners import owned, rows_of
from analyzer.findings.packed import Packed
from analyzer.frames import FINDINGS, LOCATION
from analyzer.trace import Trace, of_rows
from analyzer.visible import visible

_LONGEST = 1_000  # characters of a message or a hint that are shown
_FAILURE = FINDINGS["failures"].inner  # type: ignore[attr-defined]
DRESSED = pl.Schema(
    {
        **{name: of for name, of in FINDINGS.items() if name != "fingerprint"},
        "first_event": pl.Int64(),
        "hit": pl.Int64(),  # counted over the blocks
        "turn_ordinal": pl.Int64(),
        "call": pl.Int64(),
        "ordinal": pl.Int64(),  # of the call
    }
)
"""What findings are made of."""
_NONE_DRESSED = DRESSED.to_frame()


def assemble(hits: pl.DataFrame, trace: Trace) -> pl.DataFrame:
    """FINDINGS with `first_event` (of the session), in the order of the report."""
    return named(Packed(DRESSED, dressed([hits], trace)))[0].unpack()


def dressed(blocks: Iterable[pl.DataFrame], trace: Trace) -> Iterator[pl.DataFrame]:
    """Hits as DRESSED, block by block, for it takes much beside them.

    That is FINDINGS but for the names that last: for these all hits of a session have to be there.
    """
    since = 0
    for block in blocks:
        yield _dressed(block, trace, since)
        since += block.height


def _dressed(hits: pl.DataFrame, trace: Trace, since: int) -> pl.DataFrame:
    if hits.is_empty():
        return _NONE_DRESSED
    hits = owned(hits.with_row_index("hit", since), trace)
    verdicts = rows_of(trace.verdicts, "verdict", hits["verdict"])
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


def _places(trace: Trace, events: pl.Series) -> pl.DataFrame:
    """Where the records of these events lie."""
    return (
        rows_of(trace.events, "event", events)
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
    return texts.clone().scatter(odd, each(texts.gather(odd), _visible)) if odd.len() else texts


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
        rows.with_columns(each(rows["pointer"], _path).alias("path"))
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
    place = each(rows["pointer"], pointers.star)
    group = rows.select(spelled("rule", "tool", "keyword", place, "schema_pointer")).to_series()
    return hits.with_columns(group=each(group, digest))


def _located(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows with `location`, from the place of their event and their pointer."""
    whole = rows.select(pointer=pl.col("event_pointer").fill_null("") + pl.col("pointer").fill_null(""))["pointer"]
    place = pl.struct("file", "line", "offset", "length", pointer=whole, path=each(whole, _path)).cast(LOCATION)
    return rows.with_columns(location=pl.when(pl.col("file").is_not_null()).then(place))


def _visible(text: str) -> str:
    return visible(text, limit=_LONGEST)
