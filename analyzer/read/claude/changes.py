"""Tools that come on offer in the middle of a conversation, or go, beside the table of its requests."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from analyzer.read.claude.blocks import Block
from analyzer.read.claude.bodies import Sentence
from analyzer.read.claude.conversation import Conversation
from analyzer.read.members import held, listed
from analyzer.read.rows import Rows
from analyzer.read.values import ABSENT, Raw, first

_KINDS = ("tool_addition", "tool_removal")


class _Changed(msgspec.Struct, gc=False):
    """The tool of a block: its definition, or the name of one that the table or an earlier block defines."""

    definition: Raw = ABSENT
    type: str | None = None
    name: str | None = None


_changed = msgspec.json.Decoder(_Changed).decode


class Changes:
    """Appends what blocks of messages change about the tools on offer."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def take(self, block: Block, event: int, conversation: Conversation) -> None:
        """A block of a new message."""
        if block.type not in _KINDS or first(block.tool) != b"{":
            return
        tool = held(_changed, block.tool, _Changed())[0]
        if first(tool.definition) == b"{":
            definition = bytes(tool.definition)
            name = held(_changed, tool.definition, _Changed())[0].name or ""
            conversation.added[name] = definition
        elif tool.type == "tool_reference" and tool.name is not None:
            name, definition = tool.name, conversation.removed.get(tool.name) or _defined(tool.name, conversation)
        else:
            return  # a server's tools stand in no table
        if block.type == "tool_removal":
            conversation.removed[name] = definition
            self._show(definition, event, conversation, "remove")
        elif conversation.removed.pop(name, None) is not None or tool.definition:
            self._show(definition, event, conversation, "add")

    def table_shown(self, event: int, conversation: Conversation) -> None:
        """A table is shown: what was removed stays removed."""
        for definition in conversation.removed.values():
            self._show(definition, event, conversation, "remove")

    def went_back(self, sentences: Iterable[Sentence], event: int, conversation: Conversation) -> None:
        """A conversation goes on from these of its messages: what was removed behind them is there again."""
        if not conversation.removed:
            return
        gone: set[str | None] = set()
        for block in (block for sentence in sentences for block in sentence.blocks if block.type in _KINDS):
            name = held(_changed, block.tool, _Changed())[0].name
            (gone.add if block.type == "tool_removal" else gone.discard)(name)
        for name in [name for name in conversation.removed if name not in gone]:
            self._show(conversation.removed.pop(name), event, conversation, "add")

    def _show(self, definition: bytes, event: int, conversation: Conversation, scope: str) -> None:
        if definition:
            table = self._rows.table(b"[" + definition + b"]", "anthropic")
            # It stands in no list that a pointer could lead to.
            self._rows.showings.append((event, conversation.session, "request", scope, table, None))


def _defined(name: str, conversation: Conversation) -> bytes:
    """The definition of a tool of this name; empty where there is none."""
    if name in conversation.added:
        return conversation.added[name]
    entries = listed(conversation.table) if first(conversation.table) == b"[" else []
    return next((entry for entry in entries if held(_changed, entry, _Changed())[0].name == name), b"")
