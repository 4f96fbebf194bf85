"""One run over the logs of a night: audit what is new or changed, keep the answers, put all of them together."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

import polars as pl

from analyzer.auditing import Audit, chosen, gathered, held_to
from analyzer.batch.inputs import inputs_of
from analyzer.batch.places import BORNE, lost_of, places_of, sight_of, unseen
from analyzer.batch.rotated import rotated
from analyzer.batch.scheduling import Live, Schedule
from analyzer.batch.segments import Answer, Terms, audit_segment
from analyzer.batch.store import PLACES, Store, by_segment
from analyzer.batch.trend import borne_of, groups_of, rules_of, trend_of, versions_of
from analyzer.batch.workers import workers
from analyzer.config import Suppression
from analyzer.errors import AnalyzerError, InputError, UsageError
from analyzer.findings.baseline import Baseline
from analyzer.findings.details import DETAILS, together
from analyzer.findings.naming import NAMED
from analyzer.findings.packed import Packed
from analyzer.frames import SOURCES
from analyzer.full_disk import advice
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


def nightly(
    store: Store,
    wanted: Wanted,
    *,
    tell: Callable[[Night], None] = lambda _: None,
    progress: Callable[[str, int, int], None] | None = None,
    waiting: Callable[[], None] = lambda: None,
) -> Night:
    """Audit what the store does not know yet, and give the audit of all inputs and what changed since the last run.

    The run counts when it was told: where `tell` raises, or the process ends in it, the next run compares with the run
    before this one, and what is new is new again. Another run on the same store is waited for (`waiting` is called
    then). An input that cannot be read, or on which the analyzer fails, is told and left out; the others are audited.
    Raises UsageError where the store cannot be written.
    """
    with ExitStack() as held:
        with _keeping(store):
            held.enter_context(store.alone(waiting))
            run = _Run(store, wanted, progress or (lambda *_: None))
            night = run.whole()
        tell(night)
        with _keeping(store):
            run.close()
    return night


@contextmanager
def _keeping(store: Store) -> Iterator[None]:
    try:
        yield
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
        self.close: Callable[[], None] = lambda: None
        """Write the run into the history, once it was told."""

    def whole(self) -> Night:
        wanted, fresh = self._wanted, self._fresh()
        held = {each for sources in fresh.values() for each in sources}
        stale = [number for number in self._inputs if number not in held]
        schedule = Schedule(
            self._store,
            self._inputs,
            self._known,
            {name: self._kept(name, sources) for name, sources in fresh.items()},
            terms=wanted.terms,
            size=wanted.size,
            progress=self._progress,
        )
        if stale:
            with workers(wanted.engine, jobs=wanted.jobs, address=wanted.address) as those:
                (schedule.shuffle if wanted.shuffle else schedule.audit)(stale, those)
        return self._night(schedule, audited=len(stale))

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

    def _kept(self, name: str, sources: tuple[int, ...]) -> Live:
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
        return Live(sources, answer)

    # --- the whole ---

    def _night(self, schedule: Schedule, *, audited: int) -> Night:
        self._progress("report", 0, 0)
        wanted, store, known, failed = self._wanted, self._store, schedule.known, schedule.failed
        live = sorted(schedule.live.items(), key=lambda pair: pair[1].sources)
        parts, told = [], []
        for part in (self._answers(name) for name, _ in live) if live else (self._nothing(),):
            told.append(Packed(NAMED, [part.pop("found")]))
            parts.append(part)
        details = together(store.segment(name, DETAILS) for name, _ in live)
        problems: list[AnalyzerError] = [*self._missing, *wanted.problems]
        for _, held in live:
            problems += [InputError(text) for text, _ in held.answer.problems]
        problems += [
            InputError(f"the analyzer failed on it: {error}", file=path, advice="the others were audited")
            for path, error in failed
        ]
        audit = gathered(
            parts,
            told,
            [crash for _, held in live for crash in held.answer.crashed],
            inputs=known.filter(pl.col("source").is_in(list(self._inputs))).select(list(SOURCES)),
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
        groups = groups_of(audit.findings, ~BORNE, details["spans"])
        borne, versions = borne_of(audit.findings, details["spans"]), versions_of(audit.frames["offers"])
        looked_at = known.filter(pl.col("segment").is_in(list(schedule.live)))
        sight = sight_of(
            looked_at,
            details["spans"],
            details["evidence"],
            audit.frames["offers"],
            ran=[rule for rule in audit.ran if rule not in audit.summary["not_listed"]],
            everything=known.height == looked_at.height and not failed,
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
        seen = pl.concat([places, away.select(list(PLACES))])
        self.close = lambda: store.close_run(run, groups, versions, seen)
        return Night(audit, trend, tuple(path for path, _ in failed))

    def _nothing(self) -> dict[str, pl.DataFrame]:
        draft = self._store.draft()
        audit_segment([], self._wanted.terms, draft)
        return self._answers(draft.name)

    def _answers(self, name: str) -> dict[str, pl.DataFrame]:
        """The frames of a segment that are put together."""
        return self._store.segment(name, self._store.told(name).frames.keys() - {*DETAILS, "turns"})
