"""MCP messages: what becomes a call, a result, a table; connections; envelopes; what a log cannot break."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzer.auditing import Audit, audit
from tests.read.adapters import SAMPLES, assert_golden, assert_nothing_lost, lines, mutations, recorded

SAMPLE = (SAMPLES / "mcp-jsonrpc.jsonl").read_bytes()
NAME = "mcp-jsonrpc"


def audited(tmp_path: Path, data: bytes, name: str = "log.jsonl", **options: Any) -> Audit:
    path = tmp_path / name
    path.write_bytes(data)
    found = audit([str(path)], **options)
    assert found.crashed == []
    assert found.problems == []
    return found


def request(number: Any, method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


def call(number: Any, name: str = "look", **arguments: Any) -> dict[str, Any]:
    return request(number, "tools/call", name=name, arguments=arguments)


def answer(number: Any, **result: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "result": result}


def said(number: Any, text: str, **more: Any) -> dict[str, Any]:
    return answer(number, content=[{"type": "text", "text": text}], **more)


def tool(name: str, **properties: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties, "required": sorted(properties), "additionalProperties": False}
    return {"name": name, "inputSchema": schema}


STRING = {"type": "string"}
BEGIN = (
    request(0, "initialize", protocolVersion="2025-06-18", capabilities={}),
    answer(0, protocolVersion="2025-06-18", capabilities={}, serverInfo={"name": "lamps", "version": "1"}),
    {"jsonrpc": "2.0", "method": "notifications/initialized"},
)


def pairs(found: Audit) -> list[tuple[str, str | None, str | None]]:
    """Every call with what answers it: session, call id, output."""
    results = found.frames["results"].select("result", output=pl.coalesce("error", "text"))
    calls = found.frames["calls"].join(results, on="result", how="left", maintain_order="left")
    return list(calls.select("session", "call_id", "output").iter_rows())


def test_the_frames_of_the_sample_are_these() -> None:
    recording, frames = recorded(SAMPLE)
    assert recording.source_frame()["format"].to_list() == [NAME]
    assert_golden(NAME, frames)


def test_an_audit_of_the_sample_finds_what_is_in_it(tmp_path: Path) -> None:
    found = audited(tmp_path, SAMPLE)
    slugs = {(row["slug"], row["call_id"]) for row in found.findings.to_dicts() if row["severity"] == "error"}
    assert slugs == {("args-field-stringified", "5"), ("tool-not-advertised", "7")}
    assert found.frames["sessions"]["session"].to_list() == ["mcp-log.1", "mcp-log.2"]
    assert found.frames["calls"].height == 8


def test_answers_may_come_in_any_order_and_both_sides_count_from_zero(tmp_path: Path) -> None:
    found = audited(
        tmp_path,
        lines(
            *BEGIN,
            call(1),
            call(2),
            {"jsonrpc": "2.0", "id": 1, "method": "roots/list"},
            {"jsonrpc": "2.0", "id": 1, "result": {"roots": []}},
            said(2, "two"),
            said(1, "one"),
        ),
    )
    assert pairs(found) == [("mcp-log.1", "1", "one"), ("mcp-log.1", "2", "two")]


def test_a_number_and_a_text_of_the_same_digits_are_two_ids(tmp_path: Path) -> None:
    found = audited(tmp_path, lines(*BEGIN, call(7), call("7"), said("7", "text"), said(7, "number")))
    assert sorted(pairs(found)) == [("mcp-log.1", "7", "number"), ("mcp-log.1", "7", "text")]


def test_ids_begin_again_with_every_connection(tmp_path: Path) -> None:
    found = audited(tmp_path, lines(*BEGIN, call(1), said(1, "a"), *BEGIN, call(1), said(1, "b")))
    assert pairs(found) == [("mcp-log.1", "1", "a"), ("mcp-log.2", "1", "b")]
    assert "call-id-duplicate" not in found.findings["slug"].to_list()


def test_a_connection_needs_no_beginning(tmp_path: Path) -> None:
    found = audited(tmp_path, lines(call(4, on=True), said(4, "ok")))
    assert pairs(found) == [("mcp-log.1", "4", "ok")]


def test_both_error_channels_are_failures(tmp_path: Path) -> None:
    refused = {"jsonrpc": "2.0", "id": 2, "error": {"code": -32602, "message": "no such tool"}}
    found = audited(tmp_path, lines(*BEGIN, call(1), said(1, "broken", isError=True), call(2), refused))
    assert found.frames["calls"]["outcome"].to_list() == ["error", "error"]
    assert found.frames["results"]["error"].to_list() == [None, '{"code": -32602, "message": "no such tool"}']


def test_pages_are_one_list_and_the_last_page_ends_it(tmp_path: Path) -> None:
    old, new = tool("look", at=STRING), tool("look", at=STRING, zoom={"type": "integer"})
    found = audited(
        tmp_path,
        lines(
            *BEGIN,
            request(1, "tools/list"),
            answer(1, tools=[old], nextCursor="b"),
            request(2, "tools/list", cursor="b"),
            answer(2, tools=[tool("wait"), tool("gone")]),
            call(3, at="door"),
            said(3, "ok"),
            {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"},
            request(4, "tools/list"),
            answer(4, tools=[new], nextCursor="c"),
            request(5, "tools/list", cursor="c"),
            answer(5, tools=[tool("wait")]),
            call(6, at="door"),
            said(6, "ok"),
            call(7, "gone"),
            said(7, "ok"),
        ),
    )
    offers = found.frames["offers"].filter(pl.col("role") == "arguments").sort("since", "tool")
    assert list(offers.select("tool", "state").iter_rows()) == [
        ("mcp:lamps:look", "offered"),
        ("mcp:lamps:gone", "offered"),
        ("mcp:lamps:wait", "offered"),
        ("mcp:lamps:look", "offered"),
        ("mcp:lamps:gone", "withdrawn"),
    ]
    verdicts = found.frames["verdicts"].filter(pl.col("role") == "arguments")
    assert verdicts["verdict_is"].to_list() == ["valid", "invalid", "unverifiable"]
    assert ("tool-not-advertised", "7") in list(found.findings.select("slug", "call_id").iter_rows())
    data = (tmp_path / "log.jsonl").read_bytes().split(b"\n")
    for event, pointer in offers.select("event", "pointer").iter_rows():
        line = found.frames["events"].filter(pl.col("event") == event)["line"][0]
        value: Any = json.loads(data[line - 1])
        for step in pointer.split("/")[1:]:
            value = value[int(step)] if isinstance(value, list) else value[step]


def test_a_list_that_breaks_off_is_not_the_whole_list(tmp_path: Path) -> None:
    found = audited(
        tmp_path,
        lines(*BEGIN, request(1, "tools/list"), answer(1, tools=[tool("look")], nextCursor="b"), call(2, "other")),
    )
    assert "tool-not-advertised" not in found.findings["slug"].to_list()
    assert found.frames["faults"]["fault"].to_list() == ["more_pages"]


def test_a_call_that_asks_for_input_and_its_retry_are_one_call(tmp_path: Path) -> None:
    again = call(2, at="door")
    again["params"] |= {"requestState": "s1", "inputResponses": {"who": {"action": "accept"}}}
    found = audited(
        tmp_path,
        lines(call(1, at="door"), answer(1, resultType="input_required", requestState="s1"), again, said(2, "open")),
    )
    assert pairs(found) == [("mcp-log.1", "1", "open")]
    assert found.frames["calls"]["sightings"].to_list() == [2]
    assert not {"call-unanswered", "side-effect-repeated"} & set(found.findings["slug"])


def test_a_task_is_answered_by_its_result(tmp_path: Path) -> None:
    found = audited(
        tmp_path,
        lines(
            *BEGIN,
            call(1),
            answer(1, task={"taskId": "t9", "status": "working"}),
            request(2, "tasks/result", taskId="t9"),
            said(2, "done"),
        ),
    )
    assert pairs(found) == [("mcp-log.1", "1", "done")]


def test_an_answer_after_the_request_was_cancelled_is_late(tmp_path: Path) -> None:
    cancelled = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}
    found = audited(tmp_path, lines(*BEGIN, call(1), cancelled, said(1, "ok")))
    assert "result-late" in found.findings["slug"].to_list()


def test_a_request_that_was_cancelled_owes_no_answer(tmp_path: Path) -> None:
    cancelled = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}
    found = audited(tmp_path, lines(*BEGIN, call(1), cancelled, call(2), said(2, "ok"), call(3), said(3, "ok")))
    assert "call-unanswered" not in found.findings["slug"].to_list()
    found = audited(tmp_path, lines(*BEGIN, call(1), call(2), said(2, "ok"), call(3), said(3, "ok")))
    assert "call-unanswered" in found.findings["slug"].to_list()


def test_a_log_may_hold_the_model_s_side_as_well(tmp_path: Path) -> None:
    asked = {"model": "claude-x", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}], "tools": []}
    use = {"type": "tool_use", "id": "toolu_1", "name": "mcp__lamps__look", "input": {"at": "door"}}
    reply = {"id": "msg_1", "type": "message", "role": "assistant", "content": [use], "stop_reason": "tool_use"}
    found = audited(tmp_path, lines(*BEGIN, asked, reply, call(1, at="door"), said(1, "seen")))
    assert found.inputs[0]["format"] == "anthropic-messages,mcp-jsonrpc"
    assert found.frames["calls"].sort("wire").select("wire", "session", "outcome").rows() == [
        ("anthropic-messages", "msg_1", "none"),
        ("mcp-jsonrpc", "mcp-log.1", "ok"),
    ]


def test_envelopes_batches_and_exchanges_hold_messages(tmp_path: Path) -> None:
    stream = f": ping\n\nevent: message\ndata: {json.dumps(said(4, 'four'))}\n\n"
    data = lines(
        {"timestamp": 1790000000.5, "message": call(1)},
        {"timestamp": 1790000001, "payload": json.dumps(said(1, "one"))},
        [call(2), call(3)],
        [said(3, "three"), said(2, "two")],
        {"http": {"method": "POST", "path": "/mcp", "headers": {"Mcp-Session-Id": "conn-5"}, "body": call(4)},
         "response": {"status": 200, "body": stream}},
        {"request": {"headers": [{"name": "mcp-session-id", "value": "conn-5"}],
                     "postData": {"text": json.dumps(call(5))}},
         "response": {"status": 200, "content": {"text": json.dumps(said(5, "five"))}}},
    )  # fmt: skip
    found = audited(tmp_path, data)
    assert pairs(found) == [
        ("conn-5", "4", "four"),
        ("conn-5", "5", "five"),
        ("mcp-log.1", "1", "one"),
        ("mcp-log.1", "2", "two"),
        ("mcp-log.1", "3", "three"),
    ]
    assert found.frames["events"].filter(pl.col("line") == 1)["time"].to_list()[0].year == 2026


def test_an_event_stream_is_read(tmp_path: Path) -> None:
    data = b"".join(
        b"event: message\ndata: " + json.dumps(each).encode() + b"\n\n" for each in (call(1), said(1, "one"))
    )
    assert pairs(audited(tmp_path, data, "log.sse")) == [("mcp-log.1", "1", "one")]


@pytest.mark.parametrize(
    ("record", "pointer"),
    [
        ({"jsonrpc": "1.0", "id": 1, "method": "ping"}, "/jsonrpc"),
        ({"jsonrpc": "2.0", "id": [1], "method": "ping"}, "/id"),
        ({"jsonrpc": "2.0", "result": {}}, "/id"),
    ],
)
def test_a_broken_envelope_is_named(record: dict[str, Any], pointer: str) -> None:
    _, frames = recorded(lines(*BEGIN, record))
    assert frames["faults"]["pointer"].to_list() == [pointer]


@pytest.mark.parametrize("record", [{"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "no JSON"}}])
def test_a_parse_error_has_no_id(record: dict[str, Any]) -> None:
    _, frames = recorded(lines(*BEGIN, record))
    assert frames["faults"].is_empty()


def test_what_cannot_be_kept_is_named_and_the_rest_read(tmp_path: Path) -> None:
    data = lines(
        *BEGIN,
        b'{"jsonrpc":"2.0","id":"a\\ud800","method":"tools/call","params":{"name":"look","arguments":"\\ud800"}}',
    )
    found = audited(tmp_path, data)
    assert found.frames["calls"]["name"].to_list() == ["look"]
    assert set(found.frames["faults"]["fault"]) == {"lone_surrogate"}


@given(st.data())
def test_no_mutation_raises_or_loses_a_record(data: st.DataObject) -> None:
    assert_nothing_lost(data.draw(mutations(SAMPLE)))


def test_the_recorded_logs_give_the_counts_that_are_known(shared: Path) -> None:
    truth = json.loads((shared / "data" / "truth.json").read_text())["mcp-stdio"]
    found = audit([str(shared / "data" / "mcp-stdio")])
    calls, results, verdicts = (found.frames[name] for name in ("calls", "results", "verdicts"))
    arguments = verdicts.filter(pl.col("role") == "arguments")
    judged = arguments.filter(pl.col("verdict_is").is_in(["valid", "invalid"]))
    assert {
        "sessions": found.frames["sessions"].height,
        "calls": calls.height,
        "results": results.height,
        "orphan_calls": calls["result"].null_count(),
        "orphan_results": results["call"].null_count(),
        "dup_call_ids": calls.height - calls.select("session", "call_id").n_unique(),
        "dup_result_ids": results.height - results.select("session", "call_id").n_unique(),
        "args_object": (calls["container"] == "object").sum(),
        "args_checked": judged.height,
        "args_schema_fail": (judged["verdict_is"] == "invalid").sum(),
        "no_schema_for_tool": (arguments["reason"] == "schema_unavailable").sum(),
        "results_flagged_error": (~results["success"]).sum(),
    } == {name: truth[name] for name in truth if name.startswith(_COUNTED)}


_COUNTED = ("sessions", "calls", "results", "orphan", "dup", "args_object", "args_checked", "args_schema", "no_schema")


def test_a_list_of_before_and_calls_of_after_are_two_connections(shared: Path) -> None:
    found = audit([str(shared / "data" / "mcp-drift")])
    sessions = found.frames["sessions"]["session"].to_list()
    assert sessions == [
        "mcp-filesystem_new.1",
        "mcp-filesystem_old.1",
        "mcp-filesystem_oldlist_newcalls.1",
        "mcp-filesystem_oldlist_newcalls.2",
    ]
    results = found.frames["results"]
    assert results.filter(pl.col("session") == sessions[-1])["structured"].null_count() == 0
    assert results["call"].null_count() == 0


def test_bytes_that_are_no_text_spoil_their_line_and_no_other(tmp_path: Path) -> None:
    data = lines(*BEGIN, call(1)) + b'{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"\xff"}]}}\n'
    found = audited(tmp_path, data)
    assert pairs(found) == [("mcp-log.1", "1", "\ufffd")]
    assert found.frames["faults"]["fault"].to_list() == ["invalid_utf8"]


def told(seconds: int, way: str, message: dict[str, Any], more: str = "") -> str:
    return f"2026-03-04T10:00:{seconds:02}.000Z [files] [info] Message from {way}: {json.dumps(message)}{more}\n"


def test_the_log_of_a_desktop_host_is_read_behind_its_prefixes(tmp_path: Path) -> None:
    lines_ = [
        "2026-03-04T09:59:59.000Z [files] [info] Server started { metadata: undefined }\n",
        told(0, "client", request(0, "tools/list")),
        told(1, "server", answer(0, tools=[tool("look", path={"type": "string"})])),
        told(2, "client", call(1, "look", path=3)),
        told(3, "server", said(1, "no such path"), more=" { metadata: undefined }"),
    ]
    found = audited(tmp_path, "".join(lines_).encode(), name="mcp.log")
    assert found.inputs[0]["format"] == NAME
    assert found.inputs[0]["unreadable"] == 0
    events = found.frames["events"]
    assert events["line"].to_list() == [2, 3, 4, 5]  # what the host says of itself is no record
    assert events["time"].dt.second().to_list() == [0, 1, 2, 3]
    assert found.findings.filter(pl.col("rule") == "ARG001")["tool"].to_list() == ["files/look"]
    offset, length = events.select("offset", "length").row(2)
    raw = (tmp_path / "mcp.log").read_bytes()[offset:][:length]  # evidence is the object alone
    assert json.loads(raw)["params"]["arguments"] == {"path": 3}


def test_both_sides_may_count_from_zero_where_the_host_says_who_speaks(tmp_path: Path) -> None:
    lines_ = [
        told(0, "client", call(0, "look")),
        told(1, "server", request(0, "sampling/createMessage")),
        told(2, "client", answer(0, role="assistant", content={"type": "text", "text": "so"})),
        told(3, "server", said(0, "seen")),
    ]
    found = audited(tmp_path, "".join(lines_).encode(), name="mcp.log")
    assert found.frames["calls"]["outcome"].to_list() == ["ok"]
    assert found.frames["results"]["text"].to_list() == ["seen"]


def test_a_message_that_a_host_cut_is_told(tmp_path: Path) -> None:
    cut = told(2, "client", call(2, "look"))[:90] + "\n"
    found = audited(tmp_path, (told(1, "client", call(1, "look")) + cut).encode(), name="mcp.log")
    assert found.inputs[0]["unreadable"] == 1
    assert "LOG001" in found.findings["rule"].to_list()


def named(meta: Any) -> dict[str, Any]:
    return call(1) | {"params": {"name": "look", "_meta": meta}}


@pytest.mark.parametrize(
    ("records", "told"),
    [
        (BEGIN, ["2025-06-18"]),
        ((call(1), said(1, "on")), [None]),
        ((named({"io.modelcontextprotocol/protocolVersion": "2026-07-28"}),), ["2026-07-28"]),
        ((*BEGIN, request(0, "initialize"), answer(0, protocolVersion="2024-11-05")), ["2025-06-18", "2024-11-05"]),
        ((request(0, "initialize", protocolVersion="2025-06-18"), call(1)), [None]),
        ((named(["odd"]),), [None]),
    ],
)
def test_the_version_of_the_protocol_is_the_one_agreed_on(
    tmp_path: Path, records: tuple[Any, ...], told: list[str | None]
) -> None:
    assert audited(tmp_path, lines(*records)).frames["sessions"]["protocol"].to_list() == told


def test_a_header_names_the_version_of_the_protocol(tmp_path: Path) -> None:
    asked = {"method": "POST", "url": "/mcp", "headers": {"MCP-Protocol-Version": "2025-03-26"}, "body": call(1)}
    found = audited(tmp_path, lines({"request": asked, "response": {"status": 200, "body": said(1, "on")}}))
    assert found.frames["sessions"]["protocol"].to_list() == ["2025-03-26"]


def test_an_answer_that_is_recorded_twice_is_one_and_another_one_is_not(tmp_path: Path) -> None:
    asked = {"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": {"name": "water", "arguments": {}}}
    told = [{"jsonrpc": "2.0", "id": 5, "result": {"content": [{"type": "text", "text": text}]}} for text in "ab"]
    log = tmp_path / "log.jsonl"
    for answers, results in (([told[0], told[0]], 1), (told, 2), ([told[0], asked, told[0]], 2)):
        log.write_bytes(lines(asked, *answers))
        found = audit(str(log))
        assert found.summary["results"] == results
        assert ("CALL006" in set(found.findings["rule"])) == (answers == told)
