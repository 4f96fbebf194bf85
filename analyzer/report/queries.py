"""JSONPath and JMESPath over what was recorded and found: one compiled expression, and the documents it runs on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from analyzer import pointer as pointers
from analyzer.errors import UsageError
from analyzer.masking import masked, masked_at
from analyzer.replay.payloads import read_payload
from analyzer.report.evidence import Recorded
from analyzer.report.json import encoded, records

if TYPE_CHECKING:
    from analyzer.auditing import Audit

SUBJECTS = ("events", "calls", "results", "findings")
_MOST_DEPTH = 200  # levels of a decoded payload that are queried


class Match(NamedTuple):
    """One value that an expression gave, credentials masked, and its normalized path, which JMESPath does not know."""

    path: str | None
    value: Any


class Expression:
    """A compiled JSONPath (it starts with `$`) or JMESPath. Raises UsageError for one that cannot be read."""

    def __init__(self, text: str) -> None:
        if text.lstrip().startswith("$"):
            self._path(text.strip())
        else:
            self._jmes(text)

    def _path(self, text: str) -> None:
        import jsonpath_rfc9535 as jsonpath

        try:
            query = jsonpath.compile(text)
        except (jsonpath.JSONPathError, RecursionError) as error:
            raise UsageError(f"not a JSONPath: {_first_line(error)}") from error

        def find(document: Any) -> list[Match]:
            try:
                return [_at(document, node.path(), node.value) for node in query.finditer(document)]
            except (jsonpath.JSONPathError, RecursionError) as error:
                raise UsageError(f"the query cannot be run: {_first_line(error)}") from error

        self.find = find

    def _jmes(self, text: str) -> None:
        import jmespath
        from jmespath.exceptions import JMESPathError

        try:
            query = jmespath.compile(text)
        except (JMESPathError, RecursionError) as error:
            raise UsageError(f"not a JMESPath: {_first_line(error)}") from error

        def find(document: Any) -> list[Match]:
            try:
                found = query.search(masked(document))  # it makes new values, of which nobody knows where they stood
            except (JMESPathError, RecursionError, TypeError, ValueError) as error:
                raise UsageError(f"the query cannot be run: {_first_line(error)}") from error
            if found is None:
                return []
            return [Match(None, each) for each in found] if isinstance(found, list) else [Match(None, found)]

        self.find = find


def document(audit: Audit, subject: str) -> list[Any]:
    """The list that a query runs on: one object per event, call, result or finding, in the order of the report."""
    if subject == "events":
        return list(_events(audit))
    if subject == "findings":
        return records(audit.findings)
    return list(_calls(audit)) if subject == "calls" else list(_results(audit))


def _events(audit: Audit) -> Iterator[dict[str, Any]]:
    """Each event as recorded, beside where it stands."""
    events = audit.frames["events"]
    paths = dict(audit.frames["sources"].select("source", "path").iter_rows())
    here: tuple[int, int] | None = None
    record: Any = None
    with Recorded(audit) as recorded:
        for row in events.sort("event").iter_rows(named=True):
            if here != (row["source"], row["offset"]):  # many events may share one record
                here = row["source"], row["offset"]
                record = recorded.record(row["source"], row["offset"], row["length"])
            yield {
                **{name: row[name] for name in ("session", "turn", "seq", "type", "kind", "line")},
                "file": paths.get(row["source"]),
                "time": row["time"].isoformat() if row["time"] is not None else None,
                "event": _part(record, row["pointer"]),
            }


def _part(record: Any, pointer: str | None) -> Any:
    try:
        return pointers.resolve(record, pointer or "")
    except (LookupError, ValueError):
        return None


def _calls(audit: Audit) -> Iterator[dict[str, Any]]:
    """Each call with its arguments decoded, its verdict, and its result's text."""
    verdicts: dict[int, dict[str, Any]] = {}
    for row in audit.frames["verdicts"].filter(role="arguments").sort("side", "verdict").iter_rows(named=True):
        verdicts.setdefault(row["call"], row)
    results = {row["result"]: row for row in audit.frames["results"].iter_rows(named=True)}
    names = ("session", "turn", "agent", "subagent", "call_id", "item_id", "tool", "kind", "server", "name", "status")
    for row in audit.frames["calls"].sort("event", "call").iter_rows(named=True):
        verdict, result = verdicts.get(row["call"]), results.get(row["result"])
        yield {
            **{name: row[name] for name in names},
            "seq": row["seq"],
            "arguments": _value(row["text"]),
            "outcome": row["outcome"],
            "verdict": verdict["verdict_is"] if verdict else None,
            "reason": verdict["reason"] if verdict else None,
            "schema_id": verdict["schema_id"] if verdict else None,
            "output": _value(result["structured"] or result["text"]) if result else None,
            "error": result["error"] if result else None,
        }


def _results(audit: Audit) -> Iterator[dict[str, Any]]:
    names = ("session", "turn", "call_id", "name", "tool", "success", "status", "error", "stage", "seq", "rank")
    for row in audit.frames["results"].sort("event", "result").iter_rows(named=True):
        yield {**{name: row[name] for name in names}, "output": _value(row["structured"] or row["text"])}


def _value(text: str | None) -> Any:
    """The payload decoded; what is not JSON is a string."""
    payload = read_payload(text)
    return payload.value if payload.problem is None and payload.kind in ("value", "string") else text


def line(match: Match) -> bytes:
    """A match as one line of JSON."""
    return encoded(masked(match.value))


def _at(document: Any, path: str, value: Any) -> Match:
    return Match(path, masked_at(pointers.pointer_of_path(path), value, document))


def _first_line(error: Exception) -> str:
    told = (str(error).splitlines() or [type(error).__name__])[0]
    return told.removeprefix("Invalid jmespath expression: ").removesuffix(":").strip()
