"""What the Agents SDK writes, as one typed record."""

from __future__ import annotations

import msgspec

from analyzer.read.openai.wire import Item
from analyzer.read.values import ABSENT, Raw


class Span(msgspec.Struct, gc=False):
    """What a span is about."""

    type: str | None = None
    name: str | None = None
    input: Raw = ABSENT
    output: Raw = ABSENT
    mcp_data: Raw = ABSENT
    model: str | None = None
    model_config: Raw = ABSENT
    data: Raw = ABSENT


class Record(Item, gc=False):
    """Everything that one record may be: an item, a span or a trace, a body of these, a saved run, a row of a store."""

    object: str | None = None
    data: Raw = ABSENT
    hook: str | None = None
    trace_id: str | None = None
    parent_id: str | None = None
    started_at: str | None = None
    span_data: Span | None = None
    schema_version: str | None = msgspec.field(default=None, name="$schemaVersion")
    sqlite_table: str | None = None
    session_id: str | None = None
    branch_id: str | None = None
    created_at: str | float | None = None
    message_data: Raw = ABSENT
    tool_calls: Raw = ABSENT
    tool_call_id: Raw = ABSENT
    has_more: bool | None = None
    request: Raw = ABSENT
    http: Raw = ABSENT
    body: Raw = ABSENT
