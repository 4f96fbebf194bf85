"""Pairing held to a slow and obvious reference: conversations where ids repeat, answers come twice, early or never."""

from __future__ import annotations

import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule, run_state_machine_as_test

from analyzer import audit
from analyzer.rules.catalogue import RULES
from tests.hostile.wire import lines

IDS = st.sampled_from(["a", "b", "c"])
_NO_RULES = [each.code for each in RULES]


def reference(messages: list[dict[str, Any]]) -> dict[int, tuple[int | None, int | None]]:
    """Of each result its call and its rank, calls and results numbered as they come.

    A result answers the latest reply that has an open call of its id, and of this reply the first open one. With none
    open it repeats the latest call of its id, or the first one where it comes before all.
    """
    calls: dict[str, list[int]] = defaultdict(list)
    replies: dict[str, list[list[int]]] = defaultdict(list)
    order = [call["id"] for each in messages for call in each.get("tool_calls", ())]
    given: dict[int, int | None] = {}
    answers: dict[int, list[tuple[bool, int]]] = defaultdict(list)
    numbered = results = 0
    for message in messages:
        opened: dict[str, list[int]] = defaultdict(list)
        for call in message.get("tool_calls", ()):
            calls[call["id"]].append(numbered)
            opened[call["id"]].append(numbered)
            numbered += 1
        for name, group in opened.items():
            replies[name].append(group)
        if message["role"] == "tool":
            name = message["tool_call_id"]
            single = order.count(name) == 1
            waiting = next((group for group in reversed(replies[name]) if group), None)
            if single or name not in order:
                call, repeated = (order.index(name) if single else None), False
            elif waiting is not None:
                call, repeated = waiting.pop(0), False
            else:
                call, repeated = (calls[name][-1] if calls[name] else order.index(name)), True
            given[results] = call
            if call is not None:
                answers[call].append((repeated, results))
            results += 1
    ranks = {result: rank for each in answers.values() for rank, (_, result) in enumerate(sorted(each))}
    return {result: (call, ranks.get(result)) for result, call in given.items()}


def paired(messages: list[dict[str, Any]]) -> dict[int, tuple[int | None, int | None]]:
    """The same by the audit."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "log.jsonl"
        file.write_bytes(lines([{"messages": messages}]))
        frames = audit([str(file)], ignore=_NO_RULES).frames
    numbers = {call: number for number, call in enumerate(frames["calls"].sort("call")["call"].to_list())}
    found = frames["results"].sort("seq", "result").select("call", "rank").rows()
    return {number: (numbers.get(call), rank) for number, (call, rank) in enumerate(found)}


class Conversation(RuleBasedStateMachine):
    """A conversation that grows; what it means is compared when it ends."""

    def __init__(self) -> None:
        super().__init__()
        self.messages: list[dict[str, Any]] = [{"role": "user", "content": "go"}]
        self.made = 0

    @rule(names=st.lists(IDS, min_size=1, max_size=3))
    def calls(self, names: list[str]) -> None:
        made = []
        for name in names:
            self.made += 1
            function = {"name": "f", "arguments": f'{{"n":{self.made}}}'}
            made.append({"id": name, "type": "function", "function": function})
        self.messages.append({"role": "assistant", "content": None, "tool_calls": made})

    @rule(name=IDS)
    def answers(self, name: str) -> None:
        self.made += 1
        self.messages.append({"role": "tool", "tool_call_id": name, "content": f"said {self.made}"})

    @rule()
    def asks(self) -> None:
        self.made += 1
        self.messages.append({"role": "user", "content": f"and {self.made}"})

    def teardown(self) -> None:
        assert paired(self.messages) == reference(self.messages), self.messages


def test_pairing_agrees_with_the_obvious() -> None:
    run_state_machine_as_test(Conversation, settings=settings(max_examples=25, stateful_step_count=12))


@pytest.mark.long
def test_pairing_agrees_with_the_obvious_at_length() -> None:
    run_state_machine_as_test(
        Conversation, settings=settings(max_examples=2_000, stateful_step_count=40, deadline=None)
    )
