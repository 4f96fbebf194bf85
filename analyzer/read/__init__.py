"""Recorded files in, recorded frames out: find, open, cut into records, hand each to the adapter that knows it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from analyzer.errors import InputError
from analyzer.frames import SOURCES
from analyzer.read.adapter import Adapter
from analyzer.read.agents_api import AgentsApi
from analyzer.read.agents_sdk import AgentsSdk
from analyzer.read.anthropic import AnthropicMessages
from analyzer.read.bedrock import BedrockConverse
from analyzer.read.bfcl import Bfcl
from analyzer.read.chat import OpenAIChat
from analyzer.read.claude_code import ClaudeCode
from analyzer.read.codex import Codex
from analyzer.read.files import Source, Stream
from analyzer.read.gemini import Gemini
from analyzer.read.inspect import Inspect
from analyzer.read.langfuse import Langfuse
from analyzer.read.managed_agents import ManagedAgents
from analyzer.read.mcp import Mcp
from analyzer.read.otel import OpenTelemetry
from analyzer.read.recording import Recording
from analyzer.read.records import HEAD, MAX_RECORD, Block, blocks, framing
from analyzer.read.recover import Fault, Unreadable, closed, parse
from analyzer.read.responses import Responses
from analyzer.read.rows import Rows, event_number, no_collection
from analyzer.read.toolbench import ToolBench
from analyzer.read.vercel import VercelAI

__all__ = ["ADAPTERS", "first_values", "read"]

ADAPTERS: tuple[type[Adapter], ...] = (
    AgentsApi,
    Mcp,
    Responses,
    AgentsSdk,
    Codex,
    AnthropicMessages,
    ClaudeCode,
    OpenAIChat,
    ManagedAgents,
    Gemini,
    OpenTelemetry,
    Inspect,
    BedrockConverse,
    ToolBench,
    Bfcl,
    VercelAI,
    Langfuse,
)

_UNREADABLE = ("unreadable", "truncated", "too_large")
_How = tuple[str | None, Sequence[type[Adapter]]]
"""The format that was given, and the adapters there are."""

_LONG = 1 << 16
_SNIFFED = 24  # records of the head that are parsed to tell the format
_MOST_STRANGE = 20_000  # records in which no adapter knew a thing: the rest is not looked at, each would be by all


def read(
    sources: list[Source],
    *,
    input_format: str | None = None,
    recording: Recording | None = None,
    progress: Callable[[str, int, int], None] | None = None,
    adapters: Sequence[type[Adapter]] = ADAPTERS,
) -> Recording:
    """Read every source into one recording. What cannot be opened is among its `problems`, and the rest is read.

    `progress("read", sources done, sources in all)` is called before each. `adapters` are ADAPTERS, or these and more.
    """
    recording = recording if recording is not None else Recording()
    rows = Rows()
    with no_collection():
        _read_all(sources, rows, recording, (input_format, adapters), progress)
    recording.add(rows.take())
    return recording


def _read_all(
    sources: list[Source],
    rows: Rows,
    recording: Recording,
    how: _How,
    progress: Callable[[str, int, int], None] | None,
) -> None:
    for number, source in enumerate(sources):
        if progress is not None:
            progress("read", number, len(sources))
        try:
            stream = Stream(source)
        except InputError as error:
            recording.problems.append(error)
            continue
        recording.sources.append(_read_source(source, stream, rows, recording, how))


def _read_source(source: Source, stream: Stream, rows: Rows, recording: Recording, how: _How) -> dict[str, Any]:
    digest = sha256()
    head = stream.peek(HEAD)
    kind = framing(head)
    reader = _Reader(source, rows, head, kind, how)
    count = _Counter(digest)
    if reader.recognised or source.named:
        for block in blocks(stream, kind, count):
            reader.take(block)
            rows.settle()
            if not reader.known and reader.records > _MOST_STRANGE:
                break
            if rows.count + len(rows.events) >= recording.BLOCK:
                recording.add(rows.take())
    while rest := stream.read(1 << 20):  # the digest is of the whole
        count.update(rest)
    reader.close()
    stream.close()
    beside = Path(f"{source.real or source.path}-wal")
    if kind == "sqlite" and beside.is_file() and beside.stat().st_size:
        detail = "what its write-ahead log holds was not read: close the database, or run a checkpoint, first"
        recording.problems.append(InputError(detail, file=source.path))
    if stream.problem is not None:
        recording.problems.append(
            InputError(f"{stream.problem}; what came before it was read", file=source.path, advice="")
        )
    row = {
        "source": source.number,
        "path": source.path,
        "format": ",".join(sorted(reader.known)),
        "sha256": digest.hexdigest(),
        "bytes": count.bytes,
        "records": reader.records,
        "unreadable": reader.unreadable + (stream.problem is not None),
    }
    assert list(row) == list(SOURCES)
    return row


class _Counter:
    """Counts the bytes on their way to the digest."""

    def __init__(self, digest: Any) -> None:
        self._digest = digest
        self.bytes = 0

    def update(self, data: bytes, /) -> None:
        self.bytes += len(data)
        self._digest.update(data)


class _Reader:
    """The records of one source, each given to the adapter that knows it."""

    def __init__(self, source: Source, rows: Rows, head: bytes, kind: str, how: _How) -> None:
        input_format, self._known_adapters = how
        self._source = source
        self._rows = rows
        self._adapters: dict[str, Adapter] = {}
        self.known: set[str] = set()
        self.records = 0
        self.unreadable = 0
        names = _ranked(head, kind, source.path, self._known_adapters) if input_format is None else [input_format]
        self.recognised = bool(names)
        self._order = names or [adapter.name for adapter in self._known_adapters]

    def _adapter(self, name: str) -> Adapter:
        if name not in self._adapters:
            make = next(adapter for adapter in self._known_adapters if adapter.name == name)
            self._adapters[name] = make(self._source.number, self._rows)
        return self._adapters[name]

    def take(self, block: Block) -> None:
        """Append the rows of the block."""
        for offset, length, line in block.oversized:
            detail = f"the record has {length} bytes, the limit is {MAX_RECORD}"
            place = block.offset.index(offset) if offset in block.offset else 0
            event = event_number(self._source.number, block.first + place)
            self._broken(event, offset, length, line, "", "too_large", detail)
        self.unreadable += len(block.oversized)
        before = len(self._rows.faults)
        left = self._adapter(self._order[0]).read(block)
        self.records += len(block.raw) + len(block.oversized)
        if len(left) < len(block.raw):
            self.known.add(self._order[0])
        for strange, index in enumerate(left):
            if strange > _MOST_STRANGE and not self.known:
                break
            self._other(block, index)
        joined = Counter(block.line[index] for index in block.joined)
        for line, more in sorted(joined.items()):
            event = event_number(self._source.number, block.first + block.line.index(line))
            self._rows.faults.append((event, None, *Fault("line_end_missing", "", f"{more + 1} records")))
        # Bodies of exchanges too.
        self.unreadable += len({fault[0] for fault in self._rows.faults[before:] if fault[2] in _UNREADABLE})

    def _other(self, block: Block, index: int) -> None:
        """A record that the file's first adapter does not know."""
        raw = block.raw[index]
        if not raw.strip() or raw.strip() == b"[DONE]":  # the end mark of many event streams
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
        scores = [(adapter.sniff([value], self._source.path), adapter.name) for adapter in self._known_adapters]
        for score, name in sorted(scores, key=lambda pair: -pair[0]):
            if score > 0 and name != self._order[0] and not self._adapter(name).read(block.only(index)):
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
            adapter.close()


def _ranked(head: bytes, kind: str, path: str, adapters: Sequence[type[Adapter]]) -> list[str]:
    """The adapters that know records of the head, the surest first."""
    values = first_values(head, kind)
    scores = [(adapter.sniff(values, path), adapter.name) for adapter in adapters] if values else []
    return [name for score, name in sorted(scores, key=lambda pair: (-pair[0], pair[1])) if score > 0]


def first_values(head: bytes, kind: str) -> list[Any]:
    """The first records of a head, parsed; a document that does not end inside the head is read as far as it goes."""
    from io import BytesIO

    values = []
    for block in blocks(BytesIO(head), kind, _Counter(sha256())):
        block.part()
        for raw in block.raw[:_SNIFFED]:
            parsed = parse(raw)
            if isinstance(parsed, Unreadable) and len(raw) > _LONG:
                parsed = parse(closed(raw))  # the first record is longer than the head
            if not isinstance(parsed, Unreadable):
                values.append(parsed[0])
        if len(values) >= _SNIFFED:
            break
    return values
