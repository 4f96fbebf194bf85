"""The bodies of the Responses wire as one typed record, and what tells a request from the bodies of other wires."""

from __future__ import annotations

import msgspec

from analyzer.read.openai.wire import Item
from analyzer.read.recorded import Recorded
from analyzer.read.values import ABSENT, Int64, Raw, first


class Record(Recorded, gc=False):
    """Everything that one record may be: a request, a response, a chunk of a stream, an exchange, an envelope."""

    type: str | None = None
    object: str | None = None
    id: str | None = None
    model: str | None = None
    created_at: float | None = None
    tools: Raw = ABSENT
    instructions: Raw = ABSENT
    parallel_tool_calls: bool | None = None
    previous_response_id: str | None = None
    conversation: Raw = ABSENT
    stream: Raw = ABSENT
    store: Raw = ABSENT
    item: Item | None = None
    output_index: Int64 | None = None
    item_id: str | None = None
    sequence_number: Int64 | None = None
    delta: Raw = ABSENT
    arguments: Raw = ABSENT


class Piece(msgspec.Struct, gc=False):
    """What a chunk says that only adds to a text, as most chunks of a stream do."""

    type: str | None = None
    output_index: Int64 | None = None
    item_id: str | None = None
    delta: str | None = None
    sequence_number: Int64 | None = None
    recorded_at: str | float | None = None


_SPACE = 4096  # bytes that may stand before the first item
record_of = msgspec.json.Decoder(Record).decode
piece_of = msgspec.json.Decoder(Piece).decode


def asks(record: Record) -> bool:
    """Whether a body without a type is a request of this wire."""
    kind = first(record.input)
    if record.messages or record.output or kind not in {b"[", b'"'}:
        return False
    if record.previous_response_id is not None or record.conversation or record.tools:
        return True
    if kind == b"[":
        return bytes(memoryview(record.input)[1:_SPACE]).lstrip()[:1] in {b"{", b"]"} and record.model is not None
    return record.model is not None and bool(record.store or record.instructions or record.stream)
