"""Chat completions: requests and responses, exchanges, streams, lists of messages, and trajectory files made of them.

Every request resends the whole conversation: what was sent before is passed over, what comes back changed is a copy of
the call or result it shows. In a list of messages (a training row, a trajectory) the calls are the model's own. A call
that only the provider saw and refused (`failed_generation`) is read out of the error's text.
"""

from __future__ import annotations

from typing import Any, ClassVar

import msgspec

from analyzer.read.adapter import RecordAdapter
from analyzer.read.decoding import Decoding
from analyzer.read.dialogue import Ask, Dialogue, Said
from analyzer.read.exchanged import Exchanged
from analyzer.read.members import held, listed
from analyzer.read.openai.chunks import Choice as Piece
from analyzer.read.openai.chunks import Pieces, chunks_of, pieces_of
from analyzer.read.openai.cursor import Place
from analyzer.read.openai.exchange import Body, Recorded, exchange_of
from analyzer.read.openai.messages import refused, said_of
from analyzer.read.rows import Rows
from analyzer.read.values import ABSENT, Int64, Raw, first, text_of

_LISTS = {"traj": "/traj", "messages": "/messages", "history": "/history"}
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
_ROLES = frozenset({"system", "developer", "user", "assistant", "tool", "function"})


class Choice(msgspec.Struct, gc=False):
    """One of the alternatives of a response."""

    message: Raw = ABSENT
    delta: Raw = ABSENT
    finish_reason: str | None = None
    index: Int64 | None = None


class Failure(msgspec.Struct, gc=False):
    """The provider's error."""

    code: Raw = ABSENT
    failed_generation: str | None = None


class Record(Recorded, gc=False):
    """Everything that one record may be."""

    object: str | None = None
    id: Raw = ABSENT
    model: Raw = ABSENT
    traj: Raw = ABSENT
    history: Raw = ABSENT
    trajectory: Raw = ABSENT
    simulations: Raw = ABSENT
    tools: Raw = ABSENT
    functions: Raw = ABSENT
    parallel_tool_calls: bool | None = None
    response_format: Raw = ABSENT
    role: str | None = None
    task_id: Raw = ABSENT
    trial: Raw = ABSENT
    session_id: str | None = None
    conversation_id: str | None = None


_record = msgspec.json.Decoder(Record).decode
_choices = msgspec.json.Decoder(list[Choice]).decode
_failure = msgspec.json.Decoder(Failure).decode


class OpenAIChat(RecordAdapter[Record]):
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
        self._rows = rows
        self._records = Decoding(source, rows, _record, self.knows)
        self._dialogue = Dialogue(self.name, rows, said_of)
        self._exchanged = Exchanged(rows, self._dialogue, self._end)
        self._stream: Pieces | None = None
        self._memories = (self._dialogue,)

    @staticmethod
    def knows(record: Any) -> float:
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
            *(
                OpenAIChat.knows(record[name])
                for name in ("event", "data", "message")
                if isinstance(record.get(name), dict)
            ),
            0.0,
        )

    def close(self) -> None:
        """A stream that breaks off."""
        self._end()

    # --- what a record holds ----------------------------------------------------------------------------------------

    def _take(self, record: Record, raw: bytes, place: Place, *, top: bool = True) -> bool:
        if record.choices and first(record.choices) == b"[":
            self._choices(record, place)
            return True
        name = _list_in(record)
        if name is not None:
            return self._asked(record, name, place)
        if record.error and first(record.error) == b"{" and record.role is None:
            self._failed(record, place)
            return True
        if record.body or first(record.request) == b"{" or first(record.http) == b"{":
            return self._exchange(record, place)
        if top and record.role in _ROLES and (record.object is None or record.object == "message"):
            self._single(raw, place)
            return True
        return top and self._records.enveloped(record, place, self._inside)

    def _inside(self, record: Record, raw: bytes, place: Place) -> bool:
        return self._take(record, raw, place, top=False)

    def _asked(self, record: Record, name: str, place: Place, *, exchanged: bool = False) -> bool:
        """A request, a list of messages, or a file of several lists; `name` is the member that holds it."""
        self._end()
        if name == "simulations":
            for index, raw in enumerate(listed(record.simulations)):
                one = held(_record, raw, Record())[0]
                ask = Ask(listed(one.messages), f"/simulations/{index}/messages", text_of(one.id), own=True)
                self._dialogue.ask(ask, place, wire="tau2-bench")
            self._dialogue.move(place)
            if self._dialogue.cursor.next == place.event:
                self._dialogue.cursor.event("simulations", "notice", None)
            return True
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

    def _single(self, raw: bytes, place: Place) -> None:
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
            for index, call in enumerate(refused(failure.failed_generation)):
                self._dialogue.refused(call, event, index, to)

    def _exchange(self, record: Record, place: Place) -> bool:
        """A request and its response, recorded together."""
        try:
            exchange = exchange_of(record, _record)
        except msgspec.DecodeError:
            return False
        if exchange is None or (exchange.url and not _is_url(exchange.url)):
            return False
        asked = self._records.body(exchange.request)
        if asked is not None and first(asked.messages) != b"[":
            asked = None
        if asked is None and not exchange.url:
            return False
        self._exchanged.append(
            *(exchange, place, self._records), asked=asked, ask=self._ask, take=self._inside, stream=self._streamed
        )
        return True

    def _ask(self, record: Record, place: Place) -> None:
        self._asked(record, _list_in(record) or "messages", place, exchanged=True)

    def _streamed(self, body: Body[Record], place: Place) -> bool:
        """The body of a streamed response, if it holds nothing but pieces."""
        chunks = chunks_of(body.frames)
        for each in chunks or ():
            self._piece(each.choices or [], each.id or "", place)
            if first(each.error) == b"{":
                self._end()
                self._dialogue.fail(place)
        return chunks is not None

    # --- responses --------------------------------------------------------------------------------------------------

    def _choices(self, record: Record, place: Place) -> None:
        """A response body, or a piece of a streamed one."""
        name = text_of(record.id)
        if record.object == "chat.completion.chunk":
            self._pieces(record, name, place)
            return
        choices, faults = held(_choices, record.choices, list[Choice]())
        if any(choice.delta and not choice.message for choice in choices):
            self._pieces(record, name, place)
            return
        self._end()
        for index, choice in enumerate(choices):
            said = said_of(bytes(choice.message)) if choice.message else Said()
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

    def _pieces(self, record: Record, name: str | None, place: Place) -> None:
        """An event of a streamed response."""
        self._piece(pieces_of(record.choices), name or "", place, record.object or "chunk")
        if first(record.error) == b"{":
            self._failed(record, place)

    def _piece(self, choices: list[Piece], name: str, place: Place, native: str = "chunk") -> None:
        stream = self._stream
        if stream is None or (name and stream.id and stream.id != name):
            self._end()
            stream = self._stream = Pieces(name, place)
        if not place.opaque:
            self._dialogue.move(place)
            self._dialogue.cursor.event(native, "delta", self._dialogue.session)
        stream.place = place
        stream.add(choices)

    def _end(self) -> None:
        """The streamed reply is whole, or it breaks off."""
        stream, self._stream = self._stream, None
        if stream is not None:
            place = msgspec.structs.replace(stream.place, opaque=True)
            how: dict[str, Any] = {"native": "chat.completion.chunk", "reply": stream.id or None, "stage": "stream"}
            self._dialogue.answer(stream.said(), place, stop=stream.stop, **how)


def _list_in(record: Record) -> str | None:
    """The member that holds messages, or lists of them."""
    if record.messages and first(record.messages) == b"[" and not (record.simulations or record.traj):
        return "messages"
    named = (("simulations", record.simulations), ("traj", record.traj), ("messages", record.messages))
    return next((name for name, raw in (*named, ("history", record.history)) if first(raw) == b"["), None)


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
            if isinstance(each, dict) and "messages" in each and "model" in each and (sure := OpenAIChat.knows(each)):
                return sure
    return 0.0
