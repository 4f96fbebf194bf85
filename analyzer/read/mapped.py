"""In-house logs: a mapping in the configuration says with one JMESPath per column where in a record things stand.

A record with a name and arguments is a call, one with an output, an error or a success flag is a result; one may be
both. A name alone is a call whose arguments nobody recorded, or that stand where the mapping does not look: no verdict
may be made of that. Beside an output it says whose output that is.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import Any, ClassVar

import jmespath
import msgspec
from jmespath.exceptions import JMESPathError

from analyzer.config import FIELDS
from analyzer.errors import UsageError
from analyzer.frames import PART_BITS, UNASKED
from analyzer.pointer import join, resolve
from analyzer.read import ADAPTERS, broken
from analyzer.read.adapter import Adapter
from analyzer.read.cursor import Cursor, Place
from analyzer.read.dialogue.waiting import Waiting
from analyzer.read.records import Block
from analyzer.read.recover import Unreadable, parse
from analyzer.read.rows import Rows, event_number
from analyzer.read.values import contained, encoded

_RESULT = ("output", "success", "error")
_NOTABLE = ("call_id", "name", "arguments", *_RESULT, "text", "tools")
_PLAIN = re.compile(r'(?:[A-Za-z_]\w*|"(?:[^"\\]|\\.)*")(?:\.(?:[A-Za-z_]\w*|"(?:[^"\\]|\\.)*")|\[\d+\])*')
_STEP = re.compile(r'"((?:[^"\\]|\\.)*)"|\[(\d+)\]|(\w+)')
_Open = tuple[str, str | None]
"""A call without a result: what pairs it with one, and its name."""
_SURE = 2.0  # what the user wrote down is surer than any guess


def adapters_of(mappings: Mapping[str, Mapping[str, str]]) -> tuple[type[Adapter], ...]:
    """ADAPTERS, and one for each mapping of a configuration, whose expressions were checked when it was read.

    Raises UsageError where a mapping has the name of a format.
    """
    taken = {each.name for each in ADAPTERS} & mappings.keys()
    if taken:
        raise UsageError(f"the mapping {min(taken)!r} has the name of a format: give it another one")
    return (*ADAPTERS, *(_adapter(name, mapping) for name, mapping in sorted(mappings.items())))


def _adapter(mapping: str, fields: Mapping[str, str]) -> type[Adapter]:
    given = {field: jmespath.compile(text) for field, text in fields.items() if field in FIELDS}
    places = {field: _pointer(text) for field, text in fields.items()}

    class Mapped(_Mapped):
        name: ClassVar[str] = mapping
        title: ClassVar[str] = f"mapping {mapping!r} of the configuration"
        known_by: ClassVar[str] = fields.get("when", "what the mapping finds")
        loses: ClassVar[tuple[str, ...]] = tuple(f"no {field}" for field in FIELDS if field not in fields)
        expressions: ClassVar[Mapping[str, Any]] = given
        pointers: ClassVar[Mapping[str, str]] = places

    return Mapped


class _Mapped(Adapter):
    """The adapter of one mapping; see `analyzer.read.adapter.Adapter`."""

    expressions: ClassVar[Mapping[str, Any]]
    pointers: ClassVar[Mapping[str, str]]

    def __init__(self, source: int, rows: Rows) -> None:
        self._source = source
        self._rows = rows
        self._cursor = Cursor(rows)
        self._open: dict[str | None, Waiting[_Open]] = {}
        self._counts: dict[tuple[str | None, str], int] = {}

    @classmethod
    def knows(cls, record: Any) -> float:
        """Twice as sure as every other format: the mapping comes before it."""
        return _SURE * cls._is_mine(record)

    def read(self, block: Block) -> list[int]:
        """Append the rows of the block; see `Adapter.read`."""
        block.part()
        others: list[int] = []
        base = event_number(self._source, block.first)
        for index, raw in enumerate(block.raw):
            event = base + (index << PART_BITS)
            parsed = parse(raw)
            if isinstance(parsed, Unreadable) or not self._is_mine(parsed[0]):
                others.append(index)
                continue
            pointer = "" if block.pointer is None else block.pointer[index]
            place = Place(event, block.offset[index], block.length[index], block.line[index], pointer)
            self._cursor.move(place)
            try:
                self._take(parsed[0])
            except broken.MEANT:
                raise
            except broken.BROKEN as error:
                self._rows.undo(event)
                broken.left_out(self._rows, place, "it broke its reader", error)
                continue
            self._rows.faults += [(event, None, *fault) for fault in parsed[1]]
        return others

    @classmethod
    def _is_mine(cls, record: Any) -> bool:
        if not isinstance(record, dict):
            return False
        if "when" in cls.expressions:
            return bool(cls._found(record, "when"))
        return any(cls._found(record, field) is not None for field in _NOTABLE)

    @classmethod
    def _found(cls, record: Any, field: str) -> Any:
        expression = cls.expressions.get(field)
        if expression is None:
            return None
        try:
            return expression.search(record)
        except (JMESPathError, TypeError, ValueError, AttributeError, RecursionError):
            return None  # a function over a value of another type than it takes

    @classmethod
    def missed(cls, records: Iterable[Any]) -> list[tuple[str, int, int]]:
        """Fields that found nothing: field, in how many, of how many of the mapping's own records.

        Of `arguments` those count that are calls; any other field may be absent from some, and is told where it is from
        all of them.
        """
        mine = [record for record in records if cls._is_mine(record)]
        calls = [record for record in mine if cls._found(record, "name") is not None]
        calls = [each for each in calls if all(cls._found(each, field) is None for field in _RESULT)] or calls
        told = []
        for field in cls.expressions:
            among = calls if field == "arguments" else mine
            count = sum(cls._found(each, field) is None and not cls._is_there(each, field) for each in among)
            if count and (field == "arguments" or count == len(among)):
                told.append((field, count, len(among)))
        return told

    @classmethod
    def _is_there(cls, record: Any, field: str) -> bool:
        """Whether a plain path leads somewhere, to a null if to nothing else."""
        pointer = cls.pointers.get(field)
        if not pointer:
            return False
        try:
            resolve(record, pointer)
        except LookupError:
            return False
        return True

    def _at(self, *fields: str) -> str:
        """The pointer to the first of these fields that the mapping has."""
        return next((self.pointers[field] for field in fields if field in self.expressions), "")

    def _take(self, record: Any) -> None:
        found = {field: self._found(record, field) for field in self.expressions}
        session, turn = _text(found.get("session")), _text(found.get("turn"))
        when, number = found.get("time"), found.get("number")
        native = _text(found.get("type")) or self.name
        is_result = any(found.get(field) is not None for field in _RESULT)
        asked = found.get("arguments") is not None or not is_result or "arguments" not in self.expressions
        is_call = asked and found.get("name") is not None
        kind = "item" if is_call or is_result or found.get("text") is not None else "notice"
        more: dict[str, Any] = {
            "turn": turn,
            "number": number if type(number) is int and abs(number) < 1 << 62 else None,
        }
        more["when"] = when if isinstance(when, str | float | int) and not isinstance(when, bool) else None
        event, _ = self._cursor.event(native, kind, session, **more)
        if found.get("tools") is not None:
            self._table(found["tools"], event, session)
        if found.get("model") is not None or found.get("agent") is not None:
            agent, model = _text(found.get("agent")), _text(found.get("model"))
            self._rows.session_states.add(event=event, session=session, agent_name=agent, model=model)
        if found.get("text") is not None:
            self._rows.messages.add(
                event=event,
                session=session,
                turn=turn,
                role=_text(found.get("role")),
                text=_text(found["text"]),
                pointer=self._at("text"),
            )
        if is_call:
            found["null"] = self._is_there(record, "arguments")
            pair_id = self._call(found, event, session, turn)
        if is_result:
            if is_call:  # its result comes after it
                event, _ = self._cursor.event(native, kind, session, **more)
            self._result(found, event, session, turn, answers=pair_id if is_call else None)

    def _call(self, found: dict[str, Any], event: int, session: str | None, turn: str | None) -> str:
        """Append a call; what pairs it with its result."""
        call_id, name = _text(found.get("call_id")), _text(found.get("name"))
        nth = self._counts.get((session, call_id or f"{name}#"), 0) + 1
        self._counts[session, call_id or f"{name}#"] = nth
        pair_id = call_id or f"{name}#{nth}"
        self._open.setdefault(session, Waiting(_keys_of)).add((pair_id, name))
        text, container = contained(found.get("arguments"))
        status = "unmapped" if text is None and not found["null"] else _text(found.get("status"))
        self._rows.call_sightings.add(
            event=event,
            session=session,
            turn=turn,
            wire=self.name,
            stage="item",
            item_id=f"{pair_id}@{nth}",
            call_id=call_id,
            pair_id=pair_id,
            kind="function",
            server=_text(found.get("server")),
            name=name,
            text=text,
            container=container,
            status=status,
            owed_by="unknown",
            pointer=self._at("arguments", "name"),
        )
        return pair_id

    def _result(
        self, found: dict[str, Any], event: int, session: str | None, turn: str | None, *, answers: str | None
    ) -> None:
        """Append a result; `answers` pairs it with the call in its own record."""
        call_id, name = _text(found.get("call_id")), _text(found.get("name"))
        waiting = self._open.get(session, Waiting(_keys_of))
        pair_id = answers or call_id
        if pair_id is None:
            first = waiting.first("any" if name is None else ("name", name))
            pair_id = f"{name}{UNASKED}" if first is None else first[0]
        while waiting.take(("pair", pair_id)) is not None:
            pass  # all calls of an id
        success, error = found.get("success"), found.get("error")
        text, container = contained(found.get("output"))
        flag = success if isinstance(success, bool) else False if error is not None else None
        self._rows.result_sightings.add(
            event=event,
            session=session,
            turn=turn,
            wire=self.name,
            stage="message",
            call_id=call_id,
            pair_id=pair_id,
            name=name,
            success=flag,
            error=_text(error),
            text=text,
            container=container,
            pointer=self._at("output", "error"),
        )

    def _table(self, tools: Any, event: int, session: str | None) -> None:
        table = self._rows.table(encoded(tools), "responses")
        self._rows.showings.add(
            event=event, session=session, channel="request", scope="all", table=table, pointer=self._at("tools")
        )


def _text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return encoded(value).decode()


def _pointer(expression: str) -> str:
    """The JSON Pointer of an expression that is a plain path; of any other one nothing is known."""
    if not _PLAIN.fullmatch(expression.strip()):
        return ""
    steps: list[str] = []
    for quoted, index, name in _STEP.findall(expression):
        steps.append(msgspec.json.decode(f'"{quoted}"') if quoted else index or name)
    return join("", *steps)


def _keys_of(call: _Open) -> Iterator[Hashable]:
    pair_id, name = call
    yield "any"
    yield "name", name
    yield "pair", pair_id
