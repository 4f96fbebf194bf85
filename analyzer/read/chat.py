"""Chat completions: requests and responses, exchanges, streams, lists of messages, and trajectory files made of them.

Every request resends the whole conversation: what was sent before is passed over, what comes back changed is a copy of
the call or result it shows. In a list of messages (a training row, a trajectory) the calls are the model's own. A call
that only the provider saw and refused (`failed_generation`) is read out of the error's text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, ClassVar

import msgspec

from analyzer.frames import PART_BITS
from analyzer.read.dialogue import Ask, Call, Dialogue, Result, Said
from analyzer.read.members import held, listed, opened
from analyzer.read.openai.cursor import Place
from analyzer.read.openai.exchange import Body, exchange_of, unread
from analyzer.read.records import Block
from analyzer.read.recover import Fault
from analyzer.read.rows import Rows, event_number
from analyzer.read.values import ABSENT, Raw, arguments, first, text_of

_REFUSED = 400
_LISTS = {"traj": "/traj", "messages": "/messages", "history": "/history"}
_PARTS = frozenset({"text", "image_url", "input_audio", "file", "refusal", "image", "audio", "thinking", "reference"})
_OTHERS = (
    b'"tool_use"',
    b'"tool_result"',
    b'"input_schema"',
    b'"toolUse"',
    b'"toolResult"',
    b'"inputSchema"',
    b'"tool-call"',
    b'"tool-result"',
)
_NAMED = re.compile(r"<function=(\w[\w.-]*)[^{<]*(\{.*)", re.DOTALL)
_ROLES = frozenset({"system", "developer", "user", "assistant", "tool", "function"})


class Function(msgspec.Struct, gc=False):
    """The function of a call."""

    name: str | None = None
    arguments: Raw = ABSENT


class Custom(msgspec.Struct, gc=False):
    """The free text of a call."""

    name: str | None = None
    input: str | None = None


class ToolCall(msgspec.Struct, gc=False):
    """An entry of `tool_calls`, whole or a piece of one; tau2 has name and arguments outside."""

    id: str | None = None
    function: Function | None = None
    custom: Custom | None = None
    index: int | None = None
    name: str | None = None
    arguments: Raw = ABSENT


class Message(msgspec.Struct, gc=False):
    """A message, or the delta of one."""

    role: str | None = None
    content: Raw = ABSENT
    tool_calls: Raw = ABSENT
    function_call: Raw = ABSENT
    tool_call_id: str | None = None
    tool_call_ids: list[str] | None = None
    name: str | None = None
    refusal: str | None = None
    id: str | None = None
    error: Raw = ABSENT
    requestor: str | None = None


class Choice(msgspec.Struct, gc=False):
    """One of the alternatives of a response."""

    message: Raw = ABSENT
    delta: Raw = ABSENT
    finish_reason: str | None = None
    index: int | None = None


class Failure(msgspec.Struct, gc=False):
    """The provider's error."""

    code: Raw = ABSENT
    failed_generation: str | None = None


class Record(msgspec.Struct, gc=False):
    """Everything that one record may be."""

    object: str | None = None
    id: Raw = ABSENT
    model: Raw = ABSENT
    choices: Raw = ABSENT
    messages: Raw = ABSENT
    traj: Raw = ABSENT
    history: Raw = ABSENT
    trajectory: Raw = ABSENT
    simulations: Raw = ABSENT
    tools: Raw = ABSENT
    functions: Raw = ABSENT
    parallel_tool_calls: bool | None = None
    response_format: Raw = ABSENT
    error: Raw = ABSENT
    role: str | None = None
    task_id: Raw = ABSENT
    trial: Raw = ABSENT
    session_id: str | None = None
    conversation_id: str | None = None
    http: Raw = ABSENT
    request: Raw = ABSENT
    response: Raw = ABSENT
    response_raw: Raw = ABSENT
    body: Raw = ABSENT
    event: Raw = ABSENT
    data: Raw = ABSENT
    message: Raw = ABSENT
    recorded_at: str | float | None = None
    timestamp: str | float | None = None


_record = msgspec.json.Decoder(Record).decode
_message = msgspec.json.Decoder(Message).decode
_calls = msgspec.json.Decoder(list[ToolCall]).decode
_call = msgspec.json.Decoder(ToolCall).decode
_function = msgspec.json.Decoder(Function).decode
_choices = msgspec.json.Decoder(list[Choice]).decode
_failure = msgspec.json.Decoder(Failure).decode
_raws = msgspec.json.Decoder(list[Raw]).decode


class _Open(msgspec.Struct):
    """A call that comes in pieces."""

    id: str | None = None
    name: str = ""
    pieces: list[str] = []


class _Stream(msgspec.Struct):
    """A reply that comes in pieces."""

    id: str
    place: Place
    calls: dict[int, _Open] = {}
    texts: list[str] = []
    stop: str | None = None


class OpenAIChat:
    """The adapter; see `analyzer.read.adapter.Adapter`."""

    name: ClassVar[str] = "openai-chat"
    title: ClassVar[str] = "Chat completions: bodies, exchanges, streams, message lists, tau-bench, tau2, SWE-agent"
    known_by: ClassVar[str] = (
        "bodies of object `chat.completion`, `chat.completion.chunk`; `messages` with `tool_calls`, role `tool` or "
        "tools that hold a `function`; exchanges under /chat/completions; lists named `traj`, `history`, `simulations`"
    )
    loses: ClassVar[tuple[str, ...]] = (
        "Nothing names a session: requests are joined by the messages and the call ids that they resend.",
        "A result has no flag: whether the tool succeeded can only be guessed from its words.",
        "Output schemas are not on this wire: give them as contract files.",
        "Lists of messages and trajectories mostly hold no tool table: give it with --contracts.",
        "What a result answered is known only when a later request was recorded.",
        "Some agents cut what the model said before they log it (all but the first of parallel calls).",
    )

    def __init__(self, source: int, rows: Rows) -> None:
        self._source = source
        self._rows = rows
        self._dialogue = Dialogue(self.name, rows, _said)
        self._stream: _Stream | None = None

    @staticmethod
    def sniff(records: Sequence[Any], path: str) -> float:
        """How many of the records are of this wire, and how surely."""
        del path
        return sum(map(_knows, records)) / len(records) if records else 0.0

    def close(self) -> None:
        """A stream that breaks off."""
        self._end()

    def read(self, block: Block) -> list[int]:
        """Append the rows of the block; see `Adapter.read`."""
        self._dialogue.trim()
        others: list[int] = []
        base = event_number(self._source, block.first)
        for index, raw in enumerate(block.raw):
            event = base + (index << PART_BITS)
            pointer = "" if block.pointer is None else block.pointer[index]
            place = Place(event, block.offset[index], block.length[index], block.line[index], pointer)
            record, text, faults = opened(raw, _record, _knows, utf8=block.utf8)
            if record is None or not self._take(record, text, place, top=True):
                others.append(index)
                continue
            self._rows.faults += [(event, None, *fault) for fault in faults]
        return others

    # --- what a record holds ----------------------------------------------------------------------------------------

    def _take(self, record: Record, raw: bytes, place: Place, *, top: bool) -> bool:
        if first(record.choices) == b"[":
            self._choices(record, place)
            return True
        if any(first(each) == b"[" for each in (record.messages, record.traj, record.simulations, record.history)):
            return self._asked(record, place)
        if first(record.error) == b"{" and record.role is None:
            self._failed(record, place)
            return True
        if any(first(each) == b"{" for each in (record.http, record.request)) or record.body:
            return self._exchange(raw, place)
        if top and record.role in _ROLES and (record.object is None or record.object == "message"):
            self._alone(raw, place)
            return True
        for member in ("event", "data", "message") if top else ():
            inner: Raw = getattr(record, member)
            if first(inner) == b"{":
                when = record.recorded_at if record.recorded_at is not None else record.timestamp
                found, text, faults = opened(bytes(inner), _record, _knows, utf8=True)
                inside = msgspec.structs.replace(place, pointer=f"{place.pointer}/{member}", when=when)
                if found is not None and self._take(found, text, inside, top=False):
                    self._rows.faults += [(place.event, None, *fault) for fault in faults]
                    return True
        return False

    def _asked(self, record: Record, place: Place, *, exchanged: bool = False) -> bool:
        """A request, a list of messages, or a file of several lists."""
        self._end()
        if first(record.simulations) == b"[":
            for index, raw in enumerate(listed(record.simulations)):
                one = held(_record, raw, Record())[0]
                ask = Ask(listed(one.messages), f"/simulations/{index}/messages", text_of(one.id), own=True)
                self._dialogue.ask(ask, place, wire="tau2-bench")
            self._dialogue.move(place)
            if self._dialogue.cursor.next == place.event:
                self._dialogue.cursor.event("simulations", "notice", None)
            return True
        name = next(name for name in _LISTS if first(getattr(record, name)) == b"[")
        listing = bytes(getattr(record, name))
        session = record.session_id or record.conversation_id
        if name == "traj" and record.task_id and session is None:
            trial = bytes(record.trial).decode() or "0"
            session = f"task {bytes(record.task_id).decode()[:80]} trial {trial[:80]}"
            session = self._dialogue.name(session)
        tools, tools_to = (record.tools, "/tools") if record.tools else (record.functions, "/functions")
        own = not exchanged and (name != "messages" or not record.model)
        ask = Ask([], _LISTS[name], session, own=own, tools=bytes(tools), tools_to=tools_to, listing=listing)
        if not own:
            ask.model = text_of(record.model)
            ask.parallel = record.parallel_tool_calls
            ask.text_format = bytes(record.response_format).decode() or None
        self._dialogue.ask(ask, place, wire=_wire(listing) if own else None)
        return True

    def _alone(self, raw: bytes, place: Place) -> None:
        """One message of a list that has a record for each."""
        self._end()
        self._dialogue.append(raw, place)

    def _failed(self, record: Record, place: Place) -> None:
        """An error in the place of a response, with the call that the provider refused where it shows it."""
        self._end()
        failure = held(_failure, record.error, Failure())[0]
        event = self._dialogue.fail(place)
        if failure.failed_generation is not None and self._dialogue.session is not None:
            to = "" if place.opaque else "/error/failed_generation"
            for index, call in enumerate(_refused(failure.failed_generation)):
                self._dialogue.refused(call, event, index, to)

    def _exchange(self, raw: bytes, place: Place) -> bool:
        """A request and its response, recorded together."""
        try:
            exchange = exchange_of(raw)
        except msgspec.DecodeError:
            return False
        if exchange is None or (exchange.url and not _is_url(exchange.url)):
            return False
        request, response = exchange.request, exchange.response
        place = msgspec.structs.replace(place, when=exchange.when if exchange.when is not None else place.when)
        asked = None
        if request is not None and not request.stream:
            asked = opened(request.frames[0], _record, _knows, utf8=False)[0]
            if asked is not None and first(asked.messages) != b"[":
                asked = None
        if asked is None and not exchange.url:
            return False
        self._rows.faults += [(place.event, None, *fault) for fault in unread(exchange.request, exchange.response)]
        self._end()
        self._dialogue.forget()
        before = self._dialogue.cursor.next
        if asked is not None and request is not None:
            self._asked(asked, _of(place, request), exchanged=True)
        refused = exchange.status is not None and exchange.status >= _REFUSED
        for frame in response.frames if response is not None else ():
            assert response is not None
            found, text, _ = opened(frame, _record, _knows, utf8=False)
            if found is not None and (not refused or first(found.error) == b"{"):
                self._take(found, text, _of(place, response), top=False)
        self._end()
        if asked is None and self._dialogue.cursor.next == before:
            self._dialogue.move(place)
            self._dialogue.cursor.event("request", "request", None)
        return True

    # --- responses --------------------------------------------------------------------------------------------------

    def _choices(self, record: Record, place: Place) -> None:
        """A response body, or a piece of a streamed one."""
        choices, faults = held(_choices, record.choices, list[Choice]())
        name = text_of(record.id)
        if record.object == "chat.completion.chunk" or any(choice.delta and not choice.message for choice in choices):
            self._piece(choices, name or "", record, place)
            return
        self._end()
        for index, choice in enumerate(choices):
            said = _said(bytes(choice.message)) if choice.message else Said()
            reply = name if index == 0 else f"{name or place.event}#{index}"
            event = self._dialogue.answer(
                said,
                place,
                native=record.object or "chat.completion",
                to=f"/choices/{index}/message",
                reply=reply,
                stop=choice.finish_reason,
            )
            if index == 0:
                self._rows.faults += [(event, None, *fault) for fault in faults]
        if not choices:
            self._dialogue.move(place)
            event, _ = self._dialogue.cursor.event(record.object or "choices", "notice", self._dialogue.session)
            self._rows.faults += [(event, None, *fault) for fault in faults]

    def _piece(self, choices: list[Choice], name: str, record: Record, place: Place) -> None:
        stream = self._stream
        if stream is None or (name and stream.id and stream.id != name):
            self._end()
            stream = self._stream = _Stream(name, place)
        if not place.opaque:
            self._dialogue.move(place)
            self._dialogue.cursor.event(record.object or "chunk", "delta", self._dialogue.session)
        stream.place = place
        for choice in choices:
            if choice.index not in (None, 0):
                continue
            delta = held(_message, choice.delta, Message())[0]
            text = text_of(delta.content) if first(delta.content) == b'"' else None
            stream.texts += [text] if text else []
            pieces = held(_calls, delta.tool_calls, list[ToolCall]())[0]
            for position, each in enumerate(pieces):
                _add(stream.calls, each, each.index if each.index is not None else position)
            if delta.function_call:
                function = held(_function, delta.function_call, Function())[0]
                _add(stream.calls, ToolCall(function=function), -1)
            stream.stop = choice.finish_reason or stream.stop
        if first(record.error) == b"{":
            self._failed(record, place)

    def _end(self) -> None:
        """The streamed reply is whole, or it breaks off."""
        stream, self._stream = self._stream, None
        if stream is None:
            return
        cut = "in_progress" if stream.stop is None else "incomplete" if stream.stop == "length" else None
        last = max(stream.calls, default=0)
        calls = [
            Call(each.id, each.name, "".join(each.pieces), "text", status=cut if index == last else None)
            for index, each in sorted(stream.calls.items())
            if each.id or each.name or each.pieces
        ]
        said = Said("assistant", "".join(stream.texts) or None, calls=calls)
        place = msgspec.structs.replace(stream.place, opaque=True)
        self._dialogue.answer(
            said, place, native="chat.completion.chunk", reply=stream.id or None, stop=stream.stop, stage="stream"
        )


def _add(calls: dict[int, _Open], piece: ToolCall, index: int) -> None:
    """Put a piece to its call; some hosts begin every call with index 0."""
    opened_ = calls.get(index)
    if opened_ is not None and piece.id and opened_.id and piece.id != opened_.id:
        index = next((place for place, each in calls.items() if each.id == piece.id), max(calls) + 1)
        opened_ = calls.get(index)
    if opened_ is None:
        opened_ = calls[index] = _Open()
    opened_.id = opened_.id or piece.id
    function = piece.function or Function()
    opened_.name = opened_.name or function.name or ""
    text = text_of(function.arguments)
    opened_.pieces += [text] if text else []


def _said(raw: bytes) -> Said:
    """What one message says."""
    message, faults = held(_message, raw, Message())
    said = Said(message.role, faults=faults)
    if message.role in ("tool", "function"):
        ids: Sequence[str | None] = message.tool_call_ids or [message.tool_call_id]
        if message.tool_call_id is None and message.tool_call_ids is None and message.role == "tool":
            ids = [message.id]  # tau2 names a result by the id of its call
        text, container = _content(message.content)
        failed = bytes(message.error) == b"true"
        success = False if failed else None
        said.results = [Result(each, message.name, text, container, "/content", success) for each in ids]
        return said
    text, _ = _content(message.content)
    said.text, said.to = text if text is not None else message.refusal, "/content" if message.content else ""
    if first(message.tool_calls) == b"[":
        entries, more = _entries(message.tool_calls)
        said.faults = [*said.faults, *more]
        for index, entry in enumerate(entries):
            to = f"/tool_calls/{index}"
            call = _called(entry, to)
            if not call.name and not call.call_id and not call.text:
                detail = "an entry without id, name and arguments"
                said.faults = [*said.faults, Fault("member_missing", to, detail)]
                continue
            call.owed_by = "unknown" if message.requestor == "user" else "client"
            said.calls = [*said.calls, call]
    elif message.tool_calls and bytes(message.tool_calls) != b"null":
        said.faults = [*said.faults, Fault("member_type", "/tool_calls", "no list")]
    if first(message.function_call) == b"{":
        function = held(_function, message.function_call, Function())[0]
        text, container = arguments(function.arguments)
        said.calls = [*said.calls, Call(None, function.name, text, container, "/function_call/arguments")]
    return said


def _entries(raw: Raw) -> tuple[list[ToolCall], list[Fault]]:
    try:
        return _calls(raw), []
    except (msgspec.DecodeError, RecursionError):
        pass
    entries, faults = [], []
    for index, each in enumerate(_raws(raw)):
        entry, more = held(_call, each, ToolCall())
        entries.append(entry)
        faults += [Fault(fault, f"/tool_calls/{index}{where}", detail) for fault, where, detail, _ in more]
    return entries, faults


def _called(entry: ToolCall, to: str) -> Call:
    if entry.custom is not None:
        return Call(entry.id, entry.custom.name, entry.custom.input, "free", f"{to}/custom/input", "custom")
    if entry.function is not None:
        text, container = arguments(entry.function.arguments)
        where = f"{to}/function/arguments" if entry.function.arguments else to
        return Call(entry.id, entry.function.name, text, container, where)
    text, container = arguments(entry.arguments)
    return Call(entry.id, entry.name, text, container, f"{to}/arguments" if entry.arguments else to)


def _content(raw: Raw) -> tuple[str | None, str]:
    """The text of a content, and the container it stood in; known parts come back as their joined texts."""
    kind = first(raw)
    if kind == b'"':
        return text_of(raw), "text"
    if kind == b"[":
        parts = msgspec.json.decode(raw)
        if all(isinstance(part, dict) and part.get("type") in _PARTS for part in parts):
            return "\n".join(str(part["text"]) for part in parts if isinstance(part.get("text"), str)), "parts"
    text, container = arguments(raw)
    return (None, "null") if container == "null" else (text, container)


def _refused(text: str) -> list[Call]:
    """The calls in a text that the provider could not take for calls."""
    try:
        value = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
        match = _NAMED.search(text)
        if match is None:
            return []
        body = match[2].partition("</function>")[0]
        return [Call(None, match[1], body, "text", owed_by="nobody")]
    calls = []
    for each in value if isinstance(value, list) else [value]:
        if isinstance(each, dict) and isinstance(each.get("name"), str):
            inner = each.get("arguments", each.get("parameters"))
            body = inner if isinstance(inner, str) else msgspec.json.encode(inner).decode()
            calls.append(Call(None, each["name"], body, "text", owed_by="nobody"))
    return calls


def _of(place: Place, body: Body) -> Place:
    return msgspec.structs.replace(place, pointer=place.pointer + body.pointer, opaque=body.opaque)


def _is_url(url: str) -> bool:
    return url.partition("?")[0].rstrip("/").endswith("/chat/completions")


def _wire(listing: bytes) -> str | None:
    """tau2 carries arguments as objects: what holds for this wire does not hold for it."""
    return "tau2-bench" if b'"requestor"' in listing else None


def _is_message(value: Any) -> float:
    if not isinstance(value, dict) or not isinstance(value.get("role"), str) or value["role"] not in _ROLES:
        return 0.0
    if any(name in value for name in ("tool_calls", "tool_call_id", "function_call", "tool_call_ids")):
        return 0.9
    return 0.1 if "content" in value and "type" not in value else 0.0


def _knows(record: Any) -> float:
    """How surely a parsed record is of this wire."""
    if not isinstance(record, dict):
        return 0.0
    if record.get("object") in ("chat.completion", "chat.completion.chunk"):
        return 1.0
    if isinstance(record.get("choices"), list):
        held_ = [each for each in record["choices"] if isinstance(each, dict)]
        return 0.9 if any("message" in each or "delta" in each for each in held_) else 0.0
    if isinstance(record.get("simulations"), list):
        return 0.9
    for name in _LISTS:
        if isinstance(record.get(name), list):
            return _knows_list(record, record[name], name)
    if isinstance(record.get("error"), dict) and "type" not in record and "id" not in record:
        return 0.2 if "jsonrpc" not in record else 0.0
    if "role" in record:
        return _is_message(record)
    return max(
        _knows_exchange(record),
        *(_knows(record[name]) for name in ("event", "data", "message") if isinstance(record.get(name), dict)),
        0.0,
    )


def _knows_list(record: dict[str, Any], messages: list[Any], name: str) -> float:
    if name == "history" and "trajectory" not in record:
        return 0.0
    try:
        text = msgspec.json.encode([messages[:64], record.get("tools")])
    except (TypeError, ValueError, RecursionError, UnicodeEncodeError):
        text = b""
    if any(mark in text for mark in _OTHERS) or {"toolConfig", "system", "anthropic_version"} & record.keys():
        return 0.0
    if b'"function"' in text or b'"tool_calls"' in text or b'"tool_call_id"' in text or "functions" in record:
        return 0.95
    return 0.6 if all(map(_is_message, messages)) else 0.0


def _knows_exchange(record: dict[str, Any]) -> float:
    for half in (record.get("http"), record.get("request"), record):
        if not isinstance(half, dict):
            continue
        url = next((half[name] for name in ("url", "uri", "path") if isinstance(half.get(name), str)), "")
        if url:
            return float(_is_url(url))
        body = half.get("body") if half is not record else None
        for each in (half if half is not record else None, body):
            if isinstance(each, dict) and "messages" in each and "model" in each and (sure := _knows(each)):
                return sure
    return 0.0
