"""The script of a session as programs that look on record it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from tests.wires.bodies import Json, Writer, chat, when
from tests.wires.script import Session, Step


def _span(session: Session, number: int, name: str, attributes: Json, failed: str | None = None) -> Json:
    at = 1_796_000_000_000_000_000 + number * 10_000_000
    one = {
        "traceId": session.name.encode().hex().ljust(32, "0")[:32],
        "spanId": f"{number:016x}",
        "parentSpanId": "aaaaaaaaaaaaaaaa",
        "name": name,
        "startTimeUnixNano": str(at),
        "endTimeUnixNano": str(at + 5_000_000),
        "attributes": [{"key": key, "value": {"stringValue": str(value)}} for key, value in attributes.items()],
        "status": {} if failed is None else {"code": 2, "message": failed},
    }
    return {
        "resourceSpans": [{"resource": {"attributes": []}, "scopeSpans": [{"scope": {"name": "a"}, "spans": [one]}]}]
    }


def openinference(session: Session) -> Iterator[Json]:
    """Spans whose messages are flattened into attributes, one for each member."""
    number = 0
    for exchange, step in zip(chat(session), (*session.steps, None), strict=True):
        number += 1
        told: Json = {"openinference.span.kind": "LLM", "session.id": f"oi-{session.name}", "llm.model_name": "m"}
        for index, tool in enumerate(exchange["request"]["tools"]):
            told[f"llm.tools.{index}.tool.json_schema"] = json.dumps(tool)
        for index, message in enumerate(exchange["request"]["messages"]):
            told |= _flat(f"llm.input_messages.{index}.message", message)
        told |= _flat("llm.output_messages.0.message", exchange["response"]["choices"][0]["message"])
        yield _span(session, number, "ChatCompletion", told)
        for call, result in _ran(step):
            number += 1
            about = {
                "openinference.span.kind": "TOOL",
                "session.id": f"oi-{session.name}",
                "tool.name": call.name,
                "tool_call.id": call.id,
                "input.value": call.arguments,
                "output.value": result.text,
            }
            yield _span(session, number, call.name, about, "failed" if result.failed else None)


def _flat(to: str, message: Json) -> Json:
    told: Json = {f"{to}.role": message["role"]}
    if message.get("content") is not None:
        told[f"{to}.content"] = message["content"]
    if "tool_call_id" in message:
        told[f"{to}.tool_call_id"] = message["tool_call_id"]
    for index, call in enumerate(message.get("tool_calls", ())):
        here = f"{to}.tool_calls.{index}.tool_call"
        told[f"{here}.id"] = call["id"]
        told[f"{here}.function.name"] = call["function"]["name"]
        told[f"{here}.function.arguments"] = call["function"]["arguments"]
    return told


def _ran(step: Step | None) -> list[tuple[Any, Any]]:
    """The calls of a step that were run, each once, with their results."""
    if step is None:
        return []
    results = {result.id: result for result in step.results}
    return [(call, results[call.id]) for call in step.calls if call.id in results]


def langfuse(session: Session) -> Iterator[Json]:
    """A trace and its observations, as they are downloaded."""
    observations: list[Json] = []

    def observe(kind: str, name: str, asked: Any, told: Any, *, level: str = "DEFAULT", **more: Any) -> None:
        observations.append(
            {
                "id": f"ob-{session.name}-{len(observations)}",
                "traceId": f"tr-{session.name}",
                "type": kind,
                "startTime": when(len(observations)),
                "parentObservationId": None,
                "level": level,
                "name": name,
                "input": asked,
                "output": told,
                **more,
            }
        )

    for exchange, step in zip(chat(session), (*session.steps, None), strict=True):
        request = exchange["request"]
        asked = {"messages": request["messages"], "tools": request["tools"]}
        observe("GENERATION", "llm", json.dumps(asked), json.dumps(exchange["response"]["choices"][0]["message"]))
        for call, result in _ran(step):
            observe(
                "TOOL",
                call.name,
                call.arguments,
                result.text,
                level="ERROR" if result.failed else "DEFAULT",
                metadata=json.dumps({"tool_call_id": call.id}),
            )
    trace = {"id": f"tr-{session.name}", "sessionId": f"lf-{session.name}", "name": "seeds"}
    yield {"trace": trace, "observations": observations}


def langsmith(session: Session) -> Iterator[Json]:
    """Runs of an agent: its model's, with the tools offered, and the tools' own."""
    root = f"run-{session.name}"
    count = 0

    def run(
        kind: str, name: str, inputs: Json, outputs: Json | None, *, error: str | None = None, extra: Json | None = None
    ) -> Json:
        nonlocal count
        count += 1
        return {
            "id": f"{root}-{count}",
            "trace_id": root,
            "parent_run_id": root,
            "name": name,
            "run_type": kind,
            "start_time": when(count),
            "end_time": when(count + 1),
            "dotted_order": f"20261117T0900{count:02}000000Z{root}.20261117T0900{count:02}000000Z{root}-{count}",
            "session_id": "project-1",
            "inputs": inputs,
            "outputs": outputs,
            "error": error,
            "extra": extra or {},
        }

    def message(kind: str, **members: Any) -> Json:
        name = {"human": "HumanMessage", "ai": "AIMessage", "tool": "ToolMessage"}[kind]
        return {
            "lc": 1,
            "type": "constructor",
            "id": ["langchain", "schema", "messages", name],
            "kwargs": {"type": kind, **members},
        }

    yield {
        **run("chain", "agent", {"input": session.name}, {"output": session.final}),
        "id": root,
        "parent_run_id": None,
    }
    history = [message("human", content=f"seeds of {session.name}")]
    for step in (*session.steps, None):
        tools = [{"type": "function", "function": {"name": n, "parameters": s}} for n, s in session.tools(step)]
        calls = (
            []
            if step is None
            else [{"name": c.name, "args": c.given, "id": c.id, "type": "tool_call"} for c in step.calls]
        )
        said = message("ai", content=session.final if step is None else "", tool_calls=calls, invalid_tool_calls=[])
        outputs = {"generations": [[{"text": "", "type": "ChatGeneration", "message": said}]], "llm_output": None}
        extra = {"invocation_params": {"model": "m-1", "tools": tools}}
        yield run("llm", "ChatModel", {"messages": [list(history)]}, outputs, extra=extra)
        history.append(said)
        made = {} if step is None else {call.id: call for call in step.calls}
        for result in () if step is None else step.results:
            call = made.get(result.id)
            if call is not None:
                answer = {
                    "content": result.text,
                    "type": "tool",
                    "name": call.name,
                    "tool_call_id": result.id,
                    "status": "success",
                }
                about = {"tool_call_id": result.id}
                if result.failed:
                    yield run("tool", call.name, call.given, None, error=result.text, extra=about)
                else:
                    yield run("tool", call.name, call.given, {"output": answer}, extra=about)
            status = "error" if result.failed else "success"
            history.append(message("tool", content=result.text, tool_call_id=result.id, status=status))


def agents_sdk(session: Session) -> Iterator[Json]:
    """Spans of the SDK: what the model generated, and the functions that ran."""
    trace = f"trace_{session.name.encode().hex().ljust(32, '0')[:32]}"
    count = 0

    def span(data: Json, error: Json | None = None) -> Json:
        nonlocal count
        count += 1
        return {
            "object": "trace.span",
            "id": f"span_{session.name}_{count}",
            "trace_id": trace,
            "parent_id": None,
            "started_at": when(count),
            "ended_at": when(count + 1),
            "span_data": data,
            "error": error,
        }

    yield {"object": "trace", "id": trace, "workflow_name": "seeds", "group_id": None, "metadata": None}
    for exchange, step in zip(chat(session), (*session.steps, None), strict=True):
        said = exchange["response"]["choices"][0]["message"]
        tools = [each["function"] for each in exchange["request"]["tools"]]
        yield span(
            {
                "type": "generation",
                "input": exchange["request"]["messages"],
                "output": [said],
                "model": "gpt-5.4",
                "model_config": {"tools": [{"type": "function", "function": each} for each in tools]},
                "usage": None,
            }
        )
        ran = {result.id: result for result in (step.results if step else ())}  # each call once
        for call in () if step is None else step.calls:
            if (result := ran.get(call.id)) is not None:
                error = {"message": "Error running tool", "data": {"error": result.text}} if result.failed else None
                yield span(
                    {
                        "type": "function",
                        "name": call.name,
                        "input": call.arguments,
                        "output": result.text,
                        "mcp_data": None,
                    },
                    error,
                )


def inspect(session: Session) -> Iterator[Json]:
    """An evaluation log of one sample."""
    events: list[Json] = []
    history: list[Json] = [{"role": "user", "content": f"seeds of {session.name}"}]
    for step in (*session.steps, None):
        tools = [{"name": n, "description": "Finds.", "parameters": s} for n, s in session.tools(step)]
        said: Json = {"role": "assistant", "content": session.final if step is None else ""}
        if step is not None:
            said["tool_calls"] = [
                {"id": c.id, "function": c.name, "arguments": c.given, "type": "function"} for c in step.calls
            ]
        output = {"model": "m", "choices": [{"message": said, "stop_reason": "stop" if step is None else "tool_calls"}]}
        events.append(
            {
                "event": "model",
                "timestamp": when(len(events)),
                "model": "m",
                "input": list(history),
                "tools": tools,
                "config": {},
                "output": output,
            }
        )
        history.append(said)
        calls = {} if step is None else {call.id: call for call in step.calls}
        for result in () if step is None else step.results:
            call = calls.get(result.id)
            error = {"type": "unknown", "message": result.text} if result.failed else None
            if call is not None:
                events.append(
                    {
                        "event": "tool",
                        "timestamp": when(len(events)),
                        "type": "function",
                        "id": result.id,
                        "function": call.name,
                        "arguments": call.given,
                        "result": "" if error else result.text,
                        "error": error,
                    }
                )
            history.append(
                {
                    "role": "tool",
                    "content": "" if error else result.text,
                    "tool_call_id": result.id,
                    "function": "find_seed",
                    "error": error,
                }
            )
    sample = {"id": session.name, "epoch": 1, "input": "seeds", "target": "", "messages": history, "events": events}
    yield {
        "version": 2,
        "status": "success",
        "eval": {"task": session.name, "model": "m"},
        "plan": {},
        "samples": [sample],
    }


def gemini_cli(session: Session) -> Iterator[Json]:
    """A session file: a message with its calls is written again when they have ended."""
    yield {"sessionId": f"cli-{session.name}", "projectHash": "ab", "startTime": when(0), "lastUpdated": when(0)}
    yield {"id": "m0", "timestamp": when(0), "type": "user", "content": [{"text": "seeds"}]}
    for number, step in enumerate(session.steps, 1):
        message = {"id": f"m{number}", "timestamp": when(number), "type": "gemini", "content": ""}
        yield message
        calls: list[Json] = []
        for call in step.calls:
            told: Json = {"id": call.id, "name": call.name, "args": call.given, "status": "executing"}
            for result in step.results:
                if result.id == call.id:
                    answer = {"error" if result.failed else "output": result.text}
                    part = {"functionResponse": {"id": call.id, "name": call.name, "response": answer}}
                    told |= {"status": "error" if result.failed else "success", "result": [part]}
            calls.append({**told, "timestamp": when(number)})
        yield {**message, "toolCalls": calls}
    yield {"id": "end", "timestamp": when(99), "type": "gemini", "content": session.final}


OBSERVERS: dict[str, Writer] = {
    "gemini-cli": gemini_cli,
    "otlp openinference": openinference,
    "langfuse": langfuse,
    "langsmith": langsmith,
    "agents-sdk": agents_sdk,
    "inspect": inspect,
}
