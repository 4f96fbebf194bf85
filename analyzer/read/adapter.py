"""What an adapter is: one module for one recorded format."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Protocol

from analyzer.read.records import Block
from analyzer.read.rows import Rows


class Adapter(Protocol):
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

    def __init__(self, source: int, rows: Rows) -> None: ...

    @staticmethod
    def sniff(records: Sequence[Any], path: str) -> float:
        """How sure it is, 0 to 1, that these parsed records are of its format: by content, never by the name alone."""
        ...

    def read(self, block: Block) -> list[int]:
        """Append the rows of the block; return the indexes of the records that are not of this format.

        Records that are not JSON are among them. An unknown type or member is kept, never fatal.
        """
        ...

    def close(self) -> None:
        """The source is at its end."""
        ...
