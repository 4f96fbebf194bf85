"""A saved run of the Agents SDK: what of its overlapping lists is the transcript, in order, each thing once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

from analyzer.read.openai.wire import Item
from analyzer.read.values import ABSENT, Raw, first


class _Named(msgspec.Struct, gc=False):
    id: str | None = None
    name: str | None = None


class _RunItem(msgspec.Struct, gc=False):
    type: str | None = None
    raw_item: Item | None = None


class _Reply(msgspec.Struct, gc=False):
    output: list[Item] = []
    response_id: str | None = None


class _StepData(msgspec.Struct, gc=False):
    interruptions: list[_RunItem] = []


class _Step(msgspec.Struct, gc=False):
    data: _StepData | None = None


class _Processed(msgspec.Struct, gc=False):
    functions: Raw = ABSENT


class _Context(msgspec.Struct, gc=False):
    approvals: Raw = ABSENT


class _Pending(msgspec.Struct, gc=False):
    items: list[Item] = []


class State(msgspec.Struct, gc=False):
    """The members of a saved run that the audit reads."""

    conversation_id: str | None = None
    trace: _Named | None = None
    current_agent: _Named | None = None
    original_input: Raw = ABSENT
    model_responses: list[_Reply] = []
    generated_items: list[_RunItem] = []
    session_items: list[_RunItem] = []
    pending_session_write: _Pending | None = None
    current_step: _Step | None = None
    last_processed_response: _Processed | None = None
    context: _Context | None = None


class Shown(NamedTuple):
    """One item of the run, where it stands, and the reply of the model it belongs to."""

    item: Item
    pointer: str
    reply: str | None


state_of = msgspec.json.Decoder(State).decode
_items = msgspec.json.Decoder(list[Item]).decode


def session_of(state: State) -> str | None:
    """The conversation, else the trace."""
    return state.conversation_id or (state.trace.id if state.trace is not None else None)


def transcript(state: State) -> Iterator[Shown]:
    """The items in the order of the run: every reply of the model, and after it the outputs of its calls.

    Calls of replies that are not kept stand before them.
    """
    given = _items(state.original_input) if first(state.original_input) == b"[" else []
    for index, item in enumerate(given):
        yield Shown(item, f"/original_input/{index}", None)
    outputs = dict(_outputs(state))
    told = {item.call_id for items in (given, *(reply.output for reply in state.model_responses)) for item in items}
    for _, item, to in _listed(state):
        if item.call_id is not None and item.call_id not in told and (item.type or "").endswith("_call"):
            told.add(item.call_id)
            yield Shown(item, to, None)
            yield from outputs.pop(item.call_id, ())
    for index, reply in enumerate(state.model_responses):
        name = reply.response_id or f"reply {index}"
        for place, item in enumerate(reply.output):
            yield Shown(item, f"/model_responses/{index}/output/{place}", name)
        for item in reply.output:
            if item.call_id in outputs:
                yield from outputs.pop(item.call_id)
    for rest in outputs.values():
        yield from rest


def _listed(state: State) -> Iterator[tuple[str, Item, str]]:
    """Every item of the lists that repeat each other: of which list it is, and where it stands."""
    for name in ("session_items", "generated_items"):
        for index, each in enumerate(getattr(state, name)):
            if each.raw_item is not None:
                yield name, each.raw_item, f"/{name}/{index}/raw_item"
    for index, item in enumerate(state.pending_session_write.items if state.pending_session_write is not None else ()):
        yield "pending_session_write", item, f"/pending_session_write/items/{index}"


def _outputs(state: State) -> Iterator[tuple[str, list[Shown]]]:
    """The outputs by call id, from whichever list holds more of them."""
    found: dict[str, dict[str, list[Shown]]] = {}
    for name, item, to in _listed(state):
        if item.call_id is not None and (item.type or "").endswith("_output"):
            found.setdefault(name, {}).setdefault(item.call_id, []).append(Shown(item, to, None))
    if found:
        yield from max(found.values(), key=lambda held: sum(map(len, held.values()))).items()


def interruptions(state: State) -> Iterator[Shown]:
    """The calls that wait for an approval."""
    if state.current_step is not None and state.current_step.data is not None:
        for index, each in enumerate(state.current_step.data.interruptions):
            if each.raw_item is not None:
                yield Shown(each.raw_item, f"/current_step/data/interruptions/{index}/raw_item", None)


def decisions(state: State) -> Iterator[tuple[str, str]]:
    """(call id, approve or deny) of the approvals that name their calls."""
    raw = state.context.approvals if state.context is not None else ABSENT
    if first(raw) != b"{":
        return
    approvals: dict[str, Any] = msgspec.json.decode(raw)
    for told in approvals.values():
        for member, decision in (("approved", "approve"), ("rejected", "deny")):
            named = told.get(member) if isinstance(told, dict) else None
            for call_id in named if isinstance(named, list) else []:
                if isinstance(call_id, str):
                    yield call_id, decision
