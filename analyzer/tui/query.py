"""The expressions of the query bar: JSONPath, JMESPath or a JSON Pointer, and the values that they run on.

Strings that hold JSON objects or arrays are read as these, as the panes show them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from analyzer import pointer
from analyzer.tui.records import document

_PLAIN = re.compile(r"[ !#-\[\]-~]*")


class QueryError(ValueError):
    """An expression that cannot be read: why, and at which character."""

    def __init__(self, reason: str, column: int) -> None:
        super().__init__(reason)
        self.reason = reason
        self.column = column


class Unanswered(Exception):
    """The expression cannot be run on this value; the text says why."""


class Query:
    """A compiled expression. Raises QueryError. `find` gives paths and values of its matches, or raises Unanswered."""

    find: Callable[[Any], Iterator[tuple[str, Any]]]

    def __init__(self, text: str) -> None:
        self.text = text
        if text.startswith("$"):
            self.language = "JSONPath"
            self._compile_path(text)
        elif text.startswith("/"):  # as reports write places
            self.language = "JSON Pointer"
            self._compile_pointer(text)
        else:
            self.language = "JMESPath"
            self._compile_jmes(text)

    def _compile_pointer(self, text: str) -> None:
        try:
            self.names = [step for step in pointer.parts(text) if not step.isdigit()]
        except ValueError as error:
            raise QueryError("no JSON Pointer: ~ stands as ~0 in it", text.index("~")) from error

        def find(value: Any) -> Iterator[tuple[str, Any]]:
            try:
                found = pointer.resolve(value, text)
            except LookupError:
                return
            yield pointer.path(text, value), found

        self.find = find

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
            except RecursionError as error:
                raise Unanswered("it is nested too deeply for this expression") from error
            except jsonpath.JSONPathError as error:
                raise Unanswered(str(error.args[0])) from error

        self.find = find

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
            except RecursionError as error:
                raise Unanswered("it is nested too deeply for this expression") from error
            except (JMESPathError, TypeError, ValueError, ArithmeticError) as error:  # functions of wrong types
                raise Unanswered(str(error)) from error
            if found is not None:
                yield f"${path}" if steps is not None else "", found

        self.find = find

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


def pointer_of(path: str) -> str:
    """The JSON Pointer of a hit's path; "" where it has none."""
    try:
        return pointer.pointer_of_path(path) if path else ""
    except ValueError:
        return ""
