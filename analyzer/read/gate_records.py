"""Gate records: what a host that checks each call before it runs wrote down, alone or between the records of any log.

`{"check": tool, "schema": "parameters", "pass": [...], "fail": [{"path", "reason"}], "execute": true or false}`, as
`analyzer gate` writes them too, in the envelope of a recorder or without one. Whose record it is stands in `session`,
`turn` and `call_id`; where they are missing it is of the call of that id that was recorded last in the same file,
else of the session of the record before it.
"""

from __future__ import annotations

from typing import Any, ClassVar

import msgspec

from analyzer.read.adapter import RecordAdapter
from analyzer.read.cursor import Place
from analyzer.read.decoding import Decoding
from analyzer.read.rows import Rows
from analyzer.read.values import microseconds

_INNER = ("event", "msg", "message", "record", "payload", "data", "body")
_TIMES = ("recorded_at", "timestamp", "ts", "time", "at")
_SESSIONS, _TURNS = ("session", "session_id"), ("turn", "turn_id")
_MOST_FAILURES = 1000


class GateRecords(RecordAdapter[dict[str, Any]]):
    """The adapter; see `analyzer.read.adapter.Adapter`."""

    name: ClassVar[str] = "gate-records"
    title: ClassVar[str] = "Gate records of a host, alone or between the records of any other format"
    known_by: ClassVar[str] = (
        "objects with `check`, a list `fail` and a true or false `execute`, or these in an envelope"
    )
    loses: ClassVar[tuple[str, ...]] = (
        "Only the gate's word is there: calls, results and schemas are those of the log that it was kept for.",
        "A record in a file of its own, or without a time, does not prove when the gate was asked.",
        "Of `schema` and `pass` nothing is compared.",
    )

    between: ClassVar[bool] = True

    def __init__(self, source: int, rows: Rows) -> None:
        self._records = Decoding(source, rows, _decoded, self.knows)
        self._rows = rows

    @staticmethod
    def knows(record: Any) -> float:
        """How surely a parsed record is a gate's."""
        return 0.0 if _gate_in(record) is None else 1.0

    def _take(self, record: dict[str, Any], raw: bytes, place: Place) -> bool:
        del raw
        found = _gate_in(record)
        if found is None:
            return False
        gate, inside = found
        around = record if inside else {}
        session = _text(gate, _SESSIONS) or _text(around, _SESSIONS)
        if session is None:
            self._rows.need_source()
        when = next((each for name in _TIMES for each in (gate.get(name), around.get(name)) if _is_time(each)), None)
        turn = _text(gate, _TURNS) or _text(around, _TURNS)
        self._rows.events.add(
            event=place.event,
            session=session,
            offset=place.offset,
            length=place.length,
            line=place.line,
            pointer=f"{place.pointer}{inside}",
            time_text=when if isinstance(when, str) else None,
            time_us=None if when is None or isinstance(when, str) else microseconds(when),
            type="gate record",
            kind="gate",
            turn=turn,
        )
        self._rows.gates.add(
            event=place.event,
            session=session,
            turn=turn,
            check=gate["check"],
            call_id=_named(gate, "call_id"),
            execute=gate["execute"],
            failures=[
                {"path": _named(each, "path"), "reason": _named(each, "reason")}
                for each in gate["fail"][:_MOST_FAILURES]
                if isinstance(each, dict)
            ],
            pointer="",
        )
        return True


def _decoded(raw: bytes) -> dict[str, Any]:
    value = msgspec.json.decode(raw)
    if not isinstance(value, dict):
        raise msgspec.DecodeError("no object")
    return value


def _gate_in(record: Any) -> tuple[dict[str, Any], str] | None:
    """The gate record that a record is, or holds, and the pointer to it."""
    if not isinstance(record, dict):
        return None
    if _is_gate(record):
        return record, ""
    return next(((record[name], f"/{name}") for name in _INNER if _is_gate(record.get(name))), None)


def _is_gate(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and isinstance(value.get("check"), str)
        and isinstance(value.get("fail"), list)
        and isinstance(value.get("execute"), bool)
    )


def _text(record: dict[str, Any], names: tuple[str, ...]) -> str | None:
    return next((record[name] for name in names if isinstance(record.get(name), str)), None)


def _named(value: dict[str, Any], name: str) -> str | None:
    found = value.get(name)
    return found if isinstance(found, str) else None


def _is_time(value: Any) -> bool:
    return isinstance(value, str | int | float) and not isinstance(value, bool)
