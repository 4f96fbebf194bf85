"""Chat completions: conversations out of resent messages, streams, lists, trajectories; what a log cannot break."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzer import audit
from analyzer.read.limits import BLOCK
from tests.read.adapters import SAMPLES, assert_golden, assert_nothing_lost, lines, mutations, recorded
from tests.read.truths import SHARED, audited, counted, errors, truth

NAME = "openai-chat"
SAMPLE = (SAMPLES / f"{NAME}.jsonl").read_bytes()
TOOL = {
    "type": "function",
    "function": {
        "name": "look",
        "parameters": {
            "type": "object",
            "properties": {"at": {"type": "string"}},
            "required": ["at"],
            "additionalProperties": False,
        },
    },
}


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def calls(*ids: str | None, name: str = "look", arguments: Any = '{"at":"door"}') -> dict[str, Any]:
    listed = [{"id": each, "type": "function", "function": {"name": name, "arguments": arguments}} for each in ids]
    return {"role": "assistant", "content": None, "tool_calls": listed}


def gives(call_id: str, text: Any = "seen") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": text}


def asked(*messages: Any, **more: Any) -> dict[str, Any]:
    return {"model": "m", "messages": list(messages), "tools": [TOOL], **more}


def replied(name: str, message: dict[str, Any], stop: str = "tool_calls") -> dict[str, Any]:
    choice = {"index": 0, "message": message, "finish_reason": stop}
    return {"id": name, "object": "chat.completion", "model": "m", "choices": [choice]}


def test_the_frames_of_the_sample_are_these() -> None:
    recording, frames = recorded(SAMPLE)
    assert recording.source_frame()["format"].to_list() == [NAME]
    assert_golden(NAME, frames)


@given(st.data())
def test_no_change_of_the_sample_loses_a_record(data: st.DataObject) -> None:
    assert_nothing_lost(data.draw(mutations(SAMPLE)))


def test_resent_history_is_no_new_call(tmp_path: Path) -> None:
    first, turn = user("where?"), calls("c1", "c2")
    log = [asked(first), replied("r1", turn)]
    log += [asked(first, turn, gives("c2"), gives("c1"))] * 2
    log += [replied("r2", {"role": "assistant", "content": "there"}, "stop")]
    found = audited(tmp_path, *log)
    assert found.frames["sessions"].height == 1
    assert found.frames["calls"].select("call_id", "outcome").rows() == [("c1", "unknown"), ("c2", "unknown")]
    assert found.frames["results"].height == 2
    assert errors(found) == set()


def test_ids_that_begin_anew_with_every_reply_pair_by_position(tmp_path: Path) -> None:
    one, two = calls("call_0", arguments='{"at":"a"}'), calls("call_0", arguments='{"at":"b"}')
    history: list[Any] = [user("both")]
    log = [asked(*history), replied("r1", one)]
    history += [one, gives("call_0", "A")]
    log += [asked(*history), replied("r2", two)]
    history += [two, gives("call_0", "B")]
    log += [asked(*history), replied("r3", {"role": "assistant", "content": "done"}, "stop")]
    found = audited(tmp_path, *log)
    pairs = found.frames["calls"].join(found.frames["results"], on="result", suffix="_of").sort("call")
    assert pairs.select("text", "text_of").rows() == [('{"at":"a"}', "A"), ('{"at":"b"}', "B")]
    assert errors(found) == set()


def test_samples_of_one_prompt_are_sessions_of_their_own(tmp_path: Path) -> None:
    log: list[Any] = []
    for number in range(3):
        log += [asked(user("go")), replied(f"r{number}", calls(f"c{number}"))]
    for number in range(3):
        log += [asked(user("go"), calls(f"c{number}"), gives(f"c{number}", str(number)))]
    found = audited(tmp_path, *log)
    assert found.frames["sessions"].height == 3
    assert found.frames["calls"]["outcome"].to_list() == ["unknown"] * 3
    assert found.frames["results"]["rank"].to_list() == [0, 0, 0]


def test_a_copy_in_the_history_that_differs_is_named(tmp_path: Path) -> None:
    log = [asked(user("go")), replied("r1", calls("c1"))]
    log += [asked(user("go"), calls("c1", arguments='{"at":"elsewhere"}'), gives("c1"))]
    found = audited(tmp_path, *log)
    assert found.frames["calls"]["copies"].to_list() == [2]
    assert "args-altered" in set(found.findings["slug"])


def test_deltas_add_up_to_calls_even_where_every_call_has_index_0(tmp_path: Path) -> None:
    def piece(delta: dict[str, Any], stop: str | None = None) -> dict[str, Any]:
        choice = {"index": 0, "delta": delta, "finish_reason": stop}
        return {"id": "r1", "object": "chat.completion.chunk", "choices": [choice]}

    def part(call_id: str | None, name: str | None, text: str) -> dict[str, Any]:
        return {"tool_calls": [{"index": 0, "id": call_id, "function": {"name": name, "arguments": text}}]}

    log = [asked(user("go")), piece(part("c1", "look", '{"at":')), piece(part(None, None, '"x"}'))]
    log += [piece(part("c2", "look", '{"at":"y"}')), piece({}, "tool_calls")]
    log += [asked(user("go"), calls("c1", arguments='{"at":"x"}'), gives("c1"))]
    found = audited(tmp_path, *log)
    assert found.frames["calls"].select("call_id", "text").rows() == [("c1", '{"at":"x"}'), ("c2", '{"at":"y"}')]
    assert found.frames["calls"]["copies"].to_list() == [1, 1]
    assert found.frames["sessions"].height == 1


def pieces(*deltas: dict[str, Any], stop: str | None = "tool_calls", index: int = 0) -> list[dict[str, Any]]:
    """The events of a stream, a list of calls' pieces for each."""
    ends = [*[(delta, None) for delta in deltas], ({}, stop)]
    choices = [{"index": index, "delta": delta, "finish_reason": end} for delta, end in ends]
    return [{"id": "r1", "object": "chat.completion.chunk", "choices": [each]} for each in choices]


def piece(text: Any = None, *, name: str | None = None, **more: Any) -> dict[str, Any]:
    return {"tool_calls": [{**more, "function": {"name": name, "arguments": text}}]}


@pytest.mark.parametrize(
    ("deltas", "expected"),
    [
        ([piece("", name="look", id="a"), piece('{"at":'), piece('"x"}')], [("a", "x")]),
        (
            [piece('{"at":"x"}', name="look", id="a"), piece('{"at":"y"}', name="look", id="b")],
            [("a", "x"), ("b", "y")],
        ),
        ([piece('{"at":"x"}', name="look"), piece('{"at":"y"}', name="look")], [(None, "x"), (None, "y")]),
        (
            [piece("", name="look", id="a"), piece('{"at":', name="", id=""), piece('"x"}', name="", id="")],
            [("a", "x")],
        ),
        (
            [piece("", name="look", id="a"), piece('{"at":', name="look", id="a"), piece('"x"}', name="look")],
            [("a", "x")],
        ),
        ([piece("", name="look", id="a"), piece('{"at":', id="b"), piece('"x"}', id="c")], [("a", "x")]),
        (
            [piece('{"at":"x"}', name="look", id="a"), piece("", name="look", id="b"), piece('{"at":"y"}')],
            [("a", "x"), ("b", "y")],
        ),
        ([piece("", name="lo", id="a"), piece('{"at":"x"}', name="ok")], [("a", "x")]),
        ([piece({"at": "x"}, name="look", id="a")], [("a", "x")]),
        ([piece(None, name="look", id="a"), piece('{"at":"x"}'), {"tool_calls": None}], [("a", "x")]),
    ],
)
@pytest.mark.parametrize("numbered", [True, False])
def test_pieces_of_calls_as_hosts_write_them(
    tmp_path: Path, deltas: list[dict[str, Any]], expected: list[tuple[str | None, str]], numbered: bool
) -> None:
    if numbered:
        deltas = [{"tool_calls": [{**call, "index": 0} for call in each["tool_calls"] or ()]} for each in deltas]
    found = audited(tmp_path, asked(user("go")), *pieces(*deltas))
    made = found.frames["calls"].select("call_id", "name", "text").rows()
    assert [(call_id, name, json.loads(text)["at"]) for call_id, name, text in made] == [
        (call_id, "look", at) for call_id, at in expected
    ]
    assert found.frames["verdicts"]["verdict_is"].to_list() == ["valid"] * len(expected)


def test_pieces_whose_index_is_not_that_of_their_call_are_put_to_it(tmp_path: Path) -> None:
    deltas = [
        piece("", name="look", id="a", index=0),
        piece('{"at":'),
        piece('"x"}'),
        piece("", name="look", id="b", index=0),
    ]
    deltas += [piece('{"at":', index=1), piece('"y"}', index=1)]
    found = audited(tmp_path, asked(user("go")), *pieces(*deltas))
    assert found.frames["calls"].select("call_id", "text").rows() == [("a", '{"at":"x"}'), ("b", '{"at":"y"}')]
    deltas = [piece("", name="look", id="a", index=0), piece('{"at":"x"}'), piece("", name="look", id="b", index=1)]
    found = audited(tmp_path, asked(user("go")), *pieces(*deltas, piece('{"at":"y"}')))
    assert found.frames["calls"].select("call_id", "text").rows() == [("a", '{"at":"x"}'), ("b", '{"at":"y"}')]


def test_every_alternative_of_a_stream_is_read(tmp_path: Path) -> None:
    first, second = (
        pieces(piece('{"at":"x"}', name="look", id="a")),
        pieces(piece('{"at":3}', name="look", id="b"), index=1),
    )
    mixed = [each for pair in zip(first, second, strict=True) for each in pair]
    found = audited(tmp_path, asked(user("go")), *mixed)
    assert found.frames["calls"].select("call_id", "text").rows() == [("a", '{"at":"x"}'), ("b", '{"at":3}')]
    assert found.frames["calls"]["reply"].n_unique() == 2
    assert errors(found) == {"args-schema-mismatch"}


def test_another_alternative_is_nothing_that_goes_on_without_a_result(tmp_path: Path) -> None:
    reply = replied("r1", calls("a"))
    reply["choices"].append({"index": 1, "message": calls("b"), "finish_reason": "tool_calls"})
    assert errors(audited(tmp_path, asked(user("go")), reply)) == set()
    went = asked(user("go"), calls("a"), gives("a"), user("and?"))
    assert errors(audited(tmp_path, asked(user("go")), reply, went)) == set()


@pytest.mark.parametrize("response", [{"said": {"tool_calls": [1]}}, {"status": 200, "body": {"said": "hm"}}])
def test_a_response_in_no_known_shape_is_told(tmp_path: Path, response: dict[str, Any]) -> None:
    found = audited(tmp_path, {"request": asked(user("go")), "response": response})
    assert "a response in no shape of its wire" in found.findings.filter(rule="LOG003")["message"][0]


def test_a_response_may_be_the_message_alone(tmp_path: Path) -> None:
    found = audited(tmp_path, {"request": asked(user("go")), "response": calls("c1", arguments='{"at":3}')})
    (finding,) = found.findings.filter(slug="args-schema-mismatch").to_dicts()
    assert finding["location"]["pointer"] == "/response/tool_calls/0/function/arguments"


def test_the_response_beside_the_messages_of_its_request_is_read(tmp_path: Path) -> None:
    reply, more = replied("r1", calls("c1", arguments='{"at":3}')), {"model_parameters": {"tools": [TOOL]}}
    found = audited(tmp_path, {"id": "l1", "model": "m", "messages": [user("go")], "response": reply, **more})
    (finding,) = found.findings.filter(slug="args-schema-mismatch").to_dicts()
    assert finding["location"]["pointer"] == "/response/choices/0/message/tool_calls/0/function/arguments"


# --- Ollama ---------------------------------------------------------------------------------------------------


def makes(*arguments: Any) -> dict[str, Any]:
    listed = [{"function": {"name": "look", "arguments": each}} for each in arguments]
    return {"role": "assistant", "content": "", "tool_calls": listed}


def native(message: dict[str, Any], *, done: bool = True) -> dict[str, Any]:
    ends = {"done_reason": "stop", "total_duration": 1} if done else {}
    return {"model": "m", "created_at": "2026-11-30T11:00:00Z", "message": message, "done": done, **ends}


def recorders(name: str, request: dict[str, Any], *replies: dict[str, Any]) -> list[Any]:
    """A request and the reply to it as people record them."""
    asks = {"method": "POST", "url": "http://localhost:11434/api/chat", "body": request}
    whole = replies[0] if len(replies) == 1 else "".join(json.dumps(each) + "\n" for each in replies)
    return {
        "bodies": [request, *replies],
        "exchange": [{"request": request, "response": replies[0] if len(replies) == 1 else list(replies)}],
        "http": [{"request": asks, "response": {"status": 200, "body": whole}}],
    }[name]


@pytest.mark.parametrize("recorder", ["bodies", "exchange", "http"])
@pytest.mark.parametrize("result", [{"tool_name": "look"}, {"name": "look"}, {}])
def test_ollama_needs_no_ids_and_no_texts(tmp_path: Path, recorder: str, result: dict[str, Any]) -> None:
    made, first = makes({"at": 3}, {"at": "x"}), asked(user("go"))
    gave = [{"role": "tool", "content": each, **result} for each in ("A", "B")]
    log = recorders(recorder, first, native(made))
    log += recorders(recorder, asked(user("go"), made, *gave), native({"role": "assistant", "content": "so"}))
    found = audited(tmp_path, *log)
    pairs = found.frames["calls"].join(found.frames["results"], on="result", suffix="_of").sort("call")
    assert pairs.select("wire", "text", "text_of").rows() == [
        ("ollama", '{"at": 3}', "A"),
        ("ollama", '{"at": "x"}', "B"),
    ]
    assert found.frames["sessions"].height == 1
    assert errors(found) == {"args-schema-mismatch"}
    assert found.findings.filter(pl.col("slug").is_in(["finish-reason-mismatch", "event-unknown"])).is_empty()


def test_a_result_of_ollama_goes_to_the_call_of_its_name(tmp_path: Path) -> None:
    made = makes({"at": "x"}, {"at": "y"})
    made["tool_calls"][0]["function"]["name"] = "find"
    gave = [{"role": "tool", "content": name, "tool_name": name} for name in ("look", "find")]
    found = audited(tmp_path, asked(user("go")), native(made), asked(user("go"), made, *gave))
    pairs = found.frames["calls"].join(found.frames["results"], on="result", suffix="_of").sort("call")
    assert pairs.select("name", "text_of").rows() == [("find", "find"), ("look", "look")]


@pytest.mark.parametrize("recorder", ["bodies", "exchange", "http"])
def test_pieces_of_ollama_hold_whole_calls(tmp_path: Path, recorder: str) -> None:
    said = [{"role": "assistant", "content": "I "}, {"role": "assistant", "content": "look."}, makes({"at": 3})]
    stream = [*[native(each, done=False) for each in said], native({"role": "assistant", "content": ""})]
    log = recorders(recorder, asked(user("go")), *stream)
    found = audited(tmp_path, *log)
    assert found.frames["calls"].select("name", "text", "container").rows() == [("look", '{"at": 3}', "object")]
    assert errors(found) == {"args-schema-mismatch"}
    assert "I look." in recorded(lines(*log))[1]["messages"]["text"].to_list()


def test_ids_are_owed_where_arguments_are_texts(tmp_path: Path) -> None:
    made = calls(None)
    found = audited(tmp_path, asked(user("go"), made, {"role": "tool", "tool_call_id": None, "content": "seen"}))
    assert found.frames["calls"]["result"].to_list() == [0]
    assert errors(found) == {"call-id-invalid"}


def test_a_stream_that_breaks_off_holds_a_call_that_is_cut(tmp_path: Path) -> None:
    delta = {"tool_calls": [{"index": 0, "id": "c1", "function": {"name": "look", "arguments": '{"at":'}}]}
    chunk = {"id": "r1", "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta}]}
    found = audited(tmp_path, asked(user("go")), chunk)
    verdict = found.frames["verdicts"].select("verdict_is", "reason").rows()
    assert verdict == [("unverifiable", "payload_truncated")]


@pytest.mark.parametrize(
    "text",
    [
        '<function=look>{"at": 3}</function>',
        '{"name": "look", "arguments": {"at": 3}}',
        '[{"name": "look", "parameters": {"at": 3}}]',
    ],
)
def test_a_call_that_the_provider_refused_is_judged(tmp_path: Path, text: str) -> None:
    failure = {"error": {"message": "no", "code": "tool_use_failed", "failed_generation": text}}
    found = audited(tmp_path, asked(user("go")), failure)
    assert found.frames["calls"].select("name", "owed_by").rows() == [("look", "nobody")]
    assert found.frames["verdicts"]["verdict_is"].to_list() == ["invalid"]


def test_a_reply_goes_on_and_not_a_request_that_began_alike_and_was_refused(tmp_path: Path) -> None:
    failure = {"error": {"message": "busy", "type": "server_error", "code": 503}}
    log = [asked(user("go")), replied("r1", calls("c1")), asked(user("go")), failure]
    found = audited(tmp_path, *log, asked(user("go"), calls("c1"), gives("c1")))
    assert found.frames["calls"].select("call_id", "outcome").rows() == [("c1", "unknown")]


def test_an_entry_without_anything_in_it_is_no_call(tmp_path: Path) -> None:
    reply = calls("c1")
    reply["tool_calls"].append({"type": "function", "function": {"name": "", "arguments": ""}})
    found = audited(tmp_path, asked(user("go")), replied("r1", reply))
    assert found.frames["calls"]["call_id"].to_list() == ["c1"]
    assert found.frames["faults"]["fault"].to_list() == ["member_missing"]


def test_a_function_call_without_an_id_is_answered_by_name(tmp_path: Path) -> None:
    reply = {"role": "assistant", "content": None, "function_call": {"name": "look", "arguments": '{"at":"x"}'}}
    back = {"role": "function", "name": "look", "content": "seen"}
    log = [asked(user("go")), replied("r1", reply, "function_call"), asked(user("go"), reply, back)]
    found = audited(tmp_path, *log)
    assert found.frames["calls"].select("call_id", "outcome", "sightings").rows() == [(None, "unknown", 2)]


def test_a_record_for_each_message_is_one_session(tmp_path: Path) -> None:
    found = audited(tmp_path, user("go"), calls("c1"), gives("c1"), calls("c1"), gives("c1", "again"))
    assert found.frames["sessions"].height == 1
    assert found.frames["calls"]["outcome"].to_list() == ["unknown", "unknown"]


def test_values_in_place_of_texts_are_no_fault_of_tau2(tmp_path: Path) -> None:
    call = {"id": "t1", "name": "look", "arguments": {"at": "x"}, "requestor": "assistant"}
    messages: list[dict[str, Any]] = [{"role": "assistant", "tool_calls": [call]}]
    messages += [{"role": "tool", "id": "t1", "content": "no", "requestor": "assistant", "error": True}]
    found = audited(tmp_path, {"simulations": [{"id": "s", "messages": messages}]})
    assert found.frames["calls"].select("session", "outcome").rows() == [("s", "error")]
    assert "args-wrong-container" not in set(found.findings["slug"])


def test_calls_whose_name_stands_outside_of_a_function_are_no_fault_of_this_wire(tmp_path: Path) -> None:
    ours = {"id": "o1", "type": "function", "function": "look", "arguments": {"at": "x"}, "parse_error": None}
    theirs = {"id": "t1", "name": "look", "arguments": {"at": "x"}}
    failed = {"type": "timeout", "message": "too slow"}
    found = audited(
        tmp_path,
        user("go"),
        {"role": "assistant", "content": "", "tool_calls": [ours]},
        {"role": "tool", "tool_call_id": "o1", "function": "look", "content": "", "error": failed},
        {"role": "assistant", "tool_calls": [theirs]},
        {"role": "tool", "id": "t1", "content": "seen", "error": None},
    )
    assert found.frames["calls"].select("name", "wire", "outcome").rows() == [
        ("look", "inspect", "error"),
        ("look", "tau2-bench", "unknown"),
    ]
    assert not {"args-wrong-container", "call-id-invalid"} & set(found.findings["slug"])
    assert found.frames["faults"].is_empty()


def test_requests_of_another_provider_are_left_to_it(tmp_path: Path) -> None:
    request = {
        "model": "claude-x",
        "max_tokens": 9,
        "messages": [user("hi")],
        "tools": [{"name": "t", "input_schema": {}}],
    }
    found = audited(tmp_path, request)
    assert found.inputs[0]["format"] == "anthropic-messages"


def test_a_streamed_reply_that_ends_in_the_next_block_of_the_file_lies_where_its_last_piece_does() -> None:
    delta = {"tool_calls": [{"index": 0, "id": "c1", "function": {"name": "look", "arguments": '{"at":"x"}'}}]}
    piece = {"id": "r1", "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta}]}
    _, frames = recorded(lines(asked(user("go")), piece, asked(user("x" * BLOCK))))
    call = frames["call_sightings"].row(0, named=True)
    event = frames["events"].filter(pl.col("event") == call["event"]).row(0, named=True)
    assert (call["stage"], event["kind"], event["line"]) == ("stream", "item", 2)
    assert (event["offset"], event["length"]) == (len(lines(asked(user("go")))), len(lines(piece)) - 1)


def test_arguments_that_are_no_text_are_kept_as_they_stand() -> None:
    written = b'{"at": 1.50}'
    reply = lines(replied("r1", calls("c1", arguments="HERE"))).replace(b'"HERE"', written)
    _, frames = recorded(lines(asked(user("go"))) + reply)
    assert frames["call_sightings"].select("text", "container").row(0) == (written.decode(), "object")
    assert frames["faults"].is_empty()


def test_the_recorded_exchanges_have_the_counts_that_are_known() -> None:
    known = truth("http-openai-chat")
    found = audit([str(SHARED / "http-openai-chat" / "exchanges.jsonl")])
    counts = counted(found)
    # The recorder calls every file a session. Here a conversation is one: one file holds two of them, and
    # conversations that resend the same messages with the same call ids are one, in whatever files they stand.
    assert counts.pop("sessions") == 43
    assert counts == {name: known.get(name, 0) for name in counts}
    # One more than the recorded HTTP errors: a stream that ends in an error.
    assert found.frames["events"].filter(pl.col("kind") == "error").height == known["http_error"] + 1
    assert set(found.frames["verdicts"].filter(pl.col("role") == "arguments")["verdict_is"]) == {"valid"}


def test_the_recorded_trajectories_have_the_counts_that_are_known() -> None:
    known = truth("tau-bench")
    folder = SHARED / "tau-bench"
    found = audit([str(folder / "gpt-4o-airline.first30.json")], contracts=[str(folder / "tools_airline.json")])
    counts = counted(found)
    assert counts == {name: known.get(name, 0) for name in counts}
    assert found.frames["results"]["rank"].to_list() == [0] * known["results"]


def test_streams_that_come_at_once_are_told_apart_by_their_ids(tmp_path: Path) -> None:
    def piece(name: str, call: dict[str, Any] | None, stop: str | None = None) -> dict[str, Any]:
        delta = {} if call is None else {"tool_calls": [{"index": 0, **call}]}
        return {
            "id": name,
            "object": "chat.completion.chunk",
            "choices": [{"index": 0, "delta": delta, "finish_reason": stop}],
        }

    log = [
        piece(name, {"id": f"c{name}", "type": "function", "function": {"name": "look", "arguments": ""}})
        for name in "ab"
    ]
    log += [piece(name, {"function": {"arguments": '{"at": "' + name + '"}'}}) for name in "ab"]
    log += [piece(name, None, "tool_calls") for name in "ba"]
    path = tmp_path / "log.jsonl"
    path.write_bytes(lines(*log))
    found = audit([str(path)])
    told = found.frames["calls"].select("call_id", "text", "status").rows()
    assert sorted(told) == [("ca", '{"at": "a"}', None), ("cb", '{"at": "b"}', None)]
    assert found.frames["events"]["event"].is_unique().all()


@pytest.mark.parametrize("odd", [[], {}])
def test_a_part_whose_type_is_no_text_stops_nothing(odd: Any) -> None:
    told = {"role": "tool", "tool_call_id": "c1", "content": [{"type": odd, "text": "x"}]}
    _, frames = recorded(lines({"model": "m", "messages": [{"role": "user", "content": "go"}, told]}))
    assert frames["result_sightings"]["call_id"].to_list() == ["c1"]


def test_one_piece_of_a_stream_in_the_place_of_a_response_has_events_of_its_own() -> None:
    call = {"index": 0, "id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"at":"door"}'}}
    piece = {
        "id": "a",
        "object": "chat.completion.chunk",
        "choices": [{"index": 0, "delta": {"role": "assistant", "tool_calls": [call]}, "finish_reason": "tool_calls"}],
    }
    request = {"model": "m", "messages": [user("Look.")], "tools": [TOOL]}
    _, frames = recorded(lines({"request": request, "response": piece}))
    assert frames["call_sightings"]["call_id"].to_list() == ["c1"]
    assert frames["events"]["event"].is_unique().all()
