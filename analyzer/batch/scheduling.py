"""Which inputs are audited together, in which order and by which worker: what is new becomes segments that count."""

from __future__ import annotations

import hashlib
import json
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from analyzer.batch.inputs import Input
from analyzer.batch.segments import Answer, Terms, audit_segment
from analyzer.batch.store import INPUTS, Store
from analyzer.batch.workers import Workers
from analyzer.full_disk import no_room
from analyzer.read import Crew


@dataclass(frozen=True)
class Live:
    """A segment that counts in this run."""

    sources: tuple[int, ...]
    answer: Answer

    def touches(self, other: Live) -> bool:
        """Whether both hold a part of one session."""
        mine, theirs = self.answer, other.answer
        return not (
            mine.sessions.isdisjoint(theirs.sessions)
            and mine.adrift.isdisjoint(theirs.turns)
            and theirs.adrift.isdisjoint(mine.turns)
        )


class Schedule:
    """The auditing of one run; `known`, `live` and `failed` say at any moment how far it has come."""

    def __init__(
        self,
        store: Store,
        inputs: Mapping[int, Input],
        known: pl.DataFrame,
        live: dict[str, Live],
        *,
        terms: Terms,
        size: int,
        progress: Callable[[str, int, int], None],
    ) -> None:
        self.known = known
        """INPUTS of the store."""
        self.live = live
        """The segments that count, by name."""
        self.failed: list[tuple[str, str]] = []
        """Inputs on which the analyzer failed, and how."""
        self._store, self._inputs, self._terms, self._size, self._progress = store, inputs, terms, size, progress
        self._options = terms.digest()
        self._broken: dict[tuple[int, ...], str] = {}  # what failed together, and with what

    def _cut(self, numbers: Sequence[int]) -> Iterator[tuple[int, ...]]:
        """The inputs in segments of about the wanted size, in the order of their numbers."""
        held: list[int] = []
        size = 0
        for number in sorted(numbers):
            if held and size + self._inputs[number].size > self._size:
                yield tuple(held)
                held, size = [], 0
            held.append(number)
            size += self._inputs[number].size
        if held:
            yield tuple(held)

    def audit(self, stale: Sequence[int], those: Workers) -> None:
        """Audit these inputs in segments of about the wanted size."""
        waiting = deque(self._cut(stale))
        whole, done = len(stale), 0
        under_way: deque[tuple[tuple[int, ...], Path, Future[Answer]]] = deque()
        alone: set[tuple[int, ...]] = set()  # were under way when a process died: one of them is why
        while waiting or under_way:
            while waiting and len(under_way) < those.jobs + (those.jobs > 1):
                if under_way and not alone.isdisjoint((waiting[0], under_way[0][0])):
                    break
                under_way.append(self._submit(waiting.popleft(), those))
            sources, draft, future = under_way.popleft()
            self._progress("audit", done, whole)
            try:
                answer = future.result()
            except Exception as error:  # one input must not end the night, whatever it does to us
                if no_room(error):  # it is no input's fault
                    raise
                if isinstance(error, BrokenProcessPool):
                    those.anew()
                    if sources not in alone:
                        suspects = [sources, *(each for each, _, _ in under_way)]
                        alone.update(suspects)
                        waiting.extendleft(reversed(suspects))
                        under_way.clear()
                        continue
                halves = self._divided(sources, error)
                done += not halves
                waiting.extendleft(reversed(halves))
                continue
            segment = Live(sources, answer)
            others = {name: held for name, held in self.live.items() if segment.touches(held)}
            if others:  # a session that goes on from one input into another: both are audited together
                together = tuple(sorted({*sources, *(each for held in others.values() for each in held.sources)}))
                if together in self._broken:  # they cannot be, and what has a part of a session only is no answer
                    self.failed += [(self._inputs[number].source.path, self._broken[together]) for number in sources]
                    done += len(sources)
                    continue
                for name in others:
                    del self.live[name]
                waiting.appendleft(together)
                whole += sum(len(held.sources) for held in others.values())
                continue
            self._commit(segment, draft)
            done += len(sources)

    def _divided(self, sources: tuple[int, ...], error: Exception) -> list[tuple[int, ...]]:
        """What is tried in the place of inputs that failed together: each half. One that failed alone is told."""
        told = f"{type(error).__name__}: {error}"
        if len(sources) == 1:
            self.failed.append((self._inputs[sources[0]].source.path, told))
            return []
        self._broken[sources] = told
        middle = len(sources) // 2
        return [sources[:middle], sources[middle:]]

    def shuffle(self, stale: Sequence[int], those: Workers) -> None:
        """Audit all that is new as one segment, on all processes at once."""
        self._progress("audit", 0, len(stale))
        together = tuple(sorted(stale))
        others: dict[str, Live] = {}
        while True:
            draft = self._store.draft()
            try:
                answer = audit_segment(
                    [self._inputs[number].source for number in together],
                    self._terms,
                    draft,
                    crew=Crew(those, those.jobs, self._terms.mappings),
                )
            except Exception as error:
                if no_room(error):
                    raise
                told = f"{type(error).__name__}: {error}"
                self.failed += [(self._inputs[number].source.path, told) for number in stale]
                return
            segment = Live(together, answer)
            others |= {name: held for name, held in self.live.items() if segment.touches(held)}
            wider = tuple(sorted({*together, *(each for held in others.values() for each in held.sources)}))
            if wider == together:
                break
            together = wider  # a session that goes on from what was audited before
        for name in others:
            del self.live[name]
        self._commit(segment, draft)

    def _submit(self, sources: tuple[int, ...], those: Workers) -> tuple[tuple[int, ...], Path, Future[Answer]]:
        draft = self._store.draft()
        inputs = [self._inputs[number].source for number in sources]
        return sources, draft, those.submit(audit_segment, inputs, self._terms, draft)

    def _commit(self, segment: Live, draft: Path) -> None:
        now = [self._inputs[number] for number in segment.sources]
        marks = json.dumps([self._options, [(each.source.number, each.source.path, each.identity) for each in now]])
        name = hashlib.sha256(marks.encode()).hexdigest()[:24]
        identities = {each.source.number: each.identity for each in now}
        rows = [
            {**row, "identity": identities[row["source"]], "segment": name, "options": self._options}
            for row in segment.answer.sources
        ]
        gone = pl.col("source").is_in(list(segment.sources))
        before = self.known.filter(gone)["segment"].unique()
        # The rest of a segment that lost an input counts no more: its answers hold what is audited anew here.
        rest = self.known.filter(~gone).with_columns(
            pl.when(pl.col("segment").is_in(before.implode())).then(pl.lit("")).otherwise(pl.col(name)).alias(name)
            for name in ("identity", "segment")
        )
        self.known = pl.concat([rest, pl.DataFrame(rows, schema=INPUTS)]).sort("source")
        self._store.commit(draft, name, self.known)
        self.live[name] = segment
