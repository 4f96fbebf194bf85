"""What every command that reads logs is given."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:
    from analyzer.config import Config


class Given(TypedDict):
    """The parameters that `reading` adds to a command."""

    paths: tuple[str, ...]
    contracts: tuple[str, ...]
    executed: tuple[str, ...]
    final_schema: str | None
    input_format: str | None
    session: str | None
    assert_formats: bool
    config: Config
