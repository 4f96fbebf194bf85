"""One run over the logs of a night: audit what is new or changed, keep the answers, put all of them together."""

from __future__ import annotations

import hashlib
import json
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl

from analyzer.auditing import Audit, chosen, gathered, held_to
from analyzer.batch.inputs import inputs_of
from analyzer.batch.places import BORNE, lost_of, places_of, sight_of, unseen
from analyzer.batch.rotated import rotated
from analyzer.batch.segments import Answer, Terms, audit_segment
from analyzer.batch.store import INPUTS, PLACES, Store, by_segment
from analyzer.batch.trend import borne_of, groups_of, rules_of, trend_of, versions_of
from analyzer.batch.workers import Workers, workers
from analyzer.config import Suppression
from analyzer.errors import AnalyzerError, InputError, UsageError
from analyzer.findings.baseline import Baseline
from analyzer.findings.details import DETAILS, together
from analyzer.frames import SOURCES
from analyzer.full_disk import advice, no_room
from analyzer.read import Crew
from analyzer.read.sources.copies import digest
from analyzer.report.trend import Trend
from analyzer.report.untold import Untold

SIZE = 64 << 20
"""Bytes on disk that are audited and kept together."""

_BESIDE = ("spans", "turns")  # of a segment: which sessions and turns are in it


@dataclass(frozen=True)
class Wanted:
    """What a run is asked for."""

    paths: Sequence[str]
    terms: Terms
    suppressions: Sequence[Suppression] = ()
    baseline: Baseline | None = None
    """What it holds is known."""
    problems: Sequence[AnalyzerError] = ()
    """Of the contracts, to be told with the others."""
    jobs: int = 1
    engine: str = "processes"
    """`processes` of this machine, or `ray`."""
    address: str | None = None
    """Of the cluster; None: one of its own, here."""
    verify: bool = False
    """Take the digest of what seems unchanged."""
    since: datetime | None = None
    until: datetime | None = None
    size: int = SIZE
    shuffle: bool = False
    """The inputs are a lake, whose sessions lie all over them: what is new is read together and audited by session."""


@dataclass(frozen=True)
class Night:
    """What a run came to."""

    audit: Audit
    trend: Trend
    failed: tuple[str, ...]
    """Inputs on which the analyzer itself failed; they are tried again next time."""


@dataclass(frozen=True)
class _Live:
    """A segment that counts in this run."""

    sources: tuple[int, ...]
    answer: Answer

    def touches(self, other: _Live) -> bool:
        """Whether both hold a part of one session."""
        mine, theirs = self.answer, other.answer
        return not (
            mine.sessions.isdisjoint(theirs.sessions)
            and mine.adrift.isdisjoint(theirs.turns)
            and theirs.adrift.isdisjoint(mine.turns)
        )


def nightly(
    store: Store,
    wanted: Wanted,
    *,
    progress: Callable[[str, int, int], None] | None = None,
    waiting: Callable[[], None] = lambda: None,
) -> Night:
    """Audit what the store does not know yet, and give the audit of all inputs and what changed since the last run.

    Another run on the same store is waited for (`waiting` is called then). An input that cannot be read, or on which
    the analyzer fails, is told and left out; the others are audited. Raises UsageError where the store cannot be
    written.
    """
    try:
        with store.alone(waiting):
            return _Run(store, wanted, progress or (lambda *_: None)).whole()
    except AnalyzerError:  # some are OSErrors too
        raise
    except OSError as error:  # of an input they are told, or the segment's
        raise UsageError(
            f"cannot keep a store: {error.strerror or error}",
            file=str(error.filename or store.folder),
            advice=advice(error),
        ) from error


class _Run:
    def __init__(self, store: Store, wanted: Wanted, progress: Callable[[str, int, int], None]) -> None:
        self._store, self._wanted, self._progress = store, wanted, progress
        self._started = datetime.now(UTC)
        self._options = wanted.terms.digest()
        self._known = self._before = store.inputs()
        numbers = dict(self._known.select("path", "source").iter_rows())
        found, self._missing = inputs_of(
            wanted.paths, numbers, store=str(store.folder), since=wanted.since, until=wanted.until
        )
        self._inputs = {each.source.number: each for each in found}
        self._live: dict[str, _Live] = {}
        self._failed: list[tuple[str, str]] = []
        self._broken: dict[tuple[int, ...], str] = {}  # what failed together, and with what

    def whole(self) -> Night:
        fresh = self._fresh()
        stale = [number for number in self._inputs if number not in {each for held in fresh.values() for each in held}]
        self._live = {name: self._kept(name, sources) for name, sources in fresh.items()}
        audited = len(stale)
        wanted = self._wanted
        if stale:
            with workers(wanted.engine, jobs=wanted.jobs, address=wanted.address) as those:
                (self._shuffle if wanted.shuffle else self._audit)(stale, those)
        return self._night(audited)

    # --- what is new ---

    def _fresh(self) -> dict[str, tuple[int, ...]]:
        """The segments whose inputs are all there and what they were."""
        rows = {row["source"]: row for row in self._known.iter_rows(named=True)}
        return {
            name: tuple(sources)
            for name, sources in by_segment(self._known).items()
            if all(self._unchanged(rows[source]) for source in sources)
        }

    def _unchanged(self, row: dict[str, str]) -> bool:
        now = self._inputs.get(int(row["source"]))
        if now is None or row["options"] != self._options or row["identity"] != now.identity:
            return False
        return not self._wanted.verify or digest(now.source) == row["sha256"]

    def _kept(self, name: str, sources: tuple[int, ...]) -> _Live:
        frames, told = self._store.segment(name, _BESIDE), self._store.told(name)
        turns = frames["turns"]
        answer = Answer(
            [],
            told.problems,
            told.crashed,
            frozenset(frames["spans"]["session"]),
            frozenset(turns.filter("adrift")["turn"]),
            frozenset(turns["turn"]),
        )
        return _Live(sources, answer)

    def _cut(self, numbers: Sequence[int]) -> Iterator[tuple[int, ...]]:
        """The inputs in segments of about the wanted size, in the order of their numbers."""
        held: list[int] = []
        size = 0
        for number in sorted(numbers):
            if held and size + self._inputs[number].size > self._wanted.size:
                yield tuple(held)
                held, size = [], 0
            held.append(number)
            size += self._inputs[number].size
        if held:
            yield tuple(held)

    # --- auditing ---

    def _audit(self, stale: Sequence[int], those: Workers) -> None:
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
                if len(sources) == 1:
                    path = self._inputs[sources[0]].source.path
                    self._failed.append((path, f"{type(error).__name__}: {error}"))
                    done += 1
                else:
                    self._broken[sources] = f"{type(error).__name__}: {error}"
                    middle = len(sources) // 2
                    waiting.extendleft([sources[middle:], sources[:middle]])
                continue
            segment = _Live(sources, answer)
            others = {name: held for name, held in self._live.items() if segment.touches(held)}
            if others:  # a session that goes on from one input into another: both are audited together
                together = tuple(sorted({*sources, *(each for held in others.values() for each in held.sources)}))
                if together in self._broken:  # they cannot be, and what has a part of a session only is no answer
                    self._failed += [(self._inputs[number].source.path, self._broken[together]) for number in sources]
                    done += len(sources)
                    continue
                for name in others:
                    del self._live[name]
                waiting.appendleft(together)
                whole += sum(len(held.sources) for held in others.values())
                continue
            self._commit(segment, draft)
            done += len(sources)

    def _shuffle(self, stale: Sequence[int], those: Workers) -> None:
        """Audit all that is new as one segment, on all processes at once."""
        self._progress("audit", 0, len(stale))
        together = tuple(sorted(stale))
        others: dict[str, _Live] = {}
        while True:
            draft = self._store.draft()
            try:
                answer = audit_segment(
                    [self._inputs[number].source for number in together],
                    self._wanted.terms,
                    draft,
                    crew=Crew(those, those.jobs, self._wanted.terms.mappings),
                )
            except Exception as error:
                if no_room(error):
                    raise
                told = f"{type(error).__name__}: {error}"
                self._failed += [(self._inputs[number].source.path, told) for number in stale]
                return
            segment = _Live(together, answer)
            others |= {name: held for name, held in self._live.items() if segment.touches(held)}
            wider = tuple(sorted({*together, *(each for held in others.values() for each in held.sources)}))
            if wider == together:
                break
            together = wider  # a session that goes on from what was audited before
        for name in others:
            del self._live[name]
        self._commit(segment, draft)

    def _submit(self, sources: tuple[int, ...], those: Workers) -> tuple[tuple[int, ...], Path, Future[Answer]]:
        draft = self._store.draft()
        inputs = [self._inputs[number].source for number in sources]
        return sources, draft, those.submit(audit_segment, inputs, self._wanted.terms, draft)

    def _commit(self, segment: _Live, draft: Path) -> None:
        now = [self._inputs[number] for number in segment.sources]
        marks = json.dumps([self._options, [(each.source.number, each.source.path, each.identity) for each in now]])
        name = hashlib.sha256(marks.encode()).hexdigest()[:24]
        identities = {each.source.number: each.identity for each in now}
        rows = [
            {**row, "identity": identities[row["source"]], "segment": name, "options": self._options}
            for row in segment.answer.sources
        ]
        gone = pl.col("source").is_in(list(segment.sources))
        before = self._known.filter(gone)["segment"].unique()
        # The rest of a segment that lost an input counts no more: its answers hold what is audited anew here.
        rest = self._known.filter(~gone).with_columns(
            pl.when(pl.col("segment").is_in(before.implode())).then(pl.lit("")).otherwise(pl.col(name)).alias(name)
            for name in ("identity", "segment")
        )
        self._known = pl.concat([rest, pl.DataFrame(rows, schema=INPUTS)]).sort("source")
        self._store.commit(draft, name, self._known)
        self._live[name] = segment

    # --- the whole ---

    def _night(self, audited: int) -> Night:
        self._progress("report", 0, 0)
        wanted, store = self._wanted, self._store
        live = sorted(self._live.items(), key=lambda pair: pair[1].sources)
        parts = [self._answers(name) for name, _ in live] or [self._nothing()]
        details = together(store.segment(name, DETAILS) for name, _ in live)
        problems: list[AnalyzerError] = [*self._missing, *wanted.problems]
        for _, held in live:
            problems += [InputError(text) for text, _ in held.answer.problems]
        problems += [
            InputError(f"the analyzer failed on it: {error}", file=path, advice="the others were audited")
            for path, error in self._failed
        ]
        audit = gathered(
            parts,
            [crash for _, held in live for crash in held.answer.crashed],
            inputs=self._known.filter(pl.col("source").is_in(list(self._inputs))).select(list(SOURCES)),
            settings=wanted.terms.settings,
            rules=chosen(wanted.terms.select, wanted.terms.ignore),
            suppressions=wanted.suppressions,
            problems=problems,
            sources=[each.source for _, each in sorted(self._inputs.items())],
        )
        audit = replace(audit, frames=audit.frames | details)
        if wanted.baseline is not None:
            audit = held_to(audit, wanted.baseline)
        runs = store.runs()
        number = 1 + max(runs["run"], default=0)
        found = audit.summary["findings"]
        run: dict[str, Any] = {
            "run": number,
            "started": self._started,
            "ended": datetime.now(UTC),
            "version": wanted.terms.version,
            "options": self._options,
            "inputs": len(self._inputs),
            "audited": audited,
            **{name: audit.summary[name] for name in ("sessions", "calls", "results", "coverage")},
            **{name: found[name] for name in ("error", "warning", "info", "suppressed")},
        }
        groups = groups_of(audit.findings.filter(~BORNE), details["spans"])
        borne, versions = borne_of(audit.findings, details["spans"]), versions_of(audit.frames["offers"])
        looked_at = self._known.filter(pl.col("segment").is_in(list(self._live)))
        sight = sight_of(
            looked_at,
            details["spans"],
            details["evidence"],
            audit.frames["offers"],
            ran=[rule for rule in audit.ran if rule not in audit.summary["not_listed"]],
            everything=self._known.height == looked_at.height and not self._failed,
        )
        places = places_of(audit.findings, sight)
        away = unseen(store.places(number - 1), places, sight)
        run["rules"] = rules_of(audit.findings, audit.ran, away)
        trend = trend_of(store, run, groups, versions, borne=borne, away=away)
        asked = [rule.code for rule in chosen(wanted.terms.select, wanted.terms.ignore)]
        moved = rotated(self._before, looked_at, self._inputs)
        lost = lost_of(trend.changes, self._before, looked_at, asked=asked, moved=moved)
        audit = replace(audit, lost=[*audit.lost, *lost], notes=[*audit.notes, *lost])
        trend = replace(trend, untold=Untold.of(audit))
        store.close_run(run, groups, versions, pl.concat([places, away.select(list(PLACES))]))
        return Night(audit, trend, tuple(path for path, _ in self._failed))

    def _nothing(self) -> dict[str, pl.DataFrame]:
        draft = self._store.draft()
        audit_segment([], self._wanted.terms, draft)
        return self._answers(draft.name)

    def _answers(self, name: str) -> dict[str, pl.DataFrame]:
        """The frames of a segment that are put together."""
        return self._store.segment(name, self._store.told(name).frames.keys() - {*DETAILS, "turns"})
