"""OpenAI Agents SDK: exported traces and spans, saved runs, session stores, and lists of input items."""

from __future__ import annotations

from typing import Any, ClassVar

import msgspec

from analyzer.read.adapter import RecordAdapter
from analyzer.read.decoding import Decoding
from analyzer.read.openai import run_state
from analyzer.read.openai.cursor import Cursor, Place
from analyzer.read.openai.exchange import exchange_in, unread
from analyzer.read.openai.items import KNOWN, At, Item, Items
from analyzer.read.openai.ledger import Ledger, Recent
from analyzer.read.recover import Fault, typed
from analyzer.read.rows import Rows
from analyzer.read.values import ABSENT, Raw, arguments, first, text_of


class Span(msgspec.Struct, gc=False):
    """What a span is about."""

    type: str | None = None
    name: str | None = None
    input: Raw = ABSENT
    output: Raw = ABSENT
    mcp_data: Raw = ABSENT
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


class _Turn(msgspec.Struct, gc=False):
    sdk_span_type: str | None = None
    agent_name: str | None = None


class _Mcp(msgspec.Struct, gc=False):
    server: str | None = None


class _Failure(msgspec.Struct, gc=False):
    message: str | None = None


_record = msgspec.json.Decoder(Record).decode
_raws = msgspec.json.Decoder(list[Raw]).decode
_TRUNCATED = "... [truncated]"
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
        "Spans have no call ids: an execution is not joined to the call of the model.",
        "Traces hold no schemas; a saved run has those of its last unfinished reply alone.",
        "Outputs are Python's text of a value, and the text of a failure says nothing of its cause.",
        "A session store is memory, not a log: items are removed from it, and turns and agents are not in it.",
        "Inputs and outputs beyond 100,000 bytes are cut on export.",
    )

    def __init__(self, source: int, rows: Rows) -> None:
        self._rows = rows
        self._records = Decoding(source, rows, _record, self.knows)
        self._ledger: Ledger = rows.shared.setdefault(self.name, Ledger())
        self._items = Items(self.name, rows, self._ledger, shape="responses")
        self._cursor = Cursor(rows)
        self._results: Recent[tuple[str | None, str], int] = Recent()
        self._memories = (self._ledger, self._results)

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
            plain = "turn_id" not in record and "event_id" not in record and "payload" not in record
            return 0.9 if native in KNOWN and kind is None and plain else 0.0
        role = record.get("role")
        if (
            isinstance(role, str)
            and role in _ROLES
            and "content" in record
            and not {"tool_calls", "tool_call_id"} & record.keys()
        ):
            return 0.2
        if any(isinstance(record.get(name), dict) for name in ("http", "request")) or "body" in record:
            try:
                exchange = exchange_in(msgspec.json.encode(record))
            except (msgspec.DecodeError, RecursionError, TypeError):
                return 0.0
            return 1.0 if exchange is not None and "/traces/ingest" in exchange.url else 0.0
        return 0.0

    def _alone(self, record: Record, place: Place) -> bool:
        self._cursor.move(place)
        self._cursor.event(record.object or record.type or "record", "notice", None)
        return True

    def _take(self, record: Record, raw: bytes, place: Place) -> bool:
        self._cursor.move(place)
        return self._taken(record, raw, place)

    def _taken(self, record: Record, raw: bytes, place: Place) -> bool:
        if record.object == "trace.span":
            self._span(record)
        elif record.object == "trace":
            self._cursor.event("trace", "session", record.id)
        elif record.schema_version is not None:
            self._run(raw)
        elif record.sqlite_table is not None:
            self._stored(record)
        elif record.hook is not None and first(record.data) == b"{":
            return self._inside(record.data, place, "/data")
        elif first(record.data) == b"[" and record.type is None:
            return self._body(record, place)
        elif _is_item(record):
            event, _ = self._cursor.event(record.type or "message", "item", None)
            self._item(record, At(event, None))
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

    # --- spans ------------------------------------------------------------------------------------------------------

    def _span(self, record: Record) -> None:
        span = record.span_data or Span()
        native, session, turn = span.type or "span", record.trace_id, record.parent_id
        error = text_of(record.error)
        if first(record.error) == b"{":
            error = msgspec.json.decode(record.error, type=_Failure).message or error
        if native == "function":
            event, opaque = self._cursor.event(native, "item", session, turn=turn, when=record.started_at)
            self._executed(record, span, event, error, opaque=opaque)
            return
        told = msgspec.json.decode(span.data, type=_Turn) if first(span.data) == b"{" else _Turn()
        kind = "turn" if told.sdk_span_type == "turn" else "notice"
        event, _ = self._cursor.event(
            native, kind, session, turn=record.id if kind == "turn" else None, when=record.started_at
        )
        if kind == "turn":
            status = "completed" if error is None else "failed"
            self._rows.turn_states.append((event, session, record.id, told.agent_name, None, status, error))
        elif native == "agent":
            state = (None, None, span.name, None, None, None, None, None, None, None)
            self._rows.session_states.append((event, session, *state))

    def _executed(self, record: Record, span: Span, event: int, error: str | None, *, opaque: bool) -> None:
        """A tool that was run: the arguments it was given and what it returned. The span is the only id there is."""
        session, turn = record.trace_id, record.parent_id
        server = msgspec.json.decode(span.mcp_data, type=_Mcp).server if first(span.mcp_data) == b"{" else None
        text, container = arguments(span.input)
        status = "completed" if error is None else "failed"
        if text is None or container == "null":
            text, told = None, "redacted"
        else:
            told = "truncated" if text.endswith(_TRUNCATED) else status
        shown = (event, session, turn, self.name, "executor")
        where = ("", "") if opaque else ("/span_data/input", "/span_data/output")
        self._rows.call_sightings.append(
            (
                *(*shown, None, record.id, None, record.id, "function" if server is None else "mcp", server),
                *(span.name, text, container, told, "nobody", None, where[0]),
            )
        )
        output = text_of(span.output)
        cut = output is not None and output.endswith(_TRUNCATED)
        self._rows.result_sightings.append(
            (
                *(*shown, record.id, None, record.id, span.name, error is None, "truncated" if cut else status, error),
                *(output, "null" if output is None else "text", None, None, None, where[1]),
            )
        )

    # --- items ------------------------------------------------------------------------------------------------------

    def _item(self, item: Item, at: At) -> None:
        if item.call_id is not None and (item.type or "").endswith("_output"):
            key = (at.session, item.call_id)
            nth = self._results.get(key, 0)
            self._results[key] = nth + 1
            at.emission = item.id or f"{item.call_id}!{nth}"
        self._items.take(item, at)

    def _stored(self, record: Record) -> None:
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
            self._rows.faults.append((event, session, "member_type", "", detail, None))
        elif item.type is None and item.role is None:
            self._rows.faults.append(
                (event, session, "unknown_item", "", "an item without a type; it may be encrypted", None)
            )
        else:
            self._item(item, At(event, session))

    def _run(self, raw: bytes) -> None:
        """A saved run."""
        state, faults = _state(raw)
        session = run_state.session_of(state)
        event, _ = self._cursor.event("run_state", "session", session)
        for fault in faults:
            self._rows.faults.append((event, session, *fault))
        agent = state.current_agent.name if state.current_agent is not None else None
        self._rows.session_states.append((event, session, None, None, agent, *[None] * 7))
        shown = list(run_state.transcript(state))
        last = next((each.reply for each in reversed(shown) if each.reply is not None), None)
        for each in shown:
            if each.reply is not None and each.reply == last:
                self._tools(state, session)
                last = None
            event, _ = self._cursor.event(each.item.type or "message", "item", session, member=each.pointer)
            self._item(each.item, At(event, session, reply=each.reply))
        for each in run_state.interruptions(state):
            event, _ = self._cursor.event(each.item.type or "call", "notice", session, member=each.pointer)
            text, _ = arguments(each.item.arguments)
            asked = (event, session, None, each.item.call_id or each.item.id, "request", None)
            self._rows.approvals.append((*asked, each.item.name, text, None, None, ""))
        for call_id, decision in run_state.decisions(state):
            event, _ = self._cursor.event("approval", "notice", session, member="/context/approvals")
            self._rows.approvals.append(
                (event, session, None, call_id, "decision", None, None, None, decision, None, "")
            )

    def _tools(self, state: run_state.State, session: str | None) -> None:
        """The tools of the last reply that is not finished: the only schemas a run keeps."""
        functions = state.last_processed_response.functions if state.last_processed_response is not None else ABSENT
        if first(functions) == b"[" and bytes(functions) != b"[]":
            member = "/last_processed_response/functions"
            event, _ = self._cursor.event("functions", "notice", session, member=member)
            table = self._items.table(bytes(functions))
            self._rows.showings.append((event, session, "request", "add", table, ""))


def _state(raw: bytes) -> tuple[run_state.State, list[Fault]]:
    try:
        return run_state.state_of(raw), []
    except msgspec.ValidationError:
        return typed(run_state.state_of, msgspec.json.decode(raw)) or (run_state.State(), [])


def _is_item(record: Record) -> bool:
    if bytes(record.tool_calls) or bytes(record.tool_call_id):
        return False  # a chat message
    if record.type is not None:
        return record.type in KNOWN and record.object is None
    return record.role in _ROLES and bool(bytes(record.content))
