"""Inspect logs: requests and tool runs from events, attachments, zip files; what no log and no zip file can do."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzer import audit
from tests.read.adapters import SAMPLES, assert_golden, assert_nothing_lost, lines, mutations, recorded
from tests.read.truths import SHARED, audited, counted, errors, truth

NAME = "inspect"
SAMPLE = (SAMPLES / f"{NAME}.json").read_bytes()
LOOK = {"type": "object", "properties": {"at": {"type": "string"}}, "required": ["at"]}
USER = {"role": "user", "content": "go"}


def model(sent: list[Any], *calls: Any, **more: Any) -> dict[str, Any]:
    said = {"role": "assistant", "content": "", "tool_calls": list(calls)}
    choice = {"message": said, "stop_reason": "tool_calls"}
    tools = [{"name": "look", "description": "", "parameters": LOOK}]
    return {"event": "model", "input": sent, "tools": tools, "output": {"choices": [choice]}, **more}


def call(name: str, **more: Any) -> dict[str, Any]:
    return {"id": name, "function": "look", "arguments": {"at": "door"}, "type": "function", **more}


def ran(name: str, result: Any = "seen", error: Any = None) -> dict[str, Any]:
    entry = {"event": "tool", "id": name, "function": "look", "arguments": {"at": "door"}}
    return {**entry, "result": result, "error": error}


def sample(*events: Any, **more: Any) -> dict[str, Any]:
    return {"id": 1, "epoch": 1, "input": "go", "target": "", "messages": [], "events": list(events), **more}


def test_the_frames_of_the_sample_are_these() -> None:
    recording, frames = recorded(SAMPLE)
    assert recording.source_frame()["format"].to_list() == [NAME]
    assert_golden(NAME, frames)


@given(st.data())
def test_no_change_of_the_sample_loses_a_record(data: st.DataObject) -> None:
    assert_nothing_lost(data.draw(mutations(lines(*json.loads(SAMPLE)["samples"]))))


def test_a_zip_file_holds_the_same_samples() -> None:
    whole, zipped = (audit([str(SAMPLES / f"{NAME}.{kind}")]) for kind in ("json", "eval"))
    assert zipped.problems == []
    kept = ("call_id", "text", "outcome", "sightings")
    rows = [sorted(found.frames["calls"].select(kept).rows()) for found in (whole, zipped)]
    assert rows[0] == rows[1]
    paths = [each["path"].rpartition("!")[2] for each in zipped.inputs]
    assert paths == ["samples/3_epoch_2.json", "samples/beam-1_epoch_1.json", "samples/beam-2_epoch_1.json"]
    for row in zipped.findings.select("location").unnest("location").iter_rows(named=True):
        assert "!" in row["file"]


def test_a_member_is_an_input_by_itself() -> None:
    found = audit([f"{SAMPLES / NAME}.eval!samples/3_epoch_2.json"])
    assert found.frames["calls"]["call_id"].to_list() == ["e1"]


def test_a_member_that_points_elsewhere_or_is_broken_is_named(tmp_path: Path) -> None:
    path = tmp_path / "log.eval"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("samples/../../../escape.json", json.dumps(sample(model([USER], call("c1")))))
        archive.writestr("samples/whole.json", json.dumps(sample(model([USER], call("c2")))))
    raw = bytearray(path.read_bytes())
    place = raw.index(b'"c2"')
    raw[place : place + 4] = b'"c3"'  # its checksum is wrong now
    path.write_bytes(bytes(raw))
    found = audit([str(path)])
    assert found.frames["calls"]["call_id"].to_list() == ["c1"]
    assert len(found.problems) == 1
    assert {each.name for each in tmp_path.iterdir()} == {"log.eval"}
    path.write_bytes(bytes(raw[:60]))
    assert len(audit([str(path)], lenient=True).problems) == 1


def test_a_tool_event_shows_the_models_call_again(tmp_path: Path) -> None:
    asked = model([USER], call("c1"))
    back = {"role": "tool", "tool_call_id": "c1", "function": "look", "content": "seen"}
    again = model([USER, asked["output"]["choices"][0]["message"], back])
    found = audited(tmp_path, sample(asked, ran("c1"), again))
    assert found.frames["calls"].select("call_id", "sightings", "outcome").rows() == [("c1", 3, "unknown")]
    assert found.frames["results"].height == 1
    assert found.frames["verdicts"]["verdict_is"].to_list() == ["valid"]


def test_the_text_of_arguments_that_could_not_be_parsed_is_judged(tmp_path: Path) -> None:
    wrong = 'Error parsing the following tool call arguments:\n\n{"at": door}\n\nError details: no'
    found = audited(tmp_path, sample(model([USER], call("c1", arguments={"at": "door"}, parse_error=wrong))))
    assert found.frames["calls"]["text"].to_list() == ['{"at": door}']
    assert "args-invalid-json" in set(found.findings["slug"])


def test_attachments_are_put_back(tmp_path: Path) -> None:
    kept = {"h1": "the whole text", "h2": "attachment://h1"}
    sent = [{"role": "user", "content": "attachment://h1"}, {"role": "user", "content": "attachment://h2"}]
    found = audited(tmp_path, sample(model(sent, call("c1", arguments={"at": "attachment://h1"})), attachments=kept))
    assert found.frames["calls"]["text"].to_list() == ['{"at":"the whole text"}']
    assert found.frames["messages"]["text"].to_list()[:2] == ["the whole text", "attachment://h1"]


def test_requests_may_refer_to_a_pool(tmp_path: Path) -> None:
    pool = [USER, {"role": "user", "content": "more"}]
    found = audited(tmp_path, sample(model([], call("c1"), input_refs=[[1, 2], [0, 1]]), message_pool=pool))
    assert found.frames["messages"].filter(pl.col("role") == "user")["text"].to_list() == ["more", "go"]


@pytest.mark.parametrize("result", ["slow", ""])
def test_an_error_beside_the_result_is_a_failure(tmp_path: Path, result: str) -> None:
    found = audited(
        tmp_path, sample(model([USER], call("c1")), ran("c1", result, {"type": "timeout", "message": "slow"}))
    )
    assert found.frames["calls"]["outcome"].to_list() == ["error"]
    assert "result-contradictory" not in set(found.findings["slug"])


@pytest.mark.parametrize("kind", ["tool", "subtask"])
def test_events_inside_of_events_are_read(tmp_path: Path, kind: str) -> None:
    inner = [model([USER], call("n1", arguments={"at": 3})), ran("n1")]
    outer = {**ran("c1"), "event": kind, "events": inner}
    found = audited(tmp_path, sample(model([USER], call("c1")), outer))
    made = found.frames["calls"].filter(call_id="n1")
    assert made.select("text", "result").rows() == [('{"at":3}', 0)]
    (finding,) = found.findings.filter(slug="args-schema-mismatch").to_dicts()
    assert finding["location"]["pointer"] == "/events/1/events/0/output/choices/0/message/tool_calls/0/arguments"


def test_calls_of_the_providers_own_tools_are_its_own(tmp_path: Path) -> None:
    event = model([USER])
    part = {"type": "tool_use", "tool_type": "web_search", "id": "w1", "name": "web_search", "arguments": '{"q":1}'}
    event["output"]["choices"][0]["message"]["content"] = [{**part, "result": "found", "error": None}]
    found = audited(tmp_path, sample(event))
    assert found.frames["calls"].select("call_id", "kind", "owed_by", "result").rows() == [
        ("w1", "hosted", "server", 0)
    ]


def test_a_call_that_still_runs_has_no_result(tmp_path: Path) -> None:
    found = audited(tmp_path, sample(model([USER], call("c1")), {**ran("c1", ""), "pending": True}))
    assert found.frames["calls"]["result"].to_list() == [None]


def test_a_hard_failure_is_one_without_an_error_too(tmp_path: Path) -> None:
    found = audited(tmp_path, sample(model([USER], call("c1")), {**ran("c1", ""), "failed": True}))
    assert found.frames["calls"]["outcome"].to_list() == ["error"]


def test_a_result_that_inspect_cut_is_not_judged(tmp_path: Path) -> None:
    cut = {**ran("c1", '{"seen": "do'), "truncated": [100, 12]}
    contracts = {"look": {"output": {"type": "object"}}}
    (tmp_path / "contracts.json").write_text(json.dumps(contracts))
    log = sample(model([USER], call("c1")), cut)
    found = audited(tmp_path, log, contracts=[str(tmp_path / "contracts.json")])
    assert found.frames["verdicts"].filter(role="output")["reason"].to_list() == ["payload_truncated"]


def test_other_choices_of_a_model_owe_no_result(tmp_path: Path) -> None:
    first = model([USER], call("c1"))
    first["output"]["choices"].append({"message": {"role": "assistant", "content": "", "tool_calls": [call("c2")]}})
    found = audited(tmp_path, sample(first, ran("c2"), model([USER])))
    assert found.frames["calls"].height == 2
    assert errors(found) == set()


def test_the_recorded_logs_have_the_counts_that_are_known() -> None:
    known = truth(NAME)
    found = audit([str(SHARED / NAME)])
    counts = counted(found)
    # One of the logs that were counted, a sample with four calls and their results, is not in the folder.
    assert counts["sessions"] == known["sessions"] - 1
    assert (counts["calls"], counts["results"]) == (0, known["results"] - known["calls"])
    assert counts["orphan_results"] == known["orphan_results"]
    assert found.frames["results"]["success"].to_list().count(False) == known["results_flagged_error"]
