"""OpenTelemetry spans of models and tools: OTLP JSON by line or whole, the Agents API's own trace pages, OpenInference.

A span of a model call holds what was sent and what the model said, a span of a tool what was really run. So a call is
seen three times: as the model wrote it, as it was executed, and as it came back in the next request.
"""

from __future__ import annotations

from typing import Any, ClassVar

import msgspec

from analyzer.read.adapter import RecordAdapter
from analyzer.read.cursor import Place
from analyzer.read.decoding import Decoding
from analyzer.read.dialogue import Ask, Dialogue, Said, unchosen
from analyzer.read.records import Block
from analyzer.read.rows import Rows
from analyzer.read.telemetry.events import opened
from analyzer.read.telemetry.items import Items
from analyzer.read.telemetry.messages import (
    LLM_REQUEST,
    LLM_RESPONSE,
    joined,
    messages_of,
    said_of,
    table_of,
    words_of,
)
from analyzer.read.telemetry.runs import Runs
from analyzer.read.telemetry.spans import (
    LOGGED,
    Read,
    Record,
    has_failed,
    is_export,
    nanoseconds,
    read_span,
    record_of,
    spans_of,
)
from analyzer.read.values import encoded

_MODEL = frozenset({"chat", "text_completion", "generate_content", "completion", "llm"})
_TOOL = frozenset({"execute_tool", "tool"})
_MARKS = ("gen_ai.", "traceloop.", "openinference.", "llm.", "ai.toolcall.", "mcp.method.name", "tool_arguments")
_INPUT = ("gen_ai.input.messages", "llm.input_messages", "gen_ai.prompt", "ai.prompt.messages", LLM_REQUEST)
_OUTPUT = (
    *("gen_ai.output.messages", "llm.output_messages", "gen_ai.completion"),
    *("ai.response.toolCalls", "ai.response.text", LLM_RESPONSE),
)
_TABLES = ("gen_ai.tool.definitions", "llm.tools", "llm.request.functions", "ai.prompt.tools", LLM_REQUEST)
_UNTRACED = {LOGGED: "untraced"}  # where log records name no trace
_STEPS = (".doGenerate", ".doStream")
_CALLED = frozenset({"tool_calls", "tool_call", "tool_use", "tool-calls", "function_call"})
_MOST_AROUND = 64  # spans around one another


class OpenTelemetry(RecordAdapter[Record]):
    """The adapter; see `analyzer.read.adapter.Adapter`."""

    name: ClassVar[str] = "otlp"
    title: ClassVar[str] = "OpenTelemetry spans (GenAI conventions, OpenInference), Agents API trace pages"
    known_by: ClassVar[str] = (
        "`resourceSpans` with `scopeSpans`, objects `agent.session.trace`, spans with attributes named gen_ai.*, llm.* "
        "or openinference.*, `resourceLogs` with events named gen_ai.*"
    )
    loses: ClassVar[tuple[str, ...]] = (
        "Messages, arguments, results and tool definitions are recorded only where content capture was switched on.",
        "Tool definitions may leave their parameters out: such calls cannot be judged.",
        "A span is written when it ends: parents stand after their children.",
        "A span that is not marked as failed need not have succeeded.",
        "Trace pages of the Agents API tell which calls ran; their results are read from the session's own events.",
        "Spans without gen_ai.conversation.id are put together by trace alone.",
        "Where calls have the ids of their items and results those of the calls, they are put together by their order.",
        "A schema in the span of a tool (gen_ai.tool.json_schema) is of what ran, not what the model was told.",
    )

    def __init__(self, source: int, rows: Rows) -> None:
        self._records = Decoding(source, rows, record_of, self.knows)
        self._rows = rows
        self._waiting: list[tuple[Place, list[Read]]] = []
        self._dialogue = Dialogue(self.name, rows, said_of, executed=True)
        memory = rows.shared.setdefault(f"{self.name} traces", ({}, set(), {}, {}))
        self._sessions: dict[str, str] = memory[0]
        self._seen: set[tuple[str, str]] = memory[1]
        self._told: dict[tuple[str, str], tuple[str, list[str | None]]] = memory[2]
        """By trace and span the reply that a span inside of it told already, and the ids of its calls."""
        self._items: dict[str, Items] = memory[3]
        self._tables: dict[tuple[str, str], Any] = {}
        """By trace and span the tools of an agent, whose calls of the model may not tell them."""
        self._parents: dict[tuple[str, str], str] = {}
        self._runs = Runs(self.name, rows, self._dialogue.cursor)
        self._memories = (self._dialogue,)

    @staticmethod
    def knows(record: Any) -> float:
        """How surely a parsed record is of this wire."""
        if not isinstance(record, dict):
            return 0.0
        if isinstance(record.get("resourceSpans"), list) or isinstance(record.get("resource_spans"), list):
            return 0.9
        if isinstance(record.get("resourceLogs"), list):
            return 0.8 if b'"gen_ai.' in encoded(record["resourceLogs"]) else 0.0
        if record.get("object") == "agent.session.trace":
            return 1.0
        if isinstance(record.get("data"), list):
            first = record["data"][0] if record["data"] else None
            return 1.0 if isinstance(first, dict) and first.get("object") == "agent.session.trace" else 0.0
        attributes = record.get("attributes")
        if not ("spanId" in record or isinstance(record.get("context"), dict)):
            return 0.0
        names = list(attributes) if isinstance(attributes, dict) else []
        if isinstance(attributes, list):
            names = [each.get("key") for each in attributes if isinstance(each, dict)]
        marked = any(str(name).lower().startswith(_MARKS) for name in names)
        return 0.9 if marked else 0.4 if isinstance(attributes, dict | list) else 0.0

    def read(self, block: Block) -> list[int]:
        """Append the rows of the block; see `Adapter.read`."""
        others = super().read(block)
        waiting, self._waiting = self._waiting, []
        spans = [each for _, spans in waiting for each in spans]
        told = ((each, each.values.get(_TABLES[0])) for each in spans)
        self._tables = {(each.trace, each.id): table for each, table in told if table and _kind(each) is None}
        self._parents = {(each.trace, each.id): each.parent for each in spans} if self._tables else {}
        for place, spans in waiting:
            self._batch(place, spans)
        return others

    def _take(self, record: Record, raw: bytes, place: Place) -> bool:
        """Keep the spans of a record: a child may stand before the parent that has the conversation's name."""
        spans = list(spans_of(record))
        if not spans and not (is_export(record) and self._records.own(raw)):
            return False
        read = [read_span(span, to, of) for span, to, of in spans]
        for each in read:
            if each.session is not None and each.trace:
                self._sessions.setdefault(each.trace, each.session)
        self._waiting.append((place, read))
        return True

    def _batch(self, place: Place, spans: list[Read]) -> None:
        """The spans of one record, in the order in which they ended."""
        if not spans:
            self._dialogue.move(place)
            self._dialogue.cursor.event("resourceSpans", "notice", None)
        for each in sorted(spans, key=lambda each: each.ends):
            session = (
                each.session or self._sessions.get(each.trace) or each.trace or _UNTRACED.get(each.span.name or "")
            )
            began = nanoseconds(each.span.startTimeUnixNano, each.span.start_time)
            here = msgspec.structs.replace(
                place, pointer=place.pointer + each.pointer, when=began / 1000 if began else None
            )
            logged = each.span.name == LOGGED  # they say other things than their span, in several exports
            again = bool(each.id) and not logged and (each.trace, each.id) in self._seen
            if not logged:
                self._seen.add((each.trace, each.id))
            what = _kind(each)
            self._dialogue.turn = each.turn
            if again or session is None or what is None:
                self._dialogue.move(here)
                failed = not again and what is None and has_failed(each.span) and "gen_ai.operation.name" in each.values
                self._dialogue.cursor.event(_native(each), "error" if failed else "notice", session, turn=each.turn)
            elif what == "model":
                self._model(each, here, session)
            else:
                self._dialogue.move(here)
                self._runs.take(each, session, _native(each))

    # --- model calls ------------------------------------------------------------------------------------------------

    def _model(self, each: Read, here: Place, session: str) -> None:
        """A call of the model: what was sent, and what it said."""
        sent, sent_at = messages_of(each, _INPUT)
        said, said_at = messages_of(each, _OUTPUT)
        table, _ = each.first(_TABLES)
        table = self._told_around(each) if table is None else table
        items = self._items.setdefault(session, Items())
        sent = items.named(sent)
        agent = each.text("gen_ai.agent.call.id", "gen_ai.agent.id", "gen_ai.agent.name") or ""
        system = opened(each.values.get("gen_ai.system_instructions"))
        ask = Ask(
            [msgspec.json.encode(message) for message in sent],
            "",
            session,
            agent,
            tools=encoded(table_of(table)) if table is not None else b"",
            shape="responses",
            model=each.text("gen_ai.request.model", "gen_ai.response.model", "llm.model_name"),
            instructions=None if system is None else words_of(system),
        )
        spot = each.places.get(sent_at or "", "")
        self._dialogue.ask(ask, msgspec.structs.replace(here, pointer=here.pointer + spot, opaque=True))
        if has_failed(each.span) and not said:
            self._dialogue.fail(here, _native(each))
            return
        spot = each.places.get(said_at or "", "")
        at = msgspec.structs.replace(here, pointer=here.pointer + spot, opaque=True)
        replies = [(said_of(msgspec.json.encode(message)), _stop(message)) for message in said]
        if len(replies) > 1 and not _are_alternatives(each, replies):
            replies = [(joined([reply for reply, _ in replies]), None)]
        items.told(call.call_id for reply, _ in replies for call in reply.calls)
        for number, (reply, stop) in enumerate(replies):
            if len(replies) > 1:
                unchosen(reply, stop)
            name = self._reply_of(each, reply) if number == 0 else f"{each.id}#{number}"
            self._dialogue.answer(reply, at, native=_native(each), reply=name or None, stop=stop)
            self._runs.expect(session, self._dialogue.made)
        if _CALLED.intersection(_stops(each)) and not any(reply.calls for reply, _ in replies):
            cursor = self._dialogue.cursor
            event = max(cursor.next - 1, here.event)
            self._rows.faults.add(event=event, session=session, fault="calls_uncaptured", pointer="", detail=None)

    def _told_around(self, each: Read) -> Any:
        """The tools of the agent that a call of the model is of."""
        at = each.id
        for _ in range(_MOST_AROUND if self._tables else 0):
            at = self._parents.get((each.trace, at), "")
            if (each.trace, at) in self._tables:
                return self._tables[each.trace, at]
        return None

    def _reply_of(self, each: Read, said: Said) -> str:
        """What names a reply: a span inside of this one may have told the same."""
        ids = [call.call_id for call in said.calls]
        inner = self._told.pop((each.trace, each.id), None)
        name = inner[0] if inner is not None and inner[1] == ids and any(ids) else each.id
        if each.parent:
            self._told[each.trace, each.parent] = (name, ids)
        return name


# --- spans ------------------------------------------------------------------------------------------------------------


def _kind(each: Read) -> str | None:
    """Whether a span is a call of the model or of a tool."""
    named = each.values.get("gen_ai.operation.name") or each.values.get("openinference.span.kind")
    steps = each.values.get("ai.operationId")
    if not named and isinstance(steps, str) and steps != "ai.toolCall" and not steps.endswith(_STEPS):
        return None  # of several steps, which have spans of their own
    word = named.lower() if isinstance(named, str) else ""
    if word in _MODEL or (not word and any(name in each.values for name in (*_INPUT, *_OUTPUT))):
        return "model"
    called = any(name in each.values for name in ("gen_ai.tool.call.id", "ai.toolCall.id", "tool_arguments"))
    called = called or each.values.get("traceloop.span.kind") == "tool"
    return "tool" if word in _TOOL or (not word and called) else None


def _native(each: Read) -> str:
    named = each.values.get("gen_ai.operation.name") or each.values.get("openinference.span.kind") or each.span.name
    return str(named)[:200] if isinstance(named, str) and named else "span"


# --- replies ----------------------------------------------------------------------------------------------------------


def _stop(message: Any) -> str | None:
    stop = message.get("finish_reason") if isinstance(message, dict) else None
    return stop if isinstance(stop, str) else None


def _stops(each: Read) -> list[str]:
    """How the replies of a span ended, told beside them."""
    stops = opened(each.values.get("gen_ai.response.finish_reasons"))
    return [stop for stop in (stops if isinstance(stops, list) else [stops]) if isinstance(stop, str)]


def _are_alternatives(each: Read, replies: list[tuple[Said, str | None]]) -> bool:
    """Whether several messages are choices: each of those has an end; the items of Responses stand alone, too."""
    whole = opened(each.values.get("output.value"))
    listed = [whole.get(name) for name in ("choices", "candidates")] if isinstance(whole, dict) else []
    return any(stop for _, stop in replies) or any(isinstance(each, list) and len(each) > 1 for each in listed)
