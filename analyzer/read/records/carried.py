"""Records inside other records: what a program printed, as collectors of logs, consoles and exports hand it on.

A container's log, a journal, a search engine's hits or a table of a warehouse put a record under a name of their own,
as an object or as a text, alone or among others. Where it stands is learned at the head of the file, by what the
adapters know there; the rest of the file is opened in the same way.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Annotated, Any, Final, NamedTuple

import msgspec

from analyzer.read.records.block import Block, is_utf8
from analyzer.read.records.prefixed import span_of
from analyzer.read.records.spans import is_record
from analyzer.read.recover import Unreadable, parse

EACH: Final = 0
"""A step of a path: to each element of a list, or to each member of an object."""
OPEN: Final = 1
"""A step of a path: into the JSON object that a text holds."""

Path = tuple[str | int, ...]
"""How to come from a record to those inside it: names of members, EACH and OPEN."""

_TELLING = re.compile(
    rb'tool|function|agent|messages|jsonrpc|choices|candidates|trace|"execute|gen_ai|response\.|"MESSAGE"\s*:\s*\[',
    re.IGNORECASE,
)
# Some member by which one adapter or another tells its records; to ask all of them of each object takes long.
_MARKS = frozenset(
    {
        *("type", "object", "role", "messages", "message", "msg", "choices", "contents", "candidates", "jsonrpc"),
        *("request", "response", "req", "res", "input", "output", "inputs", "outputs", "body", "http", "url", "uri"),
        *("request_body", "response_body", "requestBody", "responseBody", "req_payload", "resp_payload", "payload"),
        *("event", "data", "method", "resourceSpans", "resource_spans", "resourceLogs", "attributes", "observations"),
        *(
            "run_type",
            "runs",
            "spans",
            "steps",
            "finishReason",
            "traj",
            "trajectory",
            "history",
            "simulations",
            "check",
        ),
        *("custom_id", "samples", "eval", "answer_generation", "toolConfig", "serverContent", "toolCall", "setup"),
        *("kind", "parts", "action", "observation", "message_history", "lc", "values", "channel_values"),
        *("operation", "sessionId", "session_id", "traceId", "$schemaVersion", "span_data", "turn", "thread"),
    }
)
_SURE = 0.5
_DEEPEST = 7
_MOST_LOOKED_AT = 600  # values at the head of a file
_MOST_PASSED = 20_000  # in one record
_MOST_PATHS = 8
_SEVERAL = 2
_BYTES = 256
_Byte = Annotated[int, msgspec.Meta(ge=0, lt=_BYTES)]
_PAIR = 2  # of a time and what was said then
_NANOSECONDS = 1e17  # numbers of this size count them since 1970
_TIMES = ("time", "timestamp", "@timestamp", "date", "ts", "_time", "Timestamp", "__REALTIME_TIMESTAMP", "created_at")


class Inner(NamedTuple):
    """A record inside another one."""

    raw: bytes
    pointer: str
    """To it, or to the text that holds it."""
    opaque: bool
    """It stands in a text, where no pointer leads."""
    when: str | float | None
    """The time that stands beside it."""


def tells(raw: bytes) -> bool:
    """Whether something inside a record may be of a session."""
    return _TELLING.search(raw) is not None


def paths(values: Sequence[Any], sure_of: Callable[[Any], float]) -> tuple[Path, ...]:
    """Where in records that nobody knows stand such as somebody does, as sure as `sure_of` says of a value."""
    found: dict[Path, None] = {}
    left = _MOST_LOOKED_AT
    for value in values:
        queue: deque[tuple[Any, Path]] = deque([(value, ())])
        known: dict[Path, list[Path]] = {}
        passed = 0
        while queue and left and passed < _MOST_PASSED:
            each, path = queue.popleft()
            passed += 1
            listed = isinstance(each, list) and path[-1:] == (OPEN,)
            if path and (listed or (isinstance(each, dict) and not _MARKS.isdisjoint(each))):
                left -= 1
                if sure_of(each) > _SURE:
                    known.setdefault(path[:-1], []).append(path)
                    continue
            if len(path) < _DEEPEST:
                queue.extend((inner, (*path, step)) for step, inner in _steps(each))
        for before, several in known.items():
            here = {(*before, EACH)} if len(set(several)) >= _SEVERAL else set(several)
            found.update(dict.fromkeys(sorted(here, key=str)))
    # What stands inside of a record that is known is a part of it.
    inside = {way for way in found for other in found if len(other) < len(way) and way[: len(other)] == other}
    return tuple(way for way in found if way not in inside)[:_MOST_PATHS]


def _steps(value: Any) -> Iterator[tuple[str | int, Any]]:
    if isinstance(value, list) and value[:1] and all(type(each) is int and 0 <= each < _BYTES for each in value):
        value = bytes(value).decode("utf-8", "replace")
    if isinstance(value, dict):
        yield from value.items()
    elif isinstance(value, list):
        yield from ((EACH, each) for each in value[:8])
    elif isinstance(value, str) and "{" in value:
        text = value.lstrip().encode("utf-8", "replace")
        span = _spoken(text)
        parsed = None if span is None else parse(text[slice(*span)])
        if parsed is not None and not isinstance(parsed, Unreadable):
            yield OPEN, parsed[0]


def opened(blocks: Iterator[Block], ways: Sequence[Path]) -> Iterator[Block]:
    """The records inside those of the blocks.

    A text on the way that holds no object is no record; what else holds none inside stays the record that it is.
    """
    first = 0
    for block in blocks:
        block.part()
        made = Block(first, utf8=block.utf8, torn=block.torn, pointer=[], when=[])
        for index, raw in enumerate(block.raw):
            outer = "" if block.pointer is None else block.pointer[index]
            inner, spoken = _inside(raw, outer, ways)
            if not inner and not spoken:
                inner = [Inner(raw, outer, opaque=False, when=None)]
            if index == 0 and block.oversized and not inner:
                inner = [Inner(raw, outer, opaque=False, when=None)]
            for each in inner:
                if each.opaque or index in block.opaque:
                    made.opaque.add(len(made.raw))
                made.pointer.append(outer if index in block.opaque else each.pointer)  # type: ignore[union-attr]
                made.when.append(each.when if each.when is not None or not block.when else block.when[index])
                made.add(each.raw, block.offset[index], block.length[index], block.line[index])
        made.oversized = block.oversized
        made.utf8 = made.utf8 and is_utf8(b"".join(made.raw))
        if made.raw:
            yield made
        first += len(made.raw)


def _inside(raw: bytes, pointer: str, ways: Sequence[Path]) -> tuple[list[Inner], bool]:
    """The records inside one, and whether a way to them leads to a text that holds none."""
    found: list[Inner] = []
    spoken = False
    for way in ways:
        for inner in _reached(raw, way, Inner(raw, pointer, opaque=False, when=None)):
            if inner is None:
                spoken = True
            else:
                found.append(inner)
    return found, spoken


def _reached(raw: bytes, way: Path, at: Inner) -> Iterator[Inner | None]:
    if not way:
        if raw[:1] in (b"{", b"["):
            yield Inner(raw, at.pointer, at.opaque, at.when)
        return
    step, rest = way[0], way[1:]
    try:
        if step == OPEN:
            yield from _open(raw, rest, at)
            return
        if raw[:1] == b"{":
            members = msgspec.json.decode(raw, type=dict[str, msgspec.Raw])
            at = at._replace(when=_time_of(members, at.when))
            chosen = members.items() if step == EACH else [(step, members[step])] if step in members else []
            inner = [(str(name), bytes(value)) for name, value in chosen]
        elif raw[:1] == b"[" and step == EACH:
            listed = msgspec.json.decode(raw, type=list[msgspec.Raw])
            inner = [(str(place), bytes(value)) for place, value in enumerate(listed)]
            if len(listed) == _PAIR:
                at = at._replace(when=_moment(listed[0], at.when))
        else:
            return
    except (msgspec.DecodeError, RecursionError):
        return
    for name, value in inner:
        to = at.pointer if at.opaque else f"{at.pointer}/{name.replace('~', '~0').replace('/', '~1')}"
        yield from _reached(value.strip(), rest, at._replace(pointer=to))


def _open(raw: bytes, rest: Path, at: Inner) -> Iterator[Inner | None]:
    if raw[:1] == b'"':
        text = msgspec.json.decode(raw, type=str).lstrip().encode()
    elif raw[:1] == b"[":  # so a journal writes a text that holds more than plain characters
        text = bytes(msgspec.json.decode(raw, type=list[_Byte])).lstrip()
    else:
        return
    span = _spoken(text)
    if span is None:
        yield None
    else:
        yield from _reached(text[slice(*span)], rest, at._replace(opaque=True))


def _spoken(text: bytes) -> tuple[int, int] | None:
    """Where in a text JSON stands: all of it, or an object behind a prefix."""
    return (0, len(text)) if text[:1] == b"[" and is_record(text) else span_of(text)


def _time_of(members: dict[str, msgspec.Raw], before: str | float | None) -> str | float | None:
    for name in _TIMES:
        if name in members and (found := _moment(members[name], None)) is not None:
            return found
    return before


def _moment(raw: msgspec.Raw, before: str | float | None) -> str | float | None:
    found = msgspec.json.decode(raw)
    if isinstance(found, str) and found.isdecimal():
        found = float(found[:30])
    if isinstance(found, int | float):
        return found / 1000 if found > _NANOSECONDS else found
    return found if isinstance(found, str) else before
