"""Items of a rollout as they nearly always are: they are most of a long one."""

from __future__ import annotations

from collections.abc import Sequence

from analyzer.read.openai.items import Items
from analyzer.read.openai.rollout import CustomCall, FunctionCall, Message, Output, Piece, Plain, Told
from analyzer.read.openai.thread import Thread
from analyzer.read.rows import Rows


class PlainItems:
    """Appends the rows of the usual items of one source; `Items` takes all others."""

    def __init__(self, wire: str, rows: Rows, thread: Thread, items: Items) -> None:
        self._wire = wire
        self._rows = rows
        self._thread = thread
        self._items = items

    def take(self, item: Told, event: int, turn: str | None) -> str | None:
        """Append the rows of an item; the turn that it is of."""
        thread, wire = self._thread, self._wire
        session = thread.session
        if isinstance(item, Output):
            call_id = item.call_id
            turn = thread.turn_of(call_id, turn)
            emission = thread.answered(call_id, item.id)
            output = item.output
            text, container = (output, "text") if isinstance(output, str) else (_joined(output), "parts")
            self._rows.result_sightings.append(
                (
                    *(event, session, turn, wire, "echo", emission, call_id, call_id, item.name, None, item.status),
                    *(None, text, container, None, None, None, "/payload/output"),
                )
            )
        elif isinstance(item, FunctionCall):
            call_id, text = item.call_id, item.arguments
            emission = thread.called(call_id, item.id, turn, text)
            kind, server, name = self._items.server_of(item.name, item.namespace)
            self._rows.call_sightings.append(
                (
                    *(event, session, turn, wire, "done", None, emission, call_id, call_id, kind, server, name, text),
                    *("text", item.status, "client", None, "/payload/arguments"),
                )
            )
        elif isinstance(item, Message):
            text = _joined(item.content)
            said = (item.role, item.phase, item.status, text, "/payload/content")
            self._rows.messages.append((event, session, turn, item.id, *said, None))
        elif isinstance(item, CustomCall):
            call_id, text = item.call_id, item.input
            emission = thread.called(call_id, item.id, turn, text)
            server = None if item.namespace == item.name else item.namespace
            self._rows.call_sightings.append(
                (
                    *(event, session, turn, wire, "done", None, emission, call_id, call_id, "custom", server),
                    *(item.name, text, "free", item.status, "client", None, "/payload/input"),
                )
            )
        return turn


def _joined(parts: Sequence[Plain | Piece]) -> str:
    return "\n".join([part.text for part in parts if part.text is not None])
