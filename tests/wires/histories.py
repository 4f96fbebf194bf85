"""The script of a session where requests do not send all that came before, or stand apart from their responses."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Any

from tests.wires.bodies import Json, Writer, chat, messages, responses, when
from tests.wires.script import Session


def responses_chained(session: Session) -> Iterator[Json]:
    """Each request sends what is new, and names the response before."""
    seen, before = 0, None
    for exchange in responses(session):
        history = exchange["request"]["input"]
        request = {**exchange["request"], "input": history[seen:], "store": True}
        if before is not None:
            request["previous_response_id"] = before
        yield {**exchange, "request": request}
        seen, before = len(history) + len(exchange["response"]["output"]), exchange["response"]["id"]


def responses_in_conversation(session: Session) -> Iterator[Json]:
    """Each request sends what is new to a conversation."""
    name = f"conv_{session.name}"
    for exchange in responses_chained(session):
        request = {**exchange["request"], "conversation": name}
        request.pop("previous_response_id", None)
        yield {**exchange, "request": request, "response": {**exchange["response"], "conversation": {"id": name}}}


def chat_trajectory(session: Session) -> Iterator[Json]:
    """One list of messages, with the tools of the first request beside it."""
    first, *_, last = chat(session)
    said = last["response"]["choices"][0]["message"]
    yield {"id": session.name, "messages": [*last["request"]["messages"], said], "tools": first["request"]["tools"]}


def messages_separately(session: Session) -> Iterator[Json]:
    """A request on one line, its response on the next."""
    for exchange in messages(session):
        yield exchange["request"]
        yield exchange["response"]


def chat_separately(session: Session) -> Iterator[Json]:
    """A request on one line, its response on the next."""
    for exchange in chat(session):
        yield exchange["request"]
        yield exchange["response"]


def langchain(session: Session) -> Iterator[Json]:
    """The state of a thread, with the tools of the first request beside it."""
    tools = [{"type": "function", "function": {"name": n, "parameters": s}} for n, s in session.tools(session.steps[0])]
    messages = [each for _, each in _langchain(session)]
    yield {"thread_id": f"lg-{session.name}", "values": {"messages": messages}, "next": [], "tools": tools}


def langgraph_updates(session: Session) -> Iterator[Json]:
    """What a graph streams: the state that it begins with, and what each of its nodes adds."""
    for node, message in _langchain(session):
        yield {"messages": [message]} if node == "user" else {node: {"messages": [message]}}


def pydantic_ai(session: Session) -> Iterator[Json]:
    """A line for each message; the results of a step are parts of one request."""

    def request(*parts: Json) -> Json:
        return {"kind": "request", "parts": list(parts), "conversation_id": f"pa-{session.name}", "timestamp": when(1)}

    def response(*parts: Json) -> Json:
        return {"kind": "response", "parts": list(parts), "conversation_id": f"pa-{session.name}", "model_name": "m"}

    yield request({"part_kind": "user-prompt", "content": f"seeds of {session.name}"})
    for step in session.steps:
        calls = [
            {"part_kind": "tool-call", "tool_name": c.name, "args": c.arguments, "tool_call_id": c.id}
            for c in step.calls
        ]
        names = {c.id: c.name for c in step.calls}
        yield response(*calls)
        results = [
            {
                "part_kind": "tool-return",
                "tool_name": names.get(r.id, "find_seed"),
                "content": r.text,
                "tool_call_id": r.id,
                "outcome": "failed" if r.failed else "success",
            }
            for r in step.results
        ]
        if results:
            yield request(*results)
    yield response({"part_kind": "text", "content": session.final})


def openhands(session: Session) -> Iterator[Json]:
    """Events of a trajectory: each action keeps the response that it is of."""
    numbers = count()

    def event(**members: Any) -> Json:
        number = next(numbers)
        return {"id": number, "timestamp": when(number), "source": "agent", **members}

    tools = [{"type": "function", "function": {"name": n, "parameters": s}} for n, s in session.tools(session.steps[0])]
    yield event(action="system", args={"content": f"seeds of {session.name}", "tools": tools})
    yield event(source="user", action="message", args={"content": f"seeds of {session.name}"})
    for nth, step in enumerate(session.steps):
        calls = [{"id": c.id, "function": {"name": c.name, "arguments": c.arguments}} for c in step.calls]
        asked = [
            {"function_name": c.name, "tool_call_id": c.id, "model_response": _response(nth, [one])}
            for c, one in zip(step.calls, calls, strict=True)
        ]
        for about in asked:
            yield event(action="run", args={"thought": ""}, tool_call_metadata=about)
        names = {c.id: c.name for c in step.calls}
        for result in step.results:
            name = names.get(result.id, "find_seed")
            kind = "error" if result.failed else "run"
            about = {
                "function_name": name,
                "tool_call_id": result.id,
                "model_response": _response(nth, calls),
            }
            yield event(observation=kind, content=result.text, extras={}, cause=1, tool_call_metadata=about)
    yield event(action="message", args={"content": session.final})


def _response(nth: int, calls: list[Json]) -> Json:
    message = {"role": "assistant", "content": None, "tool_calls": calls}
    return {"id": f"r{nth}", "object": "chat.completion", "choices": [{"index": 0, "message": message}]}


def strands(session: Session) -> Iterator[Json]:
    """A record for each message, as it is saved."""

    def saved(role: str, *blocks: Json) -> Json:
        number = next(numbers)
        return {"message": {"role": role, "content": list(blocks)}, "message_id": number, "created_at": when(number)}

    numbers = count()
    yield saved("user", {"text": f"seeds of {session.name}"})
    for step in session.steps:
        yield saved(
            "assistant", *[{"toolUse": {"toolUseId": c.id, "name": c.name, "input": c.given}} for c in step.calls]
        )
        results = [
            {"toolUseId": r.id, "status": "error" if r.failed else "success", "content": [{"text": r.text}]}
            for r in step.results
        ]
        if results:
            yield saved("user", *[{"toolResult": each} for each in results])
    yield saved("assistant", {"text": session.final})


def _langchain(session: Session) -> Iterator[tuple[str, Json]]:
    """The messages, each with who added it; arguments that are no object are kept as their text."""

    def message(kind: str, **members: Any) -> Json:
        number = next(numbers)
        return {"additional_kwargs": {}, "type": kind, "id": f"{session.name}-{number}", **members}

    numbers = count()
    yield "user", message("human", content=f"seeds of {session.name}")
    for step in session.steps:
        good = [c for c in step.calls if isinstance(c.given, dict)]
        calls = [{"name": c.name, "args": c.given, "id": c.id, "type": "tool_call"} for c in good]
        bad = [{"name": c.name, "args": c.arguments, "id": c.id, "error": "no"} for c in step.calls if c not in good]
        yield "model", message("ai", content="", tool_calls=calls, invalid_tool_calls=bad)
        for result in step.results:
            status = "error" if result.failed else "success"
            yield "tools", message("tool", content=result.text, tool_call_id=result.id, status=status)
    yield "model", message("ai", content=session.final, tool_calls=[], invalid_tool_calls=[])


HISTORIES: dict[str, Writer] = {
    "openai-responses chained": responses_chained,
    "openai-responses in a conversation": responses_in_conversation,
    "openai-chat trajectory": chat_trajectory,
    "pydantic-ai": pydantic_ai,
    "strands": strands,
    "openhands": openhands,
    "langchain": langchain,
    "langchain updates": langgraph_updates,
    "openai-chat, request and response apart": chat_separately,
    "anthropic-messages, request and response apart": messages_separately,
}
