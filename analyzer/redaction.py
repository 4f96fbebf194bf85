"""Whether credentials are hidden, and by what key equal ones are told to be equal: one setting for all that is written.

It is on unless somebody asks otherwise, and holds for what runs inside `redacting`. Processes that audit partitions
are given it with their work.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import NamedTuple

from analyzer.errors import ConfigurationError

_LEAST_KEY = 16
_ADVICE = f"--redact-key takes a file of at least {_LEAST_KEY} random bytes"


class Redaction(NamedTuple):
    """`on`: credentials are shown as kind and length; `key`: and as a keyed hash of eight digits."""

    on: bool = True
    key: bytes | None = None


HIDDEN = Redaction()
_CURRENT: ContextVar[Redaction] = ContextVar("redaction", default=HIDDEN)


def current() -> Redaction:
    """The setting that holds here."""
    return _CURRENT.get()


@contextmanager
def redacting(how: Redaction) -> Iterator[None]:
    """Let a setting hold inside the `with` block."""
    before = _CURRENT.set(how)
    try:
        yield
    finally:
        _CURRENT.reset(before)


def read_key(file: str) -> bytes:
    """The key that a file holds, blank ends left out. Raises ConfigurationError where it has fewer than 16 bytes."""
    try:
        key = Path(file).read_bytes().strip()
    except OSError as error:
        raise ConfigurationError(
            f"cannot read the key: {error.strerror or error}", file=file, advice=_ADVICE
        ) from error
    if len(key) < _LEAST_KEY:
        raise ConfigurationError(
            f"a key needs at least {_LEAST_KEY} bytes: shorter ones are guessed", file=file, advice=_ADVICE
        )
    return key
