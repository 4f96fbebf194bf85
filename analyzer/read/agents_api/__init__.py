"""OpenAI Agents API sessions: stream events, posted inputs, requests, exchanges, pages; bare or in envelopes."""

from __future__ import annotations

from typing import ClassVar

import msgspec

from analyzer.read.adapter import Adapter
from analyzer.read.agents_api.blocks import Blocks
from analyzer.read.agents_api.events import Events
from analyzer.read.agents_api.known import knows
from analyzer.read.agents_api.parts import Parts
from analyzer.read.agents_api.single import Single
from analyzer.read.agents_api.tables import Tables
from analyzer.read.records import Block
from analyzer.read.rows import Rows, event_number


class AgentsApi(Adapter):
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
    splits: ClassVar[bool] = True

    def __init__(self, source: int, rows: Rows) -> None:
        self._source = source
        tables = Tables(rows)
        parts = Parts(rows, tables)
        events = Events(rows)
        self._events = events
        self._single = Single(rows, events, tables, parts)
        self._blocks = Blocks(rows, events, tables, parts, self._single)

    knows = staticmethod(knows)

    def read(self, block: Block) -> list[int]:
        """Append the rows of the block; see `Adapter.read`."""
        if block.utf8 and block.pointer is None:
            try:
                records = self._blocks.decoded(block.raw)
            except (msgspec.DecodeError, RecursionError):
                pass
            else:
                return self._blocks.read(block, event_number(self._source, block.first), records)
        block.part()
        return self._single.read(block, self._source)

    def remembered(self) -> tuple[str | None]:
        """The session that was named last; see `Adapter.remembered`. All else holds when a block is read again."""
        return (self._events.last,)

    def forget(self, since: tuple[str | None]) -> None:
        """See `Adapter.forget`."""
        (self._events.last,) = since
