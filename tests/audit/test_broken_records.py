"""Records of other shapes than an event in a line: pages, webhooks, bodies that are texts, and what has no type."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from analyzer.auditing import Audit, audit
from analyzer.frames import PART_LIMIT
from tests.audit.wire import (
    SESSION,
    TOOLS,
    action,
    added,
    answered,
    asked,
    begun,
    called,
    done,
    ended,
    exchange,
    lines,
    post,
    run,
    stream,
    told,
    turn,
)


def _page(items: list[dict[str, Any]], *, more: bool = False) -> dict[str, Any]:
    return {"object": "list", "data": items, "first_id": None, "last_id": None, "has_more": more}


def _call() -> list[dict[str, Any]]:
    return [added(called()), asked(action()), added(answered(), index=None), done(called())]


def test_a_pair_over_two_pages_newest_first_is_no_broken_order(tmp_path: Path) -> None:
    items = [answered("c2"), called("c2"), answered("c1"), called("c1")]
    pages = [_page(items[:3], more=True), _page(items[3:])]
    audit = run(tmp_path, [*begun(), *ended(), *pages])
    assert audit.summary["results"] == 2
    assert told(audit, "LOG006", "CALL004", "CALL005", "CALL006") == []


def test_a_record_without_a_type_is_called_that(tmp_path: Path) -> None:
    audit = run(tmp_path, [*begun(), {"note": 1}, *_call(), *ended()])
    [message] = audit.findings.filter(audit.findings["rule"] == "LOG003")["message"]
    assert message == "The reader does not know a record without a type; kept, 1 in this session."


def test_an_empty_page_says_nothing(tmp_path: Path) -> None:
    assert told(run(tmp_path, [*begun(), *_call(), _page([]), *ended()])) == []


def _webhook(word: str, session: str) -> dict[str, Any]:
    return {"id": "evt_1", "object": "event", "created_at": 1, "type": f"agent.session.{word}", "data": {"id": session}}


def test_a_webhook_is_of_the_session_it_names(tmp_path: Path) -> None:
    audit = run(tmp_path, [*begun(), _webhook("idle", "sess_other"), *_call(), *ended()])
    assert audit.frames["sessions"]["session"].to_list() == [SESSION, "sess_other"]


def test_a_webhook_does_not_make_a_recording_begin_at_the_beginning(tmp_path: Path) -> None:
    audit = run(tmp_path, [asked(), _webhook("created", SESSION), added(answered("c9"), index=None), *ended()])
    assert told(audit, "CALL005", "LOG007") == ["LOG007"]


def test_a_recording_that_begins_with_a_later_turn_begins_in_the_middle(tmp_path: Path) -> None:
    events = [turn(name="t2"), added(answered("c1"), index=None), turn("completed", name="t2"), *ended()]
    assert told(run(tmp_path, events), "CALL005", "LOG007") == ["LOG007"]


def _envelope(event: dict[str, Any]) -> dict[str, Any]:
    return {"recorded_at": None, "session_id": "the recorder's", "direction": "received", "event": event}


def test_the_session_that_an_event_names_is_surer_than_that_of_its_envelope(tmp_path: Path) -> None:
    audit = run(tmp_path, map(_envelope, [*begun(), *_call(), *ended()]))
    assert audit.frames["sessions"]["session"].to_list() == [SESSION]
    assert told(audit) == []


def _bad() -> list[dict[str, Any]]:
    bad = {"id": "a\u2028b", "extra": 1}
    return [added(called(arguments=bad)), asked(action(arguments=bad)), added(answered(), index=None)]


def test_a_body_that_is_an_event_stream_is_read(tmp_path: Path) -> None:
    request = {"agent": {"id": "agent_a", "tools": list(TOOLS)}, "input": "hi", "stream": True}
    body = ": ok\n\n" + stream([*begun(), *_bad(), *ended()])
    audit = run(tmp_path, [exchange("POST", "", request, body)])
    assert (audit.summary["calls"], audit.summary["results"]) == (1, 1)
    assert told(audit, "ARG001", "RUN001") == ["ARG001", "RUN001"]
    places = [(where["line"], where["pointer"]) for where in audit.findings.filter(~_tool_rules())["location"]]
    assert set(places) == {(1, "/response/body")}
    plain = run(tmp_path, [*begun(), *_bad(), *ended()], "plain.ndjson")
    assert _prints(audit) == _prints(plain)


def test_a_stream_that_is_recorded_twice_is_one(tmp_path: Path) -> None:
    events = [{**event, "event_id": f"evt_{at}"} for at, event in enumerate([*begun(), *_bad(), *ended()])]
    twice = [*events, exchange("GET", f"/{SESSION}/events", None, stream(events))]
    audit = run(tmp_path, twice)
    assert (audit.summary["calls"], audit.summary["results"]) == (1, 1)
    assert "LOG005" not in told(audit)


def test_a_body_that_is_the_text_of_json_is_pointed_at_as_a_text(tmp_path: Path) -> None:
    body = json.dumps({"events": [post(), post(output="other")]})
    events = [*begun(), *_call()[:2], exchange("POST", f"/{SESSION}/events", body, None, 202), *_call()[2:], *ended()]
    findings = run(tmp_path, events).findings
    [where] = findings.filter(findings["rule"] == "CALL006")["location"]
    assert (where["line"], where["pointer"]) == (6, "/http/body")


def test_a_page_of_more_items_than_a_record_has_numbers(tmp_path: Path) -> None:
    count = PART_LIMIT + 40
    items = [item for at in range(count // 2) for item in (called(f"c{at}"), answered(f"c{at}"))]
    bad = called("bad", arguments={"id": 5})
    audit = run(tmp_path, [*begun(), _page([*items, bad, answered("bad")]), *ended()])
    assert (audit.summary["calls"], audit.summary["results"]) == (count // 2 + 1, count // 2 + 1)
    [where] = audit.findings.filter(audit.findings["rule"] == "ARG001")["location"]
    assert where["pointer"] == f"/data/{len(items)}/arguments"


def _tool_rules() -> pl.Expr:
    return pl.col("rule").str.starts_with("TOOL")


def _prints(audit: Audit) -> list[tuple[str, str]]:
    return sorted(audit.findings.filter(~_tool_rules()).select("group", "fingerprint").iter_rows())


def test_of_many_events_of_one_id_all_but_the_first_are_reused_or_redelivered(tmp_path: Path) -> None:
    events = [{**added(called(f"c{at % 600}")), "event_id": "evt_1"} for at in range(3_000)]
    marks = run(tmp_path, [*begun(), *events]).frames["events"]["copy"].value_counts()
    assert dict(marks.drop_nulls().iter_rows()) == {"reused": 599, "redelivered": 2_400}


def test_which_snapshot_is_the_last_is_not_known_across_files_without_order(tmp_path: Path) -> None:
    waiting = [*begun(), added(called()), asked(action())]
    run(tmp_path, [added(answered(), index=None), done(called()), *ended()], "a.ndjson")
    run(tmp_path, waiting, "b.ndjson")
    both = audit([str(tmp_path)])
    assert both.frames["sessions"]["order"].to_list() == ["files"]
    assert told(both, "RUN010") == []
    assert told(run(tmp_path, waiting, "b.ndjson"), "RUN010") == ["RUN010"]


def test_arguments_hold_a_credential(tmp_path: Path) -> None:
    held = {"id": "glpat-" + "Zq3vT8mKx1Wc5RbN7sHd"}
    events = [*begun(), added(called(arguments=held)), asked(action(arguments=held))]
    messages = run(tmp_path, events).findings.filter(pl.col("rule") == "SAFE001")["message"].to_list()
    assert [message.partition(":")[0] for message in messages] == ["The arguments hold a credential"]


@pytest.mark.parametrize("arguments", [b'{"id":NaN}', b'{"id":"\\ud800"}', b'{"id":"a","id":"b"}'])
def test_a_payload_that_reads_two_ways_is_told_once_with_its_call(arguments: bytes, tmp_path: Path) -> None:
    marked = called(arguments="?")
    events = lines([*begun(), added(marked), asked(action(arguments="?")), added(answered(), index=None), done(marked)])
    findings = run(tmp_path, events.replace(b'"?"', arguments)).findings.filter(pl.col("rule") == "LOG009")
    assert findings["call_id"].to_list() == ["c1"]


@pytest.mark.parametrize("members", [{"item": None}, {}])
def test_an_event_of_an_item_without_the_item_is_told(members: dict[str, None], tmp_path: Path) -> None:
    empty = {"type": "agent.session.turn.item.added", "session_id": SESSION, "turn_id": "t1", **members}
    findings = run(tmp_path, [*begun(), empty, *_call(), *ended()]).findings.filter(pl.col("rule") == "LOG010")
    assert findings.select("severity", pl.col("location").struct.field("line")).rows() == [("info", 4)]


def test_a_body_that_was_cut_is_said_to_be_unread(tmp_path: Path) -> None:
    posted, listed = json.dumps({"events": [post()]}), json.dumps(_page([answered()]))
    sent = exchange("POST", f"/{SESSION}/events", posted[:-9], None, 202)
    got = exchange("GET", f"/{SESSION}/items", None, listed[:-5])
    plain = exchange("GET", f"/{SESSION}/items", None, "[bad gateway] try again", 502)
    whole = exchange("POST", f"/{SESSION}/events", posted, listed, 202)
    audit = run(tmp_path, [*begun(), *_call()[:2], sent, got, plain, whole, *_call()[2:], *ended()])
    where = audit.findings.filter(pl.col("rule") == "LOG001")["location"]
    assert [(place["line"], place["pointer"]) for place in where] == [(6, "/http/body"), (7, "/response/body")]
    assert audit.inputs[0]["unreadable"] == 2


@pytest.mark.parametrize("half", ["request", "response"])
def test_a_cut_body_of_another_wire_is_told_too(half: str, tmp_path: Path) -> None:
    bodies = {
        "request": json.dumps({"model": "m", "input": "hi", "tools": []}),
        "response": json.dumps({"object": "response", "id": "r", "model": "m", "output": []}),
    }
    bodies[half] = bodies[half][:-4]
    request = {"method": "POST", "url": "https://api.test/v1/responses", "body": bodies["request"]}
    audit = run(tmp_path, lines([{"request": request, "response": {"status": 200, "body": bodies["response"]}}]))
    [message] = audit.findings.filter(pl.col("rule") == "LOG001")["message"]
    assert f"the text at /{half}/body is cut" in message
