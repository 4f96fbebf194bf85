"""OpenTelemetry spans of models and tools: OTLP JSON by line or whole, the Agents API's own trace pages, OpenInference.

A span of a model call holds what was sent and what the model said, a span of a tool what was really run. So a call is
seen three times: as the model wrote it, as it was executed, and as it came back in the next request.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import msgspec

from analyzer.pointer import join
from analyzer.read.adapter import RecordAdapter
from analyzer.read.decoding import Decoding
from analyzer.read.dialogue import Ask, Call, Dialogue, Result, Said
from analyzer.read.members import held
from analyzer.read.openai.cursor import Place
from analyzer.read.records import Block
from analyzer.read.rows import Rows

_HEX = re.compile(r"(?:0x)?([0-9a-fA-F]{32}|[0-9a-fA-F]{16})")
_MODEL = frozenset({"chat", "text_completion", "generate_content", "completion", "llm"})
_TOOL = frozenset({"execute_tool", "tool"})
_MARKS = ("gen_ai.", "openinference.", "llm.", "ai.toolcall.", "mcp.method.name", "tool_arguments")
_FLAT = (
    "llm.input_messages",
    "llm.output_messages",
    "llm.tools",
    "llm.request.functions",
    "gen_ai.prompt",
    "gen_ai.completion",
)
_INPUT = ("gen_ai.input.messages", "llm.input_messages", "gen_ai.prompt")
_OUTPUT = ("gen_ai.output.messages", "llm.output_messages", "gen_ai.completion")
_TABLES = ("gen_ai.tool.definitions", "llm.tools", "llm.request.functions", "ai.prompt.tools")
_NAME = ("gen_ai.tool.name", "tool.name", "ai.toolCall.name", "traceloop.entity.name")
_CALL_ID = ("gen_ai.tool.call.id", "tool_call.id", "tool.id", "ai.toolCall.id")
_ARGUMENTS = ("gen_ai.tool.call.arguments", "tool_arguments", "ai.toolCall.args", "input.value", "tool.parameters")
_RESULT = ("gen_ai.tool.call.result", "tool_response", "ai.toolCall.result", "output.value")
_SESSION = ("gen_ai.conversation.id", "session.id", "langfuse.session.id")
_FAILED = (2, "2", "STATUS_CODE_ERROR", "ERROR")
_FINE = (1, "1", "STATUS_CODE_OK", "OK")
_MOST_DEPTH = 40


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
    id: str | None = None
    object: str | None = None
    session_id: str | None = None
    otlp: Export | None = None
    data: list[Trace] | None = None


_Of = tuple[str | None, str | None]
"""The session and the turn that an Agents API trace is of."""

_record = msgspec.json.Decoder(Record).decode
_json = msgspec.json.Decoder().decode


class _Read(msgspec.Struct):
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

    def first(self, names: Sequence[str]) -> tuple[Any, str | None]:
        """The first of these attributes that is there, and its name."""
        return next(((self.values[name], name) for name in names if self.values.get(name) is not None), (None, None))

    def text(self, *names: str) -> str | None:
        """The first of these attributes that is a text."""
        return next((self.values[name] for name in names if isinstance(self.values.get(name), str)), None)


class OpenTelemetry(RecordAdapter[Record]):
    """The adapter; see `analyzer.read.adapter.Adapter`."""

    name: ClassVar[str] = "otlp"
    title: ClassVar[str] = "OpenTelemetry spans (GenAI conventions, OpenInference), Agents API trace pages"
    known_by: ClassVar[str] = (
        "`resourceSpans` with `scopeSpans`, objects `agent.session.trace`, spans with attributes named gen_ai.*, llm.* "
        "or openinference.*"
    )
    loses: ClassVar[tuple[str, ...]] = (
        "Messages, arguments, results and tool definitions are recorded only where content capture was switched on.",
        "Tool definitions may leave their parameters out: such calls cannot be judged.",
        "A span is written when it ends: parents stand after their children.",
        "A span that is not marked as failed need not have succeeded.",
        "Trace pages of the Agents API tell which calls ran; their results are read from the session's own events.",
        "Spans without gen_ai.conversation.id are put together by trace alone.",
    )

    def __init__(self, source: int, rows: Rows) -> None:
        self._records = Decoding(source, rows, _record, self.knows)
        self._rows = rows
        self._waiting: list[tuple[Place, list[_Read]]] = []
        self._dialogue = Dialogue(self.name, rows, _said, executed=True)
        memory = rows.shared.setdefault(f"{self.name} traces", ({}, set(), {}, {}))
        self._sessions: dict[str, str] = memory[0]
        self._seen: set[tuple[str, str]] = memory[1]
        self._open: dict[str, list[tuple[str, str | None, str | None]]] = memory[2]
        """The calls of a session that no span shows to be run: pair id, call id, name."""
        self._runs: dict[tuple[str, str | None], int] = memory[3]
        self._memories = (self._dialogue,)

    @staticmethod
    def knows(record: Any) -> float:
        """How surely a parsed record is of this wire."""
        if not isinstance(record, dict):
            return 0.0
        if isinstance(record.get("resourceSpans"), list) or isinstance(record.get("resource_spans"), list):
            return 0.9
        if record.get("object") == "agent.session.trace":
            return 1.0
        if isinstance(record.get("data"), list):
            first = record["data"][0] if record["data"] else None
            return 1.0 if isinstance(first, dict) and first.get("object") == "agent.session.trace" else 0.0
        attributes = record.get("attributes")
        if not ("spanId" in record or isinstance(record.get("context"), dict)):
            return 0.0
        names = list(attributes) if isinstance(attributes, dict) else []
        if isinstance(attributes, list):
            names = [each.get("key") for each in attributes if isinstance(each, dict)]
        marked = any(str(name).lower().startswith(_MARKS) for name in names)
        return 0.9 if marked else 0.4 if isinstance(attributes, dict | list) else 0.0

    def read(self, block: Block) -> list[int]:
        """Append the rows of the block; see `Adapter.read`."""
        others = super().read(block)
        waiting, self._waiting = self._waiting, []
        for place, spans in waiting:
            self._batch(place, spans)
        return others

    def _take(self, record: Record, raw: bytes, place: Place) -> bool:
        """Keep the spans of a record: a child may stand before the parent that has the conversation's name."""
        del raw
        spans = list(_spans(record))
        if not spans and not _is_export(record):
            return False
        read = [_read(span, to, of) for span, to, of in spans]
        self._waiting.append((place, read))
        for each in read:
            if each.session is not None and each.trace:
                self._sessions.setdefault(each.trace, each.session)
        return True

    def _batch(self, place: Place, spans: list[_Read]) -> None:
        """The spans of one record, in the order in which they ended."""
        if not spans:
            self._dialogue.move(place)
            self._dialogue.cursor.event("resourceSpans", "notice", None)
        for each in sorted(spans, key=lambda each: each.ends):
            session = each.session or self._sessions.get(each.trace) or each.trace or None
            began = _nanoseconds(each.span.startTimeUnixNano, each.span.start_time)
            here = msgspec.structs.replace(
                place, pointer=place.pointer + each.pointer, when=began / 1000 if began else None
            )
            again = bool(each.id) and (each.trace, each.id) in self._seen
            self._seen.add((each.trace, each.id))
            what = _kind(each)
            self._dialogue.turn = each.turn
            if again or session is None or what is None:
                self._dialogue.move(here)
                failed = not again and what is None and _failed(each.span) and "gen_ai.operation.name" in each.values
                self._dialogue.cursor.event(_native(each), "error" if failed else "notice", session, turn=each.turn)
            elif what == "model":
                self._model(each, here, session)
            else:
                self._tool(each, here, session)

    # --- model calls ------------------------------------------------------------------------------------------------

    def _model(self, each: _Read, here: Place, session: str) -> None:
        """A call of the model: what was sent, and what it said."""
        sent, sent_at = _messages(each, _INPUT)
        said, said_at = _messages(each, _OUTPUT)
        table, _ = each.first(_TABLES)
        agent = each.text("gen_ai.agent.call.id", "gen_ai.agent.id", "gen_ai.agent.name") or ""
        system = _value(each.values.get("gen_ai.system_instructions"))
        ask = Ask(
            [msgspec.json.encode(message) for message in sent],
            "",
            session,
            agent,
            tools=_encoded(_table(table)) if table is not None else b"",
            shape="responses",
            model=each.text("gen_ai.request.model", "gen_ai.response.model", "llm.model_name"),
            instructions=None if system is None else _words(system),
        )
        spot = each.places.get(sent_at or "", "")
        self._dialogue.ask(ask, msgspec.structs.replace(here, pointer=here.pointer + spot, opaque=True))
        if _failed(each.span) and not said:
            self._dialogue.fail(here, _native(each))
            return
        spot = each.places.get(said_at or "", "")
        at = msgspec.structs.replace(here, pointer=here.pointer + spot, opaque=True)
        for number, message in enumerate(said):
            reply = _said(msgspec.json.encode(message))
            stop = message.get("finish_reason") if isinstance(message, dict) else None
            name = each.id if number == 0 else f"{each.id}#{number}"
            self._dialogue.answer(
                reply, at, native=_native(each), reply=name or None, stop=stop if isinstance(stop, str) else None
            )
            self._open.setdefault(session, []).extend(self._dialogue.made)

    # --- executed calls ---------------------------------------------------------------------------------------------

    def _tool(self, each: _Read, here: Place, session: str) -> None:
        """A call that was run, with its result."""
        name = each.text(*_NAME) or (each.span.name or "").removeprefix("execute_tool ").removeprefix("running tool: ")
        call_id = each.text(*_CALL_ID)
        pair_id = self._pair(session, call_id, name)
        self._dialogue.move(here)
        event, _ = self._dialogue.cursor.event(_native(each), "item", session, turn=each.turn)
        value, where = each.first(_ARGUMENTS)
        text, container = _text(value)
        shown = (event, session, each.turn, self.name)
        kind = "mcp" if "mcp.method.name" in each.values else "function"
        server = each.text("mcp.server.name") if kind == "mcp" else None
        self._rows.call_sightings.append(
            (
                *(*shown, "executor", None, None, call_id, pair_id, kind, server, name, text, container),
                *(None, "client", None, each.places.get(where or "", "")),
            )
        )
        failed, fine = _failed(each.span), _status(each.span) in _FINE
        value, where = each.first(_RESULT)
        if (value is None and not failed) or each.turn is not None:
            return  # the results of an Agents API session are told by its own events
        text, container = _text(value)
        error = _why(each) if failed else None
        success = False if failed else True if fine else None
        self._rows.result_sightings.append(
            (
                *(
                    *shown,
                    "executor",
                    f"{pair_id}@{each.id}",
                    call_id,
                    pair_id,
                    name,
                    success,
                    None,
                    error,
                    text,
                    container,
                ),
                *(None, None, None, each.places.get(where or "", "")),
            )
        )

    def _pair(self, session: str, call_id: str | None, name: str) -> str:
        """What pairs an executed call with the model's: the id, else the first of its name not run yet."""
        waiting = self._open.get(session, [])
        for found in waiting:
            if found[1] == call_id if call_id is not None else found[2] == name:
                waiting.remove(found)
                return found[0]
        if call_id is not None:
            return call_id
        nth = self._runs.get((session, name), 0) + 1
        self._runs[session, name] = nth
        return f"{name}#{nth}"


# --- spans ------------------------------------------------------------------------------------------------------------


def _is_export(record: Record) -> bool:
    exports = (record.resourceSpans, record.resource_spans, record.otlp)
    return any(each is not None for each in exports) or record.object == "agent.session.trace" or bool(record.data)


def _spans(record: Record) -> Iterator[tuple[Span, str, _Of]]:
    """Every span of a record with its pointer, and the session that the trace names."""
    yield from _exported(record.resourceSpans, record.resource_spans, "", (None, None))
    if record.otlp is not None:
        yield from _exported(
            record.otlp.resourceSpans, record.otlp.resource_spans, "/otlp", (record.session_id, record.id)
        )
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


def _read(span: Span, pointer: str, of: _Of) -> _Read:
    values: dict[str, Any] = {}
    places: dict[str, str] = {}
    if isinstance(span.attributes, dict):
        for name, value in span.attributes.items():
            values[name], places[name] = value, join("/attributes", name)
    elif isinstance(span.attributes, list):
        for index, each in enumerate(span.attributes):
            if isinstance(each, dict) and isinstance(each.get("key"), str):
                value, step = _plain(each.get("value"), 0)
                values[each["key"]], places[each["key"]] = value, f"/attributes/{index}/value{step}"
    _unflatten(values)
    context = span.context if isinstance(span.context, dict) else {}
    trace = _identity(span.traceId or context.get("trace_id"))
    name = _identity(span.spanId or context.get("span_id"))
    session = of[0] or next((values[key] for key in _SESSION if isinstance(values.get(key), str)), None)
    ends = _nanoseconds(span.endTimeUnixNano, span.end_time) or _nanoseconds(span.startTimeUnixNano, span.start_time)
    return _Read(span, pointer, trace, name, ends, session, of[1], values, places)


def _plain(value: Any, depth: int) -> tuple[Any, str]:
    """What an attribute holds, and the step from its value to a text."""
    if not isinstance(value, dict) or depth > _MOST_DEPTH:
        return value, ""
    for name in ("stringValue", "boolValue", "doubleValue", "bytesValue", "string_value", "bool_value", "double_value"):
        if name in value:
            return value[name], f"/{name}"
    for name in ("intValue", "int_value"):
        if name in value:
            number = value[name]
            whole = isinstance(number, str) and number.removeprefix("-").isdigit() and len(number) < 20
            return int(number) if whole else number, f"/{name}"
    for name in ("arrayValue", "array_value"):
        if isinstance(value.get(name), dict):
            inner = value[name].get("values")
            return [_plain(each, depth + 1)[0] for each in inner] if isinstance(inner, list) else [], f"/{name}"
    for name in ("kvlistValue", "kvlist_value"):
        if isinstance(value.get(name), dict):
            inner = value[name].get("values")
            pairs = [each for each in inner if isinstance(each, dict)] if isinstance(inner, list) else []
            return {str(each.get("key")): _plain(each.get("value"), depth + 1)[0] for each in pairs}, f"/{name}"
    return None, ""


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


def _nanoseconds(value: Any, pair: Any) -> int:
    if isinstance(pair, list) and len(pair) == 2 and all(isinstance(each, int) for each in pair):
        return int(pair[0]) * 1_000_000_000 + int(pair[1])
    if isinstance(value, str) and value.isdigit() and len(value) < 20:
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 63 else 0


def _status(span: Span) -> Any:
    status = span.status
    code = status.get("code", status.get("status_code")) if isinstance(status, dict) else status
    return code if isinstance(code, int | str) else None


def _failed(span: Span) -> bool:
    return _status(span) in _FAILED


def _why(each: _Read) -> str:
    """Why a span failed."""
    for event in each.span.events if isinstance(each.span.events, list) else ():
        if not isinstance(event, dict) or event.get("name") != "exception":
            continue
        listed = event.get("attributes")
        pairs = [pair for pair in listed if isinstance(pair, dict)] if isinstance(listed, list) else []
        found = {str(pair.get("key")): _plain(pair.get("value"), 0)[0] for pair in pairs}
        if isinstance(listed, dict):
            found = listed
        if isinstance(found.get("exception.message"), str):
            return str(found["exception.message"])
    message = each.span.status.get("message") if isinstance(each.span.status, dict) else None
    return str(message or each.values.get("error.type") or "the span is marked as failed")


def _kind(each: _Read) -> str | None:
    """Whether a span is a call of the model or of a tool."""
    named = each.values.get("gen_ai.operation.name") or each.values.get("openinference.span.kind")
    word = named.lower() if isinstance(named, str) else ""
    if word in _MODEL or (not word and any(name in each.values for name in (*_INPUT, *_OUTPUT))):
        return "model"
    called = any(name in each.values for name in ("gen_ai.tool.call.id", "ai.toolCall.id", "tool_arguments"))
    return "tool" if word in _TOOL or (not word and called) else None


def _native(each: _Read) -> str:
    named = each.values.get("gen_ai.operation.name") or each.values.get("openinference.span.kind") or each.span.name
    return str(named)[:200] if isinstance(named, str) and named else "span"


# --- messages ---------------------------------------------------------------------------------------------------------


def _value(value: Any) -> Any:
    """What an attribute holds, taken out of its text."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        try:
            return _json(value)
        except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
            return value
    return value


def _messages(each: _Read, names: Sequence[str]) -> tuple[list[Any], str | None]:
    found, where = each.first(names)
    value = _value(found)
    messages = value if isinstance(value, list) else [] if value is None else [value]
    flat = [message.get("message", message) if isinstance(message, dict) else message for message in messages]
    return flat, where


def _table(value: Any) -> Any:
    """A tool table out of its attribute; OpenInference has one text for each tool."""
    value = _value(value)
    if not isinstance(value, list):
        return value
    tools = []
    for each in value:
        tool: Any = _value(each)
        if isinstance(tool, dict) and isinstance(tool.get("tool"), dict) and "json_schema" in tool["tool"]:
            tool = _value(tool["tool"]["json_schema"])
        if isinstance(tool, dict) and isinstance(tool.get("parameters"), str):
            tool = {**tool, "parameters": _value(tool["parameters"])}
        tools.append(tool)
    return tools


def _encoded(value: Any) -> bytes:
    try:
        return msgspec.json.encode(value)
    except (TypeError, ValueError, RecursionError):
        return b"null"


def _text(value: Any) -> tuple[str | None, str]:
    """Arguments or an output, and the container it stood in."""
    if value is None:
        return None, "absent"
    if isinstance(value, str):
        return value, "text"
    kinds = {dict: "object", list: "array", bool: "boolean"}
    return _encoded(value).decode(), kinds.get(type(value), "number")


def _words(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "\n".join(filter(None, map(_words, value)))
    if isinstance(value, dict):
        return _words(value.get("content", value.get("text", "")))
    return ""


def _said(raw: bytes) -> Said:
    """What one message says, in parts as the conventions have them, or flattened."""
    message: Any = held(_json, raw, None)[0]
    if not isinstance(message, dict):
        return Said(text=message if isinstance(message, str) else None)
    said = Said(_string(message.get("role")))
    texts: list[str] = []
    for part in _members(message.get("parts")):
        if part.get("type") == "tool_call":
            said.calls = [*said.calls, _call(part)]
        elif part.get("type") == "tool_call_response":
            output = part.get("response", part.get("result"))
            text, container = _text(output)
            said.results = [*said.results, Result(_string(part.get("id")), _string(part.get("name")), text, container)]
        elif part.get("type") == "text" and isinstance(part.get("content"), str):
            texts.append(part["content"])
    if isinstance(message.get("content"), str):
        texts.append(message["content"])
    texts += [_words(each.get("message_content")) for each in _members(message.get("contents"))]
    for each in _members(message.get("tool_calls")):
        inner = each.get("tool_call", each)
        function = inner.get("function") if isinstance(inner, dict) else None
        if isinstance(inner, dict):
            said.calls = [*said.calls, _call({**inner, **function} if isinstance(function, dict) else inner)]
    if said.role == "tool" and not said.results:
        text = "\n".join(texts) if texts else None
        name = _string(message.get("name"))
        said.results = [Result(_string(message.get("tool_call_id")), name, text, "text" if texts else "absent")]
        texts = []
    said.text = "\n".join(texts) if texts else None
    return said


def _call(part: dict[str, Any]) -> Call:
    text, container = _text(part.get("arguments"))
    return Call(_string(part.get("id")), _string(part.get("name")), text, container)


def _members(value: Any) -> list[dict[str, Any]]:
    """The elements of a list, or of one whose indexes are names."""
    if isinstance(value, dict):
        value = [value[name] for name in sorted((name for name in value if name.isdigit()), key=int)]
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _string(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None
