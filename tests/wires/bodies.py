"""The script of a session in the wires that are read."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

from tests.rules.story import tell
from tests.wires.script import Session, Step

Json = dict[str, Any]
Writer = Callable[[Session], Iterator[Any]]


def when(second: int) -> str:
    return f"2026-11-17T09:{second // 60 % 60:02}:{second % 60:02}.250Z"


def responses(session: Session) -> Iterator[Json]:
    history: list[Json] = [{"role": "user", "content": f"seeds of {session.name}"}]
    for number, step in enumerate((*session.steps, None)):
        tools = [
            {"type": "function", "name": name, "description": "Finds.", "parameters": schema, "strict": False}
            for name, schema in session.tools(step)
        ]
        out: list[Json] = (
            [_said_item(session, number)]
            if step is None
            else [
                {
                    "type": "function_call",
                    "id": f"fc_{call.id}_{at}",
                    "call_id": call.id,
                    "name": call.name,
                    "arguments": call.arguments,
                    "status": "completed",
                }
                for at, call in enumerate(step.calls)
            ]
        )
        yield {
            "recorded_at": when(number),
            "request": {"model": "gpt-5.4", "input": list(history), "tools": tools, "store": False},
            "response": {
                "id": f"resp_{session.name}_{number}",
                "object": "response",
                "created_at": 1795000000 + number,
                "status": "completed",
                "model": "gpt-5.4",
                "output": out,
                "tools": tools,
            },
        }
        history += out
        if step is not None:
            history += [
                {"type": "function_call_output", "call_id": result.id, "output": result.text} for result in step.results
            ]


def _said_item(session: Session, number: int) -> Json:
    content = [{"type": "output_text", "text": session.final, "annotations": []}]
    return {
        "type": "message",
        "id": f"msg_{session.name}_{number}",
        "role": "assistant",
        "status": "completed",
        "content": content,
    }


def chat(session: Session) -> Iterator[Json]:
    history: list[Json] = [{"role": "user", "content": f"seeds of {session.name}"}]
    for number, step in enumerate((*session.steps, None)):
        tools = [
            {"type": "function", "function": {"name": name, "description": "Finds.", "parameters": schema}}
            for name, schema in session.tools(step)
        ]
        said: Json = {"role": "assistant", "content": session.final if step is None else None}
        if step is not None:
            said["tool_calls"] = [
                {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
                for call in step.calls
            ]
        finish = "stop" if step is None else "tool_calls"
        yield {
            "recorded_at": when(number),
            "request": {"model": "gpt-5.4", "messages": list(history), "tools": tools},
            "response": {
                "id": f"chatcmpl-{session.name}-{number}",
                "object": "chat.completion",
                "created": 1795000000 + number,
                "model": "gpt-5.4",
                "choices": [{"index": 0, "message": said, "finish_reason": finish}],
            },
        }
        history.append(said)
        if step is not None:
            history += [{"role": "tool", "tool_call_id": result.id, "content": result.text} for result in step.results]


def messages(session: Session) -> Iterator[Json]:
    history: list[Json] = [{"role": "user", "content": f"seeds of {session.name}"}]
    for number, step in enumerate((*session.steps, None)):
        tools = [
            {"name": name, "description": "Finds.", "input_schema": schema} for name, schema in session.tools(step)
        ]
        content = [{"type": "text", "text": session.final}] if step is None else _uses(step)
        said = {"role": "assistant", "content": content}
        yield {
            "recorded_at": when(number),
            "request": {"model": "claude-opus-4-8", "max_tokens": 900, "messages": list(history), "tools": tools},
            "response": {
                "id": f"msg_{session.name}_{number}",
                "type": "message",
                "model": "claude-opus-4-8",
                "stop_reason": "end_turn" if step is None else "tool_use",
                "stop_sequence": None,
                "usage": {"input_tokens": 9, "output_tokens": 9},
                **said,
            },
        }
        history.append(said)
        if step is not None:
            history.append({"role": "user", "content": _used(step)})


def _uses(step: Step) -> list[Json]:
    return [{"type": "tool_use", "id": call.id, "name": call.name, "input": call.given} for call in step.calls]


def _used(step: Step) -> list[Json]:
    return [
        {"type": "tool_result", "tool_use_id": result.id, "content": result.text, "is_error": result.failed}
        for result in step.results
    ]


def claude_code(session: Session) -> Iterator[Json]:
    before: str | None = None
    line = 0

    def written(kind: str, message: Json, **rest: Any) -> Json:
        nonlocal before, line
        line += 1
        record = {
            "parentUuid": before,
            "isSidechain": False,
            "userType": "external",
            "cwd": "/srv/seeds",
            "sessionId": f"session-{session.name}",
            "version": "2.1.144",
            "type": kind,
            "uuid": f"{session.name}-{line:04}",
            "timestamp": when(line),
            "message": message,
            **rest,
        }
        before = record["uuid"]
        return record

    yield written("user", {"role": "user", "content": f"seeds of {session.name}"})
    for number, step in enumerate((*session.steps, None)):
        blocks = [{"type": "text", "text": session.final}] if step is None else _uses(step)
        for block in blocks:
            message = {
                "id": f"msg_{session.name}_{number}",
                "type": "message",
                "role": "assistant",
                "model": "claude-opus-4-8",
                "content": [block],
                "stop_reason": None,
                "usage": {"input_tokens": 3, "output_tokens": 9},
            }
            yield written("assistant", message, requestId=f"req_{session.name}_{number}")
        for block in [] if step is None else _used(step):
            told = f"Error: {block['content']}" if block["is_error"] else [{"type": "text", "text": block["content"]}]
            yield written("user", {"role": "user", "content": [block]}, toolUseResult=told)


def codex(session: Session) -> Iterator[Json]:
    line = 0

    def written(kind: str, payload: Json) -> Json:
        nonlocal line
        line += 1
        return {"timestamp": when(line), "ordinal": line - 1, "type": kind, "payload": payload}

    tools = [
        {"type": "function", "name": name, "description": "Finds.", "inputSchema": schema}
        for name, schema in session.tools(session.steps[0])
    ]
    yield written(
        "session_meta",
        {
            "session_id": f"thread-{session.name}",
            "id": f"thread-{session.name}",
            "timestamp": when(0),
            "cwd": "/srv/seeds",
            "originator": "app",
            "cli_version": "0.171.0",
            "source": "vscode",
            "model_provider": "example",
            "base_instructions": {"text": "Find seeds."},
            "dynamic_tools": tools,
        },
    )
    turn = f"turn-{session.name}"
    yield written("event_msg", {"type": "task_started", "turn_id": turn})
    yield written("turn_context", {"turn_id": turn, "cwd": "/srv/seeds", "model": "gpt-5.4"})
    asked = [{"type": "input_text", "text": f"seeds of {session.name}"}]
    yield written("response_item", {"type": "message", "role": "user", "content": asked})
    for step in session.steps:
        for at, call in enumerate(step.calls):
            item = {"type": "function_call", "id": f"fc_{call.id}_{at}", "name": call.name, "arguments": call.arguments}
            yield written("response_item", {**item, "call_id": call.id, "status": "completed"})
        for result in step.results:
            item = {"type": "function_call_output", "call_id": result.id, "output": result.text}
            yield written("response_item", item)
    yield written("response_item", _said_item(session, line))
    yield written("event_msg", {"type": "task_complete", "turn_id": turn, "last_agent_message": session.final})


def mcp(session: Session) -> Iterator[Json]:
    said, count = 0, 0

    def written(way: str, message: Json) -> Json:
        nonlocal count
        count += 1
        return {
            "ts": when(count),
            "server": f"garden-{session.name}",
            "dir": way,
            "msg": {"jsonrpc": "2.0", **message},
        }

    client = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "host", "version": "3"}}
    offers = {"capabilities": {"tools": {}}, "serverInfo": {"name": "garden", "version": "1"}}
    yield written("c2s", {"id": said, "method": "initialize", "params": client})
    yield written("s2c", {"id": said, "result": {"protocolVersion": "2025-06-18", **offers}})
    yield written("c2s", {"method": "notifications/initialized"})
    listed: Any = None
    for step in session.steps:
        if step.tools != listed:
            if listed is not None:
                yield written("s2c", {"method": "notifications/tools/list_changed"})
            said += 1
            listed = step.tools
            tools = [{"name": name, "description": "Finds.", "inputSchema": schema} for name, schema in listed]
            yield written("c2s", {"id": said, "method": "tools/list", "params": {}})
            yield written("s2c", {"id": said, "result": {"tools": tools}})
        for call in step.calls:
            yield written(
                "c2s", {"id": call.id, "method": "tools/call", "params": {"name": call.name, "arguments": call.given}}
            )
        for result in step.results:
            body = {"content": [{"type": "text", "text": result.text}], "isError": result.failed}
            yield written("s2c", {"id": result.id, "result": body})


def gemini(session: Session) -> Iterator[Json]:
    history: list[Json] = [{"role": "user", "parts": [{"text": f"seeds of {session.name}"}]}]
    names = {call.id: call.name for step in session.steps for call in step.calls}
    for number, step in enumerate((*session.steps, None)):
        declared = [
            {"name": name, "description": "Finds.", "parametersJsonSchema": schema}
            for name, schema in session.tools(step)
        ]
        parts: list[Json] = [{"text": session.final}]
        if step is not None:
            parts = [{"functionCall": {"id": call.id, "name": call.name, "args": call.given}} for call in step.calls]
        said = {"role": "model", "parts": parts}
        yield {
            "recorded_at": when(number),
            "request": {"contents": list(history), "tools": [{"functionDeclarations": declared}]},
            "response": {
                "candidates": [{"content": said, "finishReason": "STOP", "index": 0}],
                "responseId": f"r-{session.name}-{number}",
                "modelVersion": "garden-1",
            },
        }
        history.append(said)
        if step is not None:
            back: list[Json] = []
            for result in step.results:
                answer = {"error": result.text} if result.failed else {"output": _json(result.text)}
                name = names.get(result.id, "find_seed")
                back.append({"functionResponse": {"id": result.id, "name": name, "response": answer}})
            history.append({"role": "user", "parts": back})


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def bedrock(session: Session) -> Iterator[Json]:
    history: list[Json] = [{"role": "user", "content": [{"text": f"seeds of {session.name}"}]}]
    for number, step in enumerate((*session.steps, None)):
        tools = [
            {"toolSpec": {"name": name, "description": "Finds.", "inputSchema": {"json": schema}}}
            for name, schema in session.tools(step)
        ]
        content: list[Json] = [{"text": session.final}]
        if step is not None:
            content = [{"toolUse": {"toolUseId": c.id, "name": c.name, "input": c.given}} for c in step.calls]
        said = {"role": "assistant", "content": content}
        yield {
            "recorded_at": when(number),
            "request": {"modelId": "sea.model-1", "messages": list(history), "toolConfig": {"tools": tools}},
            "response": {
                "output": {"message": said},
                "stopReason": "end_turn" if step is None else "tool_use",
                "usage": {"totalTokens": 9},
                "metrics": {"latencyMs": 3},
            },
        }
        history.append(said)
        if step is not None:
            back = [
                {
                    "toolResult": {
                        "toolUseId": result.id,
                        "content": [{"text": result.text}],
                        "status": "error" if result.failed else "success",
                    }
                }
                for result in step.results
            ]
            history.append({"role": "user", "content": back})


def otel(session: Session) -> Iterator[Json]:
    """GenAI spans: the model's replies, and the tools that ran."""
    trace = session.name.encode().hex().ljust(32, "0")[:32]
    span = 0

    def written(name: str, attributes: Json, *, failed: str | None = None) -> Json:
        nonlocal span
        span += 1
        at = 1_796_000_000_000_000_000 + span * 10_000_000
        given = [
            {"key": key, "value": {"stringValue": value if isinstance(value, str) else json.dumps(value)}}
            for key, value in attributes.items()
        ]
        one = {
            "traceId": trace,
            "spanId": f"{span:016x}",
            "parentSpanId": "aaaaaaaaaaaaaaaa",
            "name": name,
            "startTimeUnixNano": str(at),
            "endTimeUnixNano": str(at + 5_000_000),
            "attributes": given,
            "status": {} if failed is None else {"code": 2, "message": failed},
        }
        return {
            "resourceSpans": [
                {"resource": {"attributes": []}, "scopeSpans": [{"scope": {"name": "app"}, "spans": [one]}]}
            ]
        }

    history: list[Json] = [{"role": "user", "parts": [{"type": "text", "content": f"seeds of {session.name}"}]}]
    for step in (*session.steps, None):
        tools = [
            {"type": "function", "name": name, "description": "Finds.", "parameters": schema}
            for name, schema in session.tools(step)
        ]
        parts: list[Json] = [{"type": "text", "content": session.final}]
        if step is not None:
            parts = [{"type": "tool_call", "id": c.id, "name": c.name, "arguments": c.given} for c in step.calls]
        said = {"role": "assistant", "parts": parts, "finish_reason": "stop" if step is None else "tool_call"}
        yield written(
            "chat plant-1",
            {
                "gen_ai.operation.name": "chat",
                "gen_ai.provider.name": "example",
                "gen_ai.conversation.id": f"conv-{session.name}",
                "gen_ai.request.model": "plant-1",
                "gen_ai.input.messages": list(history),
                "gen_ai.output.messages": [said],
                "gen_ai.tool.definitions": tools,
            },
        )
        history.append({"role": "assistant", "parts": parts})
        if step is not None:
            names = {c.id: c for c in step.calls}
            for result in step.results:
                if result.id in names:
                    call = names[result.id]
                    yield written(
                        f"execute_tool {call.name}",
                        {
                            "gen_ai.operation.name": "execute_tool",
                            "gen_ai.conversation.id": f"conv-{session.name}",
                            "gen_ai.tool.name": call.name,
                            "gen_ai.tool.call.id": call.id,
                            "gen_ai.tool.call.arguments": call.given,
                            "gen_ai.tool.call.result": result.text,
                        },
                        failed="refused" if result.failed else None,
                    )
                history.append(
                    {
                        "role": "tool",
                        "parts": [{"type": "tool_call_response", "id": result.id, "response": result.text}],
                    }
                )


def managed(session: Session) -> Iterator[Any]:
    """Managed Agents: the session, then its events."""
    count = 0

    def event(kind: str, **members: Any) -> Json:
        nonlocal count
        count += 1
        return {
            "id": f"sevt_{session.name}_{count:03}",
            "type": kind,
            "processed_at": when(count),
            "session_id": f"sesn_{session.name}",
            **members,
        }

    def agent(step: Step) -> Json:
        tools = [{"type": "custom", "name": n, "description": "Finds.", "input_schema": s} for n, s in step.tools]
        return {"type": "agent", "id": "agent_1", "name": "Finder", "model": {"id": "claude-sonnet-5"}, "tools": tools}

    made = {"type": "session", "id": f"sesn_{session.name}", "status": "idle", "created_at": when(0)}
    yield ["client.beta.sessions.create", {**made, "agent": agent(session.steps[0])}]
    yield event("user.message", content=[{"type": "text", "text": f"seeds of {session.name}"}])
    yield event("session.status_running")
    before = session.steps[0]
    for step in session.steps:
        if step.tools != before.tools:  # an update takes effect in the next run
            yield event("session.status_idle", stop_reason={"type": "end_turn"})
            yield event("session.updated", agent=agent(step))
            yield event("user.message", content=[{"type": "text", "text": "Go on."}])
            yield event("session.status_running")
        before = step
        for call in step.calls:
            yield {**event("agent.custom_tool_use", name=call.name, input=call.given), "id": call.id}
        ids = [call.id for call in step.calls]
        yield event("session.status_idle", stop_reason={"type": "requires_action", "event_ids": ids})
        for result in step.results:
            content = [{"type": "text", "text": result.text}]
            yield event(
                "user.custom_tool_result", custom_tool_use_id=result.id, content=content, is_error=result.failed
            )
        yield event("session.status_running")
    yield event("agent.message", content=[{"type": "text", "text": session.final}])
    yield event("session.status_idle", stop_reason={"type": "end_turn"})


def agents_api(session: Session) -> Iterator[Any]:
    """Events of the Agents API, a required action for each call."""
    lines = [f"session {session.name}"]
    offered: dict[str, Json] = {}
    for number, step in enumerate(session.steps):
        changed = [f"untool {name}" for name in offered if name not in dict(step.tools)]
        changed += [f"tool {name} {_short(schema)}" for name, schema in step.tools if offered.get(name) != schema]
        offered = dict(step.tools)
        lines += [*changed, "turn" if number == 0 else "update" if changed else ""]
        for call in step.calls:
            lines.append(f"call {call.id} {call.name} {'' if _is_json(call.arguments) else 'text '}{call.arguments}")
        for result in step.results:
            lines.append(f"result {result.id} {'failed' if result.failed else 'ok'} {result.text}")
    lines += [f"say {session.final}", "end", "idle"]
    for line in tell(lines).log.decode().splitlines():
        yield json.loads(line)


def _short(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


BODIES: dict[str, Writer] = {
    "openai-agents-api": agents_api,
    "openai-responses": responses,
    "openai-chat": chat,
    "anthropic-messages": messages,
    "claude-code-jsonl": claude_code,
    "codex-rollout": codex,
    "mcp-jsonrpc": mcp,
    "gemini": gemini,
    "bedrock": bedrock,
    "otlp": otel,
    "managed-agents": managed,
}
