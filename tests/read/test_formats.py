"""What is told of the formats is what there is."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from analyzer import audit
from analyzer.read import ADAPTERS
from analyzer.report.text import page
from tests.read.adapters import lines, recorded

ROOT = Path(__file__).parents[2]


def test_the_readme_lists_the_formats_that_are_read() -> None:
    section = (ROOT / "README.md").read_text(encoding="utf-8").partition("\n## Formats\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| `([^`]+)` \| (.+) \|$", section, re.MULTILINE)
    assert rows == [(each.name, each.title) for each in ADAPTERS]


def test_every_adapter_in_the_folder_is_in_the_list() -> None:
    files = [file for file in (ROOT / "analyzer" / "read").rglob("*.py") if "known_by: ClassVar" in file.read_text()]
    modules = {".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__") for file in files}
    assert modules - {"analyzer.read.adapter", "analyzer.read.mapped"} == {each.__module__ for each in ADAPTERS}


SAMPLES = sorted((ROOT / "sample_traces" / "formats").glob("*.jsonl"))


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.stem)
def test_numbers_that_fit_no_column_end_nothing(sample: Path) -> None:
    text = sample.read_text(encoding="utf-8")
    for name in sorted(set(re.findall(r'"(\w+)": ?\d', text))):
        grown = re.sub(rf'("{name}": ?)\d+(?=[,}}])', r"\g<1>1000000000000000000000", text)
        recording, _ = recorded(grown.encode())
        assert recording.sources[0]["unreadable"] == 0


USER = {"role": "user", "content": "hi"}
ASKED: dict[str, tuple[str, Any]] = {
    "openai-chat": ("/v1/chat/completions", {"model": "m", "messages": [USER]}),
    "openai-responses": ("/v1/responses", {"model": "m", "input": [USER]}),
    "anthropic-messages": ("/v1/messages", {"model": "m", "max_tokens": 9, "messages": [USER]}),
    "gemini": ("/v1beta/models/g:generateContent", {"contents": [{"role": "user", "parts": [{"text": "hi"}]}]}),
    "bedrock": ("/model/m/converse", {"messages": [{"role": "user", "content": [{"text": "hi"}]}]}),
    "managed-agents": ("/v1/sessions/sesn_1/events", {"events": [{"type": "user.message", "content": "hi"}]}),
    "mcp-jsonrpc": ("/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}),
    "agents-sdk": ("/v1/traces/ingest", '{"data":[{"object":"trace","id":"trace_1"'),
}


@pytest.mark.parametrize("name", ASKED)
def test_a_body_that_a_recorder_has_cut_is_named(name: str) -> None:
    url, asked = ASKED[name]
    half = {"method": "POST", "url": f"https://api.example{url}", "body": asked}
    cut = {"status": 200, "body": '{"id":"r1","error":null,"result":{"text":"and th'}
    recording, frames = recorded(lines({"http": half, "response": None if name == "agents-sdk" else cut}))
    assert recording.sources[0]["format"] == name
    assert frames["faults"]["fault"].to_list() == ["unreadable"]
    assert "is cut" in frames["faults"]["detail"][0]
    assert recording.sources[0]["unreadable"] == 1
    assert set(frames["faults"]["event"]) <= set(frames["events"]["event"])


def test_a_format_that_is_named_settles_it_and_a_wrong_one_is_an_error() -> None:
    log = ROOT / "sample_traces" / "1-morning.ndjson"
    found = audit(log, input_format="openai-chat", lenient=True)
    assert found.inputs[0]["format"] == ""
    assert found.summary["calls"] == 0
    (problem,) = found.problems
    assert str(problem) == f"{log}: no record of it is openai-chat; it looks like openai-agents-api"
    assert problem.advice == "--input-format openai-agents-api"
    assert audit(log, input_format="openai-agents-api").problems == []


def test_beside_the_named_format_nothing_is_read_but_gate_records(tmp_path: Path) -> None:
    formats = ROOT / "sample_traces" / "formats"
    log = tmp_path / "log.jsonl"
    names = ("mcp-jsonrpc", "openai-chat", "gate-records")
    log.write_bytes(b"".join((formats / f"{name}.jsonl").read_bytes() for name in names))
    assert audit(log).inputs[0]["format"] == ",".join(sorted(names))
    assert audit(log, input_format="mcp-jsonrpc").inputs[0]["format"] == "gate-records,mcp-jsonrpc"


def test_what_the_formats_read_cannot_prove_is_told_under_the_coverage() -> None:
    formats = ROOT / "sample_traces" / "formats"
    told = " ".join(page(audit(formats / "claude-code-jsonl.jsonl"), next_command="").split())
    for sentence in next(each for each in ADAPTERS if each.name == "claude-code-jsonl").loses:
        assert f"claude-code-jsonl: {sentence}" in told
    many = " ".join(page(audit(formats), next_command="").split())
    assert "strands, mlflow, gate-records: `analyzer formats NAME` says it of each" in many
