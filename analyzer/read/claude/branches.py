"""Calls that the tree of rows left behind: a user who goes back takes another branch, and nobody waits for the old one.

Each row names the one before it. A message whose ancestors do not hold an open call was made by a model that never saw
that call. Only rows since the oldest open call are looked at: what is older than it can be none of its descendants.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import NamedTuple

from analyzer.read.claude.blocks import Block
from analyzer.read.claude.transcript import Row

OpenCall = tuple[Row, Block, str | None, str | None]
"""A call whose result has not come yet: its row, its block, its session and its turn."""

_Key = tuple[str | None, str | None, str]
_MOST_PASSED = 100_000  # rows and open calls remembered from one block to the next: after that they are debts


class _Passed(NamedTuple):
    """A row that was read: how many came before it, the one it names, and its message."""

    nth: int
    before: str | None
    message: str | None


class Branches:
    """The open calls of one source, and the rows since the oldest of them."""

    def __init__(self) -> None:
        self.open: dict[_Key, OpenCall] = {}
        """By session, turn and id: agents of one session may have open calls of one id."""
        self._of: dict[tuple[str | None, str | None], dict[str | None, dict[_Key, None]]] = {}
        """The same by session and turn, and there by message."""
        self._rows: Sequence[Row] = ()
        self._passed: dict[str, _Passed] = {}
        self._begun: dict[str | None, int] = {}
        """Where a message began."""
        self._count = 0

    def copy(self) -> Branches:
        """Another one that knows the same, between two lots of rows."""
        other = Branches()
        other.open = dict(self.open)
        other._of = {of: {message: dict(keys) for message, keys in each.items()} for of, each in self._of.items()}
        # Rows are only added, and each is the same when it is read again.
        other._passed, other._begun, other._count = self._passed, self._begun, self._count
        return other

    def begin(self, rows: Sequence[Row]) -> None:
        """These rows come next."""
        self._rows = rows

    def end(self) -> None:
        """They were all; what is open goes on."""
        if self.open:
            self._pass()
        if not self.open or max(len(self._passed), len(self.open)) > _MOST_PASSED:
            self.open, self._of, self._passed, self._begun = {}, {}, {}, {}
        self._rows = ()

    def call(self, row: Row, block: Block, session: str | None, turn: str | None) -> None:
        """A call is made, and waits for its result."""
        self.close(block.id, session, turn)
        key = (session, turn, block.id or "")
        self.open[key] = (row, block, session, turn)
        self._of.setdefault((session, turn), {}).setdefault(_message(row), {})[key] = None

    def close(self, call_id: str | None, session: str | None, turn: str | None) -> None:
        """A call does not wait any more."""
        key = (session, turn, call_id or "")
        found = self.open.pop(key, None)
        if found is not None:
            of, message = self._of[session, turn], _message(found[0])
            del of[message][key]
            if not of[message]:
                del of[message]

    def left(self, row: Row, session: str | None, turn: str | None, older: Container[str]) -> list[tuple[Block, str]]:
        """The open calls of the turn, and their emissions, that are no ancestors of a row that says something.

        None of them stays open, but those of its own message. `older` are the rows that are known, whenever they came.
        """
        # Sidechains that name no agent are several chains in one turn.
        mine = self._of.get((session, turn), {}) if turn != "sidechain" else {}
        message = _message(row)
        missing = {of for of in mine if of != message}
        if not missing:
            return []
        calls = [(of, self.open[key][1]) for of, keys in mine.items() if of != message for key in keys]
        for _, block in calls:
            self.close(block.id, session, turn)
        self._pass()
        # Rows lead to those before them; none leads past the first message that has such a call.
        since = min(self._begun.get(of, 0) for of in missing)
        seen, before = set[str](), row.before
        while missing and before is not None and before not in seen:
            link = self._passed.get(before)
            if link is None or link.nth < since:
                break
            seen.add(before)
            missing.discard(link.message)
            before = link.before
        if missing and before is not None and before not in seen and before not in older:
            return []  # it is not known what came before
        return [(block, f"{of}/{block.id}") for of, block in calls if of in missing]

    def _pass(self) -> None:
        """Remember the rows of this lot, once."""
        rows, self._rows = self._rows, ()
        for nth, row in enumerate(rows, self._count):
            message = _message(row)
            self._begun.setdefault(message, nth)
            if row.uuid is not None:
                self._passed[row.uuid] = _Passed(nth, row.before, message)
        self._count += len(rows)


def _message(row: Row) -> str | None:
    """What the rows of one message share."""
    return row.uuid if row.message is None else row.message.id or row.uuid
