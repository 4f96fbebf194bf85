"""The script of a session where requests do not send all that came before, or stand apart from their responses."""

from __future__ import annotations

from collections.abc import Iterator

from tests.wires.bodies import Json, Writer, chat, messages, responses
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


HISTORIES: dict[str, Writer] = {
    "openai-responses chained": responses_chained,
    "openai-responses in a conversation": responses_in_conversation,
    "openai-chat trajectory": chat_trajectory,
    "openai-chat, request and response apart": chat_separately,
    "anthropic-messages, request and response apart": messages_separately,
}
