"""Calls that the tree of rows left behind: a user who goes back takes another branch, and nobody waits for the old one.

Each row names the one before it. A message whose ancestors do not hold an open call was made by a model that never saw
that call. Only rows since the oldest open call are looked at: what is older than it can be none of its descendants.
"""

from __future__ import annotations

from collections.abc import Container, Sequence

from analyzer.read.claude.blocks import Block
from analyzer.read.claude.transcript import Row

OpenCall = tuple[Row, Block, str | None, str | None]
"""A call whose result has not come yet: its row, its block, its session and its turn."""

_MOST_PASSED = 100_000  # rows and open calls remembered from one block to the next: after that they are debts


class Branches:
    """The open calls of one source, and the rows since the oldest of them."""

    def __init__(self) -> None:
        self.open: dict[str | None, OpenCall] = {}
        """By their ids; who reads the rows puts them in, and takes them out when their results come."""
        self._rows: Sequence[Row] = ()
        self._passed: dict[str, tuple[str | None, str | None]] = {}

    def begin(self, rows: Sequence[Row]) -> None:
        """These rows come next."""
        self._rows = rows

    def end(self) -> None:
        """They were all; what is open goes on."""
        if not self.open:
            self._passed = {}
        else:
            self._passed |= self._since({_message(row) for row, *_ in self.open.values()})
            if max(len(self._passed), len(self.open)) > _MOST_PASSED:
                self.open.clear()
                self._passed = {}
        self._rows = ()

    def left(self, row: Row, session: str | None, turn: str | None, older: Container[str]) -> list[tuple[Block, str]]:
        """The open calls of the turn, and their emissions, that are no ancestors of a row that says something.

        None of them stays open, but those of its own message. `older` are the rows that are known, whenever they came.
        """
        message = _message(row)
        calls = {
            call_id: (said, block)
            for call_id, (caller, block, *whose) in self.open.items()
            # Sidechains that name no agent are several chains in one turn.
            if whose == [session, turn] and turn != "sidechain" and (said := _message(caller)) != message
        }
        for call_id in calls:
            del self.open[call_id]
        if not calls:
            return []
        messages = {said for said, _ in calls.values()}
        passed = self._passed | self._since(messages)
        ancestors: set[str | None] = set()
        before = row.before
        while before in passed and not ancestors >= messages:
            before, said = passed.pop(before)
            ancestors.add(said)
        if not ancestors >= messages and before is not None and before not in older:
            return []  # it is not known what came before
        return [(block, f"{said}/{block.id}") for said, block in calls.values() if said not in ancestors]

    def _since(self, messages: set[str | None]) -> dict[str, tuple[str | None, str | None]]:
        """The rows from the first of these messages on: by the row, the one before it and its message."""
        links = [(row.uuid, (row.before, _message(row))) for row in self._rows]
        begin = next((place for place, (_, (_, said)) in enumerate(links) if said in messages), 0)
        return {uuid: link for uuid, link in links[begin:] if uuid is not None}


def _message(row: Row) -> str | None:
    """What the rows of one message share."""
    return row.uuid if row.message is None else row.message.id or row.uuid
