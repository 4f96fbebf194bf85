"""What clients and servers say: requests, what came of them, listings, and which connection each message is of."""

from __future__ import annotations

from analyzer.frames import PART_LIMIT
from analyzer.read.rows import Rows
from analyzer.read.rpc.connections import NO_LABEL, At, Call, Connection, Place, resumed, wait
from analyzer.read.rpc.messages import CALL, Message, Params, Result, answers_client, output_of, protocol_in
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


_FROM_CLIENT = frozenset({CALL, _LIST, _INITIALIZE})
_IDS = frozenset('"-0123456789')  # what an id begins with
_NO_PARAMS = Params()


class Traffic:
    """Appends the rows of the messages of one source."""

    def __init__(self, wire: str, rows: Rows) -> None:
        self._wire = wire
        self._rows = rows
        self._connections: dict[str | bytes, Connection] = {}  # by the session, else by the server
        self._count = 0
        self._client_word: str | None = None  # what the recorder calls the direction from the client
        self._server_word: str | None = None
        self.event = 0
        """The number that the next event will get."""

    def close(self) -> None:
        """Name the listings whose last pages were not read."""
        for connection in self._connections.values():
            self._unfinished(connection)

    def message(self, message: Message, place: Place) -> bool:
        """Append the rows of a message; true, as it always is one."""
        method, identity = message.method, str(message.id, "utf-8")
        connection = self._connections.get(place.session or place.server)
        if connection is None or method == _INITIALIZE:
            connection = self._connect(place, connection)
        event = self.event
        if event & PART_LIMIT < PART_LIMIT:
            self.event = event + 1
        at = At(event, connection, place)
        if connection.protocol is None:
            self._agreed(message, at)
        if method is None:
            native, kind = self._told(message, identity, at)
        else:
            native, kind = method, _KINDS.get(method) or _other_kind(method)
            self._asked(message, method, identity, at)
        if message.jsonrpc != "2.0" or (identity[:1] not in _IDS and (identity or method is None)):
            self._faults(message, identity, at)
        self._rows.whole.append((event, connection.session, None, place.when, None, native, kind, place.pointer))
        return True

    def _agreed(self, message: Message, at: At) -> None:
        """The version of the protocol: as the server answers to `initialize`, or as a request names it."""
        result, params, protocol = message.result, message.params, at.place.protocol
        if result is not None and result.protocol:
            protocol = text_of(result.protocol)
        elif params is not None and params.meta:
            protocol = protocol_in(params.meta) or protocol
        if protocol:
            at.connection.protocol = protocol
            self._rows.session_states.add(event=at.event, session=at.connection.session, protocol=protocol)

    def _told(self, message: Message, identity: str, at: At) -> tuple[str, str]:
        """A response; its type and its kind."""
        result, connection = message.result, at.connection
        failed = bool(message.error) and bytes(message.error) != b"null"
        call, asked = self._question(message, identity, connection, at.place)
        if asked == CALL:
            told = result and (bytes(result.content), bytes(result.structured), result.is_error)
            if not connection.answered(identity, hash((told, bytes(message.error)))):
                self._answer(message, call, identity, at)
        elif result is not None and not failed:
            if result.server is not None and result.server.name is not None and connection.label is None:
                connection.label = result.server.name
            if asked == _LIST and first(result.tools) == b"[":
                self._listing(result, at)
        return "error" if failed else "result", "notice" if asked is None else _KINDS.get(asked, "notice")

    def _asked(self, message: Message, method: str, identity: str, at: At) -> None:
        """A request or a notification."""
        connection, toward = at.connection, at.place.toward
        params = message.params or _NO_PARAMS
        if toward is not None:
            if method in _FROM_CLIENT:
                self._client_word = toward
            elif method in _FROM_SERVER:
                self._server_word = toward
        if method == _CANCELLED:
            call = connection.calls.get(bytes(params.request_id).decode())
            if call is not None:
                self._sighting(call, "item", "cancelled", at, "/params/requestId")
        elif not identity or identity == "null":
            return
        elif method == CALL:
            self._call(params, identity, at)
        elif method in _FROM_SERVER or (toward is not None and toward == self._server_word):
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
        if container == "null":
            text, container = None, "absent"  # so clients write that there are none
        stage, call = "item", None
        if connection.waiting and (params.request_state or params.input_responses):
            call = resumed(connection, params, text)
            stage = "history" if call is not None else stage
        if call is None:
            call_id = text_of(message_id) if first(message_id := Raw(identity.encode())) == b'"' else identity
            call = Call(f"#{at.event}", call_id or "", identity, params.name, text, container)
        connection.calls[identity] = call
        connection.owed[identity] = connection.owed.get(identity, 0) + 1
        connection.label = connection.label or NO_LABEL
        where = "/params/arguments" if params.arguments else "/params" if params.name is not None else ""
        self._sighting(call, stage, None, at, where)

    def _sighting(self, call: Call, stage: str, status: str | None, at: At, pointer: str) -> None:
        self._rows.call_sightings.append(
            (
                *(at.event, at.connection.session, None, self._wire, stage, None, call.emission, call.call_id),
                *(call.pair_id, "mcp", at.connection.label, call.name, call.text, call.container, status),
                *("client", None, at.to(pointer)),
            )
        )

    def _answer(self, message: Message, call: Call | None, identity: str, at: At) -> None:
        """The response to a call; one that asks for input, or that promises a result for later, answers nothing yet."""
        result = message.result
        if call is not None and result is not None:
            if result.result_type == "input_required":
                wait(at.connection, call, bytes(result.request_state))
                return
            if result.task is not None and result.task.task_id is not None and not result.content:
                at.connection.tasks[result.task.task_id] = call
                return
        text, container, structured, where = None, "absent", None, "/result"
        if result is not None:
            text, container = output_of(result.content)
            structured = bytes(result.structured).decode() or None
            if structured == "null" and result.content:
                structured = None  # so clients write that there is none
            if result.content or structured is not None:
                where = "/result/content" if result.content else "/result/structuredContent"
        error = text_of(message.error) if message.error else None
        if error is not None:
            where = "/error"
        failed = error is not None or (result is not None and result.is_error is True)
        says = result is not None or error is not None
        if not says:
            detail = "the response holds neither a result nor an error"
            self._rows.faults.append(
                (at.event, at.connection.session, "member_missing", at.to("/result"), detail, None)
            )
        if call is None:
            call_id = text_of(Raw(identity.encode())) if identity[:1] == '"' else identity
            pair_id = identity
        else:
            call_id, pair_id = call.call_id, call.pair_id
        self._rows.result_sightings.append(
            (
                *(at.event, at.connection.session, None, self._wire, "message", None, call_id, pair_id, None),
                *(not failed if says else None, None, error, text, container, structured, None, None, at.to(where)),
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

    # --- connections and faults -------------------------------------------------------------------------------------

    def _connect(self, place: Place, before: Connection | None) -> Connection:
        """A new connection; the one before it is over."""
        if before is not None:
            self._unfinished(before)
        self._count += 1
        session = place.session or f"mcp-{self._rows.label}.{self._count}"
        connection = Connection(session, text_of(Raw(place.server)))
        self._connections[place.session or place.server] = connection
        return connection

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
