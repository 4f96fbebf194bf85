"""Chat completions: request and response bodies, exchanges, streams, message lists, and files of trajectories.

Every request resends the whole history. What was sent before is passed over; what comes back changed is a copy (stage
history) of the call or result it shows. A list without a model and without a reply is a conversation of its own, whose
calls are the model's. Replies of Ollama's own API stand in the same conversations. Calls that the provider refused, and
gave to nobody, stand in the error's text.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar

import msgspec

from analyzer.read.adapter import RecordAdapter
from analyzer.read.batches import Batches
from analyzer.read.cursor import Place
from analyzer.read.decoding import Decoding, Usual
from analyzer.read.dialogue import Ask, Dialogue, Said, unchosen
from analyzer.read.dialogue.conversation import Conversation
from analyzer.read.dialogue.exchanged import Exchanged
from analyzer.read.exchange import exchange_of
from analyzer.read.members import held, listed
from analyzer.read.openai import ollama
from analyzer.read.openai.chunks import Chunk, chunks_of, pieces_of
from analyzer.read.openai.completions import (
    LISTS,
    ROLES,
    Body,
    Choice,
    Failure,
    Record,
    body_of,
    choices_of,
    failure_of,
    is_url,
    knows,
    list_in,
    record_of,
    table_in,
    wire_of,
)
from analyzer.read.openai.messages import refused, said_in, said_of
from analyzer.read.openai.streams import CHUNK, Streams
from analyzer.read.recorded import is_exchange
from analyzer.read.records import Block
from analyzer.read.rows import Rows
from analyzer.read.values import Raw, first, text_of


class OpenAIChat(RecordAdapter[Record]):
    """The adapter; see `analyzer.read.adapter.Adapter`."""

    name: ClassVar[str] = "openai-chat"
    title: ClassVar[str] = (
        "Chat completions: bodies, exchanges, streams, message lists, Ollama, tau-bench, tau2, SWE-agent"
    )
    known_by: ClassVar[str] = (
        "bodies of object `chat.completion`, `chat.completion.chunk`; `messages` with `tool_calls`, role `tool` or "
        "tools that hold a `function`; exchanges under /chat/completions; lists named `traj`, `history`, "
        "`simulations`; Ollama's replies (a `message` beside `done`) and exchanges under /api/chat"
    )
    loses: ClassVar[tuple[str, ...]] = (
        "Nothing names a session: requests are joined by the messages and the call ids that they resend.",
        "Of requests that wait at once, logged apart from their replies, a reply that is not resent stands alone.",
        "Chunks of streams at once that share an id, or have none, are not told apart: calls stand without arguments.",
        "Chunks have no number: pieces that a recorder put into another order are taken as they lie.",
        "A result without an id goes to the first open call of its name; without a name, to the first without an id.",
        "A result has no flag: whether the tool succeeded can only be guessed from its words.",
        "Output schemas are not on this wire: give them as contract files.",
        "Lists of messages and trajectories mostly hold no tool table: give it with --contracts.",
        "What came of a batch is joined to its input by `custom_id`, where the input is read before it.",
        "What a result answered is known only when a later request was recorded.",
        "Some agents cut what the model said before they log it (all but the first of parallel calls).",
    )

    def __init__(self, source: int, rows: Rows) -> None:
        self._rows = rows
        self._bodies = Usual(body_of, self._usual)
        self._records = Decoding(source, rows, record_of, knows, usual=self._bodies)
        self._exchanges = 0
        self._dialogue = Dialogue(self.name, rows, said_of, apart=True)
        self._exchanged = Exchanged(rows, self._dialogue, self._end)
        self._streams = Streams(self._dialogue)
        self._ollama = ollama.Replies(self._dialogue)
        self._batches: Batches[Conversation] = rows.shared.setdefault("batches chat", Batches())
        self._memories = (self._dialogue, self._batches)

    knows = staticmethod(knows)

    def close(self) -> None:
        """A stream that breaks off, and replies that may be of several requests."""
        self._end()
        self._dialogue.close()

    # --- what a record holds ----------------------------------------------------------------------------------------

    def read(self, block: Block) -> list[int]:
        """Append the rows of the block; see `Adapter.read`."""
        self._exchanges = 0
        others = super().read(block)
        # Where most are exchanges a bare body is looked for in vain.
        self._records.usual = None if self._exchanges > len(block.raw) // 2 else self._bodies
        # What is open may end in the next block.
        self._streams.place(partial(self._records.placed, block))
        self._dialogue.place(partial(self._records.placed, block))
        if self._ollama.open is not None:
            self._ollama.open.place = self._records.placed(block, self._ollama.open.place)
        return others

    def _usual(self, body: Body, event: int) -> bool:
        choices, place = body.choices, Place(event, 0, 0, 0)
        if choices is None and (body.response or body.output or body.completion):
            return False
        if choices is None:
            name, model = list_in(body), body.model
            if name is None or name == "simulations" or (name == "messages" and not self._is_own(body)):
                return False
            if name == "messages" and model is not msgspec.UNSET:
                self._request(body, model, name, body.messages, place)
            else:
                self._listed(body, name, place)
        elif body.error:
            return False
        elif body.object == CHUNK:
            self._streams.take(choices, body.id or "", place, CHUNK)
        else:
            said = [None if each.message is None else said_in(each.message) for each in choices]
            replies = [each for each in said if each is not None]
            if len(replies) < len(said):
                return False
            self._replied(replies, [each.finish_reason for each in choices], body.object, body.id, place)
        return True

    def _take(self, record: Record, raw: bytes, place: Place, *, top: bool = True) -> bool:
        if record.custom_id and not record.body:
            self._end()
            self._dialogue.expect(self._batches.answered(record.custom_id))
        if record.choices and first(record.choices) == b"[":
            self._choices(record, place)
            return True
        if record.done is not None and first(record.message) == b"{":
            self._end(ollama_too=False)
            self._ollama.take(record.message, place, done=record.done, stop=record.done_reason)
            return True
        name = list_in(record)
        if name == "simulations":
            self._simulations(record, place)
            return True
        if name is not None:
            if name == "messages" and not self._is_own(record, raw):
                return False
            if name == "messages" and record.model:
                self._ask(record, place)
            else:
                self._listed(record, name, place)
            if name == "messages":
                faults = self._records.beside(record, place, self._response)
                self._rows.faults += [(place.event, self._dialogue.session, *fault) for fault in faults]
            return True
        if record.role is None and self._records.fails(record, raw):
            self._failed(record, place)
            return True
        if is_exchange(record):
            return self._exchange(record, raw, place)
        message = top and record.role in ROLES and (record.object is None or record.object == "message")
        if message and self._records.own(raw):
            self._end()
            self._dialogue.append(raw, place)  # one message of a list that has a record for each
            return True
        kept = b'"tool_call_metadata"' in raw
        return top and not kept and self._records.enveloped(record, place, self._inside)

    def _inside(self, record: Record, raw: bytes, place: Place) -> bool:
        return self._take(record, raw, place, top=False)

    def _failed(self, record: Record, place: Place) -> None:
        """An error in the place of a response, with the call that the provider refused where it shows it."""
        self._ollama_ends()
        self._streams.fail()
        failure = held(failure_of, record.error, Failure())[0]
        event = self._dialogue.fail(place)
        if failure.failed_generation is not None and self._dialogue.session is not None:
            to = "" if place.opaque else "/error/failed_generation"
            for index, call in enumerate(refused(failure.failed_generation)):
                self._dialogue.refused(call, event, index, to)

    def _is_own(self, record: Record | Body, raw: bytes | None = None) -> bool:
        """Whether a list of messages is one of this wire; others have such lists. Without `raw` only what is sure."""
        messages = bytes(record.messages)
        if b'"tool_calls"' in messages and b'"role"' in messages:
            return True
        table = table_in(record)[0]
        return self._records.seen(table) if raw is None else self._records.own(raw, table)

    def _exchange(self, record: Record, raw: bytes, place: Place) -> bool:
        """A request and its response, recorded together."""
        try:
            exchange = exchange_of(record, record_of)
        except msgspec.DecodeError:
            return False
        if exchange is None or (exchange.url and not is_url(exchange.url)):
            return False
        asked = self._records.body(exchange.request)
        if asked is not None and first(asked.messages) != b"[":
            asked = None
        if not exchange.url and (asked is None or not self._records.own(raw, table_in(asked)[0])):
            return False
        self._exchanges += 1
        ways: dict[str, Any] = {"ask": self._ask, "take": self._response}
        ways |= {"pieces": chunks_of, "streamed": self._streamed}
        self._exchanged.append(exchange, place, self._records, asked=asked, **ways)
        if record.custom_id and exchange.response is None and self._dialogue.asked is not None:
            self._batches.ask(record.custom_id, self._dialogue.asked)
        return True

    def _response(self, record: Record, raw: bytes, place: Place) -> bool:
        """What came back; it may be the message alone."""
        if record.role == "assistant" and not record.choices and not record.object:
            self._end()
            self._dialogue.answer(said_of(raw), place, native="message")
            return True
        if first(record.message) == b"{" and not record.choices and record.done is None and not record.messages:
            self._end()
            self._dialogue.answer(said_of(bytes(record.message)), place, native="message", to="/message")
            return True
        return self._take(record, raw, place, top=False)

    # --- requests ---------------------------------------------------------------------------------------------------

    def _ask(self, record: Record, place: Place) -> None:
        name = list_in(record) or "messages"
        self._request(record, text_of(record.model), name, getattr(record, name), place)

    def _listed(self, record: Record | Body, name: str, place: Place) -> None:
        """A list of messages; `name` is the member that holds it."""
        self._end()
        session = record.session_id or record.conversation_id
        if name == "traj" and record.task_id and session is None:
            trial = bytes(record.trial).decode() or "0"
            session = self._dialogue.name(f"task {bytes(record.task_id).decode()[:80]} trial {trial[:80]}")
        tools, tools_to = table_in(record)
        ask = Ask([], LISTS[name], session, "", True, tools, tools_to, listing=bytes(getattr(record, name)))
        self._dialogue.ask(ask, place, wire=wire_of(ask.listing))

    def _request(self, record: Record | Body, model: str | None, name: str, listing: Raw, place: Place) -> None:
        if self._streams.any or self._ollama.open is not None:
            self._ollama_ends()
            self._streams.pause()
        session, (tools, tools_to) = record.session_id or record.conversation_id, table_in(record)
        ask = Ask([], LISTS[name], session, "", False, tools, tools_to, "chat", model, record.parallel_tool_calls)
        if record.response_format:
            ask.text_format = bytes(record.response_format).decode()
        ask.listing = bytes(listing)
        self._dialogue.ask(ask, place)

    def _simulations(self, record: Record, place: Place) -> None:
        """A file of several lists."""
        self._end()
        for index, raw in enumerate(listed(record.simulations)):
            one = held(record_of, raw, Record())[0]
            ask = Ask(listed(one.messages), f"/simulations/{index}/messages", text_of(one.id), own=True)
            self._dialogue.ask(ask, place, wire="tau2-bench")
        self._dialogue.move(place)
        if self._dialogue.cursor.next == place.event:
            self._dialogue.cursor.event("simulations", "notice", None)

    # --- responses --------------------------------------------------------------------------------------------------

    def _choices(self, record: Record, place: Place) -> None:
        """A response body, or a piece of a streamed one."""
        name = text_of(record.id)
        choices, faults = held(choices_of, record.choices, list[Choice]())
        if record.object == CHUNK or any(choice.delta and not choice.message for choice in choices):
            self._streams.take(pieces_of(record.choices), name or "", place, record.object or "chunk")
            if first(record.error) == b"{":
                self._failed(record, place)
            return
        replies = [said_of(bytes(choice.message)) if choice.message else Said() for choice in choices]
        stops = [choice.finish_reason for choice in choices]
        event = self._replied(replies, stops, record.object, name, place)
        self._rows.faults += [(event, None, *fault) for fault in faults]

    def _replied(
        self, replies: Sequence[Said], stops: Sequence[str | None], native: str | None, name: str | None, place: Place
    ) -> int:
        """The alternatives of a response; the event of the first."""
        self._ollama_ends()
        self._streams.pause()
        if not replies:
            self._dialogue.move(place)
            return self._dialogue.cursor.event(native or "choices", "notice", self._dialogue.session)[0]
        native = native or "chat.completion"
        if len(replies) > 1:
            replies = [unchosen(*each) for each in zip(replies, stops, strict=True)]
        answer = self._dialogue.answer
        event = answer(replies[0], place, native=native, to="/choices/0/message", reply=name, stop=stops[0])
        for index, said in enumerate(replies[1:], 1):
            to, reply = f"/choices/{index}/message", f"{name or place.event}#{index}"
            answer(said, place, native=native, to=to, reply=reply, stop=stops[index])
        return event

    # --- streams ----------------------------------------------------------------------------------------------------

    def _streamed(self, chunks: Sequence[Chunk], place: Place) -> None:
        """The events of a streamed response that was kept as a text."""
        for chunk in chunks:
            self._streams.of(chunk.id or "", place).add(chunk.choices or ())
            if chunk.error and first(chunk.error) == b"{":
                self._end()
                self._dialogue.fail(place)

    def _end(self, *, ollama_too: bool = True) -> None:
        """The streamed replies are whole, or they break off."""
        if ollama_too:
            self._ollama_ends()
        self._streams.end()

    def _ollama_ends(self) -> None:
        if self._ollama.open is not None:
            self._ollama.end()
