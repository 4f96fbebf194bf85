"""The query bar's engine: JSONPath or JMESPath over one value or over the records of many events, cancellable.

Strings that hold JSON objects or arrays are read as these, as the panes show them.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from analyzer.errors import AnalyzerError
from analyzer.pointer import pointer_of_path
from analyzer.tui.case import document
from analyzer.visible import visible_value

if TYPE_CHECKING:
    import polars as pl

    from analyzer.tui.case import Case

MOST_HITS = 10_000
SECONDS = 5.0
_LOOK_UP = 2_000  # events between two looks at the clock
_POSTED = 0.25  # seconds between partial results
_MOST_BYTES = 16 << 20  # of a record that is decoded
_PLAIN = re.compile(r"[ !#-\[\]-~]*")


class QueryError(ValueError):
    """An expression that cannot be read: why, and at which character."""

    def __init__(self, reason: str, column: int) -> None:
        super().__init__(reason)
        self.reason = reason
        self.column = column


class Hit(NamedTuple):
    """One match: in which event (None: in the one shown) of which session, at which normalized path.

    The value is safe text.
    """

    event: int | None
    session: str | None
    seq: int | None
    path: str
    value: str


class Query:
    """A compiled expression. Raises QueryError."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.language = "JSONPath" if text.startswith("$") else "JMESPath"
        if text.startswith("$"):
            self._compile_path(text)
        else:
            self._compile_jmes(text)

    def _compile_path(self, text: str) -> None:
        import jsonpath_rfc9535 as jsonpath

        try:
            query = jsonpath.compile(text)
        except jsonpath.JSONPathError as error:
            token = error.token
            raise QueryError(str(error.args[0]), token.index if token is not None else len(text)) from error
        self.names = _names(query)

        def find(value: Any) -> Iterator[tuple[str, Any]]:
            try:
                for node in query.finditer(value):
                    yield node.path(), node.value
            except (jsonpath.JSONPathError, RecursionError):  # a value too deep for `..`
                return

        self.find: Callable[[Any], Iterator[tuple[str, Any]]] = find

    def _compile_jmes(self, text: str) -> None:
        import jmespath
        from jmespath.exceptions import JMESPathError

        try:
            query = jmespath.compile(text)
        except JMESPathError as error:
            column = getattr(error, "lex_position", None)
            raise QueryError(
                str(getattr(error, "msg", "") or type(error).__name__), len(text) if column is None else column
            ) from error
        steps = _steps(query.parsed)
        path = "".join(f"[{step}]" if isinstance(step, int) else f"['{step}']" for step in steps or ())
        self.names = [step for step in steps or () if isinstance(step, str)]

        def find(value: Any) -> Iterator[tuple[str, Any]]:
            try:
                found = query.search(value)
            except (JMESPathError, RecursionError, TypeError, ValueError, ArithmeticError):  # functions of wrong types
                return
            if found is not None:
                yield f"${path}" if steps is not None else "", found

        self.find = find

    def of_record(self, raw: bytes) -> Iterator[tuple[str, Any]]:
        """Path and value of the matches in a record's bytes."""
        if self.may_match(raw):
            value = decode(raw)
            if value is not None:
                yield from self.find(value)

    def may_match(self, raw: bytes) -> bool:
        """Whether a record can match at all: the names of the expression stand in it, as far as bytes tell."""
        if b"\\u" in raw:
            return True
        return all(name.encode() in raw for name in self.names if _PLAIN.fullmatch(name))


def _names(query: Any) -> list[str]:
    names = []
    for segment in query.segments:
        selectors = segment.selectors
        if len(selectors) == 1 and isinstance(getattr(selectors[0], "name", None), str):
            names.append(selectors[0].name)
    return names


def _steps(tree: dict[str, Any]) -> list[str | int] | None:
    """The steps of an expression that is a plain path, else None."""
    if tree["type"] == "field":
        return [tree["value"]]
    if tree["type"] == "index":
        return [tree["value"]] if tree["value"] >= 0 else None
    if tree["type"] in ("subexpression", "index_expression"):
        out: list[str | int] = []
        for child in tree["children"]:
            steps = _steps(child)
            if steps is None:
                return None
            out += steps
        return out
    return None


def decode(raw: bytes) -> Any:
    """A record's value with the JSON inside its strings read too; None where it is not JSON or too deep."""
    try:
        value = msgspec.json.decode(document(raw))
    except (msgspec.MsgspecError, ValueError, RecursionError):
        try:
            value = json.loads(document(raw))
        except (ValueError, RecursionError):
            return None
    todo = [value] if isinstance(value, (dict, list)) else []
    while todo:
        here = todo.pop()
        for key, child in list(here.items() if isinstance(here, dict) else enumerate(here)):
            if isinstance(child, str) and child[:1] in ("{", "["):
                try:
                    child = msgspec.json.decode(child)  # noqa: PLW2901 - the layer is taken off
                except (msgspec.MsgspecError, ValueError, RecursionError):
                    continue
                here[key] = child
            if isinstance(child, (dict, list)):
                todo.append(child)
    return value


def over_value(
    query: Query, value: Any, prefix: str = "$", *, session: str | None = None, seq: int | None = None
) -> list[Hit]:
    """The matches in one value; `prefix` is its path in its record, `session` and `seq` say which record that is."""
    hits = []
    for path, found in query.find(value):
        hits.append(Hit(None, session, seq, prefix + path[1:] if path else "", visible_value(found, limit=300)))
        if len(hits) >= MOST_HITS:
            break
    return hits


def over_events(
    query: Query,
    case: Case,
    events: pl.Series | None,
    post: Callable[[list[Hit], str], None],
    cancelled: Callable[[], bool],
) -> None:
    """The matches in the records of events (by number; None: all), posted as they come with words on the state.

    It stops at `MOST_HITS` matches or after `SECONDS`, and says so.
    """
    import polars as pl

    hits: list[Hit] = []
    started = posted = time.monotonic()
    table = case.scan("events").select("event", "source", "offset", "length").collect()
    who = case.events.select(pl.col("session").cast(pl.String), "seq")
    if events is not None:
        kept = table["event"].is_in(events.implode())
        table, who = table.filter(kept), who.filter(kept)
    seen, lost = None, 0
    for at in range(0, table.height, _LOOK_UP):
        rows = zip(table[at : at + _LOOK_UP].iter_rows(), who[at : at + _LOOK_UP].iter_rows(), strict=True)
        for (event, source, offset, length), (session, seq) in rows:
            if (source, offset) == seen or length > _MOST_BYTES:
                continue
            seen = (source, offset)
            try:
                raw = case.fetch(source, offset, length)
            except AnalyzerError:
                lost += 1
                continue
            for path, found in query.of_record(raw):
                hits.append(Hit(event, session, seq, path, visible_value(found, limit=300)))
                if len(hits) >= MOST_HITS:
                    post(hits, f"stopped at {MOST_HITS:,}; narrow the scope")
                    return
        now = time.monotonic()
        if cancelled():
            return
        if now - started > SECONDS:
            done = min(at + _LOOK_UP, table.height)
            post(hits, f"stopped after {SECONDS:.0f} s at {done:,} of {table.height:,} events; narrow the scope")
            return
        if now - posted > _POSTED:
            posted = now
            post(list(hits), f"searching, {at * 100 // table.height} %")
    post(hits, f"{lost:,} records unavailable" if lost else "")


def pointer_of(path: str) -> str:
    """The JSON Pointer of a hit's path; "" where it has none."""
    try:
        return pointer_of_path(path) if path else ""
    except ValueError:
        return ""
