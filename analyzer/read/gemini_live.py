"""Gemini Live: the messages of a session over a socket, in the spelling of the API or of its clients.

A session is one running conversation: what a client sets up, what either side says, calls by id and what came of them.
"""

from __future__ import annotations

from typing import Any, ClassVar

import msgspec

from analyzer.read.adapter import RecordAdapter
from analyzer.read.anymessage import move
from analyzer.read.cursor import Place
from analyzer.read.decoding import Decoding
from analyzer.read.dialogue import Dialogue, Said
from analyzer.read.google.contents import Function, call_in, result_in, said_of
from analyzer.read.ledger import Recent
from analyzer.read.members import held, listed
from analyzer.read.recorded import Recorded
from analyzer.read.rows import Rows
from analyzer.read.values import ABSENT, Raw, first

_CAMEL = (
    *("setup", "setupComplete", "clientContent", "realtimeInput", "toolResponse", "toolCall", "toolCallCancellation"),
    *("serverContent", "goAway", "sessionResumptionUpdate", "voiceActivity", "contextUpdate"),
)


def _snake(name: str) -> str:
    return "".join(f"_{each.lower()}" if each.isupper() else each for each in name)


_NAMES = {name: name for name in _CAMEL} | {_snake(name): name for name in _CAMEL}
_TELLING = frozenset({"setup", "clientContent", "toolResponse", "toolCall", "toolCallCancellation", "serverContent"})


class Record(Recorded, gc=False):
    """A message, or the envelope of one."""

    setup: Raw = ABSENT
    clientContent: Raw = ABSENT  # noqa: N815 - the API's names
    toolResponse: Raw = ABSENT  # noqa: N815
    toolCall: Raw = ABSENT  # noqa: N815
    toolCallCancellation: Raw = ABSENT  # noqa: N815
    serverContent: Raw = ABSENT  # noqa: N815
    setupComplete: Raw = ABSENT  # noqa: N815
    realtimeInput: Raw = ABSENT  # noqa: N815
    goAway: Raw = ABSENT  # noqa: N815
    sessionResumptionUpdate: Raw = ABSENT  # noqa: N815
    voiceActivity: Raw = ABSENT  # noqa: N815
    contextUpdate: Raw = ABSENT  # noqa: N815
    client_content: Raw = ABSENT
    tool_response: Raw = ABSENT
    tool_call: Raw = ABSENT
    tool_call_cancellation: Raw = ABSENT
    server_content: Raw = ABSENT
    setup_complete: Raw = ABSENT
    realtime_input: Raw = ABSENT
    go_away: Raw = ABSENT
    session_resumption_update: Raw = ABSENT
    voice_activity: Raw = ABSENT
    context_update: Raw = ABSENT


class _Inside(msgspec.Struct, gc=False):
    """What such a message holds."""

    model: str | None = None
    tools: Raw = ABSENT
    turns: Raw = ABSENT
    functionCalls: Raw = ABSENT  # noqa: N815
    function_calls: Raw = ABSENT
    functionResponses: Raw = ABSENT  # noqa: N815
    function_responses: Raw = ABSENT
    modelTurn: Raw = ABSENT  # noqa: N815
    model_turn: Raw = ABSENT
    ids: Raw = ABSENT


_record = msgspec.json.Decoder(Record).decode
_inside = msgspec.json.Decoder(_Inside).decode
_function = msgspec.json.Decoder(Function).decode
_ids = msgspec.json.Decoder(list[str]).decode


class GeminiLive(RecordAdapter[Record]):
    """The adapter; see `analyzer.read.adapter.Adapter`."""

    name: ClassVar[str] = "gemini-live"
    title: ClassVar[str] = "Gemini Live: messages of a session over a socket"
    known_by: ClassVar[str] = (
        "messages whose member is `setup`, `clientContent`, `serverContent`, `toolCall`, `toolResponse` or another of "
        "this API, in the spelling of the API or of its clients, bare or in an envelope"
    )
    loses: ClassVar[tuple[str, ...]] = (
        "Nothing names a session: each setup begins one.",
        "What is said aloud is on this wire as sound, and is not read.",
        "Whether a tool succeeded is told by an `error` member, which is a custom and no rule.",
        "Answers that a tool gives on the way (`willContinue`) are not counted; the last one is.",
    )

    def __init__(self, source: int, rows: Rows) -> None:
        self._rows = rows
        self._records = Decoding(source, rows, _record, self.knows)
        self._dialogue = Dialogue(self.name, rows, live_said)
        self._names: Recent[tuple[str | None, str], str | None] = Recent()
        self._memories = (self._dialogue, self._names)

    @staticmethod
    def knows(record: Any) -> float:
        """How surely a parsed record is of this wire."""
        if not isinstance(record, dict) or "type" in record or "role" in record:
            return 0.0
        members = [name for name in record if name in _NAMES and record[name] is not None]
        if len(members) == 1 and isinstance(record[members[0]], dict):
            inside = record[members[0]]
            if _NAMES[members[0]] == "setup":
                return 0.9 if "model" in inside else 0.0
            if _NAMES[members[0]] in ("toolCall", "toolResponse"):
                return 0.95 if any(name.lower().replace("_", "").startswith("function") for name in inside) else 0.0
            return 0.9
        inner = (record.get("event"), record.get("data"), record.get("message"))
        return max((GeminiLive.knows(each) for each in inner if isinstance(each, dict)), default=0.0)

    def _take(self, record: Record, raw: bytes, place: Place, *, top: bool = True) -> bool:
        name, value = _member(record)
        if name is None:
            return top and self._records.enveloped(record, place, self._nested)
        if _NAMES[name] in {"toolCall", "toolResponse"} and b"unction" not in bytes(value):
            return False  # another's call that has the same name
        if name == "setup":
            self._setup(raw, value, place)
        elif _NAMES[name] == "toolCallCancellation":
            self._cancelled(name, held(_inside, value, _Inside())[0], place)
        elif _NAMES[name] in _TELLING:
            session = self._dialogue.append(raw, place)
            self._names |= {(session, call.call_id): call.name for call in live_said(raw).calls if call.call_id}
        else:
            self._dialogue.move(place)
            self._dialogue.cursor.event(name, "notice", self._dialogue.running)
        return True

    def _nested(self, record: Record, raw: bytes, place: Place) -> bool:
        return self._take(record, raw, place, top=False)

    def _cancelled(self, name: str, inside: _Inside, place: Place) -> None:
        """Calls that the server wants no answer to: the user spoke in between."""
        session = self._dialogue.running
        self._dialogue.move(place)
        event, _ = self._dialogue.cursor.event(name, "item", session)
        for call_id in held(_ids, inside.ids, list[str]())[0] if session is not None else ():
            if (session, call_id) in self._names:
                self._rows.call_sightings.add(
                    event=event,
                    session=session,
                    wire=self.name,
                    stage="item",
                    call_id=call_id,
                    pair_id=call_id,
                    kind="function",
                    name=self._names[session, call_id],
                    container="absent",
                    status="abandoned",
                    owed_by="client",
                    pointer=f"/{name}/ids",
                )

    def _setup(self, raw: bytes, value: Raw, place: Place) -> None:
        """A session begins: its model and its tools."""
        self._dialogue.part()
        session = self._dialogue.append(raw, place)
        event = self._dialogue.cursor.next - 1
        setup = held(_inside, value, _Inside())[0]
        self._rows.session_states.add(event=event, session=session, model=setup.model)
        if first(setup.tools) == b"[":
            table = self._rows.table(bytes(setup.tools), "gemini")
            to = None if place.opaque else "/setup/tools"
            self._rows.showings.add(
                event=event, session=session, channel="session", scope="all", table=table, pointer=to
            )


def _member(record: Record) -> tuple[str | None, Raw]:
    """The member that a message has, and what it holds."""
    for name in _NAMES:
        value: Raw = getattr(record, name)
        if first(value) == b"{":
            return name, value
    return None, ABSENT


def live_said(raw: bytes) -> Said:
    """What one message of a session says."""
    name, value = _member(held(_record, raw, Record())[0])
    inside, faults = held(_inside, value, _Inside())
    said = Said("user", faults=faults)
    for member in ("functionCalls", "function_calls"):
        for index, each in enumerate(listed(getattr(inside, member))):
            said.role = "assistant"
            function = held(_function, each, Function())[0]
            said.calls.append(call_in(function, f"/{name}/{member}/{index}"))
    for member in ("functionResponses", "function_responses"):
        for index, each in enumerate(listed(getattr(inside, member))):
            function = held(_function, each, Function())[0]
            if not (function.will_continue or function.goes_on):
                said.results.append(result_in(function, f"/{name}/{member}/{index}"))
    contents = [(f"/{name}/turns/{index}", each) for index, each in enumerate(listed(inside.turns))]
    contents += [
        (f"/{name}/{member}", bytes(getattr(inside, member)))
        for member in ("modelTurn", "model_turn")
        if first(getattr(inside, member)) == b"{"
    ]
    texts: list[str] = []
    for to, content in contents:
        turn = said_of(content)
        said.role = turn.role
        move(turn, to)
        said.calls += turn.calls
        said.results += turn.results
        texts += [] if turn.text is None else [turn.text]
        said.to = said.to or to + turn.to
    said.text = "\n".join(texts) if texts else None
    return said
