"""How much of a partition is judged at once: less where findings are dense, for these take most of the memory."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from analyzer.auditing.partition import Answer
from analyzer.frames import Frames
from analyzer.read.spilled.spill import sessions_among, weight_of

PORTION = 50_000
"""Events judged at once where findings are dense."""
FEW = 2
"""A partition that has more events to a call is not cut."""
_DENSE = 4  # events to a finding, or less


class Portions:
    """Cuts partitions as dense as those before were, and begins with a portion, for nothing is known of the first."""

    def __init__(self) -> None:
        self._sparse = False

    def of(self, recorded: Frames) -> Iterator[Frames]:
        """The recorded frames of whole sessions, in one or more portions: `learn` from each before the next.

        `recorded` is empty afterwards.
        """
        count = max(-(-weight_of(recorded) // PORTION), 1)
        # To cut at all has its price, what all rules ask of any frame; and where calls are few, so are findings.
        if count > 1 and _calls(recorded) * FEW < recorded["events"].height:
            count = 1
        if count > 1:  # a session is judged whole
            count = min(count, recorded["events"]["session"].n_unique())
        number = 0
        while number < count:
            until = count if self._sparse else number + 1
            mine = recorded.copy() if until - number == count else sessions_among(recorded, range(number, until), count)
            number = until
            if number == count:
                recorded.clear()
            if count == 1 or any(rows.height for name, rows in mine.items() if name != "tables"):
                yield mine

    def learn(self, events: int, answer: Answer) -> None:
        """Take note of how much was found in a portion of so many events."""
        found = answer.found.height + answer.frames["unlisted"]["count"].sum()
        self._sparse = found * _DENSE < events


def _calls(recorded: Frames) -> int:
    """About how many calls there are, each of which is shown several times."""
    return int(recorded["call_sightings"].select(pl.struct("session", "pair_id").n_unique()).item())
