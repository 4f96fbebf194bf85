"""Evidence leads somewhere: every pointer of a recorded frame resolves in the bytes of its record."""

from __future__ import annotations

import json
from typing import Any

import pytest

from analyzer.pointer import resolve
from tests.read.adapters import SAMPLES, lines, recorded
from tests.wires.every import WIRES
from tests.wires.script import plain, planted

SHOWN = ("showings", "call_sightings", "result_sightings", "messages", "approvals", "gates")


def astray(data: bytes, name: str) -> list[tuple[str, str]]:
    """The pointers that lead nowhere in their records, each with its frame."""
    _, frames = recorded(data, name=name)
    events = {row["event"]: row for row in frames["events"].iter_rows(named=True)}
    found: list[tuple[str, str]] = []
    for frame in SHOWN:
        for row in frames[frame].iter_rows(named=True):
            event = events[row["event"]]
            try:
                record: Any = json.loads(data[event["offset"] : event["offset"] + event["length"]])
            except ValueError:
                continue  # an event of a stream, or one behind a text: pointers are of what it holds
            to = None if row["pointer"] is None else (event["pointer"] or "") + row["pointer"]
            try:
                resolve(record, to or "")
            except LookupError:
                found.append((frame, str(to)))
    return found


@pytest.mark.parametrize("sample", sorted(path.name for path in SAMPLES.glob("*.js*")))
def test_every_pointer_of_a_sample_resolves(sample: str) -> None:
    assert astray((SAMPLES / sample).read_bytes(), sample) == []


@pytest.mark.parametrize("wire", sorted(WIRES))
@pytest.mark.parametrize("fault", ["none", "narrowed", "withdrawn"])
def test_every_pointer_of_a_wire_resolves(wire: str, fault: str) -> None:
    session = plain("none") if fault == "none" else planted(fault).session
    assert astray(lines(*WIRES[wire](session)), "log.jsonl") == []
