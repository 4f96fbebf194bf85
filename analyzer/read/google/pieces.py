"""Calls whose arguments come in pieces: each piece names the place in the arguments that its value is for."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from analyzer.read.dialogue import Call
from analyzer.read.members import held, listed
from analyzer.read.values import Raw, encoded

_PATH = re.compile(r"""\.([^.\[\]]+)|\[(\d{1,4})\]|\[(?:'([^'\\]*)'|"([^"\\]*)")\]""")


class _Value(msgspec.Struct, gc=False, rename="camel"):
    """A piece of one argument, under either spelling of its members."""

    json_path: str | None = None
    string_value: str | None = None
    number_value: float | None = None
    bool_value: bool | None = None
    path: str | None = msgspec.field(default=None, name="json_path")
    string: str | None = msgspec.field(default=None, name="string_value")
    number: float | None = msgspec.field(default=None, name="number_value")
    boolean: bool | None = msgspec.field(default=None, name="bool_value")


class Partial(Call, gc=False):
    """A call that comes in pieces; its status is `in_progress` as long as more may come."""

    values: dict[tuple[str | int, ...], Any] = msgspec.field(default_factory=dict)
    """What has come of its arguments, by place."""
    sound: bool = True


_value = msgspec.json.Decoder(_Value).decode


def piece_of(call: Call, values: Raw, *, more: bool) -> Call:
    """A call as it stands, or as a piece where `values` holds some of its arguments or more of it will come."""
    given = listed(values)
    if not given and not more:
        return call
    piece = Partial(call.call_id, call.name, None, "object", call.to)
    for each in given:
        value = held(_value, each, _Value())[0]
        path = value.json_path or value.path or ""
        steps = [name or one or two or int(index) for name, index, one, two in _PATH.findall(path)]
        piece.sound &= bool(steps) and _PATH.sub("", path) == "$"
        read = (value.string_value, value.string, value.number_value, value.number, value.bool_value, value.boolean)
        _add(piece.values, tuple(steps), next((one for one in read if one is not None), None))
    return _told(piece, more=more)


def go_on(calls: list[Call], call: Call) -> None:
    """Put a call to those before, or to the last one where it is the next piece of it; the last piece may be empty."""
    last = calls[-1] if calls else None
    ends = call.text in (None, "{}") or isinstance(call, Partial)
    if not isinstance(last, Partial) or last.status is None or call.name or not ends:
        calls.append(call)
        return
    if isinstance(call, Partial):
        last.sound &= call.sound
        for steps, value in call.values.items():
            _add(last.values, steps, value)
    _told(last, more=bool(call.status))


def _told(call: Partial, *, more: bool) -> Partial:
    text = encoded(_built(call.values)).decode()
    whole = call.sound and not more
    # What is not whole is cut where the rest would come, so that nobody takes it for all.
    call.text, call.container = (text, "object") if whole else (text[:-1], "broken")
    call.status = None if whole else "in_progress"
    return call


def _add(values: dict[tuple[str | int, ...], Any], steps: tuple[str | int, ...], new: Any) -> None:
    old = values.get(steps)
    values[steps] = old + new if isinstance(old, str) and isinstance(new, str) else new


def _built(values: dict[tuple[str | int, ...], Any]) -> Any:
    """The arguments from the values at their places."""
    root: dict[str | int, Any] = {}
    for steps, value in values.items():
        node = root
        for step in steps[:-1]:
            inner = node.setdefault(step, {})
            node = inner if isinstance(inner, dict) else {}
        if steps:
            node[steps[-1]] = value
    return _lists(root)


def _lists(node: Any) -> Any:
    """Objects whose members are all numbered are lists."""
    if not isinstance(node, dict):
        return node
    inner = {key: _lists(value) for key, value in node.items()}
    return [inner[key] for key in sorted(inner)] if inner and all(isinstance(key, int) for key in inner) else inner
