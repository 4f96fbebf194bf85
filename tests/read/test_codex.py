"""Codex rollouts of every age and printed lines: turns, executions, compaction, forks; what a log cannot break."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from analyzer.auditing import Audit, audit
from analyzer.trace import Settings
from tests.read.adapters import SAMPLES, assert_golden, assert_nothing_lost, lines, mutations, recorded

NAME = "codex-rollout"
SAMPLE = (SAMPLES / f"{NAME}.jsonl").read_bytes()
LEGACY = (SAMPLES / f"{NAME}.legacy.jsonl").read_bytes()
PRINTED = (SAMPLES / f"{NAME}.exec.jsonl").read_bytes()
THREAD = "0199f00d-9000-7000-8000-00000000c0de"


def audited(tmp_path: Path, data: bytes, *more: bytes) -> Audit:
    paths = []
    for number, each in enumerate((data, *more)):
        path = tmp_path / f"rollout-{number}.jsonl"
        path.write_bytes(each)
        paths.append(str(path))
    found = audit(paths)
    assert found.crashed == []
    assert found.problems == []
    return found


def errors(found: Audit) -> set[tuple[str, str | None]]:
    rows = found.findings.filter(pl.col("severity") == "error")
    return set(rows.select("slug", "call_id").iter_rows())


def line(kind: str, payload: dict[str, Any], second: int = 0) -> dict[str, Any]:
    return {"timestamp": f"2026-11-30T09:00:{second:02}.000Z", "type": kind, "payload": payload}


def meta(name: str = THREAD, **more: Any) -> dict[str, Any]:
    return line("session_meta", {"id": name, "cwd": "/srv", "cli_version": "0.171.0", **more})


def begun(turn: str) -> dict[str, Any]:
    return line("event_msg", {"type": "task_started", "turn_id": turn})


def ended(turn: str) -> dict[str, Any]:
    return line("event_msg", {"type": "task_complete", "turn_id": turn, "last_agent_message": None})


def called(call_id: str, arguments: str = "{}", name: str = "look", **more: Any) -> dict[str, Any]:
    item = {"type": "function_call", "name": name, "arguments": arguments, "call_id": call_id}
    return line("response_item", {**item, **more})


def output(call_id: str, text: Any = "seen", **more: Any) -> dict[str, Any]:
    return line("response_item", {"type": "function_call_output", "call_id": call_id, "output": text, **more})


def ran(**item: Any) -> dict[str, Any]:
    return line("event_msg", {"type": "item_completed", "thread_id": THREAD, "turn_id": "t", "item": item})


@pytest.mark.parametrize(("name", "data"), [("", SAMPLE), (".legacy", LEGACY), (".exec", PRINTED)])
def test_the_frames_of_the_samples_are_these(name: str, data: bytes) -> None:
    recording, frames = recorded(data)
    assert recording.source_frame()["format"].to_list() == [NAME]
    assert_golden(f"{NAME}{name}", frames)


def test_what_the_sample_holds_is_found(tmp_path: Path) -> None:
    found = audited(tmp_path, SAMPLE)
    assert errors(found) == {
        ("args-field-stringified", "call_s2"),
        ("args-invalid-json", "call_bad"),
        ("compaction-split-pair", "call_d1"),
    }
    turns = found.frames["turns"].select("turn", "status").rows()
    assert turns == [("turn-1", "completed"), ("turn-2", "cancelled")]


def test_a_call_and_its_execution_are_one(tmp_path: Path) -> None:
    found = audited(tmp_path, SAMPLE)
    calls = found.frames["calls"].join(found.frames["results"].select("result", "success", "text"), on="result")
    told = {
        call: (name, success, text)
        for call, name, success, text in calls.select("call_id", "name", "success", "text_right").iter_rows()
    }
    assert told["call_s1"] == ("find_seed", True, "drawer 4")
    assert told["call_s2"] == ("find_seed", False, "id must be an integer")
    assert told["call_m1"] == ("measure", True, '{"cm":120}')
    assert told["call_d1"] == ("open_door", None, "open")


def test_an_id_may_come_again_in_a_thread(tmp_path: Path) -> None:
    found = audited(
        tmp_path,
        lines(
            meta(),
            begun("t"),
            called("c", '{"n":1}'),
            ran(
                type="DynamicToolCall",
                id="c",
                tool="look",
                arguments={"n": 1},
                status="completed",
                success=True,
                content_items=[{"type": "inputText", "text": "one"}],
            ),
            output("c", "one"),
            called("c", '{"n":2}'),
            ran(
                type="DynamicToolCall",
                id="c",
                tool="look",
                arguments={"n": 2},
                status="failed",
                success=False,
                content_items=[{"type": "inputText", "text": "two"}],
            ),
            output("c", "two"),
            ended("t"),
        ),
    )
    assert found.frames["calls"].select("text", "outcome").rows() == [('{"n":1}', "ok"), ('{"n":2}', "error")]
    assert found.frames["results"]["text"].to_list() == ["one", "two"]
    assert errors(found) == set()


def test_a_file_written_anew_on_resume_repeats_nothing(tmp_path: Path) -> None:
    old = [meta(), begun("t"), called("c"), output("c"), ended("t")]
    found = audited(tmp_path, lines(*old), lines(*old, begun("u"), called("d"), output("d"), ended("u")))
    assert found.frames["calls"]["call_id"].to_list() == ["c", "d"]
    assert found.frames["results"]["call_id"].to_list() == ["c", "d"]
    assert errors(found) == set()


def test_an_execution_that_ends_long_after_its_output_is_no_second_result(tmp_path: Path) -> None:
    late = ran(
        type="CommandExecution", id="c", command=["sleep"], status="completed", exit_code=0, aggregated_output="x"
    )
    found = audited(tmp_path, lines(meta(), begun("t"), called("c"), output("c"), ended("t"), late))
    assert found.frames["results"].height == 1
    assert not {"result-late", "result-duplicate"} & set(found.findings["slug"])


def test_a_fork_knows_its_parent_and_owes_it_nothing(tmp_path: Path) -> None:
    fork = meta("0199f00d-9001-7000-8000-00000000c0de", forked_from_id=THREAD, forked_from_ordinal_exclusive=4)
    found = audited(tmp_path, lines(fork, begun("u"), output("c"), ended("u")))
    assert found.frames["summaries"]["what"].to_list() == ["fork"]
    assert errors(found) == set()
    alone = audited(tmp_path, lines(meta(), begun("u"), output("c"), ended("u")))
    assert errors(alone) == {("result-orphan", "c")}


def test_the_header_of_a_copied_history_is_not_another_thread(tmp_path: Path) -> None:
    found = audited(tmp_path, lines(meta(), meta("older"), begun("t"), called("c"), output("c"), ended("t")))
    assert found.frames["sessions"]["session"].to_list() == [THREAD]


def test_the_headers_of_all_that_a_copy_was_forked_from_are_none(tmp_path: Path) -> None:
    history = (begun("t"), called("c"), output("c"), ended("t"))
    found = audited(tmp_path, lines(meta(), meta("older"), meta("oldest"), *history))
    assert found.frames["sessions"]["session"].to_list() == [THREAD]
    later = audited(tmp_path, lines(meta(parent_thread_id="p"), begun("s"), ended("s"), meta("p"), *history))
    assert later.frames["sessions"]["session"].to_list() == [THREAD]


def test_rollouts_one_after_the_other_in_a_file_are_threads_of_their_own(tmp_path: Path) -> None:
    def thread(name: str, kind: str, call_id: str) -> list[dict[str, Any]]:
        schema = {"type": "object", "properties": {"n": {"type": kind}}}
        tool = {"type": "function", "name": "look", "description": "d", "inputSchema": schema}
        rows = [begun(f"t-{name}"), called(call_id, '{"n":1}'), output(call_id), ended(f"t-{name}")]
        return [meta(name, dynamic_tools=[tool]), *rows]

    log = lines(*thread("one", "integer", "c"), *thread("two", "string", "c"), *thread("one", "integer", "d"))
    found = audited(tmp_path, log)
    assert found.frames["sessions"]["session"].to_list() == ["one", "two"]
    of_calls = found.frames["calls"].select("session", "turn", "call_id").sort("call_id", "session").rows()
    assert of_calls == [("one", "t-one", "c"), ("two", "t-two", "c"), ("one", "t-one", "d")]
    assert errors(found) == {("args-schema-mismatch", "c")}


def test_compaction_keeps_copies(tmp_path: Path) -> None:
    pair = [called("c", '{"n":1}')["payload"], output("c")["payload"]]
    history = [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "go"}]}, *pair]
    cut = line("compacted", {"message": "done", "replacement_history": history})
    found = audited(tmp_path, lines(meta(), begun("t"), called("c", '{"n":1}'), output("c"), cut, cut, ended("t")))
    assert found.frames["calls"].select("text", "copies").rows() == [('{"n":1}', 1)]
    assert found.frames["results"].height == 1
    assert errors(found) == set()
    altered = line("compacted", {"message": "", "replacement_history": [called("c", '{"n":2}')["payload"], pair[1]]})
    other = audited(tmp_path, lines(meta(), begun("t"), called("c", '{"n":1}'), output("c"), altered, ended("t")))
    assert other.frames["calls"]["copies"].to_list() == [2]


def test_pictures_and_repeated_history_are_not_kept() -> None:
    picture = {"type": "input_image", "image_url": "data:image/png;base64," + "A" * 2_000_000}
    history = [{"type": "message", "role": "user", "content": [picture]}, called("c", '{"n":1}')["payload"]]
    cuts = [line("compacted", {"message": "", "replacement_history": history})] * 8
    _, frames = recorded(lines(meta(), begun("t"), called("c", '{"n":1}'), output("c", [picture]), *cuts))
    assert sum(frame.estimated_size() for frame in frames.values()) < 100_000


def test_compressed_rollouts_are_read(tmp_path: Path) -> None:
    path = tmp_path / "rollout.jsonl.zst"
    path.write_bytes(zstandard.compress(SAMPLE))
    assert audit([str(path)]).frames["calls"].height == audited(tmp_path, SAMPLE).frames["calls"].height


def test_declared_tools_judge_and_built_in_ones_are_unknown(tmp_path: Path) -> None:
    schema = {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]}
    tools = [{"type": "function", "name": "look", "description": "", "inputSchema": schema}]
    found = audited(
        tmp_path,
        lines(
            meta(dynamic_tools=tools),
            begun("t"),
            called("c", '{"id":"x"}'),
            output("c"),
            called("d", "{}", "exec_command"),
            output("d"),
        ),
    )
    assert errors(found) == {("args-schema-mismatch", "c")}
    assert found.frames["verdicts"]["reason"].to_list() == [None, "schema_unavailable"]


@given(st.data())
def test_no_mutation_raises_or_loses_a_record(data: st.DataObject) -> None:
    assert_nothing_lost(data.draw(mutations(data.draw(st.sampled_from((SAMPLE, LEGACY, PRINTED))))))


@pytest.mark.parametrize("name", ["gen-0171-exec-faults-and-resume.jsonl", "gen-0171-dynamic-mcp-parent.jsonl"])
def test_the_recorded_logs_give_the_counts_that_are_known(shared: Path, name: str) -> None:
    truth = json.loads((shared / "data" / "truth.json").read_text())[NAME][name]
    found = audit([str(shared / "data" / NAME / name)])
    calls = found.frames["calls"]
    assert truth == {
        "sessions": found.frames["sessions"].height,
        "calls": calls.height,
        "results": found.frames["results"].height,
        "dup_call_ids": calls.height - calls["call_id"].n_unique(),
    }
    assert calls["result"].null_count() == 0


@pytest.mark.parametrize(
    ("policy", "told"), [("never", True), ("on-request", False), ({"granular": {"rules": True}}, False)]
)
def test_the_approval_policy_of_a_turn_is_that_of_its_calls(tmp_path: Path, policy: Any, told: bool) -> None:
    log = [json.loads(line) for line in SAMPLE.splitlines()]
    for line in log:
        if line["type"] == "turn_context":
            line["payload"]["approval_policy"] = policy
    (tmp_path / "log.jsonl").write_bytes(lines(*log))
    found = audit(tmp_path, settings=Settings(writes=frozenset({"exec_command"})))
    assert found.findings.filter(rule="RUN013")["call_id"].to_list() == (["call_ls", "call_bad"] if told else [])
    assert "RUN005" not in found.findings["rule"].to_list()


def test_a_dynamic_tool_without_a_type_is_the_programs_own(tmp_path: Path) -> None:
    tools = [{"name": "look", "description": "", "inputSchema": {"type": "object", "required": ["at"]}}]
    found = audited(tmp_path, lines(meta(dynamic_tools=tools), begun("t1"), called("c1")))
    assert found.frames["verdicts"]["verdict_is"].to_list() == ["invalid"]
