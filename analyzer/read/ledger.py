"""What an adapter remembers of calls and results, so that resent history is known for the copy it is. Bounded."""

from __future__ import annotations

from typing import Generic, Protocol, TypeVar

K = TypeVar("K")
V = TypeVar("V")

_KEPT = 400_000
_LATEST = 8


class Recent(dict[K, V]):
    """A dictionary that `trim`, called once for each block, keeps from growing without end."""

    def __init__(self, limit: int = _KEPT) -> None:
        super().__init__()
        self._limit = limit

    def trim(self, limit: int | None = None) -> None:
        """Forget what was added first, down to half, once there are more than `limit` entries."""
        limit = self._limit if limit is None else limit
        if len(self) > limit:
            for key in list(self)[: len(self) - limit // 2]:
                del self[key]


class Spelled(Protocol):
    """What remembers the JSON text of what was sent."""

    text: bytes


C = TypeVar("C", bound=Spelled)


class Latest(Generic[C]):
    """The conversations that were the last to go on, the latest first: of no other is the whole text kept."""

    def __init__(self) -> None:
        self.held: list[C] = []

    def before(self, text: bytes) -> list[C]:
        """Those whose text this one begins with."""
        return [each for each in self.held if text.startswith(each.text)]

    def went_on(self, conversation: C) -> None:
        """It is the latest now."""
        held = self.held
        if held and held[0] is conversation:
            return
        if conversation in held:
            held.remove(conversation)
        held.insert(0, conversation)
        if len(held) > _LATEST:
            held.pop().text = b""


class Ledger:
    """Which calls and results were shown in which session; one for all sources of a run."""

    def __init__(self) -> None:
        self.owners: Recent[str, str] = Recent()
        """Call or response id -> session."""
        self._calls: Recent[tuple[str | None, str], tuple[str | None, ...]] = Recent()
        self._results: Recent[tuple[str | None, str], int] = Recent()

    def trim(self) -> None:
        """Forget what is oldest; called once for each block."""
        self.owners.trim()
        self._calls.trim()
        self._results.trim()

    def called(self, session: str | None, call_id: str, emission: str | None) -> None:
        """Note an emission of the model."""
        key = (session, call_id)
        before = self._calls.get(key, ())
        if emission not in before:
            self._calls[key] = (*before[-7:], emission)
        if session is not None:
            self.owners[call_id] = session

    def emission(self, session: str | None, call_id: str, item_id: str | None) -> str | None:
        """The emission that a copy of a call in resent history belongs to."""
        known = self._calls.get((session, call_id))
        return item_id if not known or item_id in known else known[-1]

    def answered(self, session: str | None, call_id: str) -> int:
        """How many results of a call were shown in one history."""
        return self._results.get((session, call_id), 0)

    def answer(self, session: str | None, call_id: str, count: int) -> None:
        """Note that one history holds `count` results of a call."""
        if count > self.answered(session, call_id):
            self._results[session, call_id] = count
