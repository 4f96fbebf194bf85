"""What is known of the Codex thread that a rollout is of: its session, its turn, the calls and results so far."""

from __future__ import annotations

from analyzer.read.openai.ledger import Recent


class Thread:
    """One object for each source; `trim` keeps it bounded."""

    def __init__(self) -> None:
        self.session: str | None = None
        self.turn: str | None = None
        self.model: str | None = None
        # By call id: the turn of its latest call, how many there were, a hash of the arguments; then of its results.
        self.turns: Recent[str, str | None] = Recent()
        self.calls: Recent[str, int] = Recent()
        self.texts: Recent[str, int] = Recent()
        self.outputs: Recent[str, tuple[int, str]] = Recent()
        self._ran: Recent[str, int] = Recent()

    def trim(self) -> None:
        """Forget what is oldest; called once for each block."""
        for memory in (self.turns, self.calls, self.texts, self.outputs, self._ran):
            memory.trim()

    def called(self, call_id: str, item_id: str | None, turn: str | None, text: str | None) -> str:
        """Note a call; the name of its emission."""
        nth = self.calls.get(call_id, 0)
        self.turns[call_id], self.calls[call_id], self.texts[call_id] = turn, nth + 1, hash(text)
        return item_id or f"{call_id}#{nth}"

    def answered(self, call_id: str, item_id: str | None) -> str:
        """Note a result; the name of its emission."""
        nth = self.outputs[call_id][0] if call_id in self.outputs else 0
        emission = item_id or f"{call_id}!{nth}"
        self.outputs[call_id] = nth + 1, emission
        return emission

    def ran(self, call_id: str) -> int:
        """Note an execution; how many there were of the call before."""
        nth = self._ran.get(call_id, 0)
        self._ran[call_id] = nth + 1
        return nth

    def is_told(self, call_id: str) -> bool:
        """Whether the model had the answers to all calls of this id."""
        told = self.outputs.get(call_id)
        return told is not None and told[0] >= max(1, self.calls.get(call_id, 0))
