"""Mappings of in-house logs: fields by JMESPath, pairing without ids, what they may not be called; trying them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzer import audit, config
from analyzer.cli import main
from analyzer.errors import ConfigurationError, UsageError
from analyzer.read import read
from analyzer.read.mapped import adapters_of
from analyzer.read.sources.files import Source
from tests.read.adapters import SAMPLES, assert_golden, mutations
from tests.read.truths import audited, errors

MAPPINGS = config.load(str(SAMPLES / "mapped.toml")).mappings
LOG = SAMPLES / "mapped.log"
PLAIN = {"house": {"name": "tool", "arguments": "args", "output": "out", "session": "run"}}


def test_the_frames_of_the_sample_are_these() -> None:
    recording = read([Source(0, str(LOG))], adapters=adapters_of(MAPPINGS))
    (frames,) = recording.partitions()
    assert recording.source_frame()["format"].to_list() == ["conveyor"]
    assert_golden("mapped", frames)


@given(st.data())
def test_no_change_of_the_sample_raises(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    path = tmp_path_factory.mktemp("mapped") / "log.jsonl"
    path.write_bytes(data.draw(mutations(LOG.read_bytes())))
    assert read([Source(0, str(path))], adapters=adapters_of(MAPPINGS)).problems == []


def test_what_a_mapping_reads_is_judged() -> None:
    found = audit([str(LOG)], mappings=MAPPINGS)
    assert found.frames["calls"].select("call_id", "outcome").rows() == [("s1", "ok"), ("s2", "error")]
    assert found.frames["verdicts"]["verdict_is"].to_list() == ["valid", "invalid"]
    assert errors(found) == {"args-schema-mismatch"}
    (row,) = found.findings.filter(found.findings["slug"] == "args-schema-mismatch").iter_rows(named=True)
    assert row["location"]["pointer"] == "/op/args"


def test_without_ids_results_answer_in_order(tmp_path: Path) -> None:
    log: list[Any] = [{"run": "r", "tool": "f", "args": {"n": number}} for number in (1, 2)]
    log += [{"run": "r", "tool": "f", "out": f"o{number}"} for number in (1, 2)]
    found = audited(tmp_path, *log, mappings=PLAIN)
    pairs = found.frames["calls"].join(found.frames["results"], on="result", suffix="_of").sort("call")
    assert pairs.select("text", "text_of").rows() == [('{"n":1}', "o1"), ('{"n":2}', "o2")]


@pytest.mark.parametrize("mapping", [{"name": "tool"}, {"name": "tool", "arguments": "argz"}])
def test_arguments_that_the_mapping_does_not_find_are_not_judged(tmp_path: Path, mapping: dict[str, str]) -> None:
    tool = {"name": "f", "parameters": {"type": "object", "properties": {"n": {}}, "required": ["n"]}}
    log = [{"tools": [tool]}, {"tool": "f", "args": {"n": 1}}]
    found = audited(tmp_path, *log, mappings={"house": mapping | {"tools": "tools"}})
    assert errors(found) == set()
    assert found.summary["verdicts"]["unverifiable"] == {"payload_unmapped": 1}


def test_arguments_that_are_null_are_judged(tmp_path: Path) -> None:
    tool = {"name": "f", "parameters": {"type": "object", "properties": {"n": {}}, "required": ["n"]}}
    found = audited(
        tmp_path,
        {"tools": [tool]},
        {"tool": "f", "args": None},
        mappings={"house": {**PLAIN["house"], "tools": "tools"}},
    )
    assert found.summary["verdicts"]["invalid"] == 1


def test_a_record_may_be_a_call_with_its_result(tmp_path: Path) -> None:
    found = audited(tmp_path, {"run": "r", "tool": "f", "args": {}, "out": "x"}, mappings=PLAIN)
    assert found.frames["calls"].select("name", "outcome").rows() == [("f", "unknown")]
    assert found.frames["results"]["text"].to_list() == ["x"]


def test_a_function_over_another_type_finds_nothing(tmp_path: Path) -> None:
    mapping = {"name": "tool", "arguments": "join('', args)"}
    found = audited(tmp_path, {"tool": "f", "args": 3}, {"tool": "f", "args": ["{", "}"]}, mappings={"house": mapping})
    assert found.frames["calls"]["text"].to_list() == [None, "{}"]


def test_a_mapping_comes_before_every_format(tmp_path: Path) -> None:
    record = {"model": "m", "messages": [], "tool": "f", "args": {}}
    found = audited(tmp_path, record, mappings=PLAIN)
    assert found.inputs[0]["format"] == "house"


def test_a_mapping_has_a_name_and_fields_of_its_own(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="openai-chat"):
        adapters_of({"openai-chat": {}})
    file = tmp_path / "analyzer.toml"
    file.write_text('[mappings.house]\nargument = "a"\n')
    with pytest.raises(ConfigurationError, match="did you mean 'arguments'"):
        config.load(str(file))


def test_trying_shows_what_becomes_of_the_first_records(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["formats", "--try", str(LOG), "--config", str(SAMPLES / "mapped.toml")]) == 0
    told = capsys.readouterr().out
    assert "read as conveyor" in " ".join(told.split())
    assert "name: move_box" in told
    assert (
        main(["formats", "--try", str(LOG), "--config", str(SAMPLES / "mapped.toml"), "--output-format", "json"]) == 0
    )
    found = json.loads(capsys.readouterr().out)
    assert found["format"] == "conveyor"
    assert [each["call_id"] for each in found["frames"]["call_sightings"]] == ["s1", "s2"]


def test_trying_an_unknown_log_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "odd.jsonl"
    path.write_text('{"a":1}\n')
    assert main(["formats", "--try", str(path)]) == 3
    assert "no format knows them" in " ".join(capsys.readouterr().out.split())


def test_trying_tells_the_fields_that_found_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, settings = tmp_path / "house.jsonl", tmp_path / "analyzer.toml"
    log = [
        {"tool": "f", "in": {"n": 1}},
        {"tool": "f", "out": "x"},
        {"tool": "g", "in": {}},
        {"tool": "g", "args": None},
    ]
    path.write_text("".join(json.dumps(record) + "\n" for record in log))
    settings.write_text('[mappings.house]\nname = "tool"\narguments = "args"\noutput = "out"\nsession = "run.id"\n')
    assert main(["formats", "--try", str(path), "--config", str(settings)]) == 0
    told = capsys.readouterr().out
    assert "`arguments` found nothing in 2 of 3 calls" in told
    assert "`session` found nothing in 4 of 4 records" in told
    assert "`output` found" not in told
    assert "redacted" not in told
    assert main(["formats", "--try", str(path), "--config", str(settings), "--output-format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)["missed"]
    assert found == [{"field": "arguments", "count": 2, "of": 3}, {"field": "session", "count": 4, "of": 4}]
