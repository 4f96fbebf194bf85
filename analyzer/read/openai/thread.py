"""What is known of the Codex thread that a rollout is of: its session, its turn, the calls and results so far."""

from __future__ import annotations

from typing import NamedTuple

from analyzer.read.ledger import Recent


class Call(NamedTuple):
    """What is known of the calls of one id."""

    turn: str | None
    """Of the latest one."""
    times: int
    text: int
    """A hash of the arguments of the latest one."""
    emissions: tuple[str, ...]


class Thread:
    """One object for each source; `trim` keeps it bounded."""

    def __init__(self) -> None:
        self.begin(None)

    def begin(self, session: str | None) -> None:
        """What comes next is of this session, of which nothing is known."""
        self.session = session
        self.turn: str | None = None
        self.model: str | None = None
        self.calls: Recent[str, Call] = Recent()
        self._outputs: Recent[str, tuple[int, str]] = Recent()
        self._ran: Recent[str, int] = Recent()

    def trim(self) -> None:
        """Forget what is oldest; called once for each block."""
        for memory in (self.calls, self._outputs, self._ran):
            memory.trim()

    def called(self, call_id: str, item_id: str | None, turn: str | None, text: str | None) -> str:
        """Note a call; the name of its emission."""
        before = self.calls.get(call_id)
        if before is None:
            emission = item_id or f"{call_id}#0"
            self.calls[call_id] = Call(turn, 1, hash(text), (emission,))
        else:
            emission = item_id or f"{call_id}#{before.times}"
            others = before.emissions if emission in before.emissions else (*before.emissions[-7:], emission)
            self.calls[call_id] = Call(turn, before.times + 1, hash(text), others)
        return emission

    def turn_of(self, call_id: str, turn: str | None) -> str | None:
        """The turn of a call, else the one that is given."""
        call = self.calls.get(call_id)
        return turn if call is None else call.turn

    def emission(self, call_id: str, item_id: str | None) -> str:
        """The emission that a copy of a call belongs to."""
        call = self.calls.get(call_id)
        if call is None or item_id in call.emissions:
            return item_id or f"{call_id}#0"
        return call.emissions[-1]

    def is_same(self, call_id: str, text: str | None) -> bool:
        """Whether the latest call of this id had these arguments."""
        call = self.calls.get(call_id)
        return call is not None and call.text == hash(text)

    def answered(self, call_id: str, item_id: str | None) -> str:
        """Note a result; the name of its emission."""
        before = self._outputs.get(call_id)
        nth = 0 if before is None else before[0]
        emission = item_id or f"{call_id}!{nth}"
        self._outputs[call_id] = nth + 1, emission
        return emission

    def answer(self, call_id: str) -> str:
        """The emission of the latest result of a call."""
        told = self._outputs.get(call_id)
        return f"{call_id}!0" if told is None else told[1]

    def ran(self, call_id: str) -> int:
        """Note an execution; how many there were of the call before."""
        nth = self._ran.get(call_id, 0)
        self._ran[call_id] = nth + 1
        return nth

    def is_told(self, call_id: str) -> bool:
        """Whether the model had the answers to all calls of this id."""
        told = self._outputs.get(call_id)
        if told is None:
            return False
        call = self.calls.get(call_id)
        return told[0] >= (1 if call is None else call.times)
