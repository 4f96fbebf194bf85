"""Agents SDK: what spans of type generation prove of the model's side, beside the spans of what was run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.read.adapters import SAMPLES, assert_golden, assert_nothing_lost, mutations, recorded
from tests.read.truths import audited, errors

SAMPLE = (SAMPLES / "agents-sdk.generations.jsonl").read_bytes()
CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
Record = dict[str, Any]


def called(call_id: str, arguments: Any, name: str = "look") -> Record:
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": text}}


def said(*calls: Record, content: str | None = None) -> Record:
    return {"role": "assistant", "content": content, "refusal": None, "tool_calls": list(calls) or None}


def span(identity: str, parent: str | None, /, **data: Any) -> Record:
    error = data.pop("error", None)
    return {
        "object": "trace.span",
        "id": identity,
        "trace_id": "trace_1",
        "parent_id": parent,
        "started_at": "2026-11-30T10:00:00.000001+00:00",
        "span_data": data,
        "error": error,
    }


def model(identity: str, turn: str | None, sent: list[Any] | None, output: Any, **more: Any) -> Record:
    settings = more.pop("model_config", {"temperature": None})
    data = {"type": "generation", "input": sent, "output": output, "model": "m-1", "model_config": settings}
    return span(identity, turn, **data, **more)


def ran(identity: str, turn: str | None, arguments: Any, output: str | None = "fine", **more: Any) -> Record:
    text = arguments if isinstance(arguments, str) or arguments is None else json.dumps(arguments)
    return span(identity, turn, type="function", name="look", input=text, output=output, mcp_data=None, **more)


ASKED: Record = {"role": "user", "content": "where?"}


def test_a_call_of_the_model_and_its_execution_are_one_call(tmp_path: Path) -> None:
    first = said(called("c1", {"city": "A"}), called("c2", {"city": "B"}))
    told = [{"role": "tool", "tool_call_id": each, "content": "fine"} for each in ("c1", "c2")]
    found = audited(
        tmp_path,
        model("g1", "t1", [ASKED], [first]),
        ran("f2", "t1", {"city": "B"}),
        ran("f1", "t1", {"city": "A"}),
        model("g2", "t2", [ASKED, first, *told], [said(content="there")]),
    )
    calls = found.frames["calls"].select("call_id", "turn", "outcome", "sightings").rows()
    assert calls == [("c1", "t1", "ok", 3), ("c2", "t1", "ok", 3)]
    assert found.frames["results"].height == 2
    assert errors(found) == set()


def test_an_execution_with_other_arguments_is_found(tmp_path: Path) -> None:
    found = audited(
        tmp_path, model("g1", "t1", [ASKED], [said(called("c1", {"city": "A"}))]), ran("f1", "t1", {"city": "Z"})
    )
    assert found.frames["calls"]["call_id"].to_list() == ["c1"]
    assert "args-altered" in found.findings["slug"].to_list()


@pytest.mark.parametrize("arguments", [None, '{"city": "AAAA... [truncated]'])
def test_an_execution_whose_arguments_were_left_out_or_cut_is_no_other_one(
    tmp_path: Path, arguments: str | None
) -> None:
    found = audited(
        tmp_path, model("g1", "t1", [ASKED], [said(called("c1", {"city": "A" * 99}))]), ran("f1", "t1", arguments)
    )
    assert found.frames["calls"].select("call_id", "copies", "outcome").rows() == [("c1", 1, "ok")]
    assert "args-altered" not in found.findings["slug"].to_list()


def test_a_call_that_nothing_ran_is_unanswered(tmp_path: Path) -> None:
    found = audited(
        tmp_path,
        model("g1", "t1", [ASKED], [said(called("c1", {"city": "A"}))]),
        ran("f1", "t1", {"city": "A"}),
        model("g2", "t2", [ASKED], [said(called("c2", {}, "nope"))]),
        span("t2", None, type="custom", name="turn", data={"sdk_span_type": "turn", "turn": 2, "agent_name": "Main"}),
    )
    assert dict(found.frames["calls"].select("call_id", "outcome").iter_rows()) == {"c1": "ok", "c2": "none"}
    assert found.findings.filter(slug="call-unanswered")["call_id"].to_list() == ["c2"]


def test_a_handoff_is_answered_by_what_the_next_request_says(tmp_path: Path) -> None:
    first = said(called("h1", {}, "transfer_to_other"))
    told = {"role": "tool", "tool_call_id": "h1", "content": '{"assistant": "Other"}'}
    found = audited(
        tmp_path,
        model("g1", "t1", [ASKED], [first]),
        span("h", "t1", type="handoff", from_agent="Main", to_agent="Other"),
        model("g2", "t2", [ASKED, first, told], [said(content="hello")]),
        model("g3", "t3", [ASKED, first, told, said(content="hello"), ASKED], [said(content="again")]),
    )
    assert found.frames["calls"].select("call_id", "outcome").rows() == [("h1", "unknown")]
    assert found.frames["results"].height == 1


def test_an_id_that_comes_again_in_another_turn_is_another_call(tmp_path: Path) -> None:
    first, second = said(called("call_0", {"city": "A"})), said(called("call_0", {"city": "B"}))
    told = {"role": "tool", "tool_call_id": "call_0", "content": "fine"}
    found = audited(
        tmp_path,
        model("g1", "t1", [ASKED], [first]),
        ran("f1", "t1", {"city": "A"}),
        model("g2", "t2", [ASKED, first, told], [second]),
        ran("f2", "t2", {"city": "B"}),
        model("g3", "t3", [ASKED, first, told, second, told], [said(content="both")]),
    )
    calls = found.frames["calls"].select("turn", "text", "outcome").rows()
    assert calls == [("t1", '{"city": "A"}', "ok"), ("t2", '{"city": "B"}', "ok")]
    assert found.frames["results"].height == 2
    assert "args-altered" not in found.findings["slug"].to_list()


def test_a_streamed_reply_stands_as_a_response(tmp_path: Path) -> None:
    item = {"type": "function_call", "id": "fc", "call_id": "c1", "name": "look", "arguments": '{"city": 1}'}
    response = {"id": "resp", "object": "response", "model": "m-1", "output": [item], "tools": [], "status": None}
    found = audited(tmp_path, model("g1", "t1", [ASKED], [response]), ran("f1", "t1", {"city": 1}))
    assert found.frames["calls"].select("call_id", "outcome", "pointer").rows() == [
        ("c1", "ok", "/span_data/output/0/output/0/arguments")
    ]


def test_a_tool_table_in_the_settings_is_in_force(tmp_path: Path) -> None:
    tool = {"type": "function", "function": {"name": "look", "parameters": CITY}}
    found = audited(
        tmp_path,
        model("g1", "t1", [ASKED], [said(called("c1", {"city": 1}))], model_config={"tools": [tool]}),
        ran("f1", "t1", {"city": 1}, error={"message": "Error running tool", "data": None}),
    )
    (mismatch,) = found.findings.filter(slug="args-schema-mismatch").to_dicts()
    assert mismatch["contract"]["pointer"].startswith("/span_data/model_config/tools/0")


def test_calls_of_earlier_runs_in_a_first_request_are_read(tmp_path: Path) -> None:
    before = [ASKED, said(called("c0", {"city": "A"})), {"role": "tool", "tool_call_id": "c0", "content": "x"}]
    found = audited(tmp_path, model("g1", "t1", [*before, ASKED], [said(content="done")]))
    assert found.frames["calls"].select("call_id", "outcome").rows() == [("c0", "unknown")]


def test_executions_may_stand_before_what_the_model_said(tmp_path: Path) -> None:
    found = audited(
        tmp_path, ran("f1", "t1", {"city": "A"}), model("g1", "t1", [ASKED], [said(called("c1", {"city": "A"}))])
    )
    assert found.frames["calls"].select("call_id", "outcome").rows() == [("c1", "ok")]


def test_a_trace_that_was_posted_twice_is_read_once(tmp_path: Path) -> None:
    records = [model("g1", "t1", [ASKED], [said(called("c1", {"city": "A"}))]), ran("f1", "t1", {"city": "A"})]
    found = audited(tmp_path, {"data": records}, {"data": records})
    assert found.frames["calls"].height == found.frames["results"].height == 1


@pytest.mark.parametrize("output", [[5], {"odd": 1}, [{"object": "nothing known"}], [{"role": []}]])
def test_what_the_model_said_in_no_known_shape_is_told(tmp_path: Path, output: Any) -> None:
    found = audited(tmp_path, model("g1", "t1", [ASKED], output))
    assert "generation" in found.findings.filter(rule="LOG003")["message"][0]


def test_a_model_that_failed_is_an_error(tmp_path: Path) -> None:
    failed = model("g1", "t1", [ASKED], None, error={"message": "Error getting response", "data": {}})
    found = audited(tmp_path, failed)
    assert found.frames["events"]["kind"].to_list()[-1] == "error"
    assert found.findings.filter(rule="LOG003").is_empty()


def test_the_frames_of_the_sample_are_these() -> None:
    assert_golden("agents-sdk.generations", recorded(SAMPLE)[1])


@given(st.data())
def test_no_mutation_raises_or_loses_a_record(data: st.DataObject) -> None:
    assert_nothing_lost(data.draw(mutations(SAMPLE)))


def test_a_span_with_members_of_other_types_costs_no_other_span_of_its_body(tmp_path: Path) -> None:
    odd = span("f2", "t1", type="function", name="look", input="{}", output="fine", mcp_data={"server": 5})
    found = audited(tmp_path, {"data": [ran("f1", "t1", {"city": "A"}), odd]}, ran("f3", "t1", {"city": "B"}))
    assert found.frames["calls"].height == found.frames["results"].height
    assert found.frames["calls"]["text"].to_list()[-1] == '{"city": "B"}'
    assert found.frames["calls"].height >= 2
