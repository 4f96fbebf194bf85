"""Sessions in which everything happens that can: ids that come again, answers that come late, twice or for no call."""

from __future__ import annotations

import random
from collections.abc import Iterator

from tests.rules.story import tell

_NUMBER = '{"type":"object","properties":{"id":{"type":"integer"}},"additionalProperties":false}'
_TEXT = '{"type":"object","properties":{"id":{"type":"string"}},"required":["id"]}'
_NAMES = ("get_order", "refund", "send_mail", "list_items")
_ARGUMENTS = ('{"id":1}', '{"id":2}', '{"id":"x"}', '{"a":1}', 'text {"id":1}', '{"id": 1}', "{bad", "")
_OUTPUTS = (
    *('ok {"a":1}', "ok done", "failed no", "ok Error: x", 'ok {"error":"x"}', "ok AKIAABCDEFGHIJKLMNOP"),
    *("failed ", 'ok raw {"a":1}', 'ok {"a":1}', 'ok {"a":2}'),
)
_SAID = ("hello", "go on", "AKIAABCDEFGHIJKLMNOP", '<tool_call>{"name":"refund","arguments":{}}</tool_call>')
_VERBS = {
    "call": 12,
    "result": 12,
    "item": 3,
    "done": 4,
    "action": 2,
    "post": 3,
    "echo": 2,
    "mcp": 3,
    "approval": 2,
    "decide": 2,
    "again": 1,
    "user": 2,
    "say": 2,
    "snapshot": 2,
    "idle": 1,
    "turn": 2,
    "end": 3,
    "update": 0.4,
    "tool": 0.5,
    "untool": 0.3,
    "clock": 1,
    "error": 1,
    "unknown": 1,
}


def tangled(seed: int, count: int) -> bytes:
    """A log of about twice as many events; what a story cannot tell is left out."""
    lines: list[str] = []
    for line in _Writer(random.Random(seed)).lines(count):
        try:
            tell([*lines, line])
        except (ValueError, LookupError, AttributeError):
            continue
        lines.append(line)
    return tell(lines).log


class _Writer:
    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._ids: list[str] = []
        self._made = ["c0"]
        self._asked = ["c0"]
        self._clock = self._turns = 0

    def lines(self, count: int) -> Iterator[str]:
        yield "subagents 1"
        yield from (f"tool {name} {self._rng.choice([_NUMBER, _TEXT])}" for name in _NAMES[:3])
        yield "server shop read write"
        yield self._turn()
        for verb in self._rng.choices(list(_VERBS), list(_VERBS.values()), k=count):
            yield from self._line(verb)

    def _line(self, verb: str) -> Iterator[str]:
        pick = self._rng.choice
        if verb in {"call", "item"}:
            yield f"{verb} {self._new()} {pick(_NAMES)} {pick(_ARGUMENTS)}"
        elif verb == "action":
            call = self._new() if self._rng.random() < 0.3 else self._old()
            yield f"action {call} {pick(_NAMES)} {pick(_ARGUMENTS)}"
        elif verb == "done":
            yield f"done {self._old()}{pick(['', ' incomplete', ' completed'])}"
        elif verb in {"result", "post", "echo"}:
            call = self._old() if self._rng.random() < 0.95 else f"zz{self._rng.randint(1, 9)}"
            if self._rng.random() < 0.08:
                verb, call = "post", f"{call}@t{self._rng.randint(1, self._turns)}"
            yield f"{verb} {call} {pick(_OUTPUTS)}"
        elif verb == "mcp":
            yield f"mcp {self._new()} shop {pick(['read', 'write', 'hack'])} {pick(_ARGUMENTS[:4])} {pick(_OUTPUTS)}"
        elif verb == "approval":
            self._asked.append(self._new())
            yield f"approval {self._asked[-1]} shop {pick(['read', 'write'])} {pick(_ARGUMENTS[:3])}"
        elif verb == "decide":
            yield f"decide {pick(self._asked)} {pick(['approve', 'deny', 'cancel'])}"
        elif verb in {"user", "say"}:
            yield f"{verb} {pick([*_SAID, str(self._rng.random())])}"
        elif verb == "end":
            yield f"end {pick(['completed', 'completed', 'failed', 'cancelled'])}"
            yield self._turn()
        else:
            yield from self._other(verb)

    def _other(self, verb: str) -> Iterator[str]:
        number = self._rng.randint(1, 99_999)
        if verb == "turn":
            yield self._turn()
        elif verb == "tool":
            yield f"tool {self._rng.choice(_NAMES)} {self._rng.choice([_NUMBER, _TEXT])}"
        elif verb == "untool":
            name = self._rng.choice(_NAMES[:3])
            yield from (f"untool {name}", "snapshot", f"tool {name} {_NUMBER}")
        elif verb == "clock":
            self._clock = max(self._clock + self._rng.choice([10, 10, 10, 900, -30]), 0)
            yield f"clock {self._clock}"
        elif verb == "error":
            yield f'event {{"type":"error","event_id":"er{number}","session_id":"s1","error":{{"message":"x"}}}}'
        elif verb == "unknown":
            kind = self._rng.randint(1, 2)
            yield f'event {{"type":"agent.session.strange{kind}","event_id":"un{number}","session_id":"s1"}}'
        else:
            yield verb

    def _turn(self) -> str:
        self._turns += 1
        whose = f" subagent s{self._rng.randint(1, 3)}" if self._rng.random() < 0.25 else ""
        return f"turn t{self._turns}{whose}"

    def _new(self) -> str:
        again = self._ids and self._rng.random() < 0.15
        self._ids.append(self._rng.choice(self._ids) if again else f"c{len(self._ids) + 1}")
        self._made.append(self._ids[-1])
        return self._ids[-1]

    def _old(self) -> str:
        return self._rng.choice(self._made[-6:] if self._rng.random() < 0.8 else self._made)
