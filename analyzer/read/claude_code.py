"""Claude Code sessions: the JSONL files of the projects folder, subagent files beside them, and `stream-json` output.

One message of the model stands on several rows, one block each. A row that is written again when a session is resumed
keeps its uuid; in a file of another session id it belongs to the session that it was written in first.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress
from typing import Any, ClassVar

import msgspec

from analyzer.frames import PART_BITS
from analyzer.read.adapter import Adapter
from analyzer.read.claude.blocks import MEANINGS, Block, blocks_of, contents_of, meaning, words_of
from analyzer.read.claude.branches import Branches
from analyzer.read.claude.sightings import At, Sightings
from analyzer.read.claude.transcript import (
    KINDS,
    Message,
    Row,
    all_beside,
    is_beside,
    is_row,
    is_spoken,
    row_of,
    turn_of,
)
from analyzer.read.decoding import Decoding
from analyzer.read.ledger import Recent
from analyzer.read.records import Block as Records
from analyzer.read.rows import Rows, event_number
from analyzer.read.values import ABSENT, first

_ROWS = 1_000_000  # remembered over all files, some 200 MB
_PREFIX = "mcp__"


class _Known(msgspec.Struct):
    """What is remembered over all files of a run."""

    rows: Recent[str, str] = msgspec.field(default_factory=lambda: Recent(_ROWS))
    """uuid of a row -> the session it was written in first."""
    sessions: Recent[str, str] = msgspec.field(default_factory=Recent)
    """Session id in a file -> the session that it goes on with."""
    begun: Recent[str | None, bool] = msgspec.field(default_factory=Recent)
    """The sessions of which a row was read that could be their first."""


class ClaudeCode(Adapter):
    """The adapter; see `analyzer.read.adapter.Adapter`."""

    name: ClassVar[str] = "claude-code-jsonl"
    title: ClassVar[str] = "Claude Code sessions: project files, subagent files, stream-json"
    known_by: ClassVar[str] = (
        "rows of type `user` or `assistant` with a `message` beside `sessionId` or `session_id` and `uuid`; summaries, "
        "snapshots and system rows beside them"
    )
    loses: ClassVar[tuple[str, ...]] = (
        "No schemas are in the file: give a capture of the tool table as contract file, of the version the rows name.",
        "Approvals are not kept: a refusal shows only as a result that failed.",
        "Large outputs are moved to other files: the row then holds a preview.",
        "What compaction took out of the context is not marked row by row.",
        "Which branch counts after a user went back is told by `parentUuid`: rows without it are one line of history.",
        "Progress rows show what subagents do a second time and are not read: give the files under subagents/, too.",
    )

    def __init__(self, source: int, rows: Rows) -> None:
        self._source = source
        self._rows = rows
        self._records = Decoding(source, rows, row_of, self.knows)
        self._sightings = Sightings(self.name, rows)
        self._known: _Known = rows.shared.setdefault(self.name, _Known())
        self._session: str | None = None
        self._named: str | None = None
        self._when: str | None = None
        self._told: tuple[str | None, str | None] = (None, None)
        self._agents: set[tuple[str | None, str]] = set()
        self._boundary: tuple[int, str | None, str | None] | None = None
        self._sessions: list[str | None] = []
        self._branches = Branches()
        self._new: list[str | None] = []
        """The sessions that began in this block."""

    @staticmethod
    def knows(record: Any) -> bool:
        """Whether a parsed record is a row of a session."""
        return is_spoken(record) or is_beside(record)

    @classmethod
    def sniff(cls, records: Sequence[Any], path: str) -> float:
        """The share of the records that are rows of a session."""
        del path
        sure = sum(map(is_spoken, records))
        return (sure + sum(map(is_beside, records))) / len(records) if sure or all_beside(records) else 0.0

    def close(self) -> None:
        """A compaction without a summary behind it."""
        self._compacted(None)

    def remembered(self) -> tuple[Any, ...]:
        """Its place in the file; see `Adapter.remembered`. Whose a row is holds when it is read again."""
        self._new = []
        at = self._session, self._named, self._when, self._told, self._boundary
        return at, set(self._agents), self._branches.copy()

    def forget(self, since: tuple[Any, ...]) -> None:
        """See `Adapter.forget`."""
        at, self._agents, self._branches = since
        self._session, self._named, self._when, self._told, self._boundary = at
        for session in self._new:
            self._known.begun.pop(session, None)

    # --- rows -------------------------------------------------------------------------------------------------------

    def read(self, block: Records) -> list[int]:
        """Append the rows of the block; see `Adapter.read`."""
        self._known.rows.trim()
        self._known.sessions.trim()
        self._known.begun.trim()
        found, faults = self._records.cleaned(block)
        owned = [row is not None and (is_row(row) or index in faults) for index, row in enumerate(found)]
        others = [index for index, own in enumerate(owned) if not own]
        base = event_number(self._source, block.first)
        numbers: Sequence[int] = range(base, base + (len(found) << PART_BITS), 1 << PART_BITS)
        pointers = block.pointer or [""] * len(found)
        columns: Any = (numbers, found, block.offset, block.length, block.line, pointers)
        if others:
            columns = [list(compress(column, owned)) for column in columns]
        events, rows, offset, length, line, pointer = columns
        if events:
            self._append(events, rows, offset, length, line, pointer)
            if faults:
                sessions = dict(zip(events, self._sessions, strict=True))
                for index, told in faults.items():
                    session = sessions.get(numbers[index])
                    self._rows.faults += [(numbers[index], session, *fault) for fault in told]
        return others

    def _append(self, events: Sequence[int], rows: list[Row], *where: list[Any]) -> None:
        """Append the rows of the file that are rows of a session, all at once."""
        offset, length, line, pointer = where
        native = [row.type or "row" for row in rows]
        session, copies = self._placed(rows)
        turn = [turn_of(row) if row.sidechain or row.agent or row.parent else None for row in rows]
        kind = [KINDS.get(each, "unknown") for each in native]
        event_id = [row.uuid for row in rows]
        spoken = [row.message if each == "item" else None for row, each in zip(rows, kind, strict=True)]
        for index in copies:
            kind[index], event_id[index], spoken[index] = "notice", None, None
        self._begin(events, rows, session, turn)
        self._branches.begin(rows)
        self._speak(events, rows, session, turn, spoken)
        self._branches.end()
        self._rows.bulk(
            "events",
            event=events,
            session=session,
            time=self._times(rows),
            type=native,
            kind=kind,
            turn=turn,
            event_id=event_id,
            offset=offset,
            length=length,
            line=line,
            pointer=pointer,
        )
        self._sessions = session

    def _placed(self, rows: list[Row]) -> tuple[list[str | None], list[int]]:
        """The session of each row, and which are copies, written again under the id of a resumed session."""
        homes, others = self._known.rows, self._known.sessions
        last, current = self._named, self._session
        sessions: list[str | None] = []
        copies: list[int] = []
        for row in rows:
            named, uuid = row.session or row.session_id, row.uuid
            if named is not None and named != last:
                last, current = named, others.get(named, named)  # one text for all rows that follow
            home = None if uuid is None else homes.get(uuid)
            if home is None:
                if uuid is not None and current is not None:
                    homes[uuid] = current
            elif named is not None:
                if home != current:
                    others[named] = current = home
                if home != named:
                    copies.append(len(sessions))
            sessions.append(current)
        self._named, self._session = last, current
        return sessions, copies

    def _begin(
        self, events: Sequence[int], rows: list[Row], sessions: list[str | None], turns: list[str | None]
    ) -> None:
        """Say of sessions that are new whether the first of their rows, those of subagents aside, follows no other."""
        begun = self._known.begun
        new = {session for session in dict.fromkeys(sessions) if session is not None and session not in begun}
        if not new:
            return
        for event, row, session, turn in zip(events, rows, sessions, turns, strict=True):
            if session in new and row.uuid is not None and turn is None:
                new.remove(session)
                self._new.append(session)
                begun[session] = row.before is None
                if row.before is None:
                    self._rows.session_states.add(event=event, session=session, begins=True)

    def _times(self, rows: list[Row]) -> list[str | None]:
        """When the rows were written; one without a time is as old as the one before it."""
        times = [row.timestamp for row in rows]
        for index, when in enumerate(times):
            if not when:
                times[index] = times[index - 1] if index else self._when
        self._when = times[-1]
        return times

    def _compacted(self, row: Row | None, event: int = 0, session: str | None = None) -> None:
        """Append the compaction whose boundary was the row before this one, with its summary if that is what it is."""
        boundary, self._boundary = self._boundary, None
        if row is not None and row.summary:
            text = None if row.message is None else words_of(blocks_of(row.message.content)[0])
            self._rows.summaries.add(event=event, session=session, turn=turn_of(row), what="compaction", text=text)
        elif boundary is not None:
            self._rows.summaries.append((*boundary, "compaction", None, None))

    def _state(self, model: str | None, version: str | None, event: int, session: str | None) -> None:
        if (model, version) != self._told and model is not None and model != "<synthetic>":
            self._told = (model, version)
            agent = "claude-code" if version is None else f"claude-code/{version}"
            self._rows.session_states.add(
                event=event, session=session, agent=agent, agent_name="Claude Code", model=model
            )

    # --- messages ---------------------------------------------------------------------------------------------------

    def _speak(
        self,
        events: Sequence[int],
        rows: list[Row],
        sessions: list[str | None],
        turns: list[str | None],
        spoken: list[Message | None],
    ) -> None:
        """Append what rows say: messages with the calls and results in them, and models, compactions, tools beside."""
        contents = iter(contents_of([message.content for message in spoken if message is not None]))
        said, agents, branches = self._rows.messages, self._agents, self._branches
        at = At(0, None, "item", "")
        for event, row, session, turn, message in zip(events, rows, sessions, turns, spoken, strict=True):
            if row.summary or self._boundary is not None:
                self._compacted(row, event, session)
            if message is None:
                if row.subtype is not None:
                    self._system(row, event, session, turn)
                continue
            if message.model is not None:
                self._state(message.model, row.version, event, session)
            if turn is not None and (session, turn) not in agents:
                self._agent(row, event, session, turn)
            content, faults = next(contents)
            if faults:
                at.event, at.session, at.to = event, session, "/message/content"
                self._sightings.faults(faults, at)
            if isinstance(content, str):
                text: str | None = content
            elif len(content) == 1 and content[0].type == "text":
                text = content[0].text or ""
            else:
                at.event, at.session, at.turn, at.reply, at.to = event, session, turn, message.id, "/message/content"
                text = self._asked(content, at, row, message)
            if text is not None and not row.meta:
                if branches.open and (isinstance(content, str) or content[0].type == "text"):
                    self._leave(row, event, session, turn)
                role = message.role or row.type
                said.append((event, session, turn, message.id, role, None, None, text, "/message/content", None))

    def _agent(self, row: Row, event: int, session: str | None, turn: str) -> None:
        self._agents.add((session, turn))
        self._rows.turn_states.add(
            event=event,
            session=session,
            turn=turn,
            subagent=row.agent or row.parent or turn,
            status="created" if row.before is None else "in_progress",
        )

    def _leave(self, row: Row, event: int, session: str | None, turn: str | None) -> None:
        """Append what becomes of the open calls that the row's branch does not hold: nobody waits for them."""
        for block, emission in self._branches.left(row, session, turn, self._known.rows):
            left = At(event, session, "history", "", turn, None, emission, status="abandoned")
            gone = msgspec.structs.replace(block, input=ABSENT)
            self._sightings.call(gone, left, kind="mcp" if gone.server_name is not None else None)

    def _asked(self, content: list[Block], at: At, row: Row, message: Message) -> str | None:
        """Append the calls and results of a message; what it says, if anything but results."""
        spoken, branches = False, self._branches
        for index, block in enumerate(content):
            what = MEANINGS.get(block.type) or meaning(block)
            if what == "said":
                spoken = True
                continue
            at.to = f"/message/content/{index}"
            if what == "call":
                spoken = True
                at.stage, at.emission = "item", f"{message.id or row.uuid or f'row {at.event}'}/{block.id or index}"
                if block.name is not None and block.name.startswith(_PREFIX):
                    block.server_name, block.name = _server_of(block.name)
                self._sightings.call(block, at, kind="mcp" if block.server_name is not None else None)
                if branches.open:
                    self._leave(row, at.event, at.session, at.turn)
                if block.id and block.type == "tool_use":
                    branches.call(row, block, at.session, at.turn)
            elif what == "result":
                # what the model saw, beside what the tool returned
                at.stage, at.emission = "echo" if block.type != "tool_result" else "message", None
                self._sightings.result(block, at, beside=row.structured or row.structured_too)
                branches.close(block.tool_use_id, at.session, at.turn)
            else:
                self._sightings.unknown(block, at)
        return words_of(content) if spoken else None

    def _system(self, row: Row, event: int, session: str | None, turn: str | None) -> None:
        """Append what a program says of itself: a compaction, and the tools that it declares."""
        if row.type != "system":
            return
        if row.subtype == "compact_boundary":
            self._boundary = (event, session, turn)
        elif row.subtype == "init":
            self._state(row.model, row.version, event, session)
            if first(row.tools) == b"[":
                table = self._rows.table(bytes(row.tools), "anthropic")
                self._rows.showings.add(
                    event=event, session=session, channel="request", scope="all", table=table, pointer="/tools"
                )


def _server_of(name: str) -> tuple[str | None, str]:
    """The server and the tool in a flattened name `mcp__server__tool`."""
    server, found, tool = name[len(_PREFIX) :].partition("__")
    return (server, tool) if found and server and tool else (None, name)
