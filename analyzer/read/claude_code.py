"""Claude Code sessions: the JSONL files of the projects folder, subagent files beside them, and `stream-json` output.

One message of the model stands on several rows, one block each. A row that is written again when a session is resumed
keeps its uuid; in a file of another session id it belongs to the session that it was written in first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import msgspec

from analyzer.read.adapter import RecordAdapter
from analyzer.read.claude.blocks import At, Block, Blocks, blocks_of, meaning, words_of
from analyzer.read.decoding import Decoding
from analyzer.read.openai.cursor import Place
from analyzer.read.openai.ledger import Recent
from analyzer.read.rows import Rows
from analyzer.read.values import ABSENT, Raw, first, text_of

_SPOKEN = ("user", "assistant")
_NOTICES = frozenset(
    {
        *("system", "summary", "file-history-snapshot", "file-history-delta", "queue-operation", "progress"),
        *(
            "attachment",
            "permission-mode",
            "mode",
            "custom-title",
            "ai-title",
            "agent-name",
            "agent-color",
            "last-prompt",
        ),
        *(
            "pr-link",
            "tag",
            "marble-origami-commit",
            "marble-origami-snapshot",
            "worktree-state",
            "content-replacement",
        ),
        *("result", "stream_event", "control_request", "control_response", "keep_alive", "rate_limit_event"),
        *("bridge-session", "task-summary", "fork-context-ref", "started", "speculation-accept"),
    }
)
_OWN = ("sessionId", "session_id", "uuid", "leafUuid", "messageId")
_PREFIX = "mcp__"


class Message(msgspec.Struct, gc=False):
    """The message on a row, in the words of the Messages API."""

    id: str | None = None
    role: str | None = None
    model: str | None = None
    content: Raw = ABSENT


class Row(msgspec.Struct, gc=False):
    """The members of a row that the audit reads."""

    type: str | None = None
    subtype: str | None = None
    uuid: str | None = None
    session: str | None = msgspec.field(default=None, name="sessionId")
    session_id: str | None = None
    timestamp: str | None = None
    version: str | None = None
    agent: str | None = msgspec.field(default=None, name="agentId")
    sidechain: bool | None = msgspec.field(default=None, name="isSidechain")
    meta: bool | None = msgspec.field(default=None, name="isMeta")
    summary: bool | None = msgspec.field(default=None, name="isCompactSummary")
    message: Message | None = None
    structured: Raw = msgspec.field(default=ABSENT, name="toolUseResult")
    structured_too: Raw = msgspec.field(default=ABSENT, name="tool_use_result")
    parent: str | None = msgspec.field(default=None, name="parent_tool_use_id")
    model: str | None = None
    tools: Raw = ABSENT
    leaf: Raw = msgspec.field(default=ABSENT, name="leafUuid")
    snapshot_of: Raw = msgspec.field(default=ABSENT, name="messageId")


class _Known(msgspec.Struct):
    """What is remembered over all files of a run."""

    rows: Recent[str, str] = msgspec.field(default_factory=Recent)
    """uuid of a row -> the session it was written in first."""
    sessions: dict[str, str] = {}
    """Session id in a file -> the session that it goes on with."""


_row = msgspec.json.Decoder(Row).decode


class ClaudeCode(RecordAdapter[Row]):
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
    )

    def __init__(self, source: int, rows: Rows) -> None:
        self._rows = rows
        self._records = Decoding(source, rows, _row, self.knows, owns=_is_row, session=lambda: self._session)
        self._blocks = Blocks(self.name, rows)
        self._known: _Known = rows.shared.setdefault(self.name, _Known())
        self._session: str | None = None
        self._when: str | None = None
        self._told: tuple[str | None, str | None] = (None, None)
        self._agents: set[tuple[str | None, str]] = set()
        self._boundary: tuple[int, str | None] | None = None

    @staticmethod
    def knows(record: Any) -> bool:
        """Whether a parsed record is a row of a session."""
        return _is_spoken(record) or _is_beside(record)

    @classmethod
    def sniff(cls, records: Sequence[Any], path: str) -> float:
        """The share of the records that are rows of a session."""
        del path
        sure = sum(map(_is_spoken, records))
        return (sure + sum(map(_is_beside, records))) / len(records) if sure or _all_beside(records) else 0.0

    def close(self) -> None:
        """A compaction without a summary behind it."""
        self._compacted(None)

    # --- rows -------------------------------------------------------------------------------------------------------

    def _take(self, row: Row, raw: bytes, place: Place) -> bool:
        del raw
        event = place.event
        copy = self._placed(row)
        self._when = row.timestamp or self._when
        native = row.type or "row"
        turn = self._turn(row) if row.sidechain or row.agent is not None or row.parent is not None else None
        kind = "item" if native in _SPOKEN and not copy else "notice" if copy or native in _NOTICES else "unknown"
        self._rows.events.append(
            (
                *(event, self._session, place.offset, place.length, place.line, place.pointer),
                *(self._when, None, None),  # a row without a time is as old as the one before it
                *(native, kind, turn, None if copy else row.uuid),
            )
        )
        if self._boundary is not None or row.summary:
            self._compacted(row if row.summary else None, event)
        if copy:
            return True
        if row.message is not None and native in _SPOKEN:
            self._spoken(row, row.message, event, turn)
        elif native == "system" and row.subtype == "compact_boundary":
            self._boundary = (event, turn)
        elif native == "system" and row.subtype == "init":
            self._state(row.model, row.version, event)
            if first(row.tools) == b"[":
                table = self._rows.table(bytes(row.tools), "anthropic")
                self._rows.showings.append((event, self._session, "request", "all", table, "/tools"))
        return True

    def _placed(self, row: Row) -> bool:
        """Find the session of a row; whether it is a copy, written again under the id of a resumed session."""
        named = row.session or row.session_id
        session = self._session if named is None else self._known.sessions.get(named, named)
        home = None if row.uuid is None else self._known.rows.get(row.uuid)
        if home is not None and named is not None and home != session:
            self._known.sessions[named] = session = home
        elif row.uuid is not None and session is not None and home is None:
            self._known.rows[row.uuid] = session
        self._session = session
        return home is not None and named is not None and named != home

    def _turn(self, row: Row) -> str | None:
        """Subagents speak beside the session: each of them is a turn of its own."""
        agent = row.agent or row.parent
        if agent is None and not row.sidechain:
            return None
        return f"agent-{agent}" if agent is not None else "sidechain"

    def _compacted(self, summary: Row | None, event: int | None = None) -> None:
        """Append the compaction whose boundary was the row before, with the summary that follows it."""
        boundary, self._boundary = self._boundary, None
        if summary is not None and event is not None:
            text = None if summary.message is None else words_of(blocks_of(summary.message.content)[0])
            self._rows.summaries.append((event, self._session, self._turn(summary), "compaction", None, text))
        elif boundary is not None:
            self._rows.summaries.append((boundary[0], self._session, boundary[1], "compaction", None, None))

    def _state(self, model: str | None, version: str | None, event: int) -> None:
        if (model, version) != self._told and model is not None and model != "<synthetic>":
            self._told = (model, version)
            agent = "claude-code" if version is None else f"claude-code/{version}"
            said = (None, agent, "Claude Code", model)
            self._rows.session_states.append((event, self._session, *said, None, None, None, None, None, None))

    def _spoken(self, row: Row, message: Message, event: int, turn: str | None) -> None:
        if message.model is not None:
            self._state(message.model, row.version, event)
        if turn is not None and (self._session, turn) not in self._agents:
            self._agents.add((self._session, turn))
            agent = row.agent or row.parent or turn
            self._rows.turn_states.append((event, self._session, turn, None, agent, "in_progress", None))
        blocks, faults = blocks_of(message.content)
        at = At(event, self._session, "item", "/message/content", turn, reply=message.id)
        if faults:
            self._blocks.faults(faults, at)
        said = False
        for index, block in enumerate(blocks):
            what = meaning(block)
            if what == "said":
                said = True
                continue
            at.to = f"/message/content/{index}"
            if what == "call":
                said = True
                at.emission = f"{message.id or row.uuid or f'row {event}'}/{block.id or index}"
                self._call(block, at)
            elif what == "result":
                at.emission = None
                self._result(block, at, row)
            else:
                self._blocks.unknown(block, at)
        if said and not row.meta:
            place = (event, self._session, turn, message.id, message.role or row.type)
            self._rows.messages.append((*place, None, None, words_of(blocks), "/message/content"))

    def _call(self, block: Block, at: At) -> None:
        server, name = _server_of(block.name)
        if server is not None:
            block.server_name, block.name = server, name
        self._blocks.call(block, at, kind="mcp" if server is not None else None)

    def _result(self, block: Block, at: At, row: Row) -> None:
        """A result as the model saw it, beside what the tool returned."""
        beside = row.structured or row.structured_too
        at.stage = "echo" if block.type != "tool_result" else "message"
        error = structured = None
        if beside is not ABSENT:
            kind = first(beside)
            error = text_of(beside) if kind == b'"' and bytes(beside).startswith(b'"Error:') else None
            structured = bytes(beside).decode() if kind in (b"{", b"[") else None
        self._blocks.result(block, at, structured=structured, error=None if block.is_error else error)
        at.stage = "item"


def _server_of(name: str | None) -> tuple[str | None, str | None]:
    """The server and the tool in a flattened name `mcp__server__tool`."""
    if name is None or not name.startswith(_PREFIX):
        return None, name
    server, found, tool = name[len(_PREFIX) :].partition("__")
    return (server, tool) if found and server and tool else (None, name)


def _is_row(row: Row) -> bool:
    """Whether what could be decoded is a row of a session."""
    named = row.uuid or row.session or row.session_id
    if row.type in _SPOKEN:
        return named is not None and row.message is not None
    if row.type in _NOTICES:
        return bool(named or row.leaf or row.snapshot_of)
    return row.session is not None and row.uuid is not None


def _is_spoken(record: Any) -> bool:
    """Whether a parsed record is a row with a message."""
    if not isinstance(record, dict) or record.get("type") not in _SPOKEN or "message" not in record:
        return False
    return "uuid" in record or "sessionId" in record or "session_id" in record


def _is_beside(record: Any) -> bool:
    """Whether a parsed record is a row of another kind."""
    if not isinstance(record, dict) or _is_spoken(record):
        return False
    kind = record.get("type")
    return isinstance(kind, str) and kind in _NOTICES and any(name in record for name in _OWN)


def _all_beside(records: Sequence[Any]) -> bool:
    return len(records) > 1 and all(map(_is_beside, records))
