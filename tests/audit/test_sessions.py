"""Faults that show only where several sessions are read together."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from analyzer.auditing import Audit, audit
from tests.audit.wire import (
    Event,
    action,
    added,
    answered,
    asked,
    begun,
    called,
    done,
    ended,
    lines,
    post,
    run,
    turn,
)

ORDER = {"order_id": "ord_1", "cents": 500}


def of(events: list[Event], name: str) -> bytes:
    """The events as those of another session."""
    return lines(events).replace(b'"sess_a"', json.dumps(name).encode())


def waiting(call: str = "c1", arguments: Any = ORDER) -> list[Event]:
    return [*begun(), added(called(call, arguments=arguments)), asked(action(call, arguments=arguments))]


def answering(call: str = "c1", arguments: Any = ORDER) -> list[Event]:
    end = [added(answered(call), index=None), done(called(call, arguments=arguments)), *ended()]
    return [*waiting(call, arguments), *end]


def audited(folder: Path, *logs: bytes, rule: str, **options: Any) -> tuple[Audit, list[dict[str, Any]]]:
    for place, log in enumerate(logs):
        (folder / f"{place}.ndjson").write_bytes(log)
    done_ = audit([str(folder)], **options)
    assert done_.crashed == []
    return done_, [each for each in done_.findings.to_dicts() if each["rule"] == rule]


def test_a_call_that_waited_in_vain_comes_back_in_a_new_session(tmp_path: Path) -> None:
    turned = dict(reversed(ORDER.items()))
    logs = of(waiting(), "sess_1"), of(answering("c9", turned), "sess_2")
    done_, [found] = audited(tmp_path, *logs, rule="RUN004")
    assert (found["session"], found["call_id"], found["tool"]) == ("sess_2", "c9", "get")
    assert "sess_1" in found["message"]
    assert (Path(found["location"]["file"]).name, found["location"]["line"]) == ("1.ndjson", 4)
    [first] = found["related"]
    assert (Path(first["location"]["file"]).name, first["call_id"]) == ("0.ndjson", "c1")
    assert "retries" not in done_.frames
    _, [alike] = audited(tmp_path, rule="RUN004", partitions=3, keep_frames=False)
    assert alike == found


def test_other_arguments_or_an_answer_are_no_retry(tmp_path: Path) -> None:
    logs = of(waiting(), "sess_1"), of(answering(arguments={"order_id": "ord_2"}), "sess_2")
    assert audited(tmp_path, *logs, rule="RUN004")[1] == []
    logs = of(answering(), "sess_1"), of(answering(), "sess_2")
    assert audited(tmp_path, *logs, rule="RUN004")[1] == []


def test_a_result_posted_to_another_session_is_told_once(tmp_path: Path) -> None:
    events = [*begun(), post("c1"), *ended()]
    lost, other = of(waiting(), "sess_1"), of(events, "sess_2")
    done_, [found] = audited(tmp_path, lost, other, rule="CALL007")
    assert (found["session"], found["call_id"], found["tool"]) == ("sess_2", "c1", "get")
    assert "session sess_1" in found["message"]
    assert (Path(found["location"]["file"]).name, found["location"]["line"]) == ("1.ndjson", 4)
    assert not {"CALL004", "CALL005"} & set(done_.findings["rule"])
    done_, [alike] = audited(tmp_path, rule="CALL007", partitions=2, keep_frames=False)
    assert alike == found
    done_, none = audited(tmp_path, rule="CALL007", ignore=["CALL007"])
    assert none == []
    assert "CALL005" in set(done_.findings["rule"])


def test_a_result_whose_id_waits_twice_or_was_answered_is_an_orphan(tmp_path: Path) -> None:
    events = [*begun(), post("c1"), *ended()]
    twice = of(waiting(), "sess_1"), of(events, "sess_2"), of(waiting(), "sess_3")
    assert audited(tmp_path, *twice, rule="CALL007")[1] == []
    answered_ = of(answering(), "sess_1"), of(events, "sess_2"), of(answering(), "sess_3")
    done_, found = audited(tmp_path, *answered_, rule="CALL007")
    assert found == []
    assert "CALL005" in set(done_.findings["rule"])


def test_a_turn_says_why_it_ended(tmp_path: Path) -> None:
    failed = turn("failed")
    failed["turn"]["error"] = {"code": "server_overloaded", "message": "try later"}
    found = run(tmp_path, [*begun(), failed])
    (row,) = found.frames["turns"].iter_rows(named=True)
    assert (row["status"], "server_overloaded" in row["error"]) == ("failed", True)
