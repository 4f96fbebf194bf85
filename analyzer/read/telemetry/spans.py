"""Spans, however they were exported: ids, times, states, and attributes as plain values."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from analyzer.pointer import join
from analyzer.read.telemetry.events import attributes_of, plain, told
from analyzer.read.telemetry.logs import ResourceLogs, events_of
from analyzer.read.telemetry.vendors import spelled

_HEX = re.compile(r"(?:0x)?([0-9a-fA-F]{32}|[0-9a-fA-F]{16})")
_FLAT = (
    "llm.input_messages",
    "llm.output_messages",
    "llm.tools",
    "llm.request.functions",
    "gen_ai.prompt",
    "gen_ai.completion",
)
_SESSION = ("gen_ai.conversation.id", "session.id", "langfuse.session.id")
LOGGED = "log records"
"""The name of what stands for a span whose events are log records."""
_FAILED = (2, "2", "STATUS_CODE_ERROR", "ERROR")


class Span(msgspec.Struct, gc=False):
    """A span, in the spelling of OTLP or of the SDK's console."""

    name: str | None = None
    traceId: str | None = None  # noqa: N815 - OTLP's names
    spanId: str | None = None  # noqa: N815
    parentSpanId: str | None = None  # noqa: N815
    startTimeUnixNano: Any = None  # noqa: N815
    endTimeUnixNano: Any = None  # noqa: N815
    attributes: Any = None
    events: Any = None
    status: Any = None
    context: Any = None
    start_time: Any = None
    end_time: Any = None
    parent_id: str | None = None


class Scope(msgspec.Struct, gc=False):
    """The spans of one instrumentation."""

    spans: list[Span] = []


class Resource(msgspec.Struct, gc=False):
    """The spans of one process."""

    scopeSpans: list[Scope] = []  # noqa: N815 - OTLP's name
    scope_spans: list[Scope] = []


class Export(msgspec.Struct, gc=False):
    """A batch of spans."""

    resourceSpans: list[Resource] | None = None  # noqa: N815 - OTLP's name
    resource_spans: list[Resource] | None = None


class Trace(msgspec.Struct, gc=False):
    """A trace as the Agents API lists it."""

    id: str | None = None
    object: str | None = None
    session_id: str | None = None
    otlp: Export | None = None


class Record(Span, gc=False):
    """Everything that one record may be."""

    resourceSpans: list[Resource] | None = None  # noqa: N815 - OTLP's name
    resource_spans: list[Resource] | None = None
    resourceLogs: list[ResourceLogs] | None = None  # noqa: N815
    id: str | None = None
    object: str | None = None
    session_id: str | None = None
    otlp: Export | None = None
    data: list[Trace] | None = None


_Of = tuple[str | None, str | None]
"""The session and the turn that an Agents API trace is of."""
record_of = msgspec.json.Decoder(Record).decode


class Read(msgspec.Struct):
    """A span with its attributes by name: what each holds, and where it stands."""

    span: Span
    pointer: str
    trace: str
    id: str
    ends: int
    session: str | None
    turn: str | None
    values: dict[str, Any]
    places: dict[str, str]

    @property
    def parent(self) -> str:
        """The id of the span that it is inside of."""
        return _identity(self.span.parentSpanId or self.span.parent_id)

    def first(self, names: Sequence[str]) -> tuple[Any, str | None]:
        """The first of these attributes that is there, and its name."""
        return next(((self.values[name], name) for name in names if self.values.get(name) is not None), (None, None))

    def text(self, *names: str) -> str | None:
        """The first of these attributes that is a text."""
        return next((self.values[name] for name in names if isinstance(self.values.get(name), str)), None)


def is_export(record: Record) -> bool:
    """Whether a record is an export of spans or a page of a trace, of none too."""
    exports = (record.resourceSpans, record.resource_spans, record.resourceLogs, record.otlp)
    return any(each is not None for each in exports) or record.object == "agent.session.trace" or bool(record.data)


def spans_of(record: Record) -> Iterator[tuple[Span, str, _Of]]:
    """Every span of a record with its pointer, and the session that the trace names."""
    yield from _exported(record.resourceSpans, record.resource_spans, "", (None, None))
    if record.otlp is not None:
        yield from _exported(
            record.otlp.resourceSpans, record.otlp.resource_spans, "/otlp", (record.session_id, record.id)
        )
    for logged, to in events_of(record.resourceLogs or []):
        yield Span(name=LOGGED, **logged), to, (None, None)
    for number, trace in enumerate(record.data or ()):
        if trace.otlp is not None:
            to = f"/data/{number}/otlp"
            yield from _exported(trace.otlp.resourceSpans, trace.otlp.resource_spans, to, (trace.session_id, trace.id))
    if record.attributes is not None and (record.spanId or record.context):
        yield record, "", (None, None)


def _exported(
    resources: list[Resource] | None, others: list[Resource] | None, to: str, of: _Of
) -> Iterator[tuple[Span, str, _Of]]:
    for member, listed in (("resourceSpans", resources), ("resource_spans", others)):
        for r, resource in enumerate(listed or ()):
            for name in ("scopeSpans", "scope_spans"):
                for s, scope in enumerate(getattr(resource, name)):
                    for n, span in enumerate(scope.spans):
                        yield span, f"{to}/{member}/{r}/{name}/{s}/spans/{n}", of


def read_span(span: Span, pointer: str, of: _Of) -> Read:
    """A span with its attributes as plain values, and where each of them stands."""
    values: dict[str, Any] = {}
    places: dict[str, str] = {}
    if isinstance(span.attributes, dict):
        for name, value in span.attributes.items():
            values[name], places[name] = value, join("/attributes", name)
    elif isinstance(span.attributes, list):
        for index, each in enumerate(span.attributes):
            if isinstance(each, dict) and isinstance(each.get("key"), str):
                value, step = plain(each.get("value"), 0)
                values[each["key"]], places[each["key"]] = value, f"/attributes/{index}/value{step}"
    _unflatten(values)
    for name, (value, place) in told(span.events).items():
        if values.get(name) is None:
            values[name], places[name] = value, place
    for name, value, place in spelled(values, span.events):
        if values.get(name) is None and value is not None:
            values[name], places[name] = value, places.get(place, place)
    context = span.context if isinstance(span.context, dict) else {}
    trace = _identity(span.traceId or context.get("trace_id"))
    name = _identity(span.spanId or context.get("span_id"))
    session = of[0] or next((values[key] for key in _SESSION if isinstance(values.get(key), str)), None)
    ends = nanoseconds(span.endTimeUnixNano, span.end_time) or nanoseconds(span.startTimeUnixNano, span.start_time)
    return Read(span, pointer, trace, name, ends, session, of[1], values, places)


def _unflatten(values: dict[str, Any]) -> None:
    """Lists whose members have attributes of their own (`llm.tools.0.tool.json_schema`), put together."""
    for prefix in _FLAT:
        root: dict[str, Any] = {}
        for name in [name for name in values if name.startswith(prefix + ".")]:
            steps = name[len(prefix) + 1 :].split(".")
            node = root
            for step in steps[:-1]:
                inner = node.setdefault(step, {})
                node = inner if isinstance(inner, dict) else {}
            node[steps[-1]] = values[name]
        numbered = sorted((name for name in root if name.isdigit()), key=int)
        if numbered:
            values[prefix] = [root[name] for name in numbered]


def _identity(value: Any) -> str:
    """An id in hexadecimal, however it was written; protobuf's own JSON writes base64."""
    if not isinstance(value, str):
        return ""
    match = _HEX.fullmatch(value)
    if match:
        return match[1].lower()
    try:
        raw = base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        return value
    return raw.hex() if len(raw) in (8, 16) else value


def nanoseconds(value: Any, pair: Any) -> int:
    """A time since 1970: a number, its text, or a pair of seconds and nanoseconds; 0 where it is none."""
    if isinstance(pair, list) and len(pair) == 2 and all(isinstance(each, int) for each in pair):
        return int(pair[0]) * 1_000_000_000 + int(pair[1])
    if isinstance(value, str) and value.isdigit() and len(value) < 20:
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 63 else 0


def status_of(span: Span) -> Any:
    """The code of the state, as written."""
    status = span.status
    code = status.get("code", status.get("status_code")) if isinstance(status, dict) else status
    return code if isinstance(code, int | str) else None


def has_failed(span: Span) -> bool:
    """Whether the span says that it failed."""
    return status_of(span) in _FAILED


def reason(each: Read) -> str:
    """Why a span failed."""
    for event in each.span.events if isinstance(each.span.events, list) else ():
        if not isinstance(event, dict) or event.get("name") != "exception":
            continue
        found = attributes_of(event.get("attributes"))
        if isinstance(found.get("exception.message"), str):
            return str(found["exception.message"])
    message = each.span.status.get("message") if isinstance(each.span.status, dict) else None
    return str(message or each.values.get("error.type") or "the span is marked as failed")
