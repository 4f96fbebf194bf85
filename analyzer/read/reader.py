"""The records of one source, each given to the adapter that knows it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec

from analyzer import frames
from analyzer.errors import InputError
from analyzer.frames import PART_BITS, SOURCES
from analyzer.read import broken, limits
from analyzer.read.adapter import Adapter, sureness
from analyzer.read.cursor import Place
from analyzer.read.recording import Recording
from analyzer.read.records import Block, blocks
from analyzer.read.recover import Fault, Unreadable, parse
from analyzer.read.rows import Rows, event_number
from analyzer.read.sniffing import Known, framed, json_in
from analyzer.read.sources.files import Source, Stream
from analyzer.read.sources.finding import label_of

MOST_STRANGE = 20_000
"""Records in which no adapter knew a thing: the rest is not looked at, each would be by all."""

_LIST = re.compile(rb"\[\s*\{")
_UNREADABLE = ("unreadable", "truncated", "too_large")


def read_source(
    source: Source,
    stream: Stream,
    rows: Rows,
    recording: Recording,
    known: Known,
    *,
    moved: Callable[[int], None] = lambda _: None,
) -> dict[str, Any]:
    """Read a whole source; its row of SOURCES. Rows go to the recording by themselves, but for the last.

    `moved` is told on the way how many bytes were read.
    """
    count = Tally(sha256())
    rows.label = source.label or label_of(source.path, source.path)
    head = stream.peek(limits.HEAD)
    kind, ways, names = framed(source, head, known)
    reader = Reader(source, rows, names, known.tried)
    # Where rows are handed over must not depend on the sources before: some things are looked for in one lot of rows.
    begun, since = rows.count, 0
    if names or source.named:
        for block in blocks(stream, kind, count, ways):
            moved(count.bytes)
            if block.first + len(block.raw) > frames.MOST_RECORDS:
                detail = f"it has more than {frames.MOST_RECORDS:,} records, and the others were not read"
                recording.problems.append(InputError(detail, file=source.path, advice="split it"))
                break
            reader.take(block)
            rows.settle()
            if not reader.known and reader.records > MOST_STRANGE:
                break
            if rows.count - begun >= recording.BLOCK or count.bytes - since >= recording.BLOCK_BYTES:
                recording.add(rows.take())
                begun, since = 0, count.bytes
    while rest := stream.read(1 << 20):  # the digest is of the whole
        count.update(rest)
    reader.close()
    recording.problems += reader.problems
    stream.close()
    if not names and not source.named:
        reader.records = len(json_in(head, kind))
    if known.input_format and source.named and not reader.known:
        like = next(iter(known.guessed(source, head, kind, ways)), None)
        detail = f"no record of it is {known.input_format}" + (f"; it looks like {like}" if like else "")
        recording.problems.append(InputError(detail, file=source.path, advice=f"--input-format {like}" if like else ""))
    beside = Path(f"{source.real or source.path}-wal")
    if kind == "sqlite" and beside.is_file() and beside.stat().st_size:
        detail = "what its write-ahead log holds was not read: close the database, or run a checkpoint, first"
        recording.problems.append(InputError(detail, file=source.path))
    if stream.problem is not None:
        recording.problems.append(
            InputError(f"{stream.problem}; what came before it was read", file=source.path, advice="")
        )
    rows.settle()
    if rows.count >= recording.BLOCK:
        recording.add(rows.take())
    row = {
        "source": source.number,
        "path": source.path,
        "format": ",".join(sorted(reader.known)),
        "sha256": count.digest.hexdigest(),
        "bytes": count.bytes,
        "records": reader.records,
        "unreadable": reader.unreadable + (stream.problem is not None),
    }
    assert list(row) == list(SOURCES)
    return row


class Tally:
    """Counts the bytes on their way to the digest."""

    def __init__(self, digest: Any) -> None:
        self.digest = digest
        self.bytes = 0

    def update(self, data: bytes, /) -> None:
        """Take some more of them."""
        self.bytes += len(data)
        self.digest.update(data)


class Reader:
    """The records of one source, each given to the adapter that knows it."""

    def __init__(self, source: Source, rows: Rows, names: Sequence[str], adapters: Sequence[type[Adapter]]) -> None:
        """`names` are the formats that are likely, as `ranked` gives them; `adapters` all there are."""
        self._source = source
        self._known_adapters = adapters
        self._rows = rows
        self._adapters: dict[str, Adapter] = {}
        self.known: set[str] = set()
        self.problems: list[InputError] = []
        self.records = 0
        self.unreadable = 0
        self._order = names or [adapter.name for adapter in adapters]

    def _adapter(self, name: str) -> Adapter:
        if name not in self._adapters:
            make = next(adapter for adapter in self._known_adapters if adapter.name == name)
            self._adapters[name] = make(self._source.number, self._rows)
        return self._adapters[name]

    def take(self, block: Block) -> None:
        """Append the rows of the block."""
        for offset, length, line in block.oversized:
            detail = f"the record has {length} bytes, the limit is {limits.MAX_RECORD}"
            place = block.offset.index(offset) if offset in block.offset else 0
            event = event_number(self._source.number, block.first + place)
            self._broken(event, offset, length, line, "", "too_large", detail)
        if block.oversized:  # an adapter that takes a record back must not take these
            self.unreadable += len(block.oversized)
            self._rows.settle()
        before = len(self._rows.faults)
        if block.opaque or block.when:
            self._stand(block)
        elif block.pointer is None and not block.before:
            for index in [index for index, raw in enumerate(block.raw) if raw[:1] == b"[" and _LIST.match(raw)][::-1]:
                self._part(block, index)
        left = self._read(self._adapter(self._order[0]), block)
        self.records += len(block.raw) + len(block.oversized)
        if len(left) < len(block.raw):
            self.known.add(self._order[0])
        if left:  # what another adapter takes back of a record must not be what this one read behind it
            self._count(before)
            self._rows.settle()
            before = 0
        for strange, index in enumerate(left):
            if strange > MOST_STRANGE and not self.known:
                self._rows.need_source()  # whether something is known is for all of it to say
                break
            self._other(block, index)
        joined = Counter(block.line[index] for index in block.joined)
        for line, more in sorted(joined.items()):
            event = event_number(self._source.number, block.first + block.line.index(line))
            self._rows.faults.append((event, None, *Fault("line_end_missing", "", f"{more + 1} records")))
        self._count(before)

    def _count(self, since: int) -> None:
        """Count the records that could not be read, of which there are rows of FAULTS from this one on."""
        told = zip(self._rows.faults.column(0, since), self._rows.faults.column(2, since), strict=True)
        self.unreadable += len({event for event, fault in told if fault in _UNREADABLE})  # bodies of exchanges too

    def _read(self, adapter: Adapter, block: Block) -> list[int]:
        """What `Adapter.read` gives; where the adapter breaks, the records that break it are told and left out."""
        mark, first = self._rows.mark(), event_number(self._source.number, block.first)
        remembered = adapter.remembered()
        try:
            return adapter.read(block)
        except broken.MEANT:
            raise
        except broken.BROKEN as error:
            self._rows.give_up(first, mark)
            if remembered is not None:
                adapter.forget(remembered)
                block.part()
                if len(block.raw) > 1:
                    return [index for index in range(len(block.raw)) if self._read(adapter, block.only(index))]
            pointer = "" if block.pointer is None else block.pointer[0]
            more = len(block.raw) - 1
            what = f"it, or one of the {more} records behind it, broke the reader of {adapter.name}"
            detail = what if more else "it broke its reader"
            broken.left_out(
                self._rows, Place(first, block.offset[0], block.length[0], block.line[0], pointer), detail, error
            )
            return []

    def _part(self, block: Block, index: int) -> None:
        """Take an array of records on a line apart, where nobody knows it as a whole."""
        try:
            elements = list(map(bytes, msgspec.json.decode(block.raw[index], type=list[msgspec.Raw])))
            value = msgspec.json.decode(block.raw[index])
        except (msgspec.DecodeError, RecursionError):
            return
        if not all(isinstance(each, dict) for each in value):
            return
        knows = [adapter.sniff for adapter in self._known_adapters]
        if not any(sniff([value], self._source.path) for sniff in knows) and any(
            sniff([value[0]], self._source.path) for sniff in knows
        ):
            block.apart(index, elements)

    def _stand(self, block: Block) -> None:
        record = event_number(self._source.number, block.first) >> PART_BITS
        pointers, when = block.pointer or [""] * len(block.raw), block.when or [None] * len(block.raw)
        self._rows.stood += [
            (record + index, to, index in block.opaque, at)
            for index, (to, at) in enumerate(zip(pointers, when, strict=True))
        ]

    def _other(self, block: Block, index: int) -> None:
        """A record that the file's first adapter does not know."""
        raw = block.raw[index]
        comment = raw.startswith(b":") and b'"' not in raw  # else it is the rest of a record
        if not raw.strip() or raw.strip() == b"[DONE]" or comment:  # so event streams end
            self.records -= 1
            return
        parsed = parse(raw)
        event = event_number(self._source.number, block.first + index)
        place = (event, block.offset[index], block.length[index], block.line[index])
        pointer = "" if block.pointer is None else block.pointer[index]
        if isinstance(parsed, Unreadable):
            last = block.torn and index == len(block.raw) - 1
            fault = "truncated" if last and parsed.cut else "unreadable"
            self._broken(*place, pointer, fault, parsed.detail, parsed.at)
            return
        value, faults = parsed
        tried = self._known_adapters if isinstance(value, dict | list) else ()
        scores = [(sureness(adapter, [value], self._source.path), adapter.name) for adapter in tried]
        for score, name in sorted(scores, key=lambda pair: -pair[0]):
            if score > 0 and name != self._order[0]:
                self._rows.need_source()  # another adapter knows what it saw of the source, and there may be more of it
                if not self._read(self._adapter(name), block.only(index)):
                    self.known.add(name)
                    return
        native = value.get("type") if isinstance(value, dict) else None
        self._event(*place, pointer, native[:200] if isinstance(native, str) else "", "unknown")
        for found in faults:
            self._rows.faults.append((event, None, *found))

    def _broken(  # noqa: PLR0917 - a row of FAULTS
        self,
        event: int,
        offset: int,
        length: int,
        line: int,
        pointer: str,
        fault: str,
        detail: str,
        at: int | None = None,
    ) -> None:
        self._event(event, offset, length, line, pointer, "", "broken")
        self._rows.faults.append((event, None, *Fault(fault, "", detail, at)))

    def _event(self, event: int, offset: int, length: int, line: int, pointer: str, native: str, kind: str) -> None:  # noqa: PLR0917 - a row of EVENTS
        place = (event, None, offset, length, line, pointer)
        self._rows.events.append((*place, None, None, None, native, kind, None, None))

    def close(self) -> None:
        """The source is at its end."""
        for adapter in self._adapters.values():
            try:
                adapter.close()
            except broken.MEANT:
                raise
            except broken.BROKEN as error:
                detail = f"its end, which may be missing, broke the reader of {adapter.name}, {broken.fault_of(error)}"
                self.problems.append(
                    InputError(detail, file=self._source.path, advice="report it, with the record if you can")
                )
