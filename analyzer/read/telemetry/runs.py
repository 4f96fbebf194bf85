"""Spans of tools that were run: what they were given and returned, and which call of the model each of them is."""

from __future__ import annotations

from analyzer.read.cursor import Cursor
from analyzer.read.dialogue import Made, Unrun
from analyzer.read.rows import Rows
from analyzer.read.telemetry.events import opened
from analyzer.read.telemetry.messages import ENTITY_INPUT, ENTITY_OUTPUT, arguments_in, returned, words_of
from analyzer.read.telemetry.spans import Read, has_failed, reason, status_of

_NAME = ("gen_ai.tool.name", "tool.name", "ai.toolCall.name", "traceloop.entity.name")
_CALL_ID = ("gen_ai.tool.call.id", "tool_call.id", "tool.id", "ai.toolCall.id")
_ARGUMENTS = (
    *("gen_ai.tool.call.arguments", "tool_arguments", "ai.toolCall.args", "gcp.vertex.agent.tool_call_args"),
    *("input.value", "tool.parameters", ENTITY_INPUT),
)
_RESULT = (
    *("gen_ai.tool.call.result", "tool_response", "ai.toolCall.result", "gcp.vertex.agent.tool_response"),
    *("output.value", ENTITY_OUTPUT),
)
_FINE = (1, "1", "STATUS_CODE_OK", "OK")


class Runs:
    """Appends the rows of these spans for one source."""

    def __init__(self, wire: str, rows: Rows, cursor: Cursor) -> None:
        self._wire = wire
        self._rows = rows
        self._cursor = cursor
        memory = rows.shared.setdefault(f"{wire} runs", ({}, {}, {}))
        self._open: dict[str, Unrun] = memory[0]
        """By session the calls that no span shows to be run."""
        self._nth: dict[tuple[str, str | None], int] = memory[1]
        self._inner: dict[tuple[str, str], tuple[str, str | None, str]] = memory[2]
        """By trace and span the run that a span inside of it showed already: its pair id, emission and result."""

    def expect(self, session: str, made: list[Made]) -> None:
        """Calls that the model made; a span of each may come."""
        self._open.setdefault(session, Unrun()).expect(made)

    def take(self, each: Read, session: str, native: str) -> None:
        """A span of a call that was run, with its result."""
        name = each.text(*_NAME) or (each.span.name or "").removeprefix("execute_tool ").removeprefix("running tool: ")
        call_id = each.text(*_CALL_ID)
        inner = self._inner.pop((each.trace, each.id), None)
        value, where = each.first(_ARGUMENTS)
        text, container = arguments_in(value, where)
        pair_id, emission, result_id = inner or (*self._pair(session, call_id, name, text), "")
        result_id = result_id or f"{pair_id}@{each.id}"
        if each.parent and "mcp.method.name" in each.values:
            self._inner[each.trace, each.parent] = (pair_id, emission, result_id)
        event, _ = self._cursor.event(native, "item", session, turn=each.turn)
        kind = "mcp" if "mcp.method.name" in each.values else "function"
        server = each.text("mcp.server.name") if kind == "mcp" else None
        self._rows.call_sightings.add(
            event=event,
            session=session,
            turn=each.turn,
            wire=self._wire,
            stage="executor",
            item_id=emission if each.turn is None else None,
            call_id=call_id,
            pair_id=pair_id,
            kind=kind,
            server=server,
            name=name,
            text=text,
            container=container,
            status="redacted" if container == "absent" and each.turn is None else None,
            owed_by="client",
            pointer=each.places.get(where or "", ""),
        )
        failed, fine = has_failed(each.span) or "error.type" in each.values, status_of(each.span) in _FINE
        value, where = each.first(_RESULT)
        if each.turn is not None:
            return  # the results of an Agents API session are told by its own events
        text, container = returned(value, where)
        whole = opened(value) if kind == "mcp" else None
        if isinstance(whole, dict) and isinstance(whole.get("content"), list):
            text, container, failed = words_of(whole["content"]), "parts", failed or whole.get("isError") is True
        error = reason(each) if failed else None
        success = False if failed else True if fine else None
        self._rows.result_sightings.add(
            event=event,
            session=session,
            turn=each.turn,
            wire=self._wire,
            stage="executor",
            item_id=result_id,
            call_id=call_id,
            pair_id=pair_id,
            name=name,
            success=success,
            error=error,
            text=text,
            container=container,
            status="redacted" if value is None and not failed else None,  # it ran, and what it gave was not captured
            pointer=each.places.get(where or "", ""),
        )

    def _pair(self, session: str, call_id: str | None, name: str, text: str | None) -> tuple[str, str | None]:
        """What pairs an executed call with the model's, and its emission: by the id, else by name not run yet."""
        found = self._open.get(session, Unrun()).run(call_id, name, text)
        if found is not None:
            return found.pair_id, found.emission
        if call_id is not None:
            return call_id, None
        nth = self._nth.get((session, name), 0) + 1
        self._nth[session, name] = nth
        return f"{name}#{nth}", None
