"""OpenAI Agents SDK: exported traces and spans, saved runs, session stores, and lists of input items."""

from __future__ import annotations

from typing import Any, ClassVar

import msgspec

from analyzer.read.adapter import RecordAdapter
from analyzer.read.claude.bodies import holds_blocks
from analyzer.read.cursor import Cursor, Place
from analyzer.read.decoding import Decoding
from analyzer.read.exchange import exchange_in, unread
from analyzer.read.ledger import Ledger
from analyzer.read.openai.items import KNOWN, At, Items
from analyzer.read.records import Block
from analyzer.read.rows import Rows
from analyzer.read.sdk.records import Record
from analyzer.read.sdk.saved import Saved
from analyzer.read.sdk.spans import Spans
from analyzer.read.values import Raw, first

_record = msgspec.json.Decoder(Record).decode
_raws = msgspec.json.Decoder(list[Raw]).decode
_ROLES = frozenset({"user", "assistant", "system", "developer"})


class AgentsSdk(RecordAdapter[Record]):
    """The adapter; see `analyzer.read.adapter.Adapter`."""

    name: ClassVar[str] = "agents-sdk"
    title: ClassVar[str] = "OpenAI Agents SDK: traces, saved runs, session stores, input lists"
    known_by: ClassVar[str] = (
        "`object: trace` and `object: trace.span`, bare or in bodies; `$schemaVersion`; SQLite tables with "
        "`session_id` and `message_data`; bare Responses items"
    )
    loses: ClassVar[tuple[str, ...]] = (
        "Spans of functions have no call ids: it is taken for the open call of its turn with its name and arguments.",
        "What the model said stands in spans of type generation alone; those of type response hold nothing of it.",
        "Traces hold no schemas, but where the settings of a generation have them; saved runs, of the last open reply.",
        "Outputs are Python's text of a value, and the text of a failure says nothing of its cause.",
        "A session store is memory, not a log: items are removed from it, and turns and agents are not in it.",
        "Inputs and outputs beyond 100,000 bytes are cut on export.",
    )

    def __init__(self, source: int, rows: Rows) -> None:
        self._rows = rows
        self._records = Decoding(source, rows, _record, self.knows)
        ledger: Ledger = rows.shared.setdefault(self.name, Ledger())
        self._cursor = Cursor(rows)
        self._spans = Spans(self.name, rows, self._cursor)
        self._saved = Saved(rows, self._cursor, Items(self.name, rows, ledger, shape="responses"))
        self._memories = (ledger, self._saved, self._spans)

    @staticmethod
    def knows(record: Any) -> float:
        """How sure it is that a parsed record is of this wire."""
        if not isinstance(record, dict):
            return 0.0
        kind, native = record.get("object"), record.get("type")
        if kind in ("trace", "trace.span") or "$schemaVersion" in record or "sqlite_table" in record:
            return 1.0
        if isinstance(record.get("hook"), str) and isinstance(record.get("data"), dict):
            return AgentsSdk.knows(record["data"])
        if isinstance(record.get("data"), list) and native is None:
            return max(map(AgentsSdk.knows, record["data"][:8]), default=0.0)
        if isinstance(native, str):
            plain = not {"turn_id", "event_id", "payload", "stop_reason"} & record.keys()
            return 0.9 if native in KNOWN and kind is None and plain else 0.0
        role = record.get("role")
        if (
            isinstance(role, str)
            and role in _ROLES
            and "content" in record
            and not {"tool_calls", "tool_call_id"} & record.keys()
        ):
            return 0.0 if holds_blocks(record) else 0.2
        if any(isinstance(record.get(name), dict) for name in ("http", "request")) or "body" in record:
            try:
                exchange = exchange_in(msgspec.json.encode(record))
            except (msgspec.DecodeError, RecursionError, TypeError):
                return 0.0
            return 1.0 if exchange is not None and "/traces/ingest" in exchange.url else 0.0
        return 0.0

    def read(self, block: Block) -> list[int]:
        """Append the rows of the block; see `Adapter.read`."""
        others = super().read(block)
        self._spans.end()
        return others

    def _alone(self, record: Record, place: Place) -> bool:
        self._spans.forget(place.event)
        self._cursor.move(place)
        self._cursor.event(record.object or record.type or "record", "notice", None)
        return True

    def _take(self, record: Record, raw: bytes, place: Place) -> bool:
        self._spans.forget(place.event)
        self._cursor.move(place)
        return self._taken(record, raw, place)

    def _taken(self, record: Record, raw: bytes, place: Place) -> bool:
        if record.object == "trace.span":
            self._spans.take(record)
        elif record.object == "trace":
            self._cursor.event("trace", "session", record.id)
        elif record.schema_version is not None:
            self._saved.run(raw)
        elif record.sqlite_table is not None:
            self._saved.stored(record)
        elif record.hook is not None and first(record.data) == b"{":
            return self._inside(record.data, place, "/data")
        elif first(record.data) == b"[" and record.type is None:
            return self._body(record, place)
        elif _is_item(record) and (record.type != "message" or self._records.own(raw)):
            event, _ = self._cursor.event(record.type or "message", "item", None)
            self._saved.item(record, At(event, None))
        elif first(record.http) == b"{" or first(record.request) == b"{" or bytes(record.body):
            return self._exchange(raw, place)
        else:
            return False
        return True

    def _inside(self, raw: bytes | Raw, place: Place, pointer: str) -> bool:
        within = msgspec.structs.replace(place, pointer=place.pointer if place.opaque else place.pointer + pointer)
        found = self._records.opened(bytes(raw))
        if found is None:
            return False
        self._cursor.within(within)
        return self._taken(found.record, bytes(raw), within)

    def _body(self, record: Record, place: Place) -> bool:
        """A body of spans, or a page of items, which may run backwards."""
        raws = list(enumerate(_raws(record.data)))
        seen: set[str] = set()
        for _, raw in raws:
            try:
                item = _record(raw)
            except (msgspec.DecodeError, RecursionError):
                continue
            if item.call_id is not None and (item.type or "").endswith("_output") and item.call_id not in seen:
                raws.reverse()
                break
            if item.call_id is not None:
                seen.add(item.call_id)
        taken = [self._inside(raw, place, f"/data/{index}") for index, raw in raws]
        if any(taken) and record.has_more:
            detail = "the page says that there are more, and it is the last one recorded"
            self._rows.faults.append((self._cursor.next - 1, None, "more_pages", "", detail, None))
        return any(taken)

    def _exchange(self, raw: bytes, place: Place) -> bool:
        exchange = exchange_in(raw)
        if exchange is None or "/traces/ingest" not in exchange.url or exchange.request is None:
            return False
        body = exchange.request
        self._rows.faults += [(place.event, None, *fault) for fault in unread(body)]
        within = msgspec.structs.replace(place, opaque=body.opaque)
        if not self._inside(body.frames[0], within, body.pointer):
            self._cursor.event("request", "request", None)
        return True


def _is_item(record: Record) -> bool:
    if bytes(record.tool_calls) or bytes(record.tool_call_id):
        return False  # a chat message
    if record.type is not None:
        return record.type in KNOWN and record.object is None
    return record.role in _ROLES and bool(bytes(record.content))
