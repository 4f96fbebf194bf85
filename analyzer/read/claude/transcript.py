"""The rows of a Claude Code session file: their members, their kinds, and what tells them from other records."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from analyzer.read.values import ABSENT, Raw

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
KINDS = {**dict.fromkeys(_NOTICES, "notice"), **dict.fromkeys(_SPOKEN, "item")}
_OWN = ("sessionId", "session_id", "uuid", "leafUuid", "messageId")
_SURE = ({"summary", "leafUuid"}, {"messageId", "snapshot"}, {"sessionId", "operation"}, {"sessionId", "uuid"})


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
    parent_uuid: str | msgspec.UnsetType | None = msgspec.field(default=msgspec.UNSET, name="parentUuid")
    logical: str | None = msgspec.field(default=None, name="logicalParentUuid")
    leaf: Raw = msgspec.field(default=ABSENT, name="leafUuid")
    snapshot_of: Raw = msgspec.field(default=ABSENT, name="messageId")

    @property
    def before(self) -> str | None:
        """The row that this one follows: None where it is the first of all, "" where it does not say."""
        if self.parent_uuid is msgspec.UNSET:
            return ""
        return self.logical if self.parent_uuid is None else self.parent_uuid


row_of = msgspec.json.Decoder(Row).decode


def turn_of(row: Row) -> str | None:
    """Subagents speak beside the session: each of them is a turn of its own."""
    agent = row.agent or row.parent
    return f"agent-{agent}" if agent else "sidechain" if row.sidechain else None


def is_row(row: Row) -> bool:
    """Whether what could be decoded is a row of a session."""
    if row.type in _SPOKEN:
        return row.message is not None and bool(row.uuid or row.session or row.session_id)
    if row.session is not None and row.uuid is not None:
        return True
    return row.type in _NOTICES and bool(row.uuid or row.session or row.session_id or row.leaf or row.snapshot_of)


def is_spoken(record: Any) -> bool:
    """Whether a parsed record is a row with a message."""
    if not isinstance(record, dict) or record.get("type") not in _SPOKEN or "message" not in record:
        return False
    return "uuid" in record or "sessionId" in record or "session_id" in record


def is_beside(record: Any) -> bool:
    """Whether a parsed record is a row of another kind."""
    if not isinstance(record, dict) or is_spoken(record):
        return False
    kind = record.get("type")
    return isinstance(kind, str) and kind in _NOTICES and any(name in record for name in _OWN)


def all_beside(records: Sequence[Any]) -> bool:
    """Whether the records are nothing but rows without messages."""
    if len(records) == 1 and isinstance(records[0], dict):
        # A session that was opened and left has a single row: what marks a message or a session has to stand there.
        return is_beside(records[0]) and any(marks <= records[0].keys() for marks in _SURE)
    return len(records) > 1 and all(map(is_beside, records))
