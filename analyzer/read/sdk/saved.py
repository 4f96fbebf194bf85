"""Saved runs, session stores and the items in them."""

from __future__ import annotations

import msgspec

from analyzer.read.cursor import Cursor
from analyzer.read.ledger import Recent
from analyzer.read.openai.items import At, Items
from analyzer.read.openai.wire import Item
from analyzer.read.recover import Fault, typed
from analyzer.read.rows import Rows
from analyzer.read.sdk import run_state
from analyzer.read.sdk.records import Record
from analyzer.read.values import ABSENT, arguments, first


class Saved:
    """Appends the rows of what a source holds of an agent's memory."""

    def __init__(self, rows: Rows, cursor: Cursor, items: Items) -> None:
        self._rows = rows
        self._cursor = cursor
        self._items = items
        self._results: Recent[tuple[str | None, str], int] = Recent()

    def trim(self) -> None:
        """Forget what is oldest; called once for each block."""
        self._results.trim()

    def item(self, item: Item, at: At) -> None:
        """An item; of the results of one call each is an emission of its own."""
        if item.call_id is not None and (item.type or "").endswith("_output"):
            key = (at.session, item.call_id)
            nth = self._results.get(key, 0)
            self._results[key] = nth + 1
            at.emission = item.id or f"{item.call_id}!{nth}"
        self._items.take(item, at)

    def stored(self, record: Record) -> None:
        """A row of a session store."""
        session = record.session_id
        if record.branch_id not in {None, "main"}:
            session = f"{session}#{record.branch_id}"
        raw = record.message_data
        try:
            item: Item | None = msgspec.json.decode(raw, type=Item) if first(raw) == b"{" else None
        except (msgspec.DecodeError, RecursionError):
            found = typed(msgspec.json.Decoder(Item).decode, msgspec.json.decode(raw))
            item = found[0] if found is not None else None
        native = "message_data" if item is None else item.type or "message"
        event, _ = self._cursor.event(native, "item", session, member="/message_data", when=record.created_at)
        if item is None:
            detail = "the stored item is not a JSON object"
            self._rows.faults.add(event=event, session=session, fault="member_type", pointer="", detail=detail)
        elif item.type is None and item.role is None:
            self._rows.faults.add(
                event=event,
                session=session,
                fault="unknown_item",
                pointer="",
                detail="an item without a type; it may be encrypted",
            )
        else:
            self.item(item, At(event, session))

    def run(self, raw: bytes) -> None:
        """A saved run."""
        state, faults = _state(raw)
        session = run_state.session_of(state)
        event, _ = self._cursor.event("run_state", "session", session)
        for fault in faults:
            self._rows.faults.append((event, session, *fault))
        agent = state.current_agent.name if state.current_agent is not None else None
        self._rows.session_states.add(event=event, session=session, agent_name=agent)
        shown = list(run_state.transcript(state))
        last = next((each.reply for each in reversed(shown) if each.reply is not None), None)
        for each in shown:
            if each.reply is not None and each.reply == last:
                self._tools(state, session)
                last = None
            event, _ = self._cursor.event(each.item.type or "message", "item", session, member=each.pointer)
            self.item(each.item, At(event, session, reply=each.reply))
        for each in run_state.interruptions(state):
            event, _ = self._cursor.event(each.item.type or "call", "notice", session, member=each.pointer)
            text, _ = arguments(each.item.arguments)
            self._rows.approvals.add(
                event=event,
                session=session,
                request_id=each.item.call_id or each.item.id,
                stage="request",
                name=each.item.name,
                text=text,
                pointer="",
            )
        for call_id, decision in run_state.decisions(state):
            event, _ = self._cursor.event("approval", "notice", session, member="/context/approvals")
            self._rows.approvals.add(
                event=event, session=session, request_id=call_id, stage="decision", decision=decision, pointer=""
            )

    def _tools(self, state: run_state.State, session: str | None) -> None:
        """The tools of the last reply that is not finished: the only schemas a run keeps."""
        functions = state.last_processed_response.functions if state.last_processed_response is not None else ABSENT
        if first(functions) == b"[" and bytes(functions) != b"[]":
            member = "/last_processed_response/functions"
            event, _ = self._cursor.event("functions", "notice", session, member=member)
            table = self._items.table(bytes(functions))
            self._rows.showings.add(
                event=event, session=session, channel="request", scope="add", table=table, pointer=""
            )


def _state(raw: bytes) -> tuple[run_state.State, list[Fault]]:
    try:
        return run_state.state_of(raw), []
    except msgspec.ValidationError:
        return typed(run_state.state_of, msgspec.json.decode(raw)) or (run_state.State(), [])
