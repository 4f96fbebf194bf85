"""Anthropic Messages: conversations, resent history, server tools, streams; what a log cannot break."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzer import Audit, audit
from analyzer.read.limits import BLOCK
from tests.read.adapters import SAMPLES, assert_golden, assert_nothing_lost, lines, mutations, recorded

SAMPLE = (SAMPLES / "anthropic-messages.jsonl").read_bytes()
NAME = "anthropic-messages"
TOOL = {
    "name": "look",
    "input_schema": {"type": "object", "properties": {"at": {"type": "string"}}, "required": ["at"]},
}


def audited(tmp_path: Path, *records: Any, **options: Any) -> Audit:
    path = tmp_path / "log.jsonl"
    path.write_bytes(lines(*records))
    found = audit([str(path)], **options)
    assert found.crashed == []
    assert found.problems == []
    return found


def user(*content: Any) -> dict[str, Any]:
    return {
        "role": "user",
        "content": content[0] if len(content) == 1 and isinstance(content[0], str) else list(content),
    }


def assistant(*content: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": list(content)}


def use(call_id: str, at: Any = "door", **more: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": "look", "input": {"at": at}, **more}


def result(call_id: str, content: Any = "seen", **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": call_id, "content": content, **more}


def asked(*messages: Any, **more: Any) -> dict[str, Any]:
    return {"model": "claude-x", "max_tokens": 99, "tools": [TOOL], "messages": list(messages), **more}


def replied(number: int, *content: Any, stop: str = "tool_use") -> dict[str, Any]:
    return {
        "id": f"msg_{number}",
        "type": "message",
        "role": "assistant",
        "content": list(content),
        "stop_reason": stop,
    }


def answers(found: Audit) -> list[tuple[str, str, str | None]]:
    results = found.frames["results"].select("result", "text")
    calls = found.frames["calls"].select("session", "call_id", "result")
    joined = calls.join(results, on="result", how="left", maintain_order="left")
    return list(joined.select("session", "call_id", "text").iter_rows())


def slugs(found: Audit, severity: str = "error") -> set[str]:
    return set(found.findings.filter(pl.col("severity") == severity)["slug"])


TEXT = {"type": "text", "text": "Done."}


def test_the_frames_of_the_sample_are_these() -> None:
    recording, frames = recorded(SAMPLE)
    assert recording.source_frame()["format"].to_list() == [NAME]
    assert_golden(NAME, frames)


def test_an_audit_of_the_sample_finds_what_is_in_it(tmp_path: Path) -> None:
    found = audited(tmp_path, *SAMPLE.splitlines())
    errors = found.findings.filter(pl.col("severity") == "error")
    assert list(errors.select("slug", "call_id").iter_rows()) == [
        ("args-schema-mismatch", "toolu_t2"),
        ("args-schema-mismatch", "toolu_o1"),
    ]
    assert found.frames["sessions"]["session"].to_list() == ["msg_plan1", "msg_other1"]
    assert found.frames["calls"].height == 5


def test_a_request_whose_reply_is_in_the_next_block_of_the_file_lies_where_it_stands() -> None:
    request = lines(asked(user("go")))
    reply = lines(replied(1, {"type": "text", "text": "x" * BLOCK}, use("c1")))
    _, frames = recorded(request + reply)
    events = frames["events"].filter(pl.col("kind") == "request")
    assert events.select("session", "offset", "length", "line").rows() == [("msg_1", 0, len(request) - 1, 1)]
    assert frames["events"].filter(pl.col("type") == "message")["line"].to_list() == [1, 2]


def test_history_that_is_sent_again_makes_no_call(tmp_path: Path) -> None:
    one = [user("hi"), assistant(use("toolu_1")), user(result("toolu_1"))]
    two = [*one, assistant(use("toolu_2")), user(result("toolu_2", "more"))]
    found = audited(
        tmp_path,
        asked(one[0]),
        replied(1, use("toolu_1")),
        asked(*one),
        replied(2, use("toolu_2")),
        asked(*two),
        replied(3, TEXT, stop="end_turn"),
        asked(*two, assistant(TEXT), user("thanks")),
    )
    assert answers(found) == [("msg_1", "toolu_1", "seen"), ("msg_1", "toolu_2", "more")]
    assert slugs(found) == set()


def test_a_cache_mark_that_moves_changes_no_message(tmp_path: Path) -> None:
    mark = {"cache_control": {"type": "ephemeral"}}
    found = audited(
        tmp_path,
        asked(user({"type": "text", "text": "hi", **mark})),
        replied(1, use("toolu_1")),
        asked(user({"type": "text", "text": "hi"}), assistant(use("toolu_1")), user(result("toolu_1", **mark))),
        replied(2, use("toolu_2")),
        asked(
            *(user({"type": "text", "text": "hi"}), assistant(use("toolu_1")), user(result("toolu_1"))),
            *(assistant(use("toolu_2")), user(result("toolu_2", **mark))),
        ),
    )
    assert answers(found) == [("msg_1", "toolu_1", "seen"), ("msg_1", "toolu_2", "seen")]
    assert slugs(found) == set()
    stages = found.frames["sightings"].filter(pl.col("what") == "result")["stage"].to_list()
    assert stages == ["message", "message"]


def test_a_history_that_was_edited_is_evidence(tmp_path: Path) -> None:
    found = audited(
        tmp_path,
        asked(user("hi")),
        replied(1, use("toolu_1", "door")),
        asked(user("hi"), assistant(use("toolu_1", "window")), user(result("toolu_1"))),
    )
    assert "args-altered" in slugs(found)


def test_two_conversations_may_begin_with_the_same_words(tmp_path: Path) -> None:
    found = audited(
        tmp_path,
        asked(user("hi")),
        replied(1, use("toolu_1")),
        asked(user("hi")),
        replied(2, use("toolu_2")),
        asked(user("hi"), assistant(use("toolu_1")), user(result("toolu_1", "first"))),
        replied(3, TEXT, stop="end_turn"),
        asked(user("hi"), assistant(use("toolu_2")), user(result("toolu_2", "second"))),
    )
    assert answers(found) == [("msg_1", "toolu_1", "first"), ("msg_2", "toolu_2", "second")]


def test_a_request_that_was_refused_and_tried_again_is_one(tmp_path: Path) -> None:
    again = asked(user("hi"), assistant(use("toolu_1")), user(result("toolu_1")))
    found = audited(
        tmp_path,
        asked(user("hi")),
        replied(1, use("toolu_1")),
        again,
        {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}},
        again,
        replied(2, TEXT, stop="end_turn"),
    )
    assert answers(found) == [("msg_1", "toolu_1", "seen")]
    assert slugs(found) == set()


def test_a_reply_goes_on_and_not_a_request_that_began_alike_and_was_refused(tmp_path: Path) -> None:
    found = audited(
        tmp_path,
        asked(user("hi")),
        replied(1, use("toolu_1")),
        asked(user("hi")),
        {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}},
        asked(user("hi"), assistant(use("toolu_1")), user(result("toolu_1"))),
        replied(2, TEXT, stop="end_turn"),
    )
    assert answers(found) == [("msg_1", "toolu_1", "seen")]
    assert slugs(found) == set()


def test_the_same_id_in_two_replies_is_two_calls(tmp_path: Path) -> None:
    one = [user("hi"), assistant(use("toolu_1")), user(result("toolu_1"))]
    found = audited(
        tmp_path,
        asked(one[0]),
        replied(1, use("toolu_1")),
        asked(*one),
        replied(2, use("toolu_1", "window")),
        asked(*one, assistant(use("toolu_1", "window")), user(result("toolu_1", "open"))),
    )
    assert answers(found) == [("msg_1", "toolu_1", "seen"), ("msg_1", "toolu_1", "open")]
    assert slugs(found) == {"call-id-duplicate"}


def test_two_results_in_one_history_are_two(tmp_path: Path) -> None:
    found = audited(
        tmp_path,
        asked(user("hi")),
        replied(1, use("toolu_1")),
        asked(user("hi"), assistant(use("toolu_1")), user(result("toolu_1"), result("toolu_1", "again"))),
    )
    assert "result-duplicate" in slugs(found)


def test_a_result_behind_another_message_is_out_of_place(tmp_path: Path) -> None:
    found = audited(
        tmp_path,
        asked(user("hi")),
        replied(1, use("toolu_1")),
        asked(user("hi"), assistant(use("toolu_1")), user("and?"), user(result("toolu_1"))),
    )
    assert "result-not-adjacent" in slugs(found)


def test_results_of_one_reply_may_come_in_two_messages(tmp_path: Path) -> None:
    found = audited(
        tmp_path,
        asked(user("hi")),
        replied(1, use("toolu_1"), use("toolu_2", "window")),
        asked(
            *(user("hi"), assistant(use("toolu_1"), use("toolu_2", "window"))),
            *(user(result("toolu_1")), user(result("toolu_2"))),
        ),
    )
    assert slugs(found) == set()


def test_tools_that_the_server_runs_are_answered_in_the_reply(tmp_path: Path) -> None:
    call = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x"}}
    failed = {"type": "web_search_tool_result_error", "error_code": "max_uses_exceeded"}
    back = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": failed}
    found = audited(tmp_path, asked(user("hi")), replied(1, call, back, TEXT, stop="end_turn"))
    assert found.frames["calls"]["tool"].to_list() == ["hosted::web_search"]
    assert found.frames["results"]["error"].to_list() == ["max_uses_exceeded"]
    assert slugs(found) == set()


def test_tools_of_the_provider_that_the_client_runs_are_in_the_table(tmp_path: Path) -> None:
    shell = {"type": "bash_20250124", "name": "bash"}
    call = {"type": "tool_use", "id": "toolu_1", "name": "bash", "input": {"command": "ls"}}
    found = audited(tmp_path, asked(user("hi"), tools=[shell]), replied(1, call))
    assert found.frames["calls"].select("tool", "owed_by").row(0) == ("hosted::bash", "client")
    assert slugs(found) == set()


def test_servers_behind_the_connector_have_their_name(tmp_path: Path) -> None:
    call = {"type": "mcp_tool_use", "id": "mcptoolu_1", "name": "read", "server_name": "wiki", "input": {}}
    back = {"type": "mcp_tool_result", "tool_use_id": "mcptoolu_1", "is_error": False, "content": [TEXT]}
    found = audited(tmp_path, asked(user("hi")), replied(1, call, back, stop="end_turn"))
    assert found.frames["calls"]["tool"].to_list() == ["mcp:wiki:read"]
    assert answers(found) == [("msg_1", "mcptoolu_1", "Done.")]


def stream(*pieces: str, stop: str | None = "tool_use", ended: bool = True) -> list[dict[str, Any]]:
    block = {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {}}
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": {"id": "msg_1", "type": "message", "role": "assistant", "content": []}},
        {"type": "content_block_start", "index": 0, "content_block": block},
    ]
    for piece in pieces:
        delta = {"type": "input_json_delta", "partial_json": piece}
        events.append({"type": "content_block_delta", "index": 0, "delta": delta})
    if ended:
        events.append({"type": "content_block_stop", "index": 0})
        events.append({"type": "message_delta", "delta": {"stop_reason": stop}})
        events.append({"type": "message_stop"})
    return events


@pytest.mark.parametrize(("pieces", "text"), [(('{"at":', '"d', 'oor"}'), '{"at":"door"}'), ((), "{}")])
def test_pieces_add_up_to_the_arguments(tmp_path: Path, pieces: tuple[str, ...], text: str) -> None:
    found = audited(tmp_path, asked(user("hi"), stream=True), *stream(*pieces))
    assert found.frames["calls"].select("session", "text", "container").row(0) == ("msg_1", text, "object")


@pytest.mark.parametrize(
    "events", [stream('{"at":', ended=False), stream('{"at":', stop="max_tokens")], ids=["breaks off", "token limit"]
)
def test_a_call_that_was_cut_is_not_wrong(tmp_path: Path, events: list[dict[str, Any]]) -> None:
    found = audited(tmp_path, asked(user("hi"), stream=True), *events)
    assert found.frames["calls"].height == 1
    assert "args-invalid-json" not in slugs(found)


def test_an_event_stream_is_read(tmp_path: Path) -> None:
    path = tmp_path / "log.sse"
    path.write_text("".join(f"event: {each['type']}\ndata: {json.dumps(each)}\n\n" for each in stream('{"at":"door"}')))
    found = audit([str(path)])
    assert found.frames["calls"]["text"].to_list() == ['{"at":"door"}']


def test_an_exchange_holds_both_bodies(tmp_path: Path) -> None:
    text = "".join(f"event: {each['type']}\ndata: {json.dumps(each)}\n\n" for each in stream('{"at":"door"}'))
    bodies = {
        "uri": "https://api.example/v1/messages",
        "status": 200,
        "request": asked(user("hi")),
        "response_raw": text,
    }
    http = {"method": "POST", "path": "/v1/messages", "body": asked(user("ho"))}
    found = audited(tmp_path, bodies, {"http": http, "response": {"status": 200, "body": replied(2, use("toolu_2"))}})
    assert answers(found) == [("msg_1", "toolu_1", None), ("msg_2", "toolu_2", None)]


def test_settings_are_those_of_the_request(tmp_path: Path) -> None:
    form = {"type": "json_schema", "schema": {"type": "object"}}
    request = asked(
        user("hi"),
        system=[{"type": "text", "text": "Be brief."}],
        tool_choice={"type": "auto", "disable_parallel_tool_use": True},
        output_config={"format": form},
    )
    found = audited(tmp_path, request, replied(1, use("toolu_1"), use("toolu_2")))
    session = found.frames["sessions"].row(0, named=True)
    assert (session["model"], session["parallel"], session["instructions"]) == ("claude-x", False, "Be brief.")
    assert json.loads(session["text_format"]) == form
    assert "parallel-not-allowed" in slugs(found)


def test_chat_completions_are_another_wire() -> None:
    chat = {
        "model": "m",
        "max_tokens": 9,
        "messages": [{"role": "user", "content": "hi"}],
        "tools": [{"type": "function"}],
    }
    recording, _ = recorded(lines(chat))
    assert NAME not in recording.source_frame()["format"][0]


@given(st.data())
def test_no_mutation_raises_or_loses_a_record(data: st.DataObject) -> None:
    assert_nothing_lost(data.draw(mutations(SAMPLE)))


def test_the_recorded_exchanges_give_the_counts_that_are_known(shared: Path) -> None:
    truth = json.loads((shared / "data" / "truth.json").read_text())["http-anthropic"]
    found = audit([str(shared / "data" / "http-anthropic")])
    calls, results, verdicts = (found.frames[name] for name in ("calls", "results", "verdicts"))
    arguments = verdicts.filter(pl.col("role") == "arguments")
    judged = arguments.filter(pl.col("verdict_is").is_in(["valid", "invalid"]))
    counted = {
        "sessions": found.frames["sessions"].height,
        "calls": calls.height,
        "results": results.height,
        "orphan_calls": calls["result"].null_count(),
        "orphan_results": results["call"].null_count(),
        "dup_call_ids": calls.height - calls.select("session", "call_id").n_unique(),
        "dup_result_ids": results.height - results.select("session", "call_id").n_unique(),
        "args_checked": judged.height,
        "no_schema_for_tool": arguments.height - judged.height,
    }
    assert counted == {name: truth[name] for name in counted}
    # Six calls were put together from pieces of JSON; a seventh, of a server's tool, stood whole at its block's start.
    streamed = found.frames["sightings"].filter(pl.col("what") == "call", pl.col("stage") == "stream")
    assert streamed["id"].n_unique() == truth["args_string"] + 1


def _added_later(*messages: Any, tools: Any = (TOOL,)) -> dict[str, Any]:
    block = {"type": "tool_use", "id": "toolu_1", "name": "ask", "input": {"to": 7}}
    back = {"id": "msg_1", "type": "message", "role": "assistant", "content": [block], "stop_reason": "tool_use"}
    asked = {"model": "claude-m", "max_tokens": 9, "messages": list(messages), "tools": list(tools)}
    return {"request": asked, "response": back}


@pytest.mark.parametrize("tools", [(TOOL,), ()], ids=["beside a table", "alone"])
def test_a_tool_that_is_added_in_the_conversation_is_on_offer(tmp_path: Path, tools: Any) -> None:
    ask = {"name": "ask", "input_schema": {"type": "object", "properties": {"to": {"type": "string"}}}}
    added = {"type": "tool_addition", "tool": {"type": "tool_definition", "definition": ask}}
    system = {"role": "system", "content": [{"type": "text", "text": "One more."}, added]}
    found = audited(tmp_path, _added_later(user("Hello."), system, tools=tools))
    rows = found.findings.filter(pl.col("call_id") == "toolu_1", pl.col("severity") == "error")
    assert rows["rule"].to_list() == ["ARG001"]
    assert found.summary["coverage"] == 1


def test_a_tool_that_was_held_back_is_on_offer_once_it_is_added_by_name(tmp_path: Path) -> None:
    ask = {
        "name": "ask",
        "defer_loading": True,
        "input_schema": {"type": "object", "properties": {"to": {"type": "string"}}},
    }
    added = {"type": "tool_addition", "tool": {"type": "tool_reference", "name": "ask"}}
    found = audited(tmp_path, _added_later(user("Hello."), {"role": "system", "content": [added]}, tools=(TOOL, ask)))
    rows = found.findings.filter(pl.col("call_id") == "toolu_1", pl.col("severity") == "error")
    assert rows["rule"].to_list() == ["ARG001"]


REMOVED = {"type": "tool_removal", "tool": {"type": "tool_reference", "name": "ask"}}
ADDED = {"type": "tool_addition", "tool": {"type": "tool_reference", "name": "ask"}}


def _asks(call_id: str, listing: list[Any], tools: Any) -> dict[str, Any]:
    """An exchange in which the model asks; what it said goes to the listing."""
    block = {"type": "tool_use", "id": call_id, "name": "ask", "input": {"to": "her"}}
    asked = {"model": "claude-m", "max_tokens": 9, "messages": list(listing), "tools": list(tools)}
    listing += [assistant(block), user({"type": "tool_result", "tool_use_id": call_id, "content": "yes"})]
    said = {"type": "message", "role": "assistant", "content": [block], "stop_reason": "tool_use"}
    return {"request": asked, "response": {"id": f"msg_{call_id}", **said}}


@pytest.mark.parametrize("where", ["in the table", "added by value"])
def test_a_tool_that_is_removed_in_the_conversation_is_no_longer_on_offer(tmp_path: Path, where: str) -> None:
    ask = {"name": "ask", "input_schema": {"type": "object", "properties": {"to": {"type": "string"}}}}
    tools = (TOOL, ask) if where == "in the table" else (TOOL,)
    listing: list[Any] = [user("Hello.")]
    if where != "in the table":
        value = {"type": "tool_addition", "tool": {"type": "tool_definition", "definition": ask}}
        listing.append({"role": "system", "content": [value]})
    exchanges = [_asks("toolu_1", listing, tools)]
    listing.append({"role": "system", "content": [REMOVED]})
    exchanges.append(_asks("toolu_2", listing, tools))
    # Another table does not bring it back, nor does a change of the table that was shown before.
    exchanges.append(_asks("toolu_3", listing, [*tools, {**TOOL, "name": "other"}]))
    listing.append({"role": "system", "content": [ADDED]})
    exchanges.append(_asks("toolu_4", listing, tools))
    exchanges.append(_asks("toolu_5", listing[:3], tools))  # it begins anew from before the removal
    found = audited(tmp_path, *exchanges)
    told = found.findings.filter(rule="ARG002").sort("call_id")
    assert told["call_id"].to_list() == ["toolu_2", "toolu_3"]
    assert set(told["message"]) == {"The tool ask had been removed from the table when the model called it."}
    judged = found.frames["calls"].join(found.frames["verdicts"].filter(role="arguments"), on="call")
    assert set(judged.filter(verdict_is="valid")["call_id"]) >= {"toolu_1", "toolu_4", "toolu_5"}


@pytest.mark.parametrize("form", ["an array", "an array, printed", "lines", "under a name"])
def test_messages_without_a_body_around_them_are_a_history(tmp_path: Path, form: str) -> None:
    def call(name: str) -> dict[str, Any]:
        return {"type": "tool_use", "id": name, "name": "look", "input": {"at": "door"}}

    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "open"}
    talk = [
        user("Look."),
        {**assistant({"type": "text", "text": "I look."}, call("toolu_1")), "ts": 1},
        {**user(result), "ts": 2},
        assistant(call("toolu_2")),
        user("Go on."),
        assistant({"type": "text", "text": "Done."}),
    ]
    written = {
        "an array": json.dumps(talk),
        "an array, printed": json.dumps(talk, indent=2),
        "lines": "".join(json.dumps(each) + "\n" for each in talk),
        "under a name": json.dumps({"task": "door", "conversation": talk}),
    }
    path = tmp_path / "history.json"
    path.write_text(written[form])
    found = audit([str(path)])
    assert [each["format"] for each in found.inputs] == [NAME]
    assert (found.summary["sessions"], found.summary["calls"], found.summary["results"]) == (1, 2, 1)
    rows = found.findings.filter(pl.col("severity") == "error")
    assert rows.select("rule", "call_id").rows() == [("CALL004", "toolu_2")]
    location = rows["location"][0]
    line, above = {"lines": (4, ""), "under a name": (1, "/conversation/3")}.get(form, (1, "/3"))
    assert (location["line"], location["pointer"]) == (line, above + "/content/0/input")


def test_a_history_of_a_record_for_each_message_is_none_of_the_next_file(tmp_path: Path) -> None:
    talk = [user("Look."), assistant({"type": "tool_use", "id": "toolu_1", "name": "look", "input": {}})]
    for name, last in (("a", "open"), ("b", "shut")):
        result = user({"type": "tool_result", "tool_use_id": "toolu_1", "content": last})
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(each) + "\n" for each in (*talk, result)))
    found = audit([str(tmp_path)])
    assert (found.summary["sessions"], found.summary["calls"], found.summary["results"]) == (2, 2, 2)
    assert found.findings.filter(pl.col("severity") == "error").is_empty()
