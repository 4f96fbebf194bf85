"""Batches: what was asked under a name in one file, and is answered under that name in another."""

from __future__ import annotations

from typing import Generic, TypeVar

from analyzer.read.ledger import Recent
from analyzer.read.values import Raw, text_of

T = TypeVar("T")


class Batches(Generic[T]):
    """Requests that wait for what comes of their batch, over all files of a run."""

    def __init__(self) -> None:
        self._waiting: Recent[str, list[T]] = Recent()

    def trim(self) -> None:
        """Forget what is oldest; called once for each block."""
        self._waiting.trim()

    def ask(self, custom_id: Raw, asked: T) -> None:
        """A request was sent under this name."""
        name = text_of(custom_id)
        if name is not None:
            self._waiting.setdefault(name, []).append(asked)

    def answered(self, custom_id: Raw) -> T | None:
        """What was asked under this name; None where nothing was, or where several batches use the name."""
        name = text_of(custom_id)
        waiting = self._waiting.get(name or "", [])
        return waiting.pop() if len(waiting) == 1 else None
