"""How a source is read, told by its head: how it is cut, where its records stand, and of which formats they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import Any, NamedTuple

from analyzer.read.adapter import Adapter, sureness
from analyzer.read.records import blocks, framing
from analyzer.read.records.carried import Path, paths, tells
from analyzer.read.records.delimited import separator_of
from analyzer.read.recover import Unreadable, closed, parse
from analyzer.read.sources.files import Source

_LONG = 1 << 16
_SNIFFED = 24  # records of the head that are parsed to tell the format
_UNSURE = 0.3  # nobody knows more than a word here and there


class _Nothing:
    """Counts no bytes."""

    def update(self, data: bytes, /) -> None:
        """Pass over them."""


@dataclass(frozen=True)
class Known:
    """The formats there are, and the one that was named."""

    input_format: str | None
    adapters: Sequence[type[Adapter]]

    def guessed(self, source: Source, head: bytes, kind: str, ways: Sequence[Path] = ()) -> list[str]:
        """The formats of a source that begins so, by content alone, the surest first."""
        return list(self.scored(source, head, kind, ways))

    def scored(self, source: Source, head: bytes, kind: str, ways: Sequence[Path] = ()) -> dict[str, float]:
        """The same, each with how sure it is."""
        return ranked(_values(source, head, kind, ways), source.path, self.adapters)

    @property
    def tried(self) -> Sequence[type[Adapter]]:
        """Those that may read a record: with a format that was named no other, but what may stand between all."""
        if self.input_format is None:
            return self.adapters
        return [each for each in self.adapters if each.between or each.name == self.input_format]


class Framed(NamedTuple):
    """How a source is read."""

    kind: str
    """How it is cut; see `records.framing`."""
    ways: tuple[Path, ...]
    """To the records inside its records; none where they are the records themselves."""
    names: list[str]
    """The likely formats, the surest first."""


def framed(source: Source, head: bytes, known: Known) -> Framed:
    """How to read a source that begins so. Only where nobody is sure of its records something is looked for in them."""
    kind = framing(head)
    ways: tuple[Path, ...] = ()
    scores = known.scored(source, head, kind)
    if not scores and kind == "lines" and (separator := separator_of(head)) is not None:
        kind = f"delimited {separator.decode()}"
        scores = known.scored(source, head, kind)
    if max(scores.values(), default=0.0) < _UNSURE and tells(head):
        found = paths(
            _values(source, head, kind, telling=True),
            lambda value: max(sureness(each, [value], source.path) for each in known.adapters),
        )
        inside = known.scored(source, head, kind, found) if found else {}
        if max(inside.values(), default=0.0) > max(scores.values(), default=0.0):
            ways, scores = found, inside
    return Framed(kind, ways, [known.input_format] if known.input_format else list(scores))


def ranked(values: list[Any], path: str, adapters: Sequence[type[Adapter]]) -> dict[str, float]:
    """The adapters that know the first records of a source, the surest first, and how sure each is."""
    scores = [(sureness(adapter, values, path), adapter.name) for adapter in adapters] if values else []
    return {name: score for score, name in sorted(scores, key=lambda pair: (-pair[0], pair[1])) if score > 0}


def _values(source: Source, head: bytes, kind: str, ways: Sequence[Path] = (), *, telling: bool = False) -> list[Any]:
    if kind != "parquet":
        return first_values(head, kind, ways, telling=telling)
    from analyzer.read.sources import lakes  # its end says what is in it

    try:
        with source.open() as file:
            rows = BytesIO(b"".join(b" ".join(text.splitlines()) + b"\n" for text in lakes.first(file, _SNIFFED)))
    except OSError:
        return []
    return first_values(rows.getvalue(), "lines", ways)


def json_in(head: bytes, kind: str) -> list[Any]:
    """The first values of what begins like JSON, and is no log that is known."""
    return first_values(head, kind) if head.lstrip()[:1] in (b"{", b"[") and kind != "parquet" else []


def first_values(head: bytes, kind: str, ways: Sequence[Path] = (), *, telling: bool = False) -> list[Any]:
    """The first records of a head, parsed; a document that does not end inside the head is read as far as it goes.

    Where `telling`, only those in which something may be of a session.
    """
    values = []
    for block in blocks(BytesIO(head), kind, _Nothing(), ways):
        block.part()
        for raw in [raw for raw in block.raw if not telling or tells(raw)][:_SNIFFED]:
            parsed = parse(raw)
            if isinstance(parsed, Unreadable) and len(raw) > _LONG:
                parsed = parse(closed(raw))  # the first record is longer than the head
            if not isinstance(parsed, Unreadable):
                values.append(parsed[0])
        if len(values) >= _SNIFFED:
            break
    return values
