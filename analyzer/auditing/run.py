"""An audit from paths to its outcome: on one process or several."""

from __future__ import annotations

import signal
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import cache, partial
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import polars as pl

from analyzer.auditing.on_disk import OnDisk
from analyzer.auditing.outcome import Audit
from analyzer.auditing.partition import KEPT, Answer, audit_partition
from analyzer.auditing.portions import Portions
from analyzer.auditing.together import gathered, held_to
from analyzer.auditing.windows import audit_large
from analyzer.config import Suppression
from analyzer.contracts.files import Contracts, load_contracts
from analyzer.contracts.timeline import SchemaStore
from analyzer.errors import AnalyzerError, InputError, UsageError
from analyzer.findings.baseline import load as load_baseline
from analyzer.findings.kept import Kept
from analyzer.findings.repairs import Repairers
from analyzer.frames import SAVED
from analyzer.read import ADAPTERS, Crew, read
from analyzer.read.adapter import Adapter
from analyzer.read.recording import Loadable, Recording
from analyzer.read.rows import no_collection
from analyzer.read.sources.copies import without_copies
from analyzer.read.sources.files import Evidence, is_once
from analyzer.read.sources.finding import find
from analyzer.read.spilled.spill import Large
from analyzer.redaction import current
from analyzer.replay.final import load_final_schema
from analyzer.rules.catalogue import RULES, Rule, check
from analyzer.trace import Settings

Several = Sequence[str | PathLike[str]] | str | PathLike[str]
"""Paths, or one alone: a text is never taken for its letters."""
Progress = Callable[[str, int, int], None]
_GOING = SAVED.keys() - {*KEPT}
"""Frames of a partition that go with it where they are not kept."""


@no_collection()
def audit(
    paths: Several,
    *,
    contracts: Several = (),
    executed: Sequence[str] | str = (),
    final_schema: str | PathLike[str] | None = None,
    select: Sequence[str] | str = (),
    ignore: Sequence[str] | str = (),
    settings: Settings | None = None,
    input_format: str | None = None,
    mappings: Mapping[str, Mapping[str, str]] | None = None,
    session: str | None = None,
    partitions: int = 1,
    jobs: int = 1,
    keep_frames: bool = True,
    on_disk: OnDisk | None = None,
    details: bool = False,
    suppressions: Sequence[Suppression] = (),
    baseline: str | PathLike[str] | None = None,
    lenient: bool = False,
    progress: Progress | None = None,
    so_far: Callable[[Audit], None] | None = None,
    each: Callable[[Audit], None] | None = None,
) -> Audit:
    """Audit recorded logs: files, folders or `-`.

    All settings are arguments: no analyzer.toml is read by itself, `**analyzer.config.load().arguments` gives the
    nearest.

    `executed` names Python functions and models as `package.module:name`: they are imported, and contracts like files.
    `mappings` are the configuration's, of in-house logs: name to field to JMESPath.
    `baseline` is a file that `--write-baseline` wrote: what it holds is marked as known.
    `on_disk` takes the frames that are not kept in memory: until it goes, the audit can be saved with all of them.
    `details` keeps what a page shows beside the findings, without all frames: calls, timelines, history of contracts.
    `jobs` processes read the logs and audit the partitions, of which there are then at least as many; the
    answer is the same.
    `so_far` is called with the audit of what has been judged, each time there is more of it and not yet all.
    `each` is called with the audit of every partition, all of whose frames are there, before they go if they are not
    kept: a log of any length can so be gone through. A session is whole in one of them.
    Whatever could be read is audited; what could not, a contract file included, is among `problems` of the audit.
    Raises InputError where no log could be read at all, ContractFileError where contracts are named and none could be,
    unless it is `lenient`: then that, too, is only told among `problems`. Raises UsageError for options that make no
    sense, such as rules that do not exist or a `session` that is not in the log.
    """
    settings = settings or Settings()
    adapters = _adapters(mappings or {})
    if input_format is not None and input_format not in {adapter.name for adapter in adapters}:
        raise UsageError(f"no input format {input_format!r}; see `analyzer formats`")
    report = progress or _silent
    given = contracts_given(_several(contracts), _several(executed))
    if given.problems and not given.entries and not lenient:
        raise given.problems[0]
    before = None if baseline is None else load_baseline(fspath(baseline))
    named = _several(paths)
    found, missing = find(named)
    sources = without_copies(found)
    if any(is_once(source.path) for source in sources):
        jobs = 1  # what was piped in cannot be read again by another process
    if jobs > 1:
        partitions = max(partitions, jobs)
    rules = chosen(_several(select), _several(ignore))
    final = None if final_schema is None else load_final_schema(fspath(final_schema))
    evidence = Evidence(sources)
    recording = Recording(at_least=partitions)
    crashed: list[tuple[str, str]] = []
    with closing(Kept(settings.max_findings)) as kept, _pool(jobs) as pool:
        crew = None if pool is None else Crew(pool, jobs, mappings or {})
        try:
            read(
                sources,
                input_format=input_format,
                recording=recording,
                progress=report,
                adapters=adapters,
                crew=crew,
            )
            lots = recording.lots()
            problems: list[AnalyzerError] = [*missing, *recording.problems, *given.problems]
            inputs = recording.source_frame()
            if not inputs.height and not lenient:
                raise _nothing_of(named, [*missing, *recording.problems])
            work = partial(
                audit_partition,
                contracts=given if pool is None else _portable(given),
                settings=settings,
                rules=[rule for rule in rules if rule.scope != "fleet"],
                fetch=evidence.fetch,
                session=session,
                final=final,
                keep_frames=keep_frames or each is not None,
                on_disk=None if on_disk is None else on_disk.folder,
                details=details,
                redaction=current(),
            )
            together = partial(
                gathered,
                inputs=inputs,
                settings=settings,
                rules=rules,
                suppressions=suppressions,
                problems=problems,
                sources=sources,
                contracts=given if session is None else None,
            )
            for number, answer in _each(work, lots, inputs, pool, jobs):
                report("audit", number, recording.expected_partitions)
                if each is not None:
                    whole = {**answer.frames, "sources": inputs}
                    each(Audit(answer.found.copy().unpack(), whole, sources=tuple(sources)))
                    del whole
                going = () if keep_frames else _GOING
                kept.add(
                    {name: rows for name, rows in answer.frames.items() if name not in going}, answer.found, answer.more
                )
                crashed += answer.crashed
                del answer  # while the next one is judged
                if so_far is not None and number < recording.expected_partitions:
                    so_far(together(*kept.whole(), crashed))
        finally:
            recording.close()
            evidence.close()
        report("report", 0, 0)
        more = kept.details()
        done = together(*kept.end(), crashed)
        done = replace(done, frames={**done.frames, **more}, on_disk=on_disk)
    if session is not None and not done.summary["sessions"] and not lenient:
        raise UsageError(f"no session {session!r} in the log")  # without findings it would pass for a good one
    return done if before is None else held_to(done, before)


def _several(given: Several) -> list[str]:
    return [fspath(each) for each in ([given] if isinstance(given, str | PathLike) else given)]


def _nothing_of(paths: Sequence[str], problems: Sequence[AnalyzerError]) -> AnalyzerError:
    if problems:
        return problems[0]
    return InputError("nothing to read in it", file=paths[0]) if paths else UsageError("no path given")


def contracts_given(contracts: Sequence[str], executed: Sequence[str]) -> Contracts:
    """The executed side: contract files and folders, and Python that is named. Raises UsageError for what is not."""
    if not executed:
        return load_contracts([Path(path) for path in contracts])
    from analyzer.contracts.executed import load_executed  # it imports what it is told: only when it is told

    code = load_executed(executed)
    return load_contracts([Path(path) for path in contracts]).beside(code)


def chosen(select: Sequence[str], ignore: Sequence[str]) -> list[Rule]:
    """The rules whose code, slug or family is selected and not ignored. Raises UsageError for what names none."""
    check((*select, *ignore))

    def named(rule: Rule, names: Sequence[str]) -> bool:
        family = rule.code.rstrip("0123456789")
        return any(name.upper() in (rule.code, family) or name.lower() == rule.slug for name in names)

    return [rule for rule in RULES if (not select or named(rule, select)) and not named(rule, ignore)]


def _adapters(mappings: Mapping[str, Mapping[str, str]]) -> Sequence[type[Adapter]]:
    if not mappings:
        return ADAPTERS
    from analyzer.read.mapped import adapters_of

    return adapters_of(mappings)


def _silent(stage: str, done: int, total: int) -> None:
    del stage, done, total


def _portable(contracts: Contracts) -> Contracts:
    """Contracts without their compiled schemas, which stay in the process that made them."""
    return replace(contracts, entries=tuple(replace(entry, judge=None) for entry in contracts.entries))


@contextmanager
def _pool(jobs: int) -> Iterator[Executor | None]:
    """Some processes, or none where this one is enough."""
    if jobs == 1:
        yield None
        return
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    # spawn: a forked child of a process with Polars' threads may hang. Ctrl-C reaches all processes of a terminal:
    # this one answers it, and the others do not each print where they were.
    with ProcessPoolExecutor(
        jobs,
        mp_context=get_context("spawn"),
        initializer=signal.signal,
        initargs=(signal.SIGINT, signal.SIG_IGN),
    ) as pool:
        try:
            yield pool
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


def _each(
    work: partial[Answer], lots: Sequence[Loadable], inputs: pl.DataFrame, pool: Executor | None, jobs: int
) -> Iterator[tuple[int, Answer]]:
    """The answers to the partitions, in their order and with their numbers; some are answered in portions.

    A process has one in memory, and loads it itself.
    """
    if pool is None:
        store = SchemaStore(assert_formats=work.keywords["settings"].assert_formats)
        kept = {"store": store, "repairers": Repairers()}
        portions = Portions()
        for number, lot in enumerate(lots, 1):
            for answer in _answers(work, lot, inputs, portions, **kept):
                yield number, answer
                del answer  # while the next one is judged
        return
    waiting: deque[tuple[int, Future[list[Answer]]]] = deque()
    for number, lot in enumerate(lots, 1):
        waiting.append((number, pool.submit(_elsewhere, work, lot, inputs)))
        if len(waiting) > jobs:
            yield from _told(*waiting.popleft())
    while waiting:
        yield from _told(*waiting.popleft())


def _told(number: int, answers: Future[list[Answer]]) -> Iterator[tuple[int, Answer]]:
    if hasattr(signal, "siginterrupt"):  # Polars hooks into it so that who waits for an answer is not woken
        signal.siginterrupt(signal.SIGINT, True)
    return ((number, answer) for answer in answers.result())


@no_collection()
def _elsewhere(work: partial[Answer], lot: Loadable, inputs: pl.DataFrame) -> list[Answer]:
    """The answers to a partition, in a process of the pool."""
    store, repairers, portions = _kept_here(work.keywords["settings"].assert_formats)
    return [*_answers(work, lot, inputs, portions, store=store, repairers=repairers)]


def _answers(
    work: partial[Answer], lot: Loadable, inputs: pl.DataFrame, portions: Portions, **kept: Any
) -> Iterator[Answer]:
    if isinstance(lot, Large):
        yield audit_large(lot, inputs, **work.keywords, **kept)
    elif work.keywords["keep_frames"]:  # all of them are held in the end
        yield work({**lot.load(), "sources": inputs}, **kept)
    else:
        for mine in portions.of(lot.load()):
            events = mine["events"].height
            mine["sources"] = inputs
            answer = work(mine, **kept)
            portions.learn(events, answer)
            yield answer
            del answer


@cache
def _kept_here(assert_formats: bool) -> tuple[SchemaStore, Repairers, Portions]:  # noqa: FBT001 - of a setting
    """What a process of the pool keeps from one partition to the next; it ends with the audit."""
    return SchemaStore(assert_formats=assert_formats), Repairers(), Portions()
