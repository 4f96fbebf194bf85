"""Events of callbacks (`astream_events`): each call of the model is told with all that it was sent and what it said."""

from __future__ import annotations

import msgspec

from analyzer.read.cursor import Place
from analyzer.read.dialogue import Ask, Dialogue
from analyzer.read.lang.known import Members, at
from analyzer.read.members import listed
from analyzer.read.payloads import replies_of
from analyzer.read.values import ABSENT, Raw, first, text_of

_CALLED = frozenset({"on_chat_model_end", "on_llm_end"})
_SENT, _ANSWER, _NODE = ("data", "input", "messages"), ("data", "output"), ("metadata", "langgraph_node")

_json = msgspec.json.Decoder().decode


def happened(record: Members, event: str, place: Place, dialogue: Dialogue, thread: str | None) -> None:
    """Append an event; a thread that is not named is its outermost run."""
    sent, answer = at(record, _SENT), at(record, _ANSWER)
    above = [*listed(record.get("parent_ids", ABSENT)), bytes(record.get("run_id", ABSENT))]
    root = thread or text_of(Raw(above[0])) or event
    prompts = listed(sent) if sent is not None else []
    if event not in _CALLED or not prompts or answer is None:
        dialogue.move(place)
        dialogue.cursor.event(event, "notice", root)
        return
    node = bytes(at(record, _NODE) or b"").decode()
    flat = first(prompts[0]) != b"["  # one prompt, or a list of them
    messages, to = (prompts, "") if flat else (listed(prompts[0]), "/0")
    dialogue.ask(Ask(messages, f"/data/input/messages{to}", root, node), place)
    for said, where in replies_of(_json(answer), "/data/output"):
        dialogue.answer(said, place, native=event, to=where)
