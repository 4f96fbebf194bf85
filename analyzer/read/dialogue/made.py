"""Calls of replies that nothing has shown to be run yet, and which of them an execution is of."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import msgspec

_json = msgspec.json.Decoder().decode


class Made(NamedTuple):
    """A call in a reply: what pairs it with its result, and which emission it is."""

    pair_id: str
    call_id: str | None
    name: str | None
    emission: str
    text: str | None


def run(waiting: list[Made], fitting: Iterable[Made], text: str | None) -> Made | None:
    """The call that an execution is of, which then waits no more: one with its arguments, else the first that fits."""
    found = list(fitting)
    if not found:
        return None
    chosen = found[0]
    if len(found) > 1:
        value = _value(text)
        chosen = next((made for made in found if _value(made.text) == value), chosen)
    waiting.remove(chosen)
    return chosen


def _value(text: str | None) -> Any:
    try:
        return text if text is None else _json(text)
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
        return text
