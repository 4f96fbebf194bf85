"""OpenAI Agents API sessions: stream events, posted inputs, requests, exchanges, pages; bare or in envelopes.

The wire is described by the types of the `openai` package (`openai.types.beta`, header `agents=v1`).
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from itertools import compress
from typing import Any, ClassVar, Literal

import msgspec
from msgspec.structs import replace

from analyzer.frames import PART_BITS, PART_LIMIT, RECORDED
from analyzer.read.openai import exchange
from analyzer.read.records import Block
from analyzer.read.recover import Fault, Unreadable, parse, typed
from analyzer.read.rows import Rows, event_number
from analyzer.read.values import ABSENT as _ABSENT
from analyzer.read.values import Raw, arguments, microseconds, output, quoted_output
from analyzer.read.values import first as _first
from analyzer.read.values import text_of as _text
from analyzer.read.values import words as _words

_SESSION_EVENTS = ("created", "in_progress", "idle", "requires_action", "failed")
_TURN_EVENTS = ("created", "in_progress", "completed", "failed", "cancelled")
_DELTAS = (
    "turn.content_part.added",
    "turn.content_part.done",
    "turn.output_text.delta",
    "turn.output_text.done",
    "turn.reasoning_summary_part.added",
    "turn.reasoning_summary_part.done",
    "turn.reasoning_summary_text.delta",
    "turn.reasoning_summary_text.done",
)
_NOTICES = (
    *(f"subagent.{word}" for word in ("created", "active", "closed")),
    *(
        f"environment.{word}"
        for word in ("pending", "ready", "connected", "disconnected", "suspended", "expired", "failed", "reset")
    ),
)
_INPUTS = ("message", "cancel", "tool_result", "mcp_approval_request_result", "computer_use_approval_request_result")

KINDS: dict[str, str] = {
    **{f"agent.session.{word}": "session" for word in _SESSION_EVENTS},
    **{f"agent.session.turn.{word}": "turn" for word in _TURN_EVENTS},
    **{f"agent.session.turn.item.{word}": "item" for word in ("added", "done")},
    **{f"agent.session.{word}": "delta" for word in _DELTAS},
    "agent.output.command_execution_output.delta": "delta",
    **{f"agent.session.{word}": "notice" for word in _NOTICES},
    **{f"agent.session.input.{word}": "input" for word in _INPUTS},
    "error": "error",
}
_DELTA_TYPES = tuple(native for native, kind in KINDS.items() if kind == "delta")
_WEBHOOKS = frozenset(
    {
        *(f"agent.session.{word}" for word in ("action_required", *_SESSION_EVENTS)),
        *(f"agent.environment.{word}" for word in ("ready", "failed", "suspended", "expired")),
    }
)
_PLAIN_ITEMS = frozenset(
    {
        "reasoning",
        "command_execution",
        "web_search_call",
        "computer_use_call",
        "computer_use_approval_request",
        "computer_use_approval_request_result",
        "create_subagent_call",
        "send_subagent_input_call",
        "resume_subagent_call",
        "interrupt_subagent_call",
        "close_subagent_call",
        "wait_for_subagents_call",
        "agent_message",
    }
)
ITEMS = _PLAIN_ITEMS | {"function_call", "function_call_output", "mcp_call", "message"}
_RESOURCES = frozenset({"agent.session.subagent", "agent.session.artifact"})
_TRACE = b'"agent.session.trace"'  # OTLP inside: for another adapter


class Item(msgspec.Struct, gc=False):
    """The members of an item that the audit reads."""

    id: str | None = None
    type: str = ""
    status: str | None = None
    turn_id: str | None = None
    call_id: str | None = None
    name: str | None = None
    arguments: Raw = _ABSENT
    output: Raw = _ABSENT
    error: Raw = _ABSENT
    role: str | None = None
    phase: str | None = None
    content: Raw = _ABSENT
    server_label: str | None = None


class Action(msgspec.Struct, gc=False):
    """One required action."""

    type: str = ""
    turn_id: str | None = None
    call_id: str | None = None
    name: str | None = None
    arguments: Raw = _ABSENT
    request_id: str | None = None
    request: Raw = _ABSENT


class MultiAgent(msgspec.Struct, gc=False):
    """Subagent settings."""

    max_concurrent_subagents: int | None = None


class Agent(msgspec.Struct, gc=False):
    """The agent inside a session snapshot or a request."""

    id: str | None = None
    name: str | None = None
    model: str | None = None
    multi_agent: MultiAgent | None = None
    text: Raw = _ABSENT
    instructions: str | None = None
    tools: Raw = _ABSENT


class Session(msgspec.Struct, gc=False):
    """A session snapshot."""

    id: str | None = None
    status: str | None = None
    required_actions: list[Action] | None = None
    agent: Agent | None = None


class Turn(msgspec.Struct, gc=False):
    """A turn resource."""

    id: str | None = None
    session_id: str | None = None
    agent_id: str | None = None
    subagent_id: str | None = None
    status: str | None = None
    error: Raw = _ABSENT


class Subagent(msgspec.Struct, gc=False):
    """A subagent resource."""

    id: str | None = None
    session_id: str | None = None


class Record(msgspec.Struct, gc=False):
    """Everything that one record may be: an event, an envelope, a body, an exchange, a resource or a page.

    In the order of the wire, in which the decoder looks for them.
    """

    event_id: str | None = None
    type: str | None = None
    session_id: str | None = None
    sequence_number: int | None = None
    recorded_at: str | int | float | None = None
    turn_id: str | None = None
    output_index: int | None = None
    item: Item | None = None
    call_id: str | None = None
    success: bool | None = None
    output: Raw = _ABSENT
    error: Raw = _ABSENT
    session: Session | None = None
    turn: Turn | None = None
    subagent: Subagent | None = None
    direction: str | None = None
    input: Raw = _ABSENT
    request_id: str | None = None
    response: Raw = _ABSENT
    event: Raw = _ABSENT
    events: Raw = _ABSENT
    http: Raw = _ABSENT
    agent: Raw = _ABSENT
    object: str | None = None
    data: Raw = _ABSENT
    has_more: bool | None = None


class Subject(msgspec.Struct, gc=False):
    """What a webhook is about."""

    id: str | None = None


class Http(msgspec.Struct, gc=False):
    """The request half of a recorded exchange."""

    method: str = ""
    path: str = ""
    url: str = ""
    headers: dict[str, Any] = {}
    body: Raw = _ABSENT


class Response(msgspec.Struct, gc=False):
    """The response half of a recorded exchange."""

    status: int | None = None
    body: Raw = _ABSENT


class Piece(msgspec.Struct, gc=False):
    """What a row of EVENTS needs of a piece of a streamed text: cheaper than looking for every member of Record."""

    event_id: str | None = None
    type: Literal[_DELTA_TYPES] | None = None  # type: ignore[valid-type]
    session_id: str | None = None
    sequence_number: int | None = None
    recorded_at: str | int | float | None = None
    turn_id: str | None = None


class McpRequest(msgspec.Struct, gc=False):
    """What an MCP approval request asks for."""

    server_label: str | None = None
    name: str | None = None
    arguments: Raw = _ABSENT


_record = msgspec.json.Decoder(Record).decode
_decode_piece = msgspec.json.Decoder(Piece).decode
_item = msgspec.json.Decoder(Item).decode
_session = msgspec.json.Decoder(Session).decode
_turn = msgspec.json.Decoder(Turn).decode
_agent = msgspec.json.Decoder(Agent).decode
_subject = msgspec.json.Decoder(Subject).decode
_http = msgspec.json.Decoder(Http).decode
_response = msgspec.json.Decoder(Response).decode
_mcp_request = msgspec.json.Decoder(McpRequest).decode
_string = msgspec.json.Decoder(str).decode
_raws = msgspec.json.Decoder(list[Raw]).decode


class Place(msgspec.Struct, frozen=True, gc=False):
    """Where an event's record lies, and what stands around it."""

    offset: int
    length: int
    line: int
    session: str | None = None
    when: str | float | None = None
    number: int | None = None
    accepted: bool | None = None
    key: str | None = None


class AgentsApi:
    """The adapter; see `analyzer.read.adapter.Adapter`."""

    name: ClassVar[str] = "openai-agents-api"
    title: ClassVar[str] = "OpenAI Agents API sessions: events, inputs, requests, exchanges, pages"
    known_by: ClassVar[str] = (
        "types that begin with `agent.session.`, `agent.output.` or `agent.environment.`, bare or as the `event` of an "
        "envelope; pages of items that name a turn; bodies and resources of a session; exchanges under /agents/sessions"
    )
    loses: ClassVar[tuple[str, ...]] = (
        "The schemas of MCP and hosted tools are nowhere on this wire: their arguments are not judged.",
        "No event says that a tool table changed: the change lies between two snapshots (bracketed).",
        "Output schemas are not on this wire: give them as contract files.",
        "Posted inputs are not echoed on the stream: without them late and refused results show as items only.",
        "Compaction leaves no record.",
    )

    def __init__(self, source: int, rows: Rows) -> None:
        self._source = source
        self._rows = rows
        self._session: str | None = None
        self._turn_session: dict[str, str] = {}
        self._event_number = 0
        self._posted: dict[str, tuple[bytes, int]] = {}
        self._takes = 0
        # A session event embeds the whole tool table. One seen before is cut out of the bytes before they are decoded
        # and a token left in its place; the token is of this process alone, so no log can hold it.
        self._token = b'"' + secrets.token_hex(12).encode()
        self._cuts: dict[bytes, list[tuple[bytes, bytes]]] = {}

    @staticmethod
    def sniff(records: Sequence[Any], path: str) -> float:
        """The share of the records that are of this wire."""
        del path
        return sum(map(_knows, records)) / len(records) if records else 0.0

    def close(self) -> None:
        """Nothing is held back."""

    def read(self, block: Block) -> list[int]:
        """Append the rows of the block; see `Adapter.read`."""
        if block.utf8 and block.pointer is None:
            try:
                records = self._records(block.raw)
            except (msgspec.DecodeError, RecursionError):
                pass
            else:
                return self._read_columns(block, records)
        block.part()
        return self._read_carefully(block)

    def _records(self, raws: list[bytes]) -> list[Any]:
        """The records of a block, pieces of text as Piece where their type stands where it does in the first one."""
        cut = self._decode
        first = next((at for raw in raws if (at := raw.find(_DELTA, 0, _HEAD)) > 0), 0)
        last = first + len(_DELTA)
        try:
            return [
                _decode_piece(raw) if raw[first:last] == _DELTA else _record(raw) if len(raw) < _SMALL else cut(raw)
                for raw in raws
            ]
        except msgspec.ValidationError:
            return [_record(raw) if len(raw) < _SMALL else cut(raw) for raw in raws]

    def _read_columns(self, block: Block, records: list[Any]) -> list[int]:
        """Append the rows of a block column by column, but for those of records that are out of the ordinary."""
        if self._takes != self._rows.takes:  # rows of another frame lend nothing
            self._posted, self._takes = {}, self._rows.takes
        base = event_number(self._source, block.first)
        kinds = list(map(KINDS.get, [record.type for record in records]))
        groups: dict[str, list[tuple[int, Record]]] = {}
        calls: list[tuple[int, Record]] = []
        outputs: list[tuple[int, Record]] = []
        posts: list[tuple[int, Record]] = []
        states: list[tuple[int, Record]] = []
        odd: list[int] = []
        rest: list[int] = []
        for index, record in enumerate(records):
            kind = kinds[index]
            if kind == "delta":
                if record.session_id is None:
                    odd.append(index)
                    rest.append(index)
                continue
            if kind is None or record.session_id is None or record.object is not None:
                odd.append(index)
            elif kind == "item":
                item = record.item
                if item is not None and item.call_id is not None:
                    if item.type == "function_call" and _first(item.arguments) == b"{":
                        calls.append((base + (index << PART_BITS), record))
                        continue
                    if item.type == "function_call_output":
                        outputs.append((base + (index << PART_BITS), record))
                        continue
            elif kind == "session":
                if record.session is not None:
                    states.append((base + (index << PART_BITS), record))
                continue
            elif record.type == _POSTED:
                posts.append((base + (index << PART_BITS), record))
                continue
            rest.append(index)
        self._bulk_events(base, block, records, kinds, odd)
        if calls:
            self._bulk_calls(calls)
        if posts:
            self._bulk_posts(posts)
        if outputs:
            self._bulk_outputs(outputs)
        if states:
            self._bulk_states(states)
        strange = []
        strangers = set(odd)
        for index in rest:
            record = records[index] if type(records[index]) is Record else _record(block.raw[index])
            event = base + (index << PART_BITS)
            if index not in strangers:
                if record.turn_id is not None:
                    self._turn_session[record.turn_id] = record.session_id
                self._parts(record, record.type, kinds[index], event, record.session_id, Place(0, 0, 0))
                continue
            if index and records[index - 1].session_id is not None:
                self._session = records[index - 1].session_id
            self._event_number = event
            place = Place(block.offset[index], block.length[index], block.line[index])
            if not self._take(record, block.raw[index], "", place):
                strange.append(index)
        if records and records[-1].session_id is not None:
            self._session = records[-1].session_id
        return strange

    def _bulk_events(
        self, base: int, block: Block, records: list[Any], kinds: list[str | None], odd: list[int]
    ) -> None:
        """An event for each record of the block, but for the odd ones."""
        events: Sequence[int] = range(base, base + (len(records) << PART_BITS), 1 << PART_BITS)
        offset, length, line = block.offset, block.length, block.line
        if odd:
            left = [True] * len(records)
            for index in odd:
                left[index] = False
            events, offset, length, line, records, kinds = (
                list(compress(column, left)) for column in (events, offset, length, line, records, kinds)
            )
        self._rows.bulk(
            "events",
            constant=_WHOLE,
            shared={"type": [record.type for record in records], "kind": kinds},
            event=events,
            offset=offset,
            length=length,
            line=line,
            session=[record.session_id for record in records],
            turn=[record.turn_id for record in records],
            time=[record.recorded_at for record in records],
            number=[record.sequence_number for record in records],
            event_id=[record.event_id for record in records],
        )

    def _bulk_calls(self, calls: list[tuple[int, Record]]) -> None:
        records = [record for _, record in calls]
        items = [record.item for record in records]
        self._rows.bulk(
            "call_sightings",
            constant=_CALLED,
            same=_PAIRED,
            shared={
                "status": [item.status for item in items],
                "stage": ["item" if record.type == _ADDED else "done" for record in records],
            },
            event=[event for event, _ in calls],
            session=[record.session_id for record in records],
            turn=[item.turn_id or record.turn_id for item, record in zip(items, records, strict=True)],
            name=[item.name for item in items],
            item_id=[item.id for item in items],
            call_id=[item.call_id for item in items],
            text=[bytes(item.arguments).decode() for item in items],
            index=[record.output_index for record in records],
        )

    def _bulk_outputs(self, outputs: list[tuple[int, Record]]) -> None:
        records = [record for _, record in outputs]
        items = [record.item for record in records]
        lent = [self._posted_before(item) for item in items]
        found = [
            (None, "text") if row is not None else quoted_output(item.output, _PARTS)
            for item, row in zip(items, lent, strict=True)
        ]
        errors = [_text(item.error) for item in items]
        self._rows.bulk(
            "result_sightings",
            constant=_RESULT,
            same=_PAIRED,
            shared={
                "stage": ["echo"] * len(items),
                "status": [item.status for item in items],
                "container": [container for _, container in found],
                "pointer": [
                    "/item/error" if error is not None and container in _TEXTLESS else "/item/output"
                    for (_, container), error in zip(found, errors, strict=True)
                ],
            },
            lent={"text": lent},
            quoted={"text": [text for text, _ in found]},
            event=[event for event, _ in outputs],
            session=[record.session_id for record in records],
            turn=[item.turn_id or record.turn_id for item, record in zip(items, records, strict=True)],
            item_id=[item.id for item in items],
            call_id=[item.call_id for item in items],
            success=[_succeeded(item.status, error) for item, error in zip(items, errors, strict=True)],
            error=errors,
        )

    def _posted_before(self, item: Item) -> int | None:
        """The row of the post that an item echoes byte for byte; its text is then not decoded and kept again."""
        posted = self._posted.pop(item.call_id or "", None)
        return posted[1] if posted is not None and posted[0] == bytes(item.output) else None

    def _bulk_posts(self, posts: list[tuple[int, Record]]) -> None:
        records = [record for _, record in posts]
        found = [quoted_output(record.output, _PARTS) for record in records]
        errors = [_text(record.error) for record in records]
        ids = [record.call_id for record in records]
        nothing = [None] * len(ids)
        since = self._rows.bulk(
            "result_sightings",
            constant=_RESULT,
            same=_PAIRED,
            shared={
                "stage": ["post"] * len(ids),
                "status": nothing,
                "container": [container for _, container in found],
                "pointer": [
                    ("" if container == "absent" else "/output")
                    if error is None or container not in _TEXTLESS
                    else "/error"
                    for (_, container), error in zip(found, errors, strict=True)
                ],
            },
            quoted={"text": [text for text, _ in found]},
            event=[event for event, _ in posts],
            session=[record.session_id for record in records],
            turn=[record.turn_id for record in records],
            item_id=nothing,
            call_id=ids,
            success=[record.success for record in records],
            error=errors,
        )
        for row, (call, (text, container)) in enumerate(zip(ids, found, strict=True), since):
            if call is not None and container == "text":
                self._posted[call] = text, row

    def _bulk_states(self, states: list[tuple[int, Record]]) -> None:
        snapshots = [record.session for _, record in states]
        agents = [snapshot.agent or _NO_AGENT for snapshot in snapshots]
        many = [agent.multi_agent for agent in agents]
        asked = [snapshot.required_actions for snapshot in snapshots]
        self._rows.bulk(
            "session_states",
            shared={
                "status": [snapshot.status for snapshot in snapshots],
                "agent": [agent.id for agent in agents],
                "agent_name": [agent.name for agent in agents],
                "model": [agent.model for agent in agents],
                "text_format": [bytes(agent.text).decode() or None for agent in agents],
                "instructions": [agent.instructions for agent in agents],
            },
            event=[event for event, _ in states],
            session=[record.session_id for _, record in states],
            max_subagents=[None if each is None else each.max_concurrent_subagents for each in many],
            pending=[None if actions is None else len(actions) for actions in asked],
        )
        calls: list[tuple[int, str | None, int, Action]] = []
        for (event, record), agent, actions in zip(states, agents, asked, strict=True):
            self._tools(agent.tools, event, record.session_id, "session", "/session/agent/tools")
            for index, action in enumerate(actions or ()):
                if action.type == "function_call":
                    calls.append((event, record.session_id, index, action))
                else:
                    self._action(action, event, record.session_id, f"/session/required_actions/{index}")
        if calls:
            found = [arguments(action.arguments) for _, _, _, action in calls]
            self._rows.bulk(
                "call_sightings",
                constant=_ASKED,
                same=_PAIRED,
                shared={
                    "container": [container for _, container in found],
                    "pointer": [f"/session/required_actions/{index}/arguments" for _, _, index, _ in calls],
                },
                event=[event for event, _, _, _ in calls],
                session=[session for _, session, _, _ in calls],
                turn=[action.turn_id for _, _, _, action in calls],
                name=[action.name for _, _, _, action in calls],
                call_id=[action.call_id for _, _, _, action in calls],
                text=[text for text, _ in found],
            )

    def _read_carefully(self, block: Block) -> list[int]:
        """The same for a block that holds a record which the fast decoder refuses."""
        others: list[int] = []
        base = event_number(self._source, block.first)
        pointers = block.pointer
        for index, raw in enumerate(block.raw):
            event = base + (index << PART_BITS)
            faults: list[Fault] = []
            try:
                if not block.utf8:
                    raw.decode()
                record = self._decode(raw)
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                found = _recover(raw)
                if found is None:
                    others.append(index)
                    continue
                record, raw, faults = found  # noqa: PLW2901 - the cleaned text stands for the record from here on
            self._event_number = event
            place = Place(block.offset[index], block.length[index], block.line[index])
            if not self._take(record, raw, "" if pointers is None else pointers[index], place):
                others.append(index)
                continue
            for fault in faults:
                self._rows.faults.append((event, self._session, *fault))
        return others

    def _decode(self, raw: bytes) -> Record:
        """Decode a record with the tool table cut out where the table is a known one."""
        # Long outputs are most of some logs, and have no table: no need to look for one from end to end.
        if raw.find(_ITEM, 0, _HEAD) > 0 or raw.find(_INPUT, 0, _HEAD) > 0:
            return _record(raw)
        at = raw.find(b'"tools":[') + 8
        if at < 8:
            at = raw.find(b'"tools": [') + 9
            if at < 9:
                return _record(raw)
        for table, token in self._cuts.get(raw[at : at + _CUT_KEY], ()):
            if raw.startswith(table, at):
                record = _record(b"".join((raw[:at], token, raw[at + len(table) :])))
                session = record.session
                if session is not None and session.agent is not None and bytes(session.agent.tools) == token:
                    return record
                break  # the same bytes stood elsewhere
        return _record(raw)

    # --- one record -------------------------------------------------------------------------------------------------

    def _take(self, record: Record, raw: bytes | Raw, pointer: str, place: Place) -> bool:  # noqa: C901 - one branch for each shape of a record
        """Append the rows of one record, or of one that stands inside another; false where it is not of this wire."""
        native = record.type
        kind = KINDS.get(native) if native is not None else None
        if native in _WEBHOOKS and record.object == "event":
            # They come late and in any order, and use the words of the stream: a beginning among them is none.
            told = _subject(record.data) if _first(record.data) == b"{" else Subject()
            self._event(record, f"{native} (webhook)", "notice", told.id or place.session, None, pointer, place)
            return True
        if kind is None or native is None:
            if native is None or record.event:
                return self._take_untyped(record, raw, pointer, place)
            if native in _WEBHOOKS:
                kind = "notice"
            elif native in ITEMS and record.event_id is None and record.turn_id is not None:
                return self._take_item(record, raw, pointer, place)
            elif native.startswith(("agent.session.", "agent.output.", "agent.environment.")):
                kind = "unknown"
            else:
                return False
        elif kind == "error" and record.session_id is None:
            return False  # "error" alone is a word of many wires
        turn = record.turn_id
        session = record.session_id
        if session is None:
            # What the event holds names its session better than a recorder, which may have ids of its own.
            if record.session is not None:
                session = record.session.id
            elif record.subagent is not None:
                session = record.subagent.session_id
            session = session or place.session
        if session is None:
            session = self._session if turn is None else self._turn_session.get(turn, self._session)
        event = self._event(record, native, kind, session, turn, pointer, place)
        self._parts(record, native, kind, event, session, place)
        return True

    def _parts(self, record: Record, native: str, kind: str, event: int, session: str | None, place: Place) -> None:
        """Append the rows of what an event holds."""
        turn = record.turn_id
        if kind == "item":
            if record.item is not None:
                stage = "item" if native.endswith("added") else "done"
                self._item(record.item, stage, event, session, turn, record.output_index, "/item")
            else:
                self._rows.faults.append((event, session, "member_missing", "/item", "the event has no item", None))
        elif kind == "input":
            self._input(record, event, session, place)
        elif kind == "session":
            if record.session is not None:
                self._snapshot(record.session, event, session, "/session")
        elif kind == "turn" and record.turn is not None:
            self._turn(record.turn, native.rpartition(".")[2], event, session, turn)

    def _event(  # noqa: PLR0917 - a row of EVENTS
        self,
        record: Record,
        native: str,
        kind: str,
        session: str | None,
        turn: str | None,
        pointer: str,
        place: Place,
    ) -> int:
        if session is not None:
            self._session = session
            if turn is not None:
                self._turn_session[turn] = session
        when = record.recorded_at if record.recorded_at is not None else place.when
        event = self._event_number
        if event & PART_LIMIT < PART_LIMIT:
            self._event_number = event + 1
        elif self._rows.events and self._rows.events[-1][0] == event:
            return event  # the last number of a record stands for all parts that have none of their own
        else:
            pointer = ""
        self._rows.events.append(
            (
                event,
                session,
                place.offset,
                place.length,
                place.line,
                pointer,
                when if isinstance(when, str) else None,
                None if isinstance(when, str) or when is None else microseconds(when),
                record.sequence_number if record.sequence_number is not None else place.number,
                native,
                kind,
                turn,
                record.event_id,
            )
        )
        return event

    def _take_untyped(self, record: Record, raw: bytes | Raw, pointer: str, place: Place) -> bool:
        """Envelopes, posted bodies, exchanges, requests, resources and pages: what has no event type of its own."""
        inner = replace(
            place,
            session=record.session_id or place.session,
            when=record.recorded_at if record.recorded_at is not None else place.when,
            number=record.sequence_number if record.sequence_number is not None else place.number,
        )
        if _first(record.event) == b"{":
            return self._inside(record.event, f"{pointer}/event", inner)
        if _first(record.http) == b"{":
            return self._exchange(record, pointer, inner)
        if _first(record.events) == b"[":
            return self._all(_raws(record.events), f"{pointer}/events", inner)
        if record.object == "list" and _first(record.data) == b"[":
            if _TRACE in bytes(record.data)[:400]:
                return False
            return self._page(record, pointer, inner)
        if record.object == "agent.session":
            session = _session(raw)
            event = self._event(record, "agent.session", "session", session.id, None, pointer, inner)
            self._snapshot(session, event, session.id, "")
            return True
        if record.object == "agent.session.turn":
            turn = _turn(raw)
            event = self._event(record, "agent.session.turn", "turn", turn.session_id, turn.id, pointer, inner)
            self._turn(turn, turn.status or "", event, turn.session_id, turn.id)
            return True
        if record.object in _RESOURCES:
            self._event(record, record.object, "notice", inner.session, None, pointer, inner)
            return True
        if record.object is None and _first(record.agent) == b"{":
            return self._request(record, pointer, inner, "create")
        return False

    def _inside(self, raw: Raw | bytes, pointer: str, place: Place) -> bool:
        """Take what stands at `pointer` inside a record."""
        if self._event_number & PART_LIMIT < PART_LIMIT:
            return self._part(raw, pointer, place)
        before = _marks(self._rows)
        taken = self._part(raw, pointer, place)
        _point(self._rows, before, pointer)
        return taken

    def _part(self, raw: Raw | bytes, pointer: str, place: Place) -> bool:
        text = bytes(raw)
        try:
            record = self._decode(text)
        except (msgspec.DecodeError, RecursionError):
            found = _recover(text)
            if found is None:
                return False
            record, text, faults = found
            event = self._event_number
            if not self._take(record, text, pointer, place):
                return False
            for fault in faults:
                self._rows.faults.append((event, self._session, *fault))
            return True
        return self._take(record, text, pointer, place)

    def _all(self, raws: list[Raw], pointer: str, place: Place) -> bool:
        taken = [self._inside(raw, f"{pointer}/{index}", place) for index, raw in enumerate(raws)]
        return any(taken) or not raws

    def _exchange(self, record: Record, pointer: str, place: Place) -> bool:  # noqa: C901 - one branch for each endpoint
        """A recorded request and its response."""
        http = _http(record.http)
        path = (http.path or http.url).partition("?")[0]
        _, found, rest = path.partition("/agents/sessions")
        if not found:
            return False
        response = _response(record.response) if _first(record.response) == b"{" else Response()
        _, session, *below = [*rest.split("/"), ""]
        accepted = None if response.status is None else response.status < 400
        keys = [value for name, value in http.headers.items() if name.lower() == "idempotency-key"]
        place = replace(place, session=session or place.session, accepted=accepted, key=str(keys[0]) if keys else None)
        body, body_at = _body(http.body), f"{pointer}/http/body"
        answers, answer_at = _bodies(response.body), f"{pointer}/response/body"
        if not session:
            named = (_named(answer) for answer in answers if _first(answer) == b"{")
            place = replace(place, session=next(filter(None, named), place.session))
        native = f"{http.method} {'/'.join(('/agents/sessions', *(['{id}'] if session else []), *filter(None, below)))}"
        event = self._event(record, native, "request", place.session, None, pointer, place)
        for half, where in ((http.body, "/http/body"), (response.body, "/response/body")):
            if _first(half) == b'"':
                unread = exchange.unread(exchange.opened(_string(half), where))
                self._rows.faults += [(event, place.session, *fault._replace(pointer=where)) for fault in unread]
        before = _marks(self._rows)
        if http.method == "POST" and _first(body) == b"{" and accepted is not False and not any(below):
            self._request(_record(body), body_at, place, "update" if session else "create")
        elif http.method == "POST" and _first(body) in (b"{", b"["):
            inner = _record(body) if _first(body) == b"{" else None
            if inner is None:
                self._all(_raws(body), body_at, place)
            elif _first(inner.events) == b"[":
                self._all(_raws(inner.events), f"{body_at}/events", place)
        if _first(http.body) == b'"':
            _point_at_text(self._rows, before, body_at)
        before = _marks(self._rows)
        if accepted is not False:
            for answer in answers:
                self._inside(answer, answer_at, replace(place, accepted=None, key=None))
        if _first(response.body) == b'"':
            _point_at_text(self._rows, before, answer_at)
        return True

    def _request(self, record: Record, pointer: str, place: Place, channel: str) -> bool:
        """The body of a create or update request."""
        if _first(record.agent) != b"{":
            return channel == "update"
        agent = _agent(record.agent)
        event = self._event(record, f"request.{channel}", "request", place.session, None, pointer, place)
        self._tools(agent.tools, event, place.session, channel, "/agent/tools")
        return True

    def _page(self, record: Record, pointer: str, place: Place) -> bool:
        """A page of a list endpoint, taken oldest first: the default order of the API is newest first."""
        raws = list(enumerate(_raws(record.data)))
        if _newest_first([raw for _, raw in raws]):
            raws.reverse()
        taken = [self._inside(raw, f"{pointer}/data/{index}", place) for index, raw in raws]
        if not any(taken):
            return not raws
        if record.has_more:
            detail = "the page says that there are more, and it is the last one recorded"
            self._rows.faults.append((self._event_number - 1, self._session, "more_pages", "", detail, None))
        return True

    def _take_item(self, record: Record, raw: bytes | Raw, pointer: str, place: Place) -> bool:
        """An item as list endpoints give it."""
        turn = record.turn_id
        session = place.session or self._turn_session.get(turn or "", self._session)
        event = self._event(record, record.type or "", "item", session, turn, pointer, place)
        self._item(_item(raw), "done", event, session, turn, None, "")
        return True

    # --- the parts of an event --------------------------------------------------------------------------------------

    def _item(  # noqa: PLR0917 - the place of an item
        self,
        item: Item,
        stage: str,
        event: int,
        session: str | None,
        turn: str | None,
        index: int | None,
        pointer: str,
    ) -> None:
        native = item.type
        turn = item.turn_id or turn
        if native == "function_call":
            text, container = arguments(item.arguments)
            self._rows.call_sightings.append(
                (
                    *(event, session, turn, self.name, stage, None, item.id, item.call_id),
                    *(item.call_id if item.call_id is not None else item.id, "function", None, item.name),
                    *(text, container, item.status, "client", index, f"{pointer}/arguments"),
                )
            )
        elif native == "function_call_output":
            self._result(item, "echo", event, session, turn, pointer)
        elif native == "message":
            self._rows.messages.append(
                (
                    event,
                    session,
                    turn,
                    item.id,
                    item.role,
                    item.phase,
                    item.status,
                    _words(item.content),
                    f"{pointer}/content",
                )
            )
        elif native == "mcp_call":
            text, container = arguments(item.arguments)
            self._rows.call_sightings.append(
                (
                    *(event, session, turn, self.name, stage, None, item.id, None, item.id),
                    *("mcp", item.server_label, item.name, text, container, item.status, "server"),
                    *(index, f"{pointer}/arguments"),
                )
            )
            if item.status in ("completed", "failed"):
                self._result(item, "echo", event, session, turn, pointer)
        elif native not in _PLAIN_ITEMS:
            detail = f"an item of type {native[:80]!r}"
            self._rows.faults.append((event, session, "unknown_item", f"{pointer}/type", detail, None))

    def _result(self, item: Item, stage: str, event: int, session: str | None, turn: str | None, pointer: str) -> None:  # noqa: PLR0917 - the place of an item
        text, container = output(item.output, _PARTS)
        error = _text(item.error)
        success = _succeeded(item.status, error)
        where = _shown(text, error)
        self._rows.result_sightings.append(
            (
                *(event, session, turn, self.name, stage, item.id, item.call_id),
                *(item.call_id if item.call_id is not None else item.id, None, success, item.status, error),
                *(text, container, None, None, None, f"{pointer}/{where}"),
            )
        )

    def _input(self, record: Record, event: int, session: str | None, place: Place) -> None:
        native = record.type
        if native == "agent.session.input.tool_result":
            text, container = output(record.output, _PARTS)
            error = _text(record.error)
            where = "/" + _shown(text, error) if error is not None or container != "absent" else ""
            self._rows.result_sightings.append(
                (
                    *(event, session, record.turn_id, self.name, "post", None, record.call_id, record.call_id, None),
                    *(record.success, None, error, text, container, None, place.accepted, place.key, where),
                )
            )
        elif native == "agent.session.input.mcp_approval_request_result":
            decision = _decision(record.response) if _first(record.response) == b"{" else None
            if place.accepted is not False:
                self._rows.approvals.append(
                    (event, session, None, record.request_id, "decision", None, None, None, decision, None, "/response")
                )
        elif native == "agent.session.input.message":
            self._rows.messages.append((event, session, None, None, "user", None, None, _words(record.input), "/input"))

    def _snapshot(self, snapshot: Session, event: int, session: str | None, pointer: str) -> None:
        agent = snapshot.agent or Agent()
        actions = snapshot.required_actions
        if actions:
            for index, action in enumerate(actions):
                if action.type == "function_call":
                    text, container = arguments(action.arguments)
                    self._rows.call_sightings.append(
                        (
                            *(event, session, action.turn_id, self.name, "action", None, None, action.call_id),
                            *(action.call_id, "function", None, action.name, text, container, None, "client", None),
                            f"{pointer}/required_actions/{index}/arguments",
                        )
                    )
                else:
                    self._action(action, event, session, f"{pointer}/required_actions/{index}")
        self._rows.session_states.append(
            (
                *(event, session, snapshot.status, agent.id, agent.name, agent.model),
                None if agent.multi_agent is None else agent.multi_agent.max_concurrent_subagents,
                *(
                    None,
                    bytes(agent.text).decode() or None,
                    agent.instructions,
                    None,
                    None if actions is None else len(actions),
                ),
            )
        )
        self._tools(agent.tools, event, session, "session", f"{pointer}/agent/tools")

    def _action(self, action: Action, event: int, session: str | None, pointer: str) -> None:
        """A required action other than a call of a function."""
        if action.type == "mcp_approval_request" and _first(action.request) == b"{":
            request = _mcp_request(action.request)
            text, _ = arguments(request.arguments)
            self._rows.approvals.append(
                (
                    *(event, session, action.turn_id, action.request_id, "request", request.server_label),
                    *(request.name, None if _first(request.arguments) == b"n" else text, None, None),
                    f"{pointer}/request",
                )
            )

    def _tools(self, tools: Raw, event: int, session: str | None, channel: str, pointer: str) -> None:
        text = bytes(tools)
        if not text:
            return  # no member says nothing
        table: str | None = None
        if text.startswith(self._token):
            table = text[len(self._token) + 1 : -1].decode()
        elif text[:1] == b"[":
            table = self._rows.table(text, "openai")
            known = self._cuts.setdefault(text[:_CUT_KEY], [])
            if len(text) >= _CUT_KEY and len(known) < _CUT_LIMIT:
                known.append((text, self._token + b":" + table.encode() + b'"'))
        elif text != b"null":
            self._rows.faults.append((event, session, "member_type", pointer, "tools is neither a list nor null", None))
            return
        self._rows.showings.append((event, session, channel, "all", table, pointer))

    def _turn(self, turn: Turn, word: str, event: int, session: str | None, turn_id: str | None) -> None:
        self._rows.turn_states.append(
            (
                event,
                session,
                turn_id or turn.id,
                turn.agent_id,
                turn.subagent_id,
                turn.status or word,
                _text(turn.error),
            )
        )


def _succeeded(status: str | None, error: str | None) -> bool | None:
    """The success of an output item: the wire keeps no flag, only the status and which member is set."""
    if status == "failed" or error is not None:
        return False
    return True if status == "completed" else None


def _shown(text: str | None, error: str | None) -> str:
    """The member that holds what the result says."""
    return "error" if text is None and error is not None else "output"


_ADDED, _DONE = "agent.session.turn.item.added", "agent.session.turn.item.done"
_POSTED = "agent.session.input.tool_result"
_NO_AGENT = Agent()
_TEXTLESS = ("absent", "null")
# Columns of the rows that are taken in bulk which are the same in all of them.
_PAIRED = {"pair_id": "call_id"}
_CALLED = {
    "wire": AgentsApi.name,
    "kind": "function",
    "container": "object",
    "owed_by": "client",
    "pointer": "/item/arguments",
}
_ASKED = {"wire": AgentsApi.name, "stage": "action", "kind": "function", "owed_by": "client"}
_WHOLE = {"pointer": ""}
_PARTS = frozenset({"input_text", "input_image"})  # of an output; a list with any other is no text
_RESULT = {"wire": AgentsApi.name}
_DELTA, _ITEM, _INPUT = b'.delta"', b'"agent.session.turn.item.', b'"agent.session.input.'
_HEAD = 160  # bytes: where the type of a piece stands, as the API writes it
_SMALL = 2048  # bytes: a record under it has no tool table worth cutting out
_CUT_KEY, _CUT_LIMIT = 96, 64


def _decision(raw: Raw) -> str | None:
    decision = msgspec.json.decode(raw).get("decision")
    return decision if isinstance(decision, str) else None


def _body(raw: Raw) -> Raw | bytes:
    """The recorded body of a request."""
    return next(iter(_bodies(raw)), _ABSENT)


def _bodies(raw: Raw) -> Sequence[Raw | bytes]:
    """What a recorded body holds: itself, or what the text that a recorder made of it holds."""
    if _first(raw) != b'"':
        return (raw,)
    opened = exchange.opened(_string(raw), "")
    return [frame for frame in (opened.frames if opened is not None else ()) if _is_json(frame)]


def _is_json(text: bytes) -> bool:
    try:
        msgspec.json.decode(text, type=Raw)
    except (msgspec.DecodeError, RecursionError):
        return False
    return True


def _named(raw: Raw | bytes) -> str | None:
    """The session that an answer is about: one of its resources, or an event of its stream."""
    try:
        record = _record(raw)
        if record.object == "agent.session":
            return _session(raw).id
    except msgspec.DecodeError:
        return None
    return record.session_id or (None if record.session is None else record.session.id)


_POINTED = {name: list(schema).index("pointer") for name, schema in RECORDED.items() if "pointer" in schema}
_EVENT_POINTER, _EVENT_ID = 5, 12  # in the rows of `Rows.events`


def _marks(rows: Rows) -> dict[str, int]:
    return {name: len(getattr(rows, name)) for name in _POINTED}


def _point(rows: Rows, before: dict[str, int], pointer: str) -> None:
    """Rows since `before` belong to an event that stands for the whole record: their pointers lead from there."""
    for name, at in _POINTED.items():
        held = getattr(rows, name)
        if name != "events":
            held[before[name] :] = [(*row[:at], pointer + row[at], *row[at + 1 :]) for row in held[before[name] :]]


def _point_at_text(rows: Rows, before: dict[str, int], pointer: str) -> None:
    """What stands inside a text cannot be pointed at, and its events cannot be compared: the text is the place."""
    for name, at in _POINTED.items():
        held = getattr(rows, name)
        if name == "events":
            held[before[name] :] = [
                (*row[:_EVENT_POINTER], pointer, *row[_EVENT_POINTER + 1 : _EVENT_ID], None)
                for row in held[before[name] :]
            ]
        else:
            held[before[name] :] = [(*row[:at], "", *row[at + 1 :]) for row in held[before[name] :]]


def _newest_first(raws: list[Raw]) -> bool:
    """Whether a page runs backwards: a result before its call, or a turn's later state first; else as by default."""
    seen: dict[str, str] = {}
    for raw in raws:
        try:
            item = _item(raw)
        except msgspec.DecodeError:
            continue
        if item.call_id is None:
            continue
        other = seen.setdefault(item.call_id, item.type)
        if other != item.type:
            return other == "function_call_output"
    return True


def _recover(raw: bytes) -> tuple[Record, bytes, list[Fault]] | None:
    """A record that the fast decoder refused, the text that stands for it, its faults; None where it is no object."""
    parsed = parse(raw)
    if isinstance(parsed, Unreadable) or not isinstance(parsed[0], dict):
        return None
    value, faults = parsed
    if not _knows(value):
        return None
    found = typed(_record, value)
    if found is None:
        return None
    record, more = found
    return record, msgspec.json.encode(value), faults + more


def _knows(record: Any) -> bool:
    """Whether a parsed record is of this wire."""
    if not isinstance(record, dict):
        return False
    native = record.get("type")
    if isinstance(record.get("event"), dict) and not (isinstance(native, str) and native.startswith("agent.")):
        return _knows(record["event"])
    http = record.get("http")
    if isinstance(http, dict):
        return "/agents/sessions" in str(http.get("path") or http.get("url") or "")
    if isinstance(record.get("events"), list) and native is None:
        return any(map(_knows, record["events"][:8]))
    kind = record.get("object")
    if kind == "list" and isinstance(record.get("data"), list):
        return any(map(_knows, record["data"][:8]))
    if (isinstance(kind, str) and kind in _RESOURCES) or kind in ("agent.session", "agent.session.turn"):
        return True
    if isinstance(native, str):
        if native == "error":
            return isinstance(record.get("session_id"), str)
        if native in ITEMS:
            return isinstance(record.get("turn_id"), str) and "event_id" not in record
        return native.startswith(("agent.session.", "agent.output.", "agent.environment."))
    return native is None and kind is None and isinstance(record.get("agent"), dict) and "tools" in record["agent"]
