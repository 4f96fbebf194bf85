"""Gemini's Interactions API: requests, interactions, exchanges and streams.

The server keeps the conversation: a request goes on from the interaction that it names, and holds what is new.
"""

from __future__ import annotations

import re
from typing import Any, ClassVar

import msgspec

from analyzer.read.adapter import RecordAdapter
from analyzer.read.anymessage import move
from analyzer.read.cursor import Place
from analyzer.read.decoding import Decoding
from analyzer.read.dialogue import Ask, Dialogue, Said
from analyzer.read.dialogue.exchanged import Exchanged
from analyzer.read.exchange import exchange_of
from analyzer.read.google.stepping import Event, Stepping
from analyzer.read.google.steps import said_of
from analyzer.read.ledger import Recent
from analyzer.read.members import held, listed
from analyzer.read.recorded import Recorded, enclosed_in, is_exchange, sure_of
from analyzer.read.rows import Rows
from analyzer.read.values import ABSENT, Int64, Raw, first, text_of

_URL = re.compile(r"/interactions(?:$|[/?])")
_SPOKEN = ("user_input", "model_output", "thought")
_HEADS = ("interaction", "step", "content", "error")
_OVER = ("completed", "complete", "cancelled", "failed", "incomplete")
# Members that a request has here, and in no other wire that has an input.
_OWN = frozenset({"previous_interaction_id", "system_instruction", "generation_config", "response_modalities"})
_STEPS = ("function_result", "user_input", "model_output")


class Record(Recorded, gc=False):
    """Everything that one record may be."""

    object: str | None = None
    id: str | None = None
    model: str | None = None
    agent: str | None = None
    status: Raw = ABSENT
    steps: Raw = ABSENT
    tools: Raw = ABSENT
    system_instruction: Raw = ABSENT
    response_format: Raw = ABSENT
    previous_interaction_id: str | None = None
    event_type: str | None = None
    interaction: Raw = ABSENT
    interaction_id: str | None = None
    index: Int64 | None = None
    step: Raw = ABSENT
    delta: Raw = ABSENT


_record = msgspec.json.Decoder(Record).decode


class Interactions(RecordAdapter[Record]):
    """The adapter; see `analyzer.read.adapter.Adapter`."""

    name: ClassVar[str] = "gemini-interactions"
    title: ClassVar[str] = "Gemini Interactions: requests, interactions, exchanges, streams"
    known_by: ClassVar[str] = (
        "`object: interaction`; an `event_type` that begins with `interaction.`, `step.` or `content.`; requests with "
        "a `previous_interaction_id`, or an `input` beside members of this API; exchanges under /interactions"
    )
    loses: ClassVar[tuple[str, ...]] = (
        "What the server keeps of a conversation is not in the requests: a result of an unrecorded call has no place.",
        "Without the requests nothing says which tools were offered, and which calls were answered.",
        "Tools of the provider's own and of MCP servers have no schema here: their arguments are not judged.",
        "A result without `is_error` counts as neither success nor failure.",
    )

    def __init__(self, source: int, rows: Rows) -> None:
        self._rows = rows
        self._records = Decoding(source, rows, _record, self.knows)
        self._dialogue = Dialogue(self.name, rows, said_of)
        self._stepping = Stepping(self._dialogue)
        self._exchanged = Exchanged(rows, self._dialogue, self._stepping.end)
        self._owners: Recent[str, str] = rows.shared.setdefault(f"{self.name} owners", Recent())
        """By interaction the session that it is of."""
        self._asked: str | None = None
        """The session of a request that waits."""
        self._memories = (self._dialogue, self._owners)

    @staticmethod
    def knows(record: Any) -> float:
        """How surely a parsed record is of this wire."""
        if not isinstance(record, dict):
            return 0.0
        event = record.get("event_type")
        if isinstance(event, str):
            return 0.95 if _is_event(event, record) else 0.0
        if record.get("object") == "interaction":
            return 1.0
        if isinstance(record.get("steps"), list) and isinstance(record.get("status"), str) and "id" in record:
            return 0.6 if any(map(_is_step, record["steps"])) else 0.0
        if _asks(record):
            return 1.0
        response = record.get("response", record.get("output"))
        if isinstance(response, dict) and response.get("object") == "interaction":
            return 1.0
        sure = sure_of(record, lambda url: float(bool(_URL.search(url))), lambda body: float(_asks(body)))
        inner = enclosed_in(record)
        return sure or max((Interactions.knows(each) for each in inner), default=0.0)

    def close(self) -> None:
        """A stream that breaks off."""
        self._stepping.end()

    # --- what a record holds ----------------------------------------------------------------------------------------

    def _take(self, record: Record, raw: bytes, place: Place, *, top: bool = True) -> bool:
        if record.event_type is not None:
            return self._event(record, raw, place)
        if record.object == "interaction" or (first(record.steps) == b"[" and self._records.own(raw)):
            self._stepping.end()
            self._interaction(record, place, "")
            return True
        if not is_exchange(record) and self._records.fails(record, raw):
            self._stepping.end()
            self._dialogue.fail(place)
            return True
        if is_exchange(record):
            return self._exchange(record, raw, place)
        asks = record.input and (record.previous_interaction_id or record.model or record.agent)
        if asks and self._records.own(raw, bytes(record.tools)):
            self._ask(record, place)
            faults = self._records.beside(record, place, self._response)
            self._rows.faults += [(place.event, self._dialogue.session, *fault) for fault in faults]
            return True
        return top and self._records.enveloped(record, place, self._inside)

    def _inside(self, record: Record, raw: bytes, place: Place) -> bool:
        return self._take(record, raw, place, top=False)

    def _response(self, record: Record, raw: bytes, place: Place) -> bool:
        """What came back; it may have lost its type."""
        if record.object is None and record.event_type is None and first(record.outputs) == b"[":
            self._interaction(record, place, "")
            return True
        return self._take(record, raw, place, top=False)

    def _ask(self, record: Record, place: Place) -> None:
        """A request; what it goes on from is kept by the server."""
        self._stepping.end()
        before = record.previous_interaction_id
        single = first(record.input) != b"["
        ask = Ask(
            [bytes(record.input)] if single else listed(record.input),
            "/input",
            None if before is None else self._owners.get(before, before),
            before or "",
            tools=bytes(record.tools) if bytes(record.tools) != b"null" else b"",
            shape="responses",
            model=record.model or record.agent,
            text_format=bytes(record.response_format).decode() if first(record.response_format) == b"{" else None,
            instructions=text_of(record.system_instruction),
            single=single,
        )
        self._asked = self._dialogue.ask(ask, place)

    def _belongs(self, record: Record) -> None:
        """Find the session of an interaction: of the request that waits, else of what it goes on from."""
        name, before = record.id, record.previous_interaction_id
        session = self._owners.get(name or "") or self._asked
        if session is None and (name or before) is not None:
            session = self._owners.get(before or "", before) or name or ""
            self._dialogue.join(session, before or "")
        elif self._asked is None and session is not None:
            self._dialogue.join(session, before or "")
        self._asked = None
        if name is not None and session is not None:
            self._owners[name] = session

    def _interaction(self, record: Record, place: Place, to: str) -> None:
        """A whole interaction."""
        self._belongs(record)
        member, listing = ("steps", record.steps) if record.steps else ("outputs", record.outputs)
        whole = Said("assistant")
        texts: list[str] = []
        for index, raw in enumerate(listed(listing)):
            said, step = said_of(raw), f"/{member}/{index}"
            move(said, step)
            whole.calls += said.calls
            whole.results += said.results
            whole.faults += [fault._replace(pointer=step + fault.pointer) for fault in said.faults]
            texts += [said.text] if said.text is not None and said.role == "assistant" else []
        whole.text = "\n".join(texts) if texts else None
        stop = text_of(record.status)
        self._dialogue.answer(whole, place, native="interaction", to=to, reply=record.id, stop=stop)

    def _event(self, record: Record, raw: bytes, place: Place) -> bool:
        """An event of a stream."""
        native = record.event_type or ""
        head, _, word = native.partition(".")
        if head not in _HEADS:
            return False
        if head == "interaction" and word in ("created", "start"):
            body = held(_record, record.interaction, Record())[0]
            self._belongs(body)
            self._stepping.begin(body.id, place)
        self._dialogue.move(place)
        self._stepping.move(place)
        kind = "error" if native == "error" else "delta" if head in ("step", "content") else "notice"
        if not place.opaque or kind == "error":
            self._dialogue.cursor.event(native, kind, self._dialogue.session)
        if head in ("step", "content"):
            self._stepping.take(held(_event, raw, Event())[0], place)
        elif head == "interaction" and word in _OVER:
            body = held(_record, record.interaction, Record())[0]
            self._stepping.end(text_of(body.status) or word)
            if first(body.steps) == b"[" and bytes(body.steps) != b"[]":
                self._interaction(body, place, "/interaction")
        elif native == "error":
            self._stepping.end()
        return True

    def _exchange(self, record: Record, raw: bytes, place: Place) -> bool:
        """A request and its response, recorded together."""
        try:
            exchange = exchange_of(record, _record)
        except msgspec.DecodeError:
            return False
        if exchange is None or (exchange.url and not _URL.search(exchange.url)):
            return False
        asked = self._records.body(exchange.request)
        if asked is not None and not asked.input:
            asked = None
        if not exchange.url and (asked is None or not self._records.own(raw, bytes(asked.tools))):
            return False
        self._asked = None
        ways: dict[str, Any] = {"ask": self._ask, "take": self._response}
        self._exchanged.append(exchange, place, self._records, asked=asked, **ways)
        self._asked = None
        return True


_event = msgspec.json.Decoder(Event).decode


def _is_event(event: str, record: dict[str, Any]) -> bool:
    """Whether an event is one of a stream of this wire; others have such words, too."""
    head, _, word = event.partition(".")
    if head == "interaction":
        return isinstance(record.get("interaction"), dict) or isinstance(record.get("interaction_id"), str)
    held = word == "stop" or any(isinstance(record.get(name), dict) for name in ("step", "content", "delta"))
    return head in ("step", "content") and word in ("start", "delta", "stop") and "index" in record and held


def _is_step(step: Any) -> bool:
    kind = step.get("type") if isinstance(step, dict) else None
    return isinstance(kind, str) and (kind in _SPOKEN or kind.endswith(("_call", "_result")))


def _asks(record: dict[str, Any]) -> bool:
    """Whether a record is a request of this wire."""
    if not isinstance(record.get("input"), str | list | dict) or not ({"model", "agent"} & record.keys()):
        return False
    items = record["input"] if isinstance(record["input"], list) else [record["input"]]
    kinds = [each.get("type") for each in items if isinstance(each, dict)]
    named = isinstance(record.get("model"), str) and record["model"].startswith(("gemini", "models/gemini"))
    return bool(_OWN & record.keys()) or named or any(each in _STEPS for each in kinds)
