"""Log records with what the conventions call events: messages and replies of the model, beside the spans they are of.

The records of one span are put together as if they were its own events.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from analyzer.read.telemetry.events import attributes_of, plain

_EVENT = "event.name"
_REPLY = "gen_ai.choice"


class Log(msgspec.Struct, gc=False):
    """A log record."""

    eventName: str | None = None  # noqa: N815 - OTLP's names
    traceId: str | None = None  # noqa: N815
    spanId: str | None = None  # noqa: N815
    timeUnixNano: Any = None  # noqa: N815
    observedTimeUnixNano: Any = None  # noqa: N815
    attributes: Any = None
    body: Any = None


class ScopeLogs(msgspec.Struct, gc=False):
    """The log records of one instrumentation."""

    logRecords: list[Log] = []  # noqa: N815 - OTLP's name


class ResourceLogs(msgspec.Struct, gc=False):
    """The log records of one process."""

    scopeLogs: list[ScopeLogs] = []  # noqa: N815 - OTLP's name


def events_of(resources: list[ResourceLogs]) -> Iterator[tuple[dict[str, Any], str]]:
    """The spans that the records are events of, each with the pointer to its first record."""
    spans: list[tuple[dict[str, Any], str]] = []
    latest: dict[tuple[str | None, str | None], dict[str, Any]] = {}
    for r, resource in enumerate(resources):
        for s, scope in enumerate(resource.scopeLogs):
            for n, log in enumerate(scope.logRecords):
                values = attributes_of(log.attributes)
                name = log.eventName or values.get(_EVENT)
                if not isinstance(name, str) or not name.startswith("gen_ai."):
                    continue
                body = plain(log.body, 0)[0]
                values = {**values, **(body if isinstance(body, dict) else {})}
                when = log.timeUnixNano or log.observedTimeUnixNano
                key = (log.traceId, log.spanId)
                span = latest.get(key)
                if span is None or (name != _REPLY and span["events"][-1]["name"] == _REPLY):
                    span = latest[key] = {"attributes": {}, "events": [], "startTimeUnixNano": when}
                    spans.append((span, f"/resourceLogs/{r}/scopeLogs/{s}/logRecords/{n}"))
                span |= {"traceId": log.traceId, "spanId": log.spanId, "endTimeUnixNano": when}
                span["attributes"] |= {each: values[each] for each in values if each.startswith("gen_ai.")}
                span["events"].append({"name": name, "attributes": values})
    yield from spans
