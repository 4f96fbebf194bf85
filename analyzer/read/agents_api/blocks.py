"""Whole blocks of records: nearly all of a long log is pieces of text, calls, results and snapshots.

Those that say which session they are of become rows column by column, all at once. The rest is taken one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress
from typing import NamedTuple

import msgspec

from analyzer.frames import PART_BITS
from analyzer.read.agents_api.events import Events, Place
from analyzer.read.agents_api.parts import SUPPORTED, At, Parts, shown, succeeded
from analyzer.read.agents_api.single import Single
from analyzer.read.agents_api.tables import HEAD, Tables
from analyzer.read.agents_api.wire import (
    KINDS,
    NAME,
    Action,
    Agent,
    Item,
    Piece,
    Record,
    Session,
    decode_piece,
    decode_record,
)
from analyzer.read.records import Block
from analyzer.read.rows import Rows
from analyzer.read.values import arguments_of, first, quoted_output, text_of, texts_of

_DELTA = b'.delta"'
_ADDED = "agent.session.turn.item.added"
_POSTED = "agent.session.input.tool_result"
_KINDS: dict[str | None, str] = dict(KINDS.items())
_NO_ITEM, _NO_SESSION, _NO_AGENT = Item(), Session(), Agent()

# Columns of the rows that are taken in bulk which are the same in all of them.
_PAIRED = {"pair_id": "call_id"}
_EVENT = {"pointer": ""}
_CALL = {
    "wire": NAME,
    "kind": "function",
    "container": "object",
    "owed_by": "client",
    "pointer": "/item/arguments",
}
_ASKED = {"wire": NAME, "stage": "action", "kind": "function", "owed_by": "client"}
_RESULT = {"wire": NAME}


class _Known(NamedTuple):
    """What is known of each record of a block."""

    types: list[str | None]
    kinds: list[str | None]
    sessions: list[str | None]


class _Group(NamedTuple):
    """Records that are taken in one way, and the numbers of their events."""

    events: list[int]
    records: list[Record]


class Blocks:
    """Takes blocks that hold no broken record."""

    def __init__(self, rows: Rows, events: Events, tables: Tables, parts: Parts, single: Single) -> None:
        self._rows = rows
        self._named = events
        self._tables = tables
        self._parts = parts
        self._single = single
        self._posted: dict[str, tuple[str | bytes | None, int]] = {}
        self._takes = 0

    def decoded(self, raws: list[bytes]) -> list[Piece | Record]:
        """The records of a block, pieces of text as Piece where their type stands where it does in the first one.

        Raises msgspec.DecodeError or RecursionError where one is broken.
        """
        decode = self._tables.decode
        start = next((at for raw in raws if (at := raw.find(_DELTA, 0, HEAD)) > 0), 0)
        end = start + len(_DELTA)
        try:
            return [decode_piece(raw) if raw[start:end] == _DELTA else decode(raw) for raw in raws]
        except msgspec.ValidationError:
            return list(map(decode, raws))

    def read(self, block: Block, base: int, records: list[Piece | Record]) -> list[int]:
        """Append the rows of a block's records; `base` is the number of the first event. See `Adapter.read`."""
        if self._takes != self._rows.takes:  # rows of another frame lend nothing
            self._posted, self._takes = {}, self._rows.takes
        types = [record.type for record in records]
        kinds = list(map(_KINDS.get, types))
        sessions = [record.session_id for record in records]
        groups: dict[str, list[int]] = {"": [], "rest": [], "call": [], "post": [], "echo": [], "state": []}
        for index, (kind, session) in enumerate(zip(kinds, sessions, strict=True)):
            if kind != "delta" or session is None:
                groups[_group(records[index], kind)].append(index)
        self._events(base, block, records, _Known(types, kinds, sessions), groups[""])
        for name, take in (
            ("call", self._calls),
            ("post", self._posts),
            ("echo", self._echoes),
            ("state", self._states),
        ):
            if indexes := groups[name]:
                held = [record for index in indexes if isinstance(record := records[index], Record)]
                take(_Group([base + (index << PART_BITS) for index in indexes], held))
        return self._one_by_one(base, block, records, kinds, groups)

    def _one_by_one(
        self,
        base: int,
        block: Block,
        records: list[Piece | Record],
        kinds: list[str | None],
        groups: dict[str, list[int]],
    ) -> list[int]:
        """Take what is out of the ordinary; the indexes of the records that are not of this wire."""
        strange: list[int] = []
        odd = set(groups[""])
        for index in sorted(odd.union(groups["rest"])):
            raw, found, kind = block.raw[index], records[index], kinds[index]
            record = found if isinstance(found, Record) else decode_record(raw)
            event = base + (index << PART_BITS)
            if index not in odd:
                self._single.regular(event, record, kind or "")
                continue
            if index and (before := records[index - 1].session_id) is not None:
                self._named.session = before
            place = Place(block.offset[index], block.length[index], block.line[index])
            if not self._single.take(event, record, raw, "", place):
                strange.append(index)
        if records and records[-1].session_id is not None:
            self._named.session = records[-1].session_id
        return strange

    def _events(
        self,
        base: int,
        block: Block,
        records: list[Piece | Record],
        known: _Known,
        odd: list[int],
    ) -> None:
        """One event for each record, but for the odd ones."""
        events: Sequence[int] = range(base, base + (len(records) << PART_BITS), 1 << PART_BITS)
        offset, length, line = block.offset, block.length, block.line
        if odd:
            left = [True] * len(records)
            for index in odd:
                left[index] = False
            events, records = list(compress(events, left)), list(compress(records, left))
            known = _Known(*(list(compress(column, left)) for column in known))
            offset, length, line = (list(compress(column, left)) for column in (offset, length, line))
        self._rows.bulk(
            "events",
            constant=_EVENT,
            shared={"type": known.types, "kind": known.kinds},
            event=events,
            offset=offset,
            length=length,
            line=line,
            session=known.sessions,
            turn=[record.turn_id for record in records],
            time=[record.recorded_at for record in records],
            number=[record.sequence_number for record in records],
            event_id=[record.event_id for record in records],
        )

    def _calls(self, group: _Group) -> None:
        records = group.records
        items = [record.item or _NO_ITEM for record in records]
        self._rows.bulk(
            "call_sightings",
            constant=_CALL,
            same=_PAIRED,
            shared={
                "status": [item.status for item in items],
                "stage": ["item" if record.type == _ADDED else "done" for record in records],
            },
            event=group.events,
            session=[record.session_id for record in records],
            turn=[item.turn_id or record.turn_id for item, record in zip(items, records, strict=True)],
            name=[item.name for item in items],
            item_id=[item.id for item in items],
            call_id=[item.call_id for item in items],
            text=texts_of([item.arguments for item in items]),
            index=[record.output_index for record in records],
        )

    def _posts(self, group: _Group) -> None:
        records = group.records
        found = [quoted_output(record.output, SUPPORTED) for record in records]
        errors = [text_of(record.error) for record in records]
        nothing: list[str | None] = [None] * len(records)
        since = self._rows.bulk(
            "result_sightings",
            constant=_RESULT,
            same=_PAIRED,
            shared={
                "stage": ["post"] * len(records),
                "status": nothing,
                "container": [container for _, container in found],
                "pointer": [
                    "" if container == "absent" and error is None else "/" + shown(container, error)
                    for (_, container), error in zip(found, errors, strict=True)
                ],
            },
            quoted={"text": [text for text, _ in found]},
            event=group.events,
            session=[record.session_id for record in records],
            turn=[record.turn_id for record in records],
            item_id=nothing,
            call_id=[record.call_id for record in records],
            success=[record.success for record in records],
            error=errors,
        )
        for row, (record, (text, container)) in enumerate(zip(records, found, strict=True), since):
            if container == "text" and record.call_id is not None:
                self._posted[record.call_id] = text, row

    def _echoes(self, group: _Group) -> None:
        records = group.records
        items = [record.item or _NO_ITEM for record in records]
        lent = [self._posted_before(item) for item in items]
        found = [
            (None, "text") if row is not None else quoted_output(item.output, SUPPORTED)
            for item, row in zip(items, lent, strict=True)
        ]
        errors = [text_of(item.error) for item in items]
        self._rows.bulk(
            "result_sightings",
            constant=_RESULT,
            same=_PAIRED,
            shared={
                "stage": ["echo"] * len(items),
                "status": [item.status for item in items],
                "container": [container for _, container in found],
                "pointer": [
                    "/item/" + shown(container, error) for (_, container), error in zip(found, errors, strict=True)
                ],
            },
            lent={"text": lent},
            quoted={"text": [text for text, _ in found]},
            event=group.events,
            session=[record.session_id for record in records],
            turn=[item.turn_id or record.turn_id for item, record in zip(items, records, strict=True)],
            item_id=[item.id for item in items],
            call_id=[item.call_id for item in items],
            success=[succeeded(item.status, error) for item, error in zip(items, errors, strict=True)],
            error=errors,
        )

    def _posted_before(self, item: Item) -> int | None:
        """The row of the post that an item echoes byte for byte; its text is then not decoded and kept again."""
        posted = self._posted.pop(item.call_id or "", None)
        return posted[1] if posted is not None and posted[0] == bytes(item.output) else None

    def _states(self, group: _Group) -> None:
        snapshots = [record.session or _NO_SESSION for record in group.records]
        agents = [snapshot.agent or _NO_AGENT for snapshot in snapshots]
        sessions = [record.session_id for record in group.records]
        many = [agent.multi_agent for agent in agents]
        asked = [snapshot.required_actions for snapshot in snapshots]
        self._rows.bulk(
            "session_states",
            shared={
                "status": [snapshot.status for snapshot in snapshots],
                "agent": [agent.id for agent in agents],
                "agent_name": [agent.name for agent in agents],
                "model": [agent.model for agent in agents],
                "text_format": [text or None for text in texts_of([agent.text for agent in agents])],
                "instructions": [agent.instructions for agent in agents],
            },
            event=group.events,
            session=sessions,
            max_subagents=[None if each is None else each.max_concurrent_subagents for each in many],
            pending=[None if actions is None else len(actions) for actions in asked],
        )
        calls: list[tuple[At, int, Action]] = []
        for event, session, agent, actions in zip(group.events, sessions, agents, asked, strict=True):
            self._tables.show(agent.tools, event, session, "session", "/session/agent/tools")
            for index, action in enumerate(actions or ()):
                at = At(event, session, action.turn_id)
                if action.type == "function_call":
                    calls.append((at, index, action))
                else:
                    self._parts.action(action, at, f"/session/required_actions/{index}")
        if calls:
            self._asked(calls)

    def _asked(self, calls: list[tuple[At, int, Action]]) -> None:
        texts, containers = arguments_of([action.arguments for _, _, action in calls])
        self._rows.bulk(
            "call_sightings",
            constant=_ASKED,
            same=_PAIRED,
            shared={
                "container": containers,
                "pointer": [f"/session/required_actions/{index}/arguments" for _, index, _ in calls],
            },
            event=[at.event for at, _, _ in calls],
            session=[at.session for at, _, _ in calls],
            turn=[at.turn for at, _, _ in calls],
            name=[action.name for _, _, action in calls],
            call_id=[action.call_id for _, _, action in calls],
            text=texts,
        )


def _group(record: Piece | Record, kind: str | None) -> str:
    """How a record is taken: in one of the groups, as an event whose parts are the `rest`, or as an odd one: empty."""
    if not isinstance(record, Record) or kind is None or record.session_id is None or record.object is not None:
        return ""
    if kind == "item":
        item = record.item
        if item is not None and item.call_id is not None:
            if item.type == "function_call" and first(item.arguments) == b"{":
                return "call"
            if item.type == "function_call_output":
                return "echo"
    elif kind == "session":
        return "rest" if record.session is None else "state"
    elif record.type == _POSTED:
        return "post"
    return "rest"
