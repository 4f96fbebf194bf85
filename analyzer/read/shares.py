"""Reading on several processes: which reads what, and what becomes of it where the sources hang together.

A share is some whole sources or a range of a long one. Where a record's meaning depends on what another share holds
(a bare line belongs to the session named last; some formats go on from one file into the next), the share says so, and
the reader takes it on in the one process that sees everything, so that the answer is always the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any, Protocol

from analyzer.errors import InputError
from analyzer.read import limits
from analyzer.read.reader import MOST_STRANGE, Reader, read_source
from analyzer.read.recording import LIMIT, Recording
from analyzer.read.records import lines
from analyzer.read.rows import NotAlone, Rows, no_collection
from analyzer.read.sniffing import Known, framed
from analyzer.read.sources.files import Source, Stream
from analyzer.read.sources.ranges import Lines, Range, Stretch, is_local, ranges, size_of
from analyzer.read.spilled.spill import NOTHING_BEFORE, Shift, Spill

LEAST = 32 << 20
"""Bytes that a share has at least: one costs a process some milliseconds."""
_EACH = 5  # shares for each process, so that all of them end at about the same time
_MOST = 512 << 20

Mappings = Mapping[str, Mapping[str, str]]


class Pool(Protocol):
    """Runs functions in other processes."""

    def submit(self, work: Callable[..., Any], /, *arguments: Any) -> Future[Any]:
        """What the function gives, when it is asked for."""


@dataclass(frozen=True)
class Crew:
    """The processes that read, and the mappings of in-house logs, by which they know the same formats."""

    pool: Pool
    jobs: int
    mappings: Mappings = field(default_factory=dict)


@dataclass(frozen=True)
class _Share:
    number: int
    sources: tuple[Source, ...]
    names: tuple[str, ...] = ()
    """Of a range: the likely formats of its source."""
    range: Range | None = None


@dataclass(frozen=True)
class _Terms:
    """What all shares have in common."""

    folder: Path
    parts: int
    limit: int
    input_format: str | None
    mappings: Mappings


@dataclass
class _Answer:
    """What came of a share; `spilled` is None where it has to be read with what lies before it."""

    spilled: Spill | None = None
    rows: list[dict[str, Any]] = field(default_factory=list)
    """SOURCES of whole sources, but for those that are left for the process that sees everything."""
    problems: list[tuple[int, InputError]] = field(default_factory=list)
    formats: frozenset[str] = frozenset()
    records: int = 0
    unreadable: int = 0
    passed: Shift = NOTHING_BEFORE
    """Records and lines of a range."""


Done = dict[int, tuple[dict[str, Any] | None, list[InputError]]]
"""By source that was read: its row of SOURCES, or None where it cannot be opened; and what is wrong with it."""


def read_shared(
    sources: Sequence[Source],
    known: Known,
    crew: Crew,
    recording: Recording,
    progress: Callable[[str, int, int], None],
) -> Done:
    """Read what can be read apart on the processes of the crew, into the folder of `recording`."""
    plan = _plan(sources, known, crew.jobs)
    if len(plan) < 2:
        return {}
    spill = recording.spill()
    terms = _Terms(spill.folder, recording.parts, min(recording.limit, LIMIT), known.input_format, crew.mappings)
    futures = [(share, crew.pool.submit(read_share, share, terms)) for share in plan]
    ends = {share.sources[0]: share.range.end for share in plan if share.range is not None}
    digests = {source.number: _digest(source, end) for source, end in ends.items()}
    done: Done = {}
    for number, (source, group) in enumerate(_by_source(futures)):
        progress("read", number, len(plan))
        if group[0][0].range is None:
            _take_whole(group[0][1].result(), recording, done)
        else:
            _take_ranges(source, group, recording, done, digests[source.number])
    return done


def _by_source(
    futures: list[tuple[_Share, Future[_Answer]]],
) -> Iterator[tuple[Source, list[tuple[_Share, Future[_Answer]]]]]:
    groups: dict[int, list[tuple[_Share, Future[_Answer]]]] = {}
    for share, future in futures:
        groups.setdefault(share.sources[0].number, []).append((share, future))
    return ((group[0][0].sources[0], group) for group in groups.values())


def _take_whole(answer: _Answer, recording: Recording, done: Done) -> None:
    if answer.spilled is None:
        return
    recording.take(answer.spilled, NOTHING_BEFORE)
    problems: dict[int, list[InputError]] = {}
    for number, problem in answer.problems:
        problems.setdefault(number, []).append(problem)
    rows = {row["source"]: row for row in answer.rows}
    for number in rows.keys() | problems.keys():
        done[number] = rows.get(number), problems.get(number, [])


def _take_ranges(
    source: Source,
    group: list[tuple[_Share, Future[_Answer]]],
    recording: Recording,
    done: Done,
    digest: str,
) -> None:
    answers = []
    for _, future in group:
        if future.cancelled():
            continue
        answers.append(future.result())
        if answers[-1].spilled is None:
            for _, other in group:
                other.cancel()
    if len(answers) < len(group) or any(answer.spilled is None for answer in answers):
        for answer in answers:
            if answer.spilled is not None:
                answer.spilled.discard()
        return
    before = NOTHING_BEFORE
    for answer in answers:
        assert answer.spilled is not None
        recording.take(answer.spilled, before)
        before = Shift(before.records + answer.passed.records, before.lines + answer.passed.lines)
    last = group[-1][0].range
    assert last is not None
    row = {
        "source": source.number,
        "path": source.path,
        "format": ",".join(sorted(frozenset().union(*(answer.formats for answer in answers)))),
        "sha256": digest,
        "bytes": last.end,
        "records": sum(answer.records for answer in answers),
        "unreadable": sum(answer.unreadable for answer in answers),
    }
    done[source.number] = row, []


def _plan(sources: Sequence[Source], known: Known, jobs: int) -> list[_Share]:
    sizes = [(source, size) for source in sources if (size := size_of(source)) is not None]
    wanted = min(max(LEAST, sum(size for _, size in sizes) // (jobs * _EACH)), max(_MOST, LEAST))
    shares: list[_Share] = []
    held: list[Source] = []
    held_size = 0

    def close() -> None:
        if held:
            shares.append(_Share(len(shares) + 1, tuple(held)))
            held.clear()

    for source, size in sizes:
        if size >= 2 * wanted and is_local(source):
            cut = _cut(source, size, wanted, known)
            if cut is not None:
                close()
                names, pieces = cut
                first = len(shares) + 1
                shares += [_Share(first + at, (source,), names, piece) for at, piece in enumerate(pieces)]
                held_size = 0
                continue
        held.append(source)
        held_size += size
        if held_size >= wanted:
            close()
            held_size = 0
    close()
    return shares


def _cut(source: Source, size: int, wanted: int, known: Known) -> tuple[tuple[str, ...], list[Range]] | None:
    """The likely formats and the ranges of a source, where it can be read in ranges."""
    try:
        stream = Stream(source)
    except InputError:
        return None
    try:
        head = stream.peek(limits.HEAD)
        kind, ways, names = framed(source, head, known)
        if stream.plain is None or kind != "lines" or ways or not names:
            return None
        if not any(adapter.name == names[0] and adapter.splits for adapter in known.adapters):
            return None
        return tuple(names), ranges(stream.plain, size, wanted)
    except OSError:
        return None
    finally:
        stream.close()


def _digest(source: Source, size: int) -> str:
    """The digest of the source as long as it was when it was cut, taken while others read it."""
    whole = sha256()
    with source.open() as file:
        while piece := file.read(min(1 << 20, size)):
            whole.update(piece)
            size -= len(piece)
    return whole.hexdigest()


# --- in the processes -------------------------------------------------------------------------------------------------


def read_share(share: _Share, terms: _Terms) -> _Answer:
    """Read a share into the folder of the terms. Pure but for that."""
    from analyzer.read.mapped import adapters_of

    known = Known(terms.input_format, adapters_of(terms.mappings))
    spill = Spill(terms.folder, terms.parts, share.number)
    recording = Recording(limit=terms.limit, parts=terms.parts, spilled=spill)
    try:
        with no_collection():
            answer = _range(share, share.range, known, recording) if share.range else _whole(share, known, recording)
    except NotAlone:
        spill.discard()
        return _Answer()
    recording.flush()
    answer.spilled = spill
    return answer


def _whole(share: _Share, known: Known, recording: Recording) -> _Answer:
    rows = Rows("sources")
    answer = _Answer()
    for source in share.sources:
        try:
            stream = Stream(source)
        except InputError as error:
            answer.problems.append((source.number, error))
            continue
        if _hangs_together(source, stream, known):
            stream.close()
            continue
        answer.rows.append(read_source(source, stream, rows, recording, known))
        answer.problems += [(source.number, problem) for problem in recording.problems]
        recording.problems.clear()
    recording.add(rows.take())
    return answer


def _hangs_together(source: Source, stream: Stream, known: Known) -> bool:
    """Whether the likely format of a source goes on from one file into the next."""
    head = stream.peek(limits.HEAD)
    names = framed(source, head, known).names
    try:
        for adapter in known.adapters:
            if names and adapter.name == names[0]:
                adapter(source.number, Rows("sources"))
    except NotAlone:
        return True
    return False


def _range(share: _Share, where: Range, known: Known, recording: Recording) -> _Answer:
    (source,) = share.sources
    rows, count = Rows("range"), Lines()
    reader = Reader(source, rows, share.names, known.adapters)
    records, since = 0, where.start
    try:
        with source.open() as file:
            for block in lines(Stretch(file, where), count, where.start):
                reader.take(block)
                records = block.first + len(block.raw)
                end = block.offset[-1] + block.length[-1] if block.raw else since
                rows.settle()
                if not reader.known and reader.records > MOST_STRANGE:
                    raise NotAlone
                if rows.count >= recording.BLOCK or end - since >= recording.BLOCK_BYTES:
                    recording.add(rows.take())
                    since = end
    except OSError as error:  # whoever reads all of it says what is wrong
        raise NotAlone from error
    reader.close()
    recording.add(rows.take())
    return _Answer(
        formats=frozenset(reader.known),
        records=reader.records,
        unreadable=reader.unreadable,
        passed=Shift(records, count.count),
    )
