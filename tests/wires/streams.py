"""The script of a session in wires whose replies come in pieces."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from tests.wires.bodies import Json, Writer, chat, messages, responses
from tests.wires.script import Session


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


STREAMS: dict[str, Writer] = {
    "openai-responses streamed": responses_streamed,
    "openai-chat streamed": chat_streamed,
    "anthropic-messages streamed": messages_streamed,
    "vercel-ai": vercel,
}
