"""Compaction in a rollout: the history that takes the place of what was said before."""

from __future__ import annotations

import msgspec

from analyzer.read.cursor import Cursor
from analyzer.read.openai.items import Items
from analyzer.read.openai.rollout import Kept, Payload, kept_of
from analyzer.read.openai.thread import Thread
from analyzer.read.openai.wire import Item
from analyzer.read.rows import Rows
from analyzer.read.values import arguments, first, text_of

CALLS = ("function_call", "custom_tool_call", "tool_search_call", "local_shell_call")


class Replaced:
    """Appends the rows of the replacement histories of one source."""

    def __init__(self, wire: str, rows: Rows, cursor: Cursor, thread: Thread, items: Items) -> None:
        self._wire = wire
        self._rows = rows
        self._cursor = cursor
        self._thread = thread
        self._items = items

    def take(self, payload: Payload, number: int | None) -> None:
        """A new beginning of the history: the calls and results it keeps are copies."""
        event, _ = self._cursor.event(
            "compacted", "notice", self._thread.session, turn=self._thread.turn, number=number
        )
        raw = payload.replacement_history
        try:
            history = kept_of(raw) if first(raw) == b"[" else []
        except (msgspec.DecodeError, RecursionError):
            history = []
            detail = "an item of the replacement history has another type than the wire says"
            self._rows.faults.add(
                event=event,
                session=self._thread.session,
                fault="member_type",
                pointer="/payload/replacement_history",
                detail=detail,
            )
        kept = [item.call_id for item in history if item.call_id is not None and item.type in CALLS]
        said = text_of(payload.message)
        told = kept if first(raw) == b"[" else None
        self._rows.summaries.add(
            event=event, session=self._thread.session, turn=self._thread.turn, what="compaction", kept=told, text=said
        )
        # A pair that is kept whole and as it was says nothing new, and a long thread repeats it with every compaction.
        answered = {item.call_id for item in history if (item.type or "").endswith("_output")}
        whole = {
            item.call_id
            for item in history
            if item.call_id in answered
            and self._thread.is_same(item.call_id or "", told_of(item))
            and item.type in CALLS
        }
        for index, item in enumerate(history):
            native = item.type or ""
            if item.call_id is None or item.call_id in whole:
                continue
            if native in CALLS or native.endswith("_output"):
                self._copied(item, native, f"/payload/replacement_history/{index}", number)

    def _copied(self, item: Kept, native: str, member: str, number: int | None) -> None:
        """A half of a pair, or a call that is not as it was, in a replacement history."""
        call_id = item.call_id or ""
        turn = self._thread.turn_of(call_id, self._thread.turn)
        event, _ = self._cursor.event(native, "item", self._thread.session, member=member, turn=turn, number=number)
        if native.endswith("_output"):
            emission = self._thread.answer(call_id)
            self._rows.result_sightings.add(
                event=event,
                session=self._thread.session,
                turn=turn,
                wire=self._wire,
                stage="history",
                item_id=emission,
                call_id=call_id,
                pair_id=call_id,
                container="absent",
                pointer="",
            )
            return
        emission = self._thread.emission(call_id, item.id)
        text: str | None = None
        container, where = "absent", ""
        if not self._thread.is_same(call_id, told_of(item)):
            free = bool(bytes(item.input))
            text, container = (text_of(item.input), "free") if free else arguments(item.arguments)
            where = "/input" if free else "/arguments"
        kind, server, name = self._items.server_of(item.name, item.namespace)
        if native != "function_call":
            kind, name = {"custom_tool_call": ("custom", name)}.get(native, ("search", "tool_search"))
        self._rows.call_sightings.add(
            event=event,
            session=self._thread.session,
            turn=turn,
            wire=self._wire,
            stage="history",
            item_id=emission,
            call_id=call_id,
            pair_id=call_id,
            kind=kind,
            server=server,
            name=name,
            text=text,
            container=container,
            owed_by="client",
            pointer=where,
        )


def told_of(item: Item | Kept) -> str | None:
    """The arguments of a call as text."""
    return text_of(item.arguments or item.input)
