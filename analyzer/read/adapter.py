"""What an adapter is: one module for one recorded format."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from analyzer.read import broken
from analyzer.read.cursor import Place
from analyzer.read.decoding import Decoding
from analyzer.read.records import Block
from analyzer.read.rows import Rows

R = TypeVar("R")


class Memory(Protocol):
    """What an adapter has seen and may look up again."""

    def trim(self) -> None:
        """Forget what is too old."""
        ...


class Adapter(ABC):
    """Turns the records of one source into rows of the recorded frames.

    One object is made for each source; it may keep what it has seen there (the session a bare line belongs to).
    An adapter knows nothing of contracts or rules: it says what stands there, under the project's names.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    """What people call the format."""
    known_by: ClassVar[str]
    """What in the records tells the format, in words."""
    loses: ClassVar[tuple[str, ...]]
    """What the format cannot prove, one sentence each."""
    splits: ClassVar[bool] = False
    """Whether some lines of a source can be read without those before; it then says so, by `Rows.need_source`, of the
    records that cannot."""
    between: ClassVar[bool] = False
    """Whether its records stand between those of any other format, and are read whatever format is named."""

    @abstractmethod
    def __init__(self, source: int, rows: Rows) -> None: ...

    @staticmethod
    @abstractmethod
    def knows(record: Any) -> float:
        """How sure it is, 0 to 1, that a parsed record is of its format."""

    @classmethod
    def sniff(cls, records: Sequence[Any], path: str) -> float:
        """How sure it is, 0 to 1, that these parsed records are of its format: by content, never by the name alone."""
        del path
        return sum(map(cls.knows, records)) / len(records) if records else 0.0

    @abstractmethod
    def read(self, block: Block) -> list[int]:
        """Append the rows of the block; return the indexes of the records that are not of this format.

        Records that are not JSON are among them. An unknown type or member is kept, never fatal.
        """

    def remembered(self) -> Any:
        """What it remembers so far, for `forget`; None where that cannot be had."""
        return None

    def forget(self, since: Any) -> None:  # noqa: B027 - of most nothing is asked
        """Forget what it has seen since it remembered this: the block that broke it is read again, record by record."""

    def close(self) -> None:  # noqa: B027 - most hold nothing back
        """The source is at its end: append what was held back."""


class RecordAdapter(Adapter, Generic[R]):
    """An adapter that takes one decoded record after the other."""

    _records: Decoding[R]
    _memories: Sequence[Memory] = ()

    def read(self, block: Block) -> list[int]:
        """Append the rows of the block; see `Adapter.read`."""
        for memory in self._memories:
            memory.trim()
        return self._records.read(block, self._take, self._alone)

    @abstractmethod
    def _take(self, record: R, raw: bytes, place: Place, /) -> bool:
        """Append the rows of a record; whether it is one of the format. It may raise msgspec.DecodeError."""

    def _alone(self, record: R, place: Place, /) -> bool:
        """Append an event and nothing else for a record whose depths cannot be decoded; whether that was done."""
        del record, place
        return False


def sureness(adapter: type[Adapter], records: Sequence[Any], path: str) -> float:
    """What `Adapter.sniff` says; an adapter that breaks knows nothing."""
    try:
        return adapter.sniff(records, path)
    except broken.MEANT:
        raise
    except broken.BROKEN:
        return 0.0
