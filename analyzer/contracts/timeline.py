"""The timeline of every advertised tool: tool tables as they were shown, turned into offers of single schemas."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from contextlib import suppress
from typing import Any, NamedTuple

import msgspec
import polars as pl

from analyzer.contracts import dialects
from analyzer.contracts.facts import Fact, facts
from analyzer.contracts.files import Contracts
from analyzer.contracts.schemas import canonical, decode, name_of
from analyzer.contracts.tables import parse_tool_table
from analyzer.contracts.verdicts.engine import Judge
from analyzer.frames import CONTRACTS, OFFERS, REFUSED, SCHEMA_FACTS, SCHEMAS, TOOLS

MAX_TABLE_BYTES = 64 << 20  # of one tool table that is read

_MOST_KEPT = 64 << 20  # bytes of schemas and tools; a partition's own are kept in any case
_MOST_COMPILED = 512 << 20  # bytes of what judges, about; beyond, it is compiled again when it is asked for
_LIST = msgspec.json.Decoder(list[msgspec.Raw])

_THESE = ("add", "remove")  # scopes of tables that say nothing of other tools
_Row = tuple[Any, ...]
_NO_CONTRACTS, _NO_OFFERS = CONTRACTS.to_frame(), OFFERS.to_frame()


class _Schema(NamedTuple):
    value: Any
    dialect: str
    text: bytes  # canonical


class SchemaStore:
    """Every schema text of a run by its id, compiled at most once, and only when something is judged by it.

    Partition after partition advertises the same tools: what was found out about one schema is kept for the next.
    """

    def __init__(self, *, assert_formats: bool = False) -> None:
        self._assert_formats = assert_formats
        self._schemas: dict[str, _Schema] = {}
        self._judges: dict[str, Judge] = {}
        self._weight = 0
        self._facts: dict[str, list[Fact]] = {}
        self._tools: dict[tuple[bytes, str | None, bool], list[list[_Row]]] = {}
        self._bytes = 0

    def bounded(self) -> SchemaStore:
        """The store for the next partition: this one, or an empty one when this holds more than a log needs."""
        return self if self._bytes <= _MOST_KEPT else SchemaStore(assert_formats=self._assert_formats)

    def add(
        self, schema: Any, *, dialect: str = dialects.DEFAULT, by_server: bool = False, judge: Judge | None = None
    ) -> str:
        """The id of a schema, also of one that an MCP server lists; in another default dialect it is another schema."""
        text = (judge and judge.text) or canonical(schema)
        dialect = dialects.of_server(schema, text) if by_server else dialects.dialect_of(schema, default=dialect)
        name = name_of(text)
        if dialect != dialects.dialect_of(schema):
            name = f"{name}-{dialect.rpartition('/')[2] or dialect}"
        if name not in self._schemas:
            self._schemas[name] = _Schema(schema, dialect, text)
            self._bytes += len(text)
            if judge is not None and not self._assert_formats:
                self._judges[name] = judge
        return name

    def value(self, name: str) -> Any:
        """The schema itself."""
        return self._schemas[name].value

    def judge(self, name: str) -> Judge:
        """What judges payloads by it."""
        judge = self._judges.get(name)
        if judge is None:
            schema, dialect, text = self._schemas[name]
            judge = Judge(schema, dialect=dialect, assert_formats=self._assert_formats, text=text)
            self._weight += judge.weight
            if self._weight > _MOST_COMPILED:
                self._judges.clear()
                self._weight = judge.weight
            self._judges[name] = judge
        return judge

    def tools(self, table: bytes, server: str | None, *, by_server: bool) -> list[list[_Row]]:
        """The tools of a table as `_tools` gives them; table after table says the same of nearly all of its tools."""
        key = (table, server, by_server)
        if key not in self._tools:
            self._tools[key] = _tools(table, server, self, by_server=by_server)
            self._bytes += len(table)
        return self._tools[key]

    def frames(self, names: Iterable[str], *, advertised: Collection[str]) -> tuple[pl.DataFrame, pl.DataFrame]:
        """SCHEMAS of these ids, and SCHEMA_FACTS of those that were advertised: the TOOL rules are about these."""
        rows, known = [], []
        for name in sorted(set(names)):
            schema, dialect, text = self._schemas[name]
            rows.append((name, dialect, self.judge(name).problem, text.decode("utf-8", "backslashreplace")))
            if name in advertised:
                if name not in self._facts:
                    self._facts[name] = facts(schema, dialect=dialect)
                known += [(name, *fact) for fact in self._facts[name]]
        return (
            pl.DataFrame(rows, schema=SCHEMAS, orient="row"),
            pl.DataFrame(known, schema=SCHEMA_FACTS, orient="row"),
        )


def tools_of(tables: pl.DataFrame, store: SchemaStore) -> pl.DataFrame:
    """TABLES -> TOOLS; the schemas go to the store."""
    rows: list[_Row] = []
    for table, shape, text, server in tables.select("table", "shape", "text", "server").iter_rows():
        position = 0
        for at, entry in _entries(text.encode()):
            try:
                tools = store.tools(entry, server, by_server=shape == "mcp")
            except (ValueError, RecursionError):
                position += 1
                continue  # TOOL001 names what cannot be read; the tools beside it can
            for tool in tools:
                made = map(_own, tool) if shape == "codex" else tool
                rows.extend((table, position, *said, at + pointer) for *said, pointer in made)
                position += 1
    frame = pl.DataFrame(rows, schema=TOOLS, orient="row")
    return frame.unique(["table", "tool", "role"], keep="last", maintain_order=True)


def _own(row: _Row) -> _Row:
    """A tool of the program that Codex runs in, which it spells as MCP does: its servers' tools it never writes."""
    _, kind, server, name, *rest = row
    return (f"function::{name}", "function", None, name, *rest) if (kind, server) == ("mcp", None) else row


def _entries(text: bytes) -> list[tuple[str, bytes]]:
    """The entries of a tool table, each as a table of its own, and where they stand; else the table as it is."""
    if len(text) <= MAX_TABLE_BYTES:
        with suppress(msgspec.DecodeError, RecursionError):
            return [(f"/{place}", b"[%b]" % entry) for place, entry in enumerate(_LIST.decode(text))]
    return [("", text)]


def _tools(table: bytes, server: str | None, store: SchemaStore, *, by_server: bool) -> list[list[_Row]]:
    """For each tool its rows of TOOLS from `tool` on; pointers begin at the entry where the table is one."""
    found = []
    for tool in parse_tool_table(decode(table, most=MAX_TABLE_BYTES), server=server):
        key = f"{tool.kind}:{tool.server or ''}:{tool.name}"
        roles = [("arguments", tool.arguments, tool.arguments_pointer)]
        if tool.output is not None:
            roles.append(("output", tool.output, tool.output_pointer))
        found.append(
            [
                (
                    *(key, tool.kind, tool.server, tool.name, role),
                    None if schema is None else store.add(schema, by_server=by_server),
                    *(tool.strict, tool.deferred, tool.async_, tool.description),
                    (pointer or tool.pointer).removeprefix("/0"),
                )
                for role, schema, pointer in roles
            ]
        )
    return found


def contracts_of(contracts: Contracts | None, store: SchemaStore) -> pl.DataFrame:
    """The entries of contract files and of code as CONTRACTS; the schemas go to the store."""
    rows = [
        (
            f"{entry.server}/{entry.tool}" if entry.server else entry.tool,
            *(entry.server, entry.tool, entry.role, store.add(entry.schema, dialect=entry.dialect, judge=entry.judge)),
            *(entry.file, entry.line, entry.pointer, entry.version, entry.channel, list(entry.superseded)),
        )
        for entry in (contracts.entries if contracts is not None else ())
    ]
    if not rows:
        return _NO_CONTRACTS
    frame = pl.DataFrame(rows, schema=CONTRACTS, orient="row")
    return frame.unique(["tool", "role", "version"], keep="first", maintain_order=True).sort("tool", "role", "version")


def offers_of(showings: pl.DataFrame, tools: pl.DataFrame) -> pl.DataFrame:
    """SHOWINGS with seq, TOOLS -> OFFERS: one row for each change of one tool in one session."""
    showings = showings.filter(pl.col("scope") != REFUSED)
    if showings.is_empty():
        return _NO_OFFERS
    same = pl.col("table").eq_missing(pl.col("table").shift(1)) & ~pl.col("scope").is_in(_THESE)
    runs = (
        showings.sort("session", "scope", "seq", "event")
        .with_columns(
            same=same.over("session", "scope") & (pl.int_range(pl.len()).over("session", "scope") > 0),
            after=pl.col("seq").shift(1).over("session", "scope"),
        )
        .filter(~pl.col("same"))
        .with_columns(place=pl.struct("seq", "event").rank("dense").over("session", "scope").cast(pl.Int64))
        .select("session", "scope", "place", "table", "channel", "event", "after", since="seq", at="pointer")
    )
    shown = runs.join(tools, on="table", how="inner", maintain_order="left").with_columns(
        # A table inside a text can be pointed at no closer than that.
        pointer=(pl.col("at") + pl.col("pointer")).fill_null(""),
    )
    columns = [
        *("session", "tool", "role", "since", "after", "state", "schema_id"),
        *("channel", "strict", "deferred", "async", "event", "pointer"),
    ]
    removed = pl.col("scope") == "remove"
    listed = shown.filter(~removed).with_columns(state=pl.lit("offered"))
    every = listed[columns]
    # A table withdraws what tables of its scope have shown: what a search or a server's listing added stays.
    several = runs.filter(~pl.col("scope").is_in(_THESE), pl.len().over("session", "scope") > 1)
    if several.height:
        every = pl.concat([every, _withdrawn(several, listed)[columns]])
    if listed.height < shown.height:
        gone = shown.filter(removed).with_columns(_nothing(), state=pl.lit("withdrawn"))
        every = pl.concat([every, gone[columns]])
    every = every.sort("session", "tool", "role", "since", "event", maintain_order=True)
    every = every.unique(["session", "tool", "role", "since"], keep="last", maintain_order=True)
    same = pl.all_horizontal(pl.col(name).eq_missing(pl.col(name).shift(1)) for name in ("session", "tool", "role"))
    said = ("state", "schema_id", "strict", "deferred", "async")
    changed = pl.any_horizontal(pl.col(name).ne_missing(pl.col(name).shift(1)) for name in said)
    changed = pl.when(same & (pl.int_range(pl.len()) > 0)).then(changed).otherwise(pl.col("state") == "offered")
    return every.filter(changed).with_columns(exact=pl.col("channel") != "session").select(list(OFFERS))


def _withdrawn(runs: pl.DataFrame, listed: pl.DataFrame) -> pl.DataFrame:
    """The tools that a table has shown, and the next one of its scope does not."""
    where = ["session", "scope", "place"]
    shown = listed.select(*where, "tool", "role").unique()
    gone = shown.with_columns(pl.col("place") + 1).join(shown, on=shown.columns, how="anti")
    return (
        runs.unique(where, keep="last", maintain_order=True)
        .join(gone, on=where, maintain_order="left")
        .with_columns(
            _nothing(),
            state=pl.lit("withdrawn"),
            pointer=pl.col("at").fill_null(""),
        )
    )


def _nothing() -> Iterable[pl.Expr]:
    """What an offer says of a tool that is withdrawn."""
    none = {"schema_id": pl.String, "strict": pl.Boolean, "deferred": pl.Boolean, "async": pl.Boolean}
    return [pl.lit(None, dtype).alias(name) for name, dtype in none.items()]
