"""Strands agent sessions: messages in the shape of Bedrock Converse as they are saved, a record or a file for each.

The same messages stand bare where a program writes the list of an agent itself.
"""

from __future__ import annotations

from typing import Any, ClassVar

import msgspec
from msgspec.structs import replace

from analyzer.read.adapter import RecordAdapter
from analyzer.read.converse.messages import said_of
from analyzer.read.cursor import Place
from analyzer.read.decoding import Decoding
from analyzer.read.dialogue import Dialogue, Said
from analyzer.read.rows import Rows
from analyzer.read.values import ABSENT, Int64, Raw, first

_CALLS = ("toolUse", "toolResult")
_BLOCKS = frozenset({"text", "image", "document", "video", "reasoningContent", "cachePoint", "guardContent", *_CALLS})


class Record(msgspec.Struct, gc=False):
    """A message as it is saved, or bare."""

    message: Raw = ABSENT
    message_id: Int64 | None = None
    created_at: str | None = None


_record = msgspec.json.Decoder(Record).decode


class Strands(RecordAdapter[Record]):
    """The adapter; see `analyzer.read.adapter.Adapter`."""

    name: ClassVar[str] = "strands"
    title: ClassVar[str] = "Strands agent sessions: saved messages, bare messages of Converse"
    known_by: ClassVar[str] = (
        "a `message` with blocks of Converse beside a `message_id`; a message alone whose `content` has such blocks "
        "(`toolUse`, `toolResult`, `text` without a type)"
    )
    loses: ClassVar[tuple[str, ...]] = (
        "Tool tables are not saved: give them with --contracts.",
        "No record names its session: the first message begins one, and files of messages follow it by their names.",
        "Output schemas are not on this wire.",
        "Messages that the conversation's manager has dropped are still saved, what was redacted is not.",
    )

    def __init__(self, source: int, rows: Rows) -> None:
        self._records = Decoding(source, rows, _record, self.knows)
        self._dialogue = Dialogue(self.name, rows, _said)
        self._running: dict[str, str] = rows.shared.setdefault("sessions of strands", {})
        """The session that goes on, from file to file."""
        self._memories = (self._dialogue,)

    @staticmethod
    def knows(record: Any) -> float:
        """How surely a parsed record is a message."""
        if not isinstance(record, dict):
            return 0.0
        if isinstance(record.get("message_id"), int):
            return 1.0 if _is_message(record.get("message")) else 0.0
        return _is_message(record) if record.keys() <= {"role", "content", "metadata"} else 0.0

    def _take(self, record: Record, raw: bytes, place: Place) -> bool:
        if not self._records.own(raw):
            return False
        if first(record.message) != b"{":
            self._dialogue.append(raw, place)
            return True
        if record.message_id == 0:
            self._dialogue.part()
            self._running.clear()
        here = replace(place, pointer=f"{place.pointer}/message", when=record.created_at)
        session = self._dialogue.append(bytes(record.message), here, session=self._running.get(""))
        self._running[""] = session
        return True


def _is_message(value: Any) -> float:
    """How surely a value is a message of Converse."""
    if not isinstance(value, dict) or value.get("role") not in ("user", "assistant"):
        return 0.0
    blocks = value.get("content")
    if not isinstance(blocks, list) or not blocks:
        return 0.0
    if not all(isinstance(each, dict) and each.keys() <= _BLOCKS for each in blocks):
        return 0.0
    return 1.0 if any(isinstance(each.get(name), dict) for each in blocks for name in _CALLS) else 0.4


def _said(raw: bytes) -> Said:
    """What a message says; its calls are those of Converse, and what holds for that wire holds for them."""
    said = said_of(raw)
    for call in said.calls:
        call.wire = "bedrock"
    return said
