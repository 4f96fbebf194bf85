"""Responses: sessions out of requests and responses, resent history, streams, exchanges; what a log cannot break."""

from __future__ import annotations

import json
import re
import textwrap
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzer.auditing import Audit, audit
from tests.read.adapters import SAMPLES, assert_golden, assert_nothing_lost, lines, mutations, recorded

NAME = "openai-responses"
SAMPLE = (SAMPLES / f"{NAME}.jsonl").read_bytes()
STREAM = (SAMPLES / f"{NAME}.sse").read_bytes()
TOOL = {
    "type": "function",
    "name": "look",
    "parameters": {
        "type": "object",
        "properties": {"at": {"type": "string"}},
        "required": ["at"],
        "additionalProperties": False,
    },
    "strict": False,
}


def audited(tmp_path: Path, *records: Any, name: str = "log.jsonl") -> Audit:
    path = tmp_path / name
    path.write_bytes(lines(*records))
    found = audit([str(path)])
    assert found.crashed == []
    assert found.problems == []
    return found


def errors(found: Audit) -> set[tuple[str, str | None]]:
    rows = found.findings.filter(pl.col("severity") == "error")
    return set(rows.select("slug", "call_id").iter_rows())


def asked(*items: Any, tools: Any = (TOOL,), **more: Any) -> dict[str, Any]:
    return {"model": "m", "input": list(items), "tools": list(tools), **more}


def answered(name: str, *output: Any, tools: Any = (TOOL,), before: str | None = None, **more: Any) -> dict[str, Any]:
    head = {"id": f"resp_{name}", "object": "response", "created_at": 1796000000, "model": "m", "status": "completed"}
    return {**head, "output": list(output), "tools": list(tools), "previous_response_id": before, **more}


def called(name: str, arguments: str = '{"at":"door"}', **more: Any) -> dict[str, Any]:
    item = {"type": "function_call", "id": f"fc_{name}", "call_id": f"call_{name}", "name": "look"}
    return {**item, "arguments": arguments, "status": "completed", **more}


def output(name: str, text: Any = "seen") -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": f"call_{name}", "output": text}


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def said(name: str, text: str = "ok") -> dict[str, Any]:
    content = [{"type": "output_text", "text": text, "annotations": []}]
    return {"type": "message", "id": f"msg_{name}", "role": "assistant", "status": "completed", "content": content}


def test_the_frames_of_the_sample_are_these() -> None:
    recording, frames = recorded(SAMPLE)
    assert recording.source_frame()["format"].to_list() == [NAME]
    assert_golden(NAME, frames)


def test_the_frames_of_the_stream_are_these() -> None:
    recording, frames = recorded(STREAM, name="log.sse")
    assert recording.source_frame()["format"].to_list() == [NAME]
    assert_golden(f"{NAME}.sse", frames)


@pytest.mark.parametrize("name", ["har", "cassette.yaml"])
def test_archives_hold_the_same_session(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes((SAMPLES / f"{NAME}.{name}").read_bytes())
    found = audit([str(path)])
    assert found.frames["sessions"].height == 1
    assert found.frames["calls"].select("name", "outcome").rows() == [("read_moisture", "unknown")]
    assert found.frames["verdicts"]["verdict_is"].to_list() == ["valid", "valid"]
    assert found.inputs[0]["records"] == 2
    assert found.frames["events"]["pointer"].str.contains("/1/").any()


def test_a_cut_cassette_is_read_up_to_the_cut(tmp_path: Path) -> None:
    whole = (SAMPLES / f"{NAME}.cassette.yaml").read_bytes()
    path = tmp_path / "cut.yaml"
    path.write_bytes(whole[: len(whole) * 3 // 4])
    found = audit([str(path)])
    assert found.frames["calls"].height == 1
    assert found.inputs[0]["unreadable"] == 1


def test_of_a_broken_cassette_the_other_interactions_are_read(tmp_path: Path) -> None:
    whole = (SAMPLES / f"{NAME}.cassette.yaml").read_text()
    at = whole.index("- request")
    path = tmp_path / "broken.yaml"
    path.write_text(whole[:at] + '- request:\n    body: "never ended\n  response: }\n' + whole[at:])
    found = audit([str(path)])
    assert found.frames["calls"].select("name", "outcome").rows() == [("read_moisture", "unknown")]
    assert (found.inputs[0]["records"], found.inputs[0]["unreadable"]) == (3, 1)
    (fault,) = found.findings.filter(pl.col("rule") == "LOG001").to_dicts()
    assert fault["location"]["pointer"] == "/interactions/0"


@pytest.mark.parametrize("cut", [False, True])
def test_interactions_may_share_what_they_hold(tmp_path: Path, cut: bool) -> None:
    whole = (SAMPLES / f"{NAME}.cassette.yaml").read_text()
    one, two = [at.start() for at in re.finditer(r"(?m)^- request:", whole)]
    shared = whole.replace("- request:\n", "- request: &asked\n", 1)
    end = "- request: *asked\n  response: {status" + ("" if cut else ": {code: 500}}\nversion: 1\n")
    path = tmp_path / "shared.yaml"
    path.write_text(shared[: two + len(" &asked")] + end)
    assert one < two
    found = audit([str(path)])
    assert found.frames["calls"].height == 1
    assert (found.inputs[0]["records"], found.inputs[0]["unreadable"]) == (2, int(cut))


def test_items_of_a_cassette_may_be_indented(tmp_path: Path) -> None:
    head, body = (SAMPLES / f"{NAME}.cassette.yaml").read_text().split("interactions:\n")
    body, end = body.split("version:")
    path = tmp_path / "indented.yaml"
    path.write_text(f"{head}interactions: # of a day\n\n{textwrap.indent(body, '  ')}version:{end}")
    found = audit([str(path)])
    assert found.frames["calls"].height == 1
    assert (found.inputs[0]["records"], found.inputs[0]["unreadable"]) == (2, 0)


def test_a_cassette_of_endless_aliases_is_refused_in_time(tmp_path: Path) -> None:
    bomb = "version: 1\na0: &a0 [x, x, x, x, x, x, x, x, x]\n"
    bomb += "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 30))
    path = tmp_path / "bomb.yaml"
    path.write_text(f"{bomb}interactions:\n- *a29\n")
    assert audit([str(path)]).inputs[0]["unreadable"] == 1


def test_what_the_sample_holds_is_found(tmp_path: Path) -> None:
    found = audited(tmp_path, *SAMPLE.splitlines())
    assert errors(found) >= {
        ("args-schema-mismatch", "call_g3"),
        ("args-schema-mismatch", None),
        ("tool-schema-invalid", None),
    }
    assert not {slug for slug, _ in errors(found)} & {"result-orphan", "result-duplicate", "call-unanswered"}
    assert found.frames["sessions"]["session"].to_list() == [
        *("resp_g1", "resp_k1", "conv_orchard", "resp_p1", "resp_m1"),
        *(found.frames["sessions"]["session"].to_list()[5], "resp_x1"),
    ]


def test_resent_history_is_no_new_call(tmp_path: Path) -> None:
    history = [user("look")]
    first = asked(*history, store=False)
    history += [called("a"), output("a")]
    second = asked(*history, store=False)
    history += [called("b"), output("b"), user("again")]
    third = asked(*history, store=False)
    found = audited(
        tmp_path, first, answered("1", called("a")), second, answered("2", called("b")), third, answered("3", said("c"))
    )
    assert found.frames["calls"]["call_id"].to_list() == ["call_a", "call_b"]
    assert found.frames["results"]["call_id"].to_list() == ["call_a", "call_b"]
    assert found.frames["results"]["rank"].to_list() == [0, 0]
    assert found.frames["sessions"].height == 1
    assert [text for text in found.frames["messages"]["text"] if text != "ok"] == ["look", "again"]
    assert errors(found) == set()


def test_history_that_is_spelled_anew_is_no_new_call_either(tmp_path: Path) -> None:
    bare = {key: value for key, value in called("a").items() if key not in {"id", "status"}}
    found = audited(
        tmp_path,
        asked(user("look")),
        answered("1", called("a")),
        asked(user("look"), bare, output("a")),
        answered("2", said("b")),
        asked(user("look"), {**called("a"), "id": "fc_changed"}, output("a"), said("b"), user("and?")),
        answered("3", said("c")),
    )
    assert found.frames["calls"].height == 1
    assert found.frames["results"].height == 1
    assert found.frames["sessions"].height == 1
    assert errors(found) == set()


def test_a_result_sent_again_after_another_response_is_a_second_one(tmp_path: Path) -> None:
    first = (asked(user("look")), answered("1", called("a")))
    tried = asked(output("a"), previous_response_id="resp_1")
    failed = {"error": {"message": "overloaded", "type": "server_error", "code": None}}
    once = audited(tmp_path, *first, tried, failed, tried, answered("2", said("b"), before="resp_1"))
    assert errors(once) == set()
    assert once.frames["results"].height == 1
    again = asked(output("a", "seen differently"), previous_response_id="resp_2")
    twice = audited(tmp_path, *first, tried, answered("2", said("b"), before="resp_1"), again, name="twice.jsonl")
    assert errors(twice) == {("result-duplicate", "call_a")}


def test_equal_requests_are_two_attempts(tmp_path: Path) -> None:
    found = audited(
        tmp_path, asked(user("look")), answered("1", called("a")), asked(user("look")), answered("2", called("b"))
    )
    assert found.frames["sessions"]["session"].to_list() == ["resp_1", "resp_2"]
    assert errors(found) == set()


@pytest.mark.parametrize("chained", [False, True])
@pytest.mark.parametrize("in_pieces", [False, True])
def test_a_reply_that_is_made_anew_leaves_no_debt(tmp_path: Path, *, chained: bool, in_pieces: bool) -> None:
    begun = (asked(user("look")), answered("1", called("a")))
    if chained:
        again = asked(output("a"), previous_response_id="resp_1")
        last = asked(output("c"), previous_response_id="resp_3")
    else:
        again = asked(user("look"), called("a"), output("a"))
        last = asked(user("look"), called("a"), output("a"), called("c"), output("c"))
    before = "resp_1" if chained else None
    replies = [answered(name, called(call), before=before) for name, call in (("2", "b"), ("3", "c"))]
    found = audited(
        tmp_path,
        *begun,
        again,
        *(chunks_of(replies[0]) if in_pieces else [replies[0]]),
        again,
        *(chunks_of(replies[1]) if in_pieces else [replies[1]]),
        last,
        answered("4", said("d"), before="resp_3" if chained else None),
    )
    assert found.frames["calls"].select("call_id", "outcome").rows() == [
        ("call_a", "unknown"),
        ("call_b", "none"),
        ("call_c", "unknown"),
    ]
    assert found.frames["sessions"].height == 1
    assert errors(found) == set()


def chunks_of(reply: dict[str, Any]) -> list[Any]:
    items = [
        {"type": "response.output_item.done", "output_index": index, "item": item}
        for index, item in enumerate(reply["output"])
    ]
    return [
        {"type": "response.created", "response": {**reply, "output": [], "status": "in_progress"}},
        *items,
        {"type": "response.completed", "response": reply},
    ]


def test_a_session_goes_on_in_the_next_file(tmp_path: Path) -> None:
    one, two = tmp_path / "1.jsonl", tmp_path / "2.jsonl"
    one.write_bytes(lines(asked(user("look")), answered("1", called("a"))))
    two.write_bytes(lines(asked(output("a"), previous_response_id="resp_1"), answered("2", said("b"), before="resp_1")))
    found = audit([str(one), str(two)])
    assert found.frames["sessions"]["session"].to_list() == ["resp_1"]
    assert found.frames["calls"]["outcome"].to_list() == ["unknown"]


def test_open_calls_are_debts_only_where_requests_are_recorded(tmp_path: Path) -> None:
    bodies = (answered("1", called("a")), answered("2", said("b"), before="resp_1"))
    assert errors(audited(tmp_path, *bodies)) == set()
    asked_for = (asked(user("look")), bodies[0], asked(user("never mind"), previous_response_id="resp_1"), bodies[1])
    assert errors(audited(tmp_path, *asked_for, name="asked.jsonl")) == {("call-unanswered", "call_a")}


def test_a_table_holds_for_its_request(tmp_path: Path) -> None:
    other = {**TOOL, "name": "wait"}
    found = audited(
        tmp_path,
        asked(user("look")),
        answered("1", called("a")),
        asked(output("a"), tools=[other], previous_response_id="resp_1"),
        answered("2", called("b"), tools=[other], before="resp_1"),
    )
    assert errors(found) == {("tool-not-advertised", "call_b")}


def test_what_was_added_stays_when_the_next_request_has_its_own_table(tmp_path: Path) -> None:
    added = {"type": "additional_tools", "role": "developer", "tools": [{**TOOL, "name": "wait"}]}
    found = audited(
        tmp_path,
        asked(user("look"), added),
        answered("1", called("a")),
        asked(output("a"), previous_response_id="resp_1"),
        answered("2", called("b") | {"name": "wait"}, before="resp_1"),
    )
    assert errors(found) == set()
    assert found.frames["verdicts"]["verdict_is"].to_list() == ["valid", "valid"]


def test_a_namespace_of_the_functions_own_name_is_none(tmp_path: Path) -> None:
    wrapped = {"type": "namespace", "name": "look", "tools": [TOOL]}
    found = audited(
        tmp_path,
        asked(user("look")),
        answered("1", called("a", namespace="look")),
        asked(output("a"), tools=[wrapped], previous_response_id="resp_1"),
        answered("2", called("b"), tools=[wrapped], before="resp_1"),
    )
    assert found.frames["calls"]["tool"].to_list() == ["function::look"] * 2
    assert found.frames["verdicts"]["verdict_is"].to_list() == ["valid", "valid"]
    assert errors(found) == set()


def test_the_servers_own_search_is_joined_to_what_follows(tmp_path: Path) -> None:
    found = audited(tmp_path, *SAMPLE.splitlines())
    search = found.frames["calls"].filter(pl.col("name") == "tool_search")
    assert search.select("kind", "call_id").rows() == [("hosted", None)]
    assert search["result"].null_count() == 0


def streamed(
    *pieces: str, final: str, told: str | None = None, ids: tuple[str, str, str] = ("i", "i", "i")
) -> list[Any]:
    begun = {**called("a", ""), "id": ids[0], "status": "in_progress"}
    chunks: list[Any] = [
        {"type": "response.created", "response": answered("1", status="in_progress")},
        {"type": "response.output_item.added", "output_index": 0, "item": begun},
    ]
    name = "response.function_call_arguments"
    chunks += [{"type": f"{name}.delta", "output_index": 0, "item_id": ids[1], "delta": piece} for piece in pieces]
    whole = "".join(pieces) if told is None else told
    chunks += [
        {"type": f"{name}.done", "output_index": 0, "item_id": ids[1], "arguments": whole},
        {"type": "response.output_item.done", "output_index": 0, "item": {**called("a", final), "id": ids[1]}},
        {"type": "response.completed", "response": answered("1", {**called("a", final), "id": ids[2]})},
    ]
    return chunks


def test_a_proxy_may_change_the_ids_of_items_on_the_way(tmp_path: Path) -> None:
    chunks = streamed('{"at":', '"door"}', final='{"at":"door"}', ids=("i1", "i2", "i3"))
    found = audited(tmp_path, *chunks)
    assert found.frames["calls"].select("call_id", "text").rows() == [("call_a", '{"at":"door"}')]
    assert errors(found) == set()


@pytest.mark.parametrize("told", [None, '{"at":"roof"}'])
def test_pieces_must_add_up_to_the_arguments(tmp_path: Path, told: str | None) -> None:
    found = audited(tmp_path, *streamed('{"at":', '"wall"}', final='{"at":"door"}', told=told))
    assert errors(found) == {("args-altered", "call_a")}
    assert found.frames["calls"]["text"].to_list() == ['{"at":"door"}']


def test_a_stream_that_ends_early_leaves_a_call_that_cannot_be_judged(tmp_path: Path) -> None:
    chunks = streamed('{"at":', final="")[:3]
    found = audited(tmp_path, asked(user("look"), stream=True), *chunks)
    assert found.frames["verdicts"].select("verdict_is", "reason").rows() == [("unverifiable", "payload_truncated")]
    assert errors(found) == set()


def test_a_body_kept_as_text_is_opened(tmp_path: Path) -> None:
    exchange = {
        "http": {"method": "POST", "path": "/v1/responses", "body": json.dumps(asked(user("look")))},
        "response": {"status": 200, "body": json.dumps(answered("1", called("a", '{"at":7}')))},
    }
    found = audited(tmp_path, exchange)
    assert errors(found) == {("args-schema-mismatch", "call_a")}
    location = found.findings.filter(pl.col("slug") == "args-schema-mismatch")["location"][0]
    assert location["pointer"] == "/response/body"


def test_refused_results_answer_nothing(tmp_path: Path) -> None:
    first = {
        "request": asked(user("look")),
        "response": answered("1", called("a")),
        "uri": "/v1/responses",
        "status": 200,
    }
    second = {
        "request": asked(output("a"), previous_response_id="resp_1"),
        "response": {"error": {"message": "no", "type": "invalid_request_error"}},
        "uri": "/v1/responses",
        "status": 400,
    }
    found = audited(tmp_path, first, second)
    assert found.frames["results"].height == 0
    assert found.frames["calls"]["outcome"].to_list() == ["none"]


def test_a_response_is_looked_up_until_it_is_done(tmp_path: Path) -> None:
    running = answered("1", called("a", '{"at":"d', status="in_progress"), status="in_progress")
    found = audited(tmp_path, asked(user("look"), background=True), running, answered("1", called("a")))
    assert found.frames["calls"].select("text", "copies").rows() == [('{"at":"door"}', 2)]
    assert errors(found) == set()


def test_requests_over_a_socket_have_a_type(tmp_path: Path) -> None:
    chunks = streamed('{"at":7}', final='{"at":7}')
    found = audited(tmp_path, {"type": "response.create", **asked(user("look"))}, *chunks)
    assert errors(found) == {("args-schema-mismatch", "call_a")}
    assert found.frames["events"]["type"][0] == "request.create"


def test_other_wires_are_left_to_others() -> None:
    chat = {"model": "m", "messages": [user("hi")], "tools": []}
    embedding = {"model": "m", "input": "words", "encoding_format": "float"}
    recording, _ = recorded(lines(chat, embedding), input_format=NAME)
    assert NAME not in recording.source_frame()["format"][0].split(",")


@given(st.data())
def test_no_mutation_raises_or_loses_a_record(data: st.DataObject) -> None:
    assert_nothing_lost(data.draw(mutations(SAMPLE)))


@given(st.data())
def test_no_mutation_of_a_stream_raises(data: st.DataObject) -> None:
    recording, _ = recorded(data.draw(mutations(STREAM)), name="log.sse")
    assert not recording.problems


def test_the_recorded_logs_give_these_counts(shared: Path) -> None:
    """Nothing is written down of this folder but the recordings: bodies without their requests, so calls stay open."""
    folder = shared / "data" / "responses"
    found = audit([str(folder)])
    calls, results = found.frames["calls"], found.frames["results"]
    by_kind = dict(calls.group_by("kind").len().sort("kind").iter_rows())
    # 3 hosted searches and the functions they loaded, 2 calls of a program and the program, a server's call.
    assert by_kind == {"function": 5, "hosted": 3, "mcp": 1, "program": 1}
    assert found.frames["sessions"].height == 10
    # Of the results one was posted (the cassette), one is the server's, three are searches', one ends a program whose
    # beginning is in another file, and the files are not linked: the server kept nothing.
    assert results.height == 6
    assert results.filter(pl.col("call").is_null())["pair_id"].to_list() == ["call_O2IvSLQcJ0bwIvJZ2ovGV69M"]
    verdicts = found.frames["verdicts"].filter(pl.col("role") == "arguments")
    assert set(verdicts["verdict_is"]) == {"valid", "not_applicable"}
    assert found.summary["findings"]["error"] == 0


def test_a_resumed_stream_that_gives_pieces_again_adds_up_once(tmp_path: Path) -> None:
    body = {"id": "r1", "object": "response", "status": "in_progress", "output": []}
    item = {"type": "function_call", "id": "fc1", "call_id": "c1", "name": "look"}
    piece = {"type": "response.function_call_arguments.delta", "output_index": 0, "item_id": "fc1"}
    log = [
        {"type": "response.created", "sequence_number": 0, "response": body},
        {
            "type": "response.output_item.added",
            "sequence_number": 1,
            "output_index": 0,
            "item": {**item, "arguments": ""},
        },
        {**piece, "sequence_number": 2, "delta": '{"at":'},
        {**piece, "sequence_number": 2, "delta": '{"at":'},
        {**piece, "sequence_number": 3, "delta": '"A"}'},
    ]
    whole = {**item, "arguments": '{"at":"A"}', "status": "completed"}
    log.append({"type": "response.output_item.done", "sequence_number": 4, "output_index": 0, "item": whole})
    found = audited(tmp_path, lines(*log))
    assert found.frames["calls"].select("text", "copies").rows() == [('{"at":"A"}', 1)]


def test_a_stream_without_pieces_that_breaks_off_shows_what_stood_at_their_end(tmp_path: Path) -> None:
    item = {"type": "function_call", "id": "fc1", "call_id": "c1", "name": "look", "arguments": ""}
    log = [
        {"type": "response.created", "response": {"id": "r1", "object": "response", "status": "in_progress"}},
        {"type": "response.output_item.added", "output_index": 0, "item": item},
        {"type": "response.function_call_arguments.done", "output_index": 0, "item_id": "fc1", "arguments": '{"at":3}'},
    ]
    found = audited(tmp_path, lines(*log))
    assert found.frames["calls"].select("text", "status").rows() == [('{"at":3}', "in_progress")]
