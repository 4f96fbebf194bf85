"""MCP JSON-RPC: messages of a connection, bare, in recorder envelopes, in batches or as recorded HTTP exchanges.

Both eras: with `initialize` and a connection, and from 2026-07-28 without. The wire is the Model Context Protocol's.
"""

from __future__ import annotations

from typing import ClassVar

import msgspec
from msgspec.structs import replace

from analyzer.frames import PART_BITS, PART_LIMIT
from analyzer.read.adapter import Adapter
from analyzer.read.decoding import Decoding
from analyzer.read.openai.exchange import exchange_in, unread
from analyzer.read.records import Block
from analyzer.read.recover import Fault, Unreadable, parse, typed
from analyzer.read.rows import Rows, event_number
from analyzer.read.rpc.connections import NO_LABEL, At, Call, Connection, Place, resumed
from analyzer.read.rpc.messages import (
    CALL,
    ENVELOPES,
    Line,
    Message,
    Params,
    Result,
    answers_client,
    decode_half,
    decode_line,
    decode_list,
    header,
    knows,
    output_of,
    when_of,
)
from analyzer.read.rpc.plain import Plain
from analyzer.read.values import Raw, arguments, first, text_of

_LIST, _INITIALIZE, _DISCOVER = "tools/list", "initialize", "server/discover"
_CANCELLED, _TASK_RESULT = "notifications/cancelled", "tasks/result"
_FROM_SERVER = frozenset({"roots/list", "sampling/createMessage", "elicitation/create"})
_KINDS = {
    **dict.fromkeys((CALL, _CANCELLED), "item"),
    **dict.fromkeys((_INITIALIZE, _DISCOVER), "session"),
    **dict.fromkeys((_LIST, "resources/list", "resources/templates/list", "prompts/list", "roots/list"), "request"),
    **dict.fromkeys(("resources/read", "prompts/get", "completion/complete", "logging/setLevel"), "request"),
    **dict.fromkeys(("resources/subscribe", "resources/unsubscribe", "subscriptions/listen"), "request"),
    **dict.fromkeys(("sampling/createMessage", "elicitation/create"), "request"),
    **dict.fromkeys((f"tasks/{word}" for word in ("get", "result", "list", "cancel", "update")), "request"),
    "ping": "notice",
}


_NO_PARAMS = Params()


class Mcp(Adapter):
    """The adapter; see `analyzer.read.adapter.Adapter`."""

    name: ClassVar[str] = "mcp-jsonrpc"
    title: ClassVar[str] = "MCP JSON-RPC messages: stdio logs, Streamable HTTP and SSE"
    known_by: ClassVar[str] = (
        "a `jsonrpc` member beside a method, a result or an error; bare, under `msg`, `message`, `payload`, `frame` or "
        "`data` of an envelope, in batches, or as the bodies of recorded exchanges"
    )
    loses: ClassVar[tuple[str, ...]] = (
        "What the model wrote is not on this wire: only what the client asked the server to run.",
        "A notice that tools changed says nothing of what changed: the new list counts from when it was read.",
        "Bare messages do not say their direction: answers are told from the requests before them.",
        "Nothing names the session of a connection over stdio: each one is numbered.",
    )

    def __init__(self, source: int, rows: Rows) -> None:
        self._source = source
        self._records = Decoding(source, rows, decode_line, knows)
        self._rows = rows
        self._connections: dict[str, Connection] = {}
        self._by_name: dict[bytes, Connection] = {}  # by the server as the envelope writes it
        self._plain = Plain(self.name, rows, self._by_name)
        self._count = 0
        self._client_word: str | None = None  # what the recorder calls the direction from the client
        self._server_word: str | None = None
        self._event_number = 0

    knows = staticmethod(knows)

    def close(self) -> None:
        """Name the listings whose last pages were not read."""
        for connection in self._connections.values():
            self._unfinished(connection)

    def read(self, block: Block) -> list[int]:
        """Append the rows of the block; see `Adapter.read`."""
        others: list[int] = []
        base = self._rows.base = event_number(self._source, block.first)
        event, usual = base - (1 << PART_BITS), self._plain.take
        for index, record in enumerate(self._records.each(block, decode_line)):
            event += 1 << PART_BITS
            pointer = "" if block.pointer is None else block.pointer[index]
            if record is not None and usual(record, event, pointer):
                continue
            raw = block.raw[index]
            self._event_number = event
            try:
                taken = self._carefully(event, raw, pointer) if record is None else self._take(record, raw, pointer)
            except (msgspec.DecodeError, RecursionError):
                taken = self._carefully(event, raw, pointer)
            if not taken:
                others.append(index)
        self._rows.place(block.offset, block.length, block.line)
        return others

    def _carefully(self, event: int, raw: bytes, pointer: str) -> bool:
        """A record that the fast decoder refused, or whose members did not hold what they should."""
        self._rows.undo(event)
        self._event_number = event
        found = _cleaned(raw)
        if found is None:
            return False
        record, text, faults = found
        try:
            taken = self._body(Raw(text), Place(pointer)) if record is None else self._take(record, text, pointer)
        except (msgspec.DecodeError, RecursionError):
            self._rows.undo(event)
            return False
        if taken:
            self._rows.faults += [(event, None, *fault) for fault in faults]
        return taken

    # --- what a record holds ----------------------------------------------------------------------------------------

    def _take(self, record: Line, raw: bytes, pointer: str) -> bool:
        """A message, an envelope or an exchange; false where it is of another wire."""
        if record.jsonrpc is not None and (record.method is not None or record.id or record.error or record.result):
            return self._message(record, Place(pointer))
        server = text_of(record.server) if first(record.server) == b'"' else None
        about = (when_of(record), server, None, record.dir or record.direction)
        if record.msg is not None and record.msg.jsonrpc is not None:
            return self._message(record.msg, Place(pointer + "/msg", *about))
        if first(record.http) == b"{" or first(record.request) == b"{":
            return self._exchange(record, raw, Place(pointer, *about))
        for name in ENVELOPES[1:]:
            inner: Raw = getattr(record, name)
            if first(inner) in (b"{", b"[", b'"'):
                return self._body(inner, Place(f"{pointer}/{name}", *about))
        return False

    def _exchange(self, record: Line, raw: bytes, place: Place) -> bool:
        """A recorded request and what came back: one answer, or a stream of messages."""
        try:
            exchange = exchange_in(raw)
            halves = [
                decode_half(half) for half in (record.http, record.request, record.response) if first(half) == b"{"
            ]
        except msgspec.DecodeError:
            return False
        if exchange is None:
            return False
        named = [session for half in halves if (session := header(half.headers, "mcp-session-id")) is not None]
        when = place.when if place.when is not None else exchange.when
        place = replace(place, session=named[0] if named else None, when=when)
        taken, first_event = [], self._event_number
        for body in (exchange.request, exchange.response):
            if body is not None:
                inside = replace(place, pointer=place.pointer + body.pointer, opaque=body.opaque)
                taken += [self._body(Raw(frame), inside) for frame in body.frames]
        if any(taken):
            cut = unread(exchange.request, exchange.response)
            self._rows.faults += [(first_event, place.session, *fault) for fault in cut]
        return any(taken)

    def _body(self, raw: Raw, place: Place) -> bool:
        """What an envelope or an exchange holds: a message, a batch, or the text of either."""
        if first(raw) == b'"':
            text = (text_of(raw) or "").lstrip()
            return text[:1] in ("{", "[") and self._body(Raw(text.encode()), replace(place, opaque=True))
        if first(raw) == b"[":
            try:
                return self._batch([bytes(each) for each in decode_list(raw)], place)
            except msgspec.DecodeError:
                return False
        found = self._records.opened(bytes(raw)) if first(raw) == b"{" else None
        if found is None or found.record.jsonrpc is None:
            return False
        record, _, faults = found
        event = self._event_number
        taken = self._message(record, place)
        self._rows.faults += [(event, None, *fault) for fault in faults]
        return taken

    def _batch(self, raws: list[bytes], place: Place) -> bool:
        taken = False
        for index, raw in enumerate(raws):
            step = place.pointer if place.opaque else f"{place.pointer}/{index}"
            taken |= first(raw) == b"{" and self._body(Raw(raw), replace(place, pointer=step))
        return taken

    # --- messages ---------------------------------------------------------------------------------------------------

    def _message(self, message: Message, place: Place) -> bool:
        method = message.method
        connection = self._connection(place, method)
        toward, identity = place.toward, bytes(message.id).decode()
        if method is not None:
            if toward is not None and (method in (CALL, _LIST, _INITIALIZE) or method in _FROM_SERVER):
                self._learn(toward, from_server=method in _FROM_SERVER)
            at = self._event(method, _KINDS.get(method) or _other_kind(method), connection, place)
            self._faults(message, identity, at)
            self._asked(message, method, identity, at)
            return True
        failed = bool(message.error) and bytes(message.error) != b"null"
        call, asked = self._question(message, identity, connection, place)
        kind = "notice" if asked is None else _KINDS.get(asked, "notice")
        at = self._event("error" if failed else "result", kind, connection, place)
        self._faults(message, identity, at)
        result = message.result
        if asked == CALL:
            self._answer(message, call, identity, at)
        elif result is not None and not failed:
            if result.server is not None and result.server.name is not None and connection.label is None:
                connection.label = result.server.name
            if asked == _LIST and first(result.tools) == b"[":
                self._listing(result, at)
        return True

    def _asked(self, message: Message, method: str, identity: str, at: At) -> None:
        """A request or a notification."""
        connection, place = at.connection, at.place
        params = message.params or _NO_PARAMS
        if method == _CANCELLED:
            call = connection.calls.get(bytes(params.request_id).decode())
            if call is not None:
                self._sighting(call, "item", "cancelled", at, "/params/requestId")
        elif not identity or identity == "null":
            return
        elif method == CALL:
            self._call(params, identity, at)
        elif method in _FROM_SERVER or (place.toward is not None and place.toward == self._server_word):
            connection.asked_back.add(identity)
        elif method == _TASK_RESULT and params.task_id in connection.tasks:
            connection.calls[identity] = connection.tasks[params.task_id]
        else:
            connection.asked[identity] = (method, params.cursor is None)
            if method == _LIST and params.cursor is None:
                self._unfinished(connection)

    def _question(
        self, message: Message, identity: str, connection: Connection, place: Place
    ) -> tuple[Call | None, str | None]:
        """The call that a response answers, and the method of its request; a lost request is told from the answer."""
        result = message.result
        ours = place.toward is not None and place.toward == self._client_word
        if ours or (place.toward is None and identity in connection.asked_back and not answers_client(result)):
            connection.asked_back.discard(identity)
            return None, None
        call = connection.calls.pop(identity, None)
        if call is not None:
            return call, CALL
        asked = connection.asked.pop(identity, None)
        if asked is not None:
            if asked[1] and asked[0] == _LIST:
                connection.pages.clear()
            return None, asked[0]
        if identity in connection.asked_back and place.toward is None:
            connection.asked_back.discard(identity)
            return None, None
        if result is not None and result.tools:
            return None, _LIST
        lost = identity not in ("", "null") and (
            (result is None and bool(message.error))
            or (result is not None and (first(result.content) == b"[" or bool(result.structured)))
        )
        return None, CALL if lost else None

    def _call(self, params: Params, identity: str, at: At) -> None:
        connection = at.connection
        text, container = arguments(params.arguments)
        stage, call = "item", None
        if connection.waiting and (params.request_state or params.input_responses):
            call = resumed(connection, params, text)
            stage = "history" if call is not None else stage
        if call is None:
            call_id = text_of(message_id) if first(message_id := Raw(identity.encode())) == b'"' else identity
            call = Call(f"#{at.event}", call_id or "", identity, params.name, text, container)
        connection.calls[identity] = call
        connection.label = connection.label or NO_LABEL
        where = "/params/arguments" if params.arguments else "/params" if params.name is not None else ""
        self._sighting(call, stage, None, at, where)

    def _sighting(self, call: Call, stage: str, status: str | None, at: At, pointer: str) -> None:
        self._rows.call_sightings.append(
            (
                *(at.event, at.connection.session, None, self.name, stage, None, call.emission, call.call_id),
                *(call.pair_id, "mcp", at.connection.label, call.name, call.text, call.container, status),
                *("client", None, at.to(pointer)),
            )
        )

    def _answer(self, message: Message, call: Call | None, identity: str, at: At) -> None:
        """The response to a call; one that asks for input, or that promises a result for later, answers nothing yet."""
        result = message.result
        if call is not None and result is not None:
            if result.result_type == "input_required":
                at.connection.waiting.append((bytes(result.request_state), call))
                return
            if result.task is not None and result.task.task_id is not None and not result.content:
                at.connection.tasks[result.task.task_id] = call
                return
        text, container, structured, where = None, "absent", None, "/result"
        if result is not None:
            text, container = output_of(result.content)
            structured = bytes(result.structured).decode() or None
            if result.content or structured is not None:
                where = "/result/content" if result.content else "/result/structuredContent"
        error = text_of(message.error)
        if error is not None:
            where = "/error"
        failed = error is not None or (result is not None and result.is_error is True)
        if call is None:
            call_id = text_of(Raw(identity.encode())) if identity[:1] == '"' else identity
            pair_id = identity
        else:
            call_id, pair_id = call.call_id, call.pair_id
        self._rows.result_sightings.append(
            (
                *(at.event, at.connection.session, None, self.name, "message", None, call_id, pair_id, None),
                *(not failed, None, error, text, container, structured, None, None, at.to(where)),
            )
        )

    def _listing(self, result: Result, at: At) -> None:
        """A page of tools. What is no longer listed is gone when the last page is read, and not before."""
        text, connection = bytes(result.tools), at.connection
        connection.label = label = connection.label or NO_LABEL
        first_page, last_page = not connection.pages, result.next_cursor is None
        pointer = at.to("/result/tools")
        if not (first_page and last_page):
            table = self._rows.table(text, "mcp", label)
            self._rows.showings.append((at.event, connection.session, "listing", "add", table, pointer))
            # The last page comes first, so that its pointers lead where it stands.
            connection.pages.insert(0, text)
            connection.page = at.event
            if not last_page:
                return
            text = b"[" + b",".join(page.strip()[1:-1] for page in connection.pages if len(page.strip()) > 2) + b"]"
            connection.pages.clear()
        table = self._rows.table(text, "mcp", label)
        self._rows.showings.append((at.event, connection.session, "listing", f"server:{label}", table, pointer))

    def _unfinished(self, connection: Connection) -> None:
        if connection.pages:
            detail = "the list of tools has more pages, and they were not read"
            self._rows.faults.append((connection.page, connection.session, "more_pages", "", detail, None))
            connection.pages.clear()

    # --- connections and events -------------------------------------------------------------------------------------

    def _connection(self, place: Place, method: str | None) -> Connection:
        key = place.session or place.server or ""
        connection = self._connections.get(key)
        if connection is None or (method == _INITIALIZE and connection.begun):
            if connection is not None:
                self._unfinished(connection)
            self._count += 1
            session = place.session or f"mcp-{self._source + 1}.{self._count}"
            connection = self._connections[key] = Connection(session, place.server)
            if place.session is None:
                self._by_name[b"" if place.server is None else msgspec.json.encode(place.server)] = connection
        connection.begun = True
        return connection

    def _learn(self, toward: str, *, from_server: bool) -> None:
        if from_server:
            self._server_word = toward
        else:
            self._client_word = toward

    def _event(self, native: str, kind: str, connection: Connection, place: Place) -> At:
        event = self._event_number
        if event & PART_LIMIT < PART_LIMIT:
            self._event_number = event + 1
        told = (event, connection.session, None, place.when, None, native, kind, place.pointer)
        self._rows.whole.append(told)
        return At(event, connection, place)

    def _faults(self, message: Message, identity: str, at: At) -> None:
        if message.jsonrpc != "2.0":
            self._fault(at, "member_type", "/jsonrpc", "the version is not 2.0")
        kind = identity[:1]
        if kind and kind not in '"-0123456789n':
            self._fault(at, "member_type", "/id", "an id is a string or a number")
        elif message.method is None and (not kind or (kind == "n" and not message.error)):
            self._fault(at, "member_missing", "/id", "a result without the id of its request")

    def _fault(self, at: At, fault: str, pointer: str, detail: str) -> None:
        self._rows.faults.append((at.event, at.connection.session, fault, at.to(pointer), detail, None))


def _other_kind(method: str) -> str:
    return "notice" if method.startswith("notifications/") else "unknown"


def _cleaned(raw: bytes) -> tuple[Line | None, bytes, list[Fault]] | None:
    """A record without what cannot be kept of it, and what that was; a batch comes back as its text alone."""
    parsed = parse(raw)
    if isinstance(parsed, Unreadable) or not knows(parsed[0]):
        return None
    value, faults = parsed
    if isinstance(value, list):
        return None, msgspec.json.encode(value), faults
    found = typed(decode_line, value)
    return None if found is None else (found[0], msgspec.json.encode(value), faults + found[1])
