"""The timeline of every advertised tool: tool tables as they were shown, turned into offers of single schemas."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import msgspec
import polars as pl

from analyzer.contracts import dialects
from analyzer.contracts.engine import Judge
from analyzer.contracts.facts import facts
from analyzer.contracts.files import Contracts
from analyzer.contracts.schemas import canonical, decode, schema_id
from analyzer.contracts.tables import parse_tool_table
from analyzer.frames import CONTRACTS, OFFERS, SCHEMA_FACTS, SCHEMAS, TOOLS

MAX_TABLE_BYTES = 64 << 20  # of one tool table that is read

# Whose schemas are draft-07 unless they say otherwise.
_DRAFT7_SHAPES = frozenset({"mcp"})


class SchemaStore:
    """Every schema text of a run by its id, compiled at most once, and only when something is judged by it."""

    def __init__(self, *, assert_formats: bool = False) -> None:
        self._assert_formats = assert_formats
        self._values: dict[str, Any] = {}
        self._dialects: dict[str, str] = {}
        self._judges: dict[str, Judge] = {}

    def add(self, schema: Any, *, dialect: str = dialects.DEFAULT, judge: Judge | None = None) -> str:
        """The id of a schema; the same JSON value under another default dialect is another schema."""
        dialect = dialects.dialect_of(schema, default=dialect)
        name = schema_id(schema)
        if dialect != dialects.dialect_of(schema):
            name = f"{name}-{dialect.rpartition('/')[2] or dialect}"
        if name not in self._values:
            self._values[name] = schema
            self._dialects[name] = dialect
            if judge is not None and not self._assert_formats:
                self._judges[name] = judge
        return name

    def value(self, name: str) -> Any:
        """The schema itself."""
        return self._values[name]

    def judge(self, name: str) -> Judge:
        """What judges payloads by it."""
        judge = self._judges.get(name)
        if judge is None:
            judge = self._judges[name] = Judge(
                self._values[name], dialect=self._dialects[name], assert_formats=self._assert_formats
            )
        return judge

    def frames(self, names: Iterable[str], *, advertised: Collection[str]) -> tuple[pl.DataFrame, pl.DataFrame]:
        """SCHEMAS of these ids, and SCHEMA_FACTS of those that were advertised: the TOOL rules are about these."""
        rows, known = [], []
        for name in sorted(set(names)):
            schema, dialect = self._values[name], self._dialects[name]
            text = canonical(schema).decode("utf-8", "backslashreplace")
            rows.append((name, dialect, self.judge(name).problem, text))
            if name in advertised:
                known += [(name, fact.pointer, fact.fact, str(fact.value)) for fact in facts(schema, dialect=dialect)]
        return (
            pl.DataFrame(rows, schema=SCHEMAS, orient="row"),
            pl.DataFrame(known, schema=SCHEMA_FACTS, orient="row"),
        )


def tools_of(tables: pl.DataFrame, store: SchemaStore) -> pl.DataFrame:
    """TABLES -> TOOLS; the schemas go to the store."""
    rows = []
    for table, shape, text, server in tables.select("table", "shape", "text", "server").iter_rows():
        try:
            definitions = parse_tool_table(decode(text.encode(), most=MAX_TABLE_BYTES), server=server)
        except (msgspec.DecodeError, ValueError, RecursionError):
            continue  # TOOL001 names a table that cannot be read
        dialect = dialects.DRAFT7 if shape in _DRAFT7_SHAPES else dialects.DEFAULT
        for position, tool in enumerate(definitions):
            key = f"{tool.kind}:{tool.server or ''}:{tool.name}"
            for role, schema, pointer in (
                ("arguments", tool.arguments, tool.arguments_pointer),
                ("output", tool.output, tool.output_pointer),
            ):
                if role == "output" and schema is None:
                    continue
                identity = None if schema is None else store.add(schema, dialect=dialect)
                rows.append(
                    (
                        *(table, position, key, tool.kind, tool.server, tool.name, role, identity),
                        *(tool.strict, tool.deferred, tool.async_, tool.description, pointer or tool.pointer),
                    )
                )
    frame = pl.DataFrame(rows, schema=TOOLS, orient="row")
    return frame.unique(["table", "tool", "role"], keep="last", maintain_order=True)


def contracts_of(contracts: Contracts | None, store: SchemaStore) -> pl.DataFrame:
    """The entries of contract files and of code as CONTRACTS; the schemas go to the store."""
    rows = [
        (
            f"{entry.server}/{entry.tool}" if entry.server else entry.tool,
            *(entry.server, entry.tool, entry.role, store.add(entry.schema, dialect=entry.dialect, judge=entry.judge)),
            *(entry.file, entry.line, entry.pointer, entry.version, entry.channel),
        )
        for entry in (contracts.entries if contracts is not None else ())
    ]
    frame = pl.DataFrame(rows, schema=CONTRACTS, orient="row")
    return frame.unique(["tool", "role", "version"], keep="first", maintain_order=True).sort("tool", "role", "version")


def offers_of(showings: pl.DataFrame, tools: pl.DataFrame) -> pl.DataFrame:
    """SHOWINGS with seq, TOOLS -> OFFERS: one row for each change of one tool in one session."""
    if showings.is_empty():
        return OFFERS.to_frame()
    same = pl.col("table").eq_missing(pl.col("table").shift(1)) & (pl.col("scope") != "add")
    runs = (
        showings.sort("session", "scope", "seq", "event")
        .with_columns(
            same=same.over("session", "scope") & (pl.int_range(pl.len()).over("session", "scope") > 0),
            after=pl.col("seq").shift(1).over("session", "scope"),
        )
        .filter(~pl.col("same"))
        .select("session", "scope", "table", "channel", "event", "after", since="seq", at="pointer")
    )
    listed = runs.join(tools, on="table", how="inner", maintain_order="left").with_columns(
        state=pl.lit("offered"),
        # A table inside a text can be pointed at no closer than that.
        pointer=(pl.col("at") + pl.col("pointer")).fill_null(""),
    )
    # A table withdraws what tables of its scope have shown: what a search or a server's listing added stays.
    names = listed.select("session", "scope", "tool", "role").unique()
    silent = (
        runs.filter(pl.col("scope") != "add")
        .join(names, on=["session", "scope"])
        .join(
            listed.select("session", "since", "event", "tool", "role"),
            on=["session", "since", "event", "tool", "role"],
            how="anti",
        )
        .with_columns(state=pl.lit("withdrawn"), pointer=pl.col("at").fill_null(""))
    )
    columns = (
        "session",
        "tool",
        "role",
        "since",
        "after",
        "state",
        "schema_id",
        "channel",
        "strict",
        "deferred",
        "async",
    )
    none = {"schema_id": pl.String, "strict": pl.Boolean, "deferred": pl.Boolean, "async": pl.Boolean}
    silent = silent.with_columns(pl.lit(None, dtype).alias(name) for name, dtype in none.items())
    every = pl.concat([part.select(*columns, "event", "pointer") for part in (listed, silent)]).sort(
        "session", "tool", "role", "since", "event", maintain_order=True
    )
    every = every.unique(["session", "tool", "role", "since"], keep="last", maintain_order=True)
    what = pl.struct("state", "schema_id", "strict", "deferred", "async")
    key = ("session", "tool", "role")
    before = what.shift(1).over(key)
    first = pl.int_range(pl.len()).over(key) == 0
    changed = pl.when(first).then(pl.col("state") == "offered").otherwise(what != before)
    return every.filter(changed).with_columns(exact=pl.col("channel") != "session").select(list(OFFERS))
