"""The script of a session in wires whose replies come in pieces, and in the logs of hosts and observers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from tests.wires.script import Session
from tests.wires.writers import Json, Writer, chat, messages, responses, when


def responses_streamed(session: Session) -> Iterator[Json]:
    """Each request, and the chunks of its response as they came."""
    for exchange in responses(session):
        body = exchange["response"]
        yield {**exchange["request"], "stream": True}
        begun = {**body, "status": "in_progress", "output": []}
        count = 0

        def chunk(kind: str, **members: Any) -> Json:
            nonlocal count
            count += 1
            return {"type": f"response.{kind}", "sequence_number": count - 1, **members}

        yield chunk("created", response=begun)
        for index, item in enumerate(body["output"]):
            at = {"output_index": index, "item_id": item["id"]}
            if item["type"] == "function_call":
                text = item["arguments"]
                bare = {**item, "arguments": "", "status": "in_progress"}
                yield chunk("output_item.added", output_index=index, item=bare)
                for start in range(0, len(text), 11):
                    yield chunk("function_call_arguments.delta", delta=text[start : start + 11], **at)
                yield chunk("function_call_arguments.done", arguments=text, **at)
            else:
                yield chunk(
                    "output_item.added", output_index=index, item={**item, "content": [], "status": "in_progress"}
                )
            yield chunk("output_item.done", output_index=index, item=item)
        yield chunk("completed", response=body)


def chat_streamed(session: Session) -> Iterator[Json]:
    """Each request, and the chunks of its completion as they came."""
    for exchange in chat(session):
        body = exchange["response"]
        yield {**exchange["request"], "stream": True}
        (choice,) = body["choices"]
        said = choice["message"]

        def chunk(delta: Json, finish: str | None = None, body: Json = body) -> Json:
            choices = [{"index": 0, "delta": delta, "finish_reason": finish}]
            return {**body, "object": "chat.completion.chunk", "choices": choices}

        yield chunk({"role": "assistant", "content": said["content"]})
        for index, call in enumerate(said.get("tool_calls", ())):
            function = call["function"]
            first = {
                "index": index,
                "id": call["id"],
                "type": "function",
                "function": {"name": function["name"], "arguments": ""},
            }
            yield chunk({"tool_calls": [first]})
            text = function["arguments"]
            for start in range(0, len(text), 11):
                yield chunk({"tool_calls": [{"index": index, "function": {"arguments": text[start : start + 11]}}]})
        yield chunk({}, choice["finish_reason"])


def messages_streamed(session: Session) -> Iterator[Json]:
    """Each request, and the events of its message as they came."""
    for exchange in messages(session):
        body = exchange["response"]
        yield {**exchange["request"], "stream": True}
        yield {"type": "message_start", "message": {**body, "content": [], "stop_reason": None}}
        for index, block in enumerate(body["content"]):
            if block["type"] == "tool_use":
                yield {"type": "content_block_start", "index": index, "content_block": {**block, "input": {}}}
                text = json.dumps(block["input"])
                for start in range(0, len(text), 11):
                    delta = {"type": "input_json_delta", "partial_json": text[start : start + 11]}
                    yield {"type": "content_block_delta", "index": index, "delta": delta}
            else:
                yield {"type": "content_block_start", "index": index, "content_block": {"type": "text", "text": ""}}
                delta = {"type": "text_delta", "text": block["text"]}
                yield {"type": "content_block_delta", "index": index, "delta": delta}
            yield {"type": "content_block_stop", "index": index}
        yield {"type": "message_delta", "delta": {"stop_reason": body["stop_reason"]}, "usage": {"output_tokens": 9}}
        yield {"type": "message_stop"}


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


def vercel(session: Session) -> Iterator[Json]:
    """The stream that a page was sent; it names no session and no table."""
    yield {"type": "start", "messageId": f"msg_{session.name}"}
    for step in session.steps:
        yield {"type": "start-step"}
        for call in step.calls:
            yield {"type": "tool-input-start", "toolCallId": call.id, "toolName": call.name}
            yield {"type": "tool-input-delta", "toolCallId": call.id, "inputTextDelta": json.dumps(call.given)}
            yield {"type": "tool-input-available", "toolCallId": call.id, "toolName": call.name, "input": call.given}
        for result in step.results:
            if result.failed:
                yield {"type": "tool-output-error", "toolCallId": result.id, "errorText": result.text}
            else:
                yield {
                    "type": "tool-output-available",
                    "toolCallId": result.id,
                    "output": json.loads(result.text) if result.text[0] in '{"' else result.text,
                }
        yield {"type": "finish-step"}
    yield {"type": "text-start", "id": "t"}
    yield {"type": "text-delta", "id": "t", "delta": session.final}
    yield {"type": "text-end", "id": "t"}
    yield {"type": "finish"}


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


STREAMS: dict[str, Writer] = {
    "openai-responses streamed": responses_streamed,
    "openai-chat streamed": chat_streamed,
    "anthropic-messages streamed": messages_streamed,
}
OBSERVERS: dict[str, Writer] = {
    "langsmith": langsmith,
    "agents-sdk": agents_sdk,
    "vercel-ai": vercel,
    "inspect": inspect,
}
