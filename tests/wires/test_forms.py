"""One log in other forms: arrays, pretty-printed, in streams and collectors' records; what is found does not change."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from analyzer import audit
from tests.wires.every import WIRES
from tests.wires.script import planted, renamed

Records = list[Any]


def _lines(records: Records, end: str = "\n") -> str:
    return "".join(json.dumps(record) + end for record in records)


def _at(number: int) -> str:
    return f"2026-11-17T10:{number // 60:02}:{number % 60:02}.5Z"


def _each(records: Records, wrap: Callable[[int, Any], Any]) -> str:
    return _lines([wrap(number, record) for number, record in enumerate(records)])


FORMS: dict[str, Callable[[Records], str]] = {
    "an array": json.dumps,
    "an array, printed": lambda records: json.dumps(records, indent=2),
    "two arrays": lambda records: json.dumps(records[:3]) + json.dumps(records[3:]),
    "two arrays, printed": lambda records: json.dumps(records[:3], indent=1) + "\n" + json.dumps(records[3:], indent=1),
    "CRLF and a byte order mark": lambda records: "\ufeff" + _lines(records, "\r\n"),
    "blank lines between": lambda records: _lines(records, "\n\n\n"),
    "an event stream": lambda records: "".join(f": c\nevent: m\ndata: {json.dumps(each)}\n\n" for each in records),
    "recorder's envelopes": lambda records: _each(records, lambda n, each: {"timestamp": _at(n), "event": each}),
    "a container's lines": lambda records: _each(
        records, lambda n, each: {"log": json.dumps(each) + "\n", "stream": "stdout", "time": _at(n)}
    ),
    "a logger's texts": lambda records: _each(
        records, lambda n, each: {"level": "info", "ts": _at(n), "msg": json.dumps(each)}
    ),
    "a logger's lines": lambda records: "".join(
        f"{_at(number)} INFO agent {json.dumps(each)}\n" for number, each in enumerate(records)
    ),
}
#: Only of records that are objects: lists among them are arrays of records.
OBJECTS: dict[str, Callable[[Records], str]] = {
    "objects, printed": lambda records: "\n".join(json.dumps(each, indent=2) for each in records),
    "objects without line ends": lambda records: _lines(records, ""),
}


def _told(folder: Path, contracts: Path) -> set[tuple[str, ...]]:
    made = audit([str(folder)], contracts=[str(contracts)])
    assert (made.problems, made.unrecognised, made.crashed) == ([], [], [])
    calls = made.frames["calls"].select("call_id", "name", "outcome").iter_rows()
    found = made.findings.drop_nulls("call_id").select("call_id", "slug", "severity").iter_rows()
    return {*calls, *found, ("sessions", str(made.summary["sessions"]))}


def _write(folder: Path, form: Callable[[Records], str], wires: list[str]) -> Path:
    folder.mkdir()
    for number, wire in enumerate(wires):
        for kind in ("missing", "output_schema"):
            records = list(WIRES[wire](renamed(planted(kind).session, f"w{number}_")))
            name = f"{kind}-{wire.replace(' ', '_').replace(',', '')}.jsonl"
            (folder / name).write_text(form(records), encoding="utf-8")
    return folder


@pytest.mark.parametrize("form", [*FORMS, *OBJECTS])
def test_a_log_in_another_form_is_the_same_log(form: str, contracts: Path, tmp_path: Path) -> None:
    wires = [wire for wire in WIRES if form not in OBJECTS or wire != "managed-agents"]
    plain = _told(_write(tmp_path / "plain", _lines, wires), contracts)
    assert len(plain) > 4 * len(wires)
    assert _told(_write(tmp_path / "other", (FORMS | OBJECTS)[form], wires), contracts) == plain
