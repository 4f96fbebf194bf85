"""The lines of Codex rollouts as typed records: whole ones, and as little of the usual ones as suffices."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

import msgspec

from analyzer.read.openai.executions import Ran
from analyzer.read.openai.wire import Item
from analyzer.read.values import ABSENT, Int64, Raw


class Passthrough(msgspec.Struct, gc=False):
    """What the harness notes beside an item."""

    turn_id: str | None = None


class Payload(Item, gc=False):
    """The payload of any line: an item, an event, a header."""

    turn_id: str | None = None
    internal_chat_message_metadata_passthrough: Passthrough | None = None
    metadata: Passthrough | None = None
    item: Raw = ABSENT
    # session_meta, turn_context
    model: str | None = None
    approval_policy: Raw = ABSENT
    forked_from_id: str | None = None
    parent_thread_id: str | None = None
    agent_nickname: str | None = None
    dynamic_tools: Raw = ABSENT
    base_instructions: Raw = ABSENT
    # compacted
    message: Raw = ABSENT
    replacement_history: Raw = ABSENT
    # results of older versions
    invocation: Raw = ABSENT
    success: bool | None = None
    exit_code: int | None = None
    aggregated_output: str | None = None
    content_items: Raw = ABSENT


class Line(msgspec.Struct, gc=False):
    """One line: of a rollout, or of standard output (`thread_id` and `item` are its own)."""

    timestamp: str | float | None = None
    ordinal: Int64 | None = None
    type: str | None = None
    payload: Payload | None = None
    thread_id: str | None = None
    item: Raw = ABSENT
    error: Raw = ABSENT


class Kept(msgspec.Struct, gc=False):
    """An item of a replacement history, as far as pairs are concerned."""

    type: str | None = None
    id: str | None = None
    call_id: str | None = None
    name: str | None = None
    namespace: str | None = None
    arguments: Raw = ABSENT
    input: Raw = ABSENT


class Instructions(msgspec.Struct, gc=False):
    """What the model was told to be."""

    text: str | None = None


# --- the usual lines, whose payload is decoded by what it is ----------------------------------------------------------


Name = Annotated[str, msgspec.Meta(min_length=1)]


class Quick(msgspec.Struct, gc=False):
    """A line whose payload is not decoded yet."""

    timestamp: str | float | None = None
    ordinal: Int64 | None = None
    type: str | None = None
    payload: Raw = ABSENT


class Event(msgspec.Struct, gc=False):
    """An event, or what holds for a turn."""

    type: str | None = None
    turn_id: str | None = None
    model: str | None = None
    approval_policy: Raw = ABSENT
    item: Ran | None = None
    error: Raw = ABSENT


class Told(msgspec.Struct, gc=False):
    """An item that has nothing but a turn for the audit."""

    native: ClassVar[str] = ""
    id: str | None = None
    internal_chat_message_metadata_passthrough: Passthrough | None = None
    metadata: Passthrough | None = None


class Reasoning(Told, tag="reasoning", gc=False):
    """What the model thought."""

    native: ClassVar[str] = "reasoning"


class Plain(msgspec.Struct, gc=False):
    """A content part without parts of its own."""

    text: str | None = None
    content: None = None


class Piece(msgspec.Struct, gc=False):
    """A content part of an output; see `values.PARTS`."""

    type: Literal["input_text", "input_image", "input_file", "output_text"]
    text: str | None = None


class Message(Told, tag="message", kw_only=True, gc=False):
    """What was said."""

    native: ClassVar[str] = "message"
    content: list[Plain]
    role: str | None = None
    phase: str | None = None
    status: str | None = None


class FunctionCall(Told, tag="function_call", kw_only=True, gc=False):
    """A call whose arguments are a text, as the wire has it."""

    native: ClassVar[str] = "function_call"
    call_id: Name
    name: str
    arguments: str
    namespace: str | None = None
    status: str | None = None


class CustomCall(Told, tag="custom_tool_call", kw_only=True, gc=False):
    """A call with free text."""

    native: ClassVar[str] = "custom_tool_call"
    call_id: Name
    name: str
    input: str
    namespace: str | None = None
    status: str | None = None


class Output(Told, tag="function_call_output", kw_only=True, gc=False):
    """A result that is a text."""

    native: ClassVar[str] = "function_call_output"
    call_id: Name
    output: str | list[Piece]
    name: str | None = None
    status: str | None = None
    error: None = None


class CustomOutput(Output, tag="custom_tool_call_output", kw_only=True, gc=False):
    """The same of a call with free text."""

    native: ClassVar[str] = "custom_tool_call_output"


line_of = msgspec.json.Decoder(Line).decode
quick_of = msgspec.json.Decoder(Quick).decode
item_of = msgspec.json.Decoder(Reasoning | Message | FunctionCall | CustomCall | Output | CustomOutput).decode
event_of = msgspec.json.Decoder(Event).decode
kept_of = msgspec.json.Decoder(list[Kept]).decode
instructions_of = msgspec.json.Decoder(Instructions).decode
