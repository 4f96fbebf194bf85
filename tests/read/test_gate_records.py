"""Gate records of a host: between the records of any log or beside it, whose they are, and what they are held to."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzer import audit
from analyzer.auditing.outcome import Audit
from analyzer.cli import main
from tests.audit import wire
from tests.read.adapters import SAMPLES, assert_golden, assert_nothing_lost, mutations, recorded
from tests.read.truths import audited

NAME = "gate-records"
SAMPLE = (SAMPLES / f"{NAME}.jsonl").read_bytes()
GOOD, BAD = {"id": "x"}, {"id": 7}


def gate(*failed: tuple[str, str], execute: bool | None = None, check: str = "get", **more: Any) -> dict[str, Any]:
    fail = [{"path": path, "reason": reason} for path, reason in failed]
    execute = not failed if execute is None else execute
    return {"check": check, "schema": "parameters", "pass": [], "fail": fail, "execute": execute, **more}


REFUSAL = gate(("/id", "type"))


def called(arguments: Any, record: dict[str, Any], *, success: bool = True) -> list[dict[str, Any]]:
    return [*wire.begun(), wire.added(wire.called(arguments=arguments)), record, wire.post(success=success)]


def rules(found: Audit) -> set[str]:
    return {rule for rule in found.findings["rule"] if rule in ("DRIFT007", "RUN002", "LOG003")}


def test_the_frames_of_the_sample_are_these() -> None:
    recording, frames = recorded(SAMPLE)
    assert recording.source_frame()["format"].to_list() == [NAME]
    assert_golden(NAME, frames)


@given(st.data())
def test_no_change_of_the_sample_loses_a_record(data: st.DataObject) -> None:
    assert_nothing_lost(data.draw(mutations(SAMPLE)))


@pytest.mark.parametrize(
    ("arguments", "record", "success", "told"),
    [
        (GOOD, gate(), True, set()),
        (BAD, REFUSAL, False, set()),
        (BAD, REFUSAL, True, {"RUN002"}),
        (BAD, gate(), False, {"DRIFT007"}),
        (GOOD, REFUSAL, False, {"DRIFT007"}),
        (BAD, gate(("/nr", "required")), False, {"DRIFT007"}),
    ],
)
def test_what_the_gate_said_is_held_to_the_replay_and_to_what_ran(
    tmp_path: Path, arguments: Any, record: dict[str, Any], success: bool, told: set[str]
) -> None:
    found = audited(tmp_path, *called(arguments, record, success=success))
    assert rules(found) == told
    assert found.inputs[0]["format"] == "gate-records,openai-agents-api"
    (event,) = found.frames["events"].filter(kind="gate").iter_rows(named=True)
    assert (event["session"], event["type"], event["line"]) == (wire.SESSION, "gate record", 5)


@pytest.mark.parametrize(
    "record",
    [
        REFUSAL,
        {"recorded_at": 1_796_000_000, "session_id": wire.SESSION, "direction": "sent", "event": REFUSAL},
        *({"ts": "2026-11-30T09:00:00Z", name: REFUSAL} for name in ("msg", "message", "record", "payload", "data")),
    ],
)
def test_a_recorder_may_wrap_it(tmp_path: Path, record: dict[str, Any]) -> None:
    found = audited(tmp_path, *called(BAD, record))
    assert rules(found) == {"RUN002"}
    (row,) = found.frames["gates"].iter_rows(named=True)
    assert (row["session"], row["check"], row["execute"]) == (wire.SESSION, "get", False)
    assert row["failures"] == [{"path": "/id", "reason": "type"}]


def test_between_the_records_of_every_other_format_it_is_read() -> None:
    for sample in sorted(SAMPLES.glob("*.jsonl")):
        lines = sample.read_bytes().splitlines(keepends=True)
        middle = len(lines) // 2
        mixed = b"".join([*lines[:middle], json.dumps(REFUSAL).encode() + b"\n", *lines[middle:]])
        (_, alone), (recording, found) = recorded(sample.read_bytes()), recorded(mixed)
        assert NAME in recording.sources[0]["format"].split(","), sample.name
        assert found["gates"].height == alone["gates"].height + 1, sample.name
        assert found["gates"]["session"].null_count() == 0, sample.name
        assert found["call_sightings"].height == alone["call_sightings"].height, sample.name


def test_without_a_session_it_is_of_the_call_it_names_else_of_the_record_before(tmp_path: Path) -> None:
    one, two = (
        json.loads(json.dumps([*wire.begun(), wire.added(wire.called(call=f"c{n}"))]).replace(wire.SESSION, f"s{n}"))
        for n in (1, 2)
    )
    found = audited(tmp_path, *one, *two, gate(call_id="c1"), gate(), gate(call_id="c9"))
    assert found.frames["gates"]["session"].to_list() == ["s1", "s2", "s2"]


def test_whose_it_is_does_not_hang_on_the_number_of_processes(tmp_path: Path) -> None:
    events = [event for event in called(BAD, REFUSAL) if "check" not in event]
    (tmp_path / "a.jsonl").write_bytes(wire.lines(events))
    (tmp_path / "gates.jsonl").write_bytes(
        wire.lines([{**REFUSAL, "call_id": "c1"}, {**REFUSAL, "session": "s2"}, REFUSAL])
    )
    one, two = (audit(tmp_path, jobs=jobs).frames["gates"]["session"].to_list() for jobs in (1, 2))
    assert one == two
    assert wire.SESSION not in one


@pytest.mark.parametrize("name", ["a.jsonl", "z.jsonl"])
@pytest.mark.parametrize("numbered", [False, True])
def test_in_a_file_of_its_own_it_says_the_same_and_moves_nothing(tmp_path: Path, name: str, *, numbered: bool) -> None:
    events = [event for event in called(BAD, REFUSAL) if "check" not in event]
    if numbered:
        events = [{**event, "sequence_number": number} for number, event in enumerate(events)]
    (tmp_path / "log.jsonl").write_bytes(wire.lines(events))
    alone = audit(tmp_path)
    (tmp_path / name).write_bytes(wire.lines([{**REFUSAL, "session": wire.SESSION, "call_id": "c1"}]))
    found = audit(tmp_path)
    seen = found.frames["events"].filter(~(found.frames["events"]["kind"] == "gate"))
    assert seen["seq"].to_list() == alone.frames["events"]["seq"].to_list()
    assert found.frames["gates"]["seq"].to_list() == [len(events)]
    assert found.frames["sessions"]["order"].to_list() == alone.frames["sessions"]["order"].to_list()
    assert "DRIFT007" not in rules(found)


def test_what_the_gate_command_writes_agrees_with_the_log(
    tmp_path: Path, root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = root / "sample_traces" / "3-incident.envelopes.ndjson"
    assert main(["gate", str(log), "-o", str(tmp_path / "gates.jsonl")]) in (0, 1)
    found = audit([log, tmp_path])
    assert found.frames["gates"].height == len((tmp_path / "gates.jsonl").read_text().splitlines()) > 0
    assert "DRIFT007" not in rules(found)
    assert capsys.readouterr().out == ""
