"""What working tools ask and answer, in every wire: nothing of it is an error."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from analyzer import audit
from tests.wires.every import WIRES, some
from tests.wires.script import Call, Result, Session, Step

TEXT, COUNT, NUMBER = {"type": "string"}, {"type": "integer"}, {"type": "number"}
_Answer = str | tuple[str, str]  # a text, or how it failed


def closed(**members: Any) -> dict[str, Any]:
    return {"type": "object", "properties": members, "required": list(members), "additionalProperties": False}


ORDER = closed(id=COUNT, total=NUMBER, sent=TEXT, note={"type": ["string", "null"]})
#: Each tool with its arguments' schema, and pairs of arguments and answers.
ASKED: dict[str, tuple[dict[str, Any], list[tuple[Any, _Answer]]]] = {
    "get_events": (
        closed(query=TEXT),
        [
            ({"query": "db"}, "Error: connection refused at db:5432\nError: timeout after 30s"),
            ({"query": "db"}, "ERROR 2026-11-17 failed to open\nWARN slow"),
            ({"query": "x"}, '{"events":[{"level":"error","message":"Traceback (most recent call last): boom"}]}'),
        ],
    ),
    "check_suite": (
        closed(path=TEXT),
        [
            ({"path": "t"}, "FAILED tests/test_a.py::test_x - AssertionError: 1 != 2\n1 failed, 3 passed in 0.1s"),
            ({"path": "t"}, '{"passed":3,"failed":1,"errors":["AssertionError: 1 != 2"]}'),
            ({"path": "u"}, '{"issues":[{"severity":"error","message":"undefined name"}],"status":"failed"}'),
        ],
    ),
    "get_job": (
        closed(job=TEXT),
        [
            *(({"job": "a"}, '{"state":"running"}') for _ in range(4)),
            ({"job": "b"}, '{"status":"failed","reason":"disk full","job":"b","tried":3}'),
            ({"job": "c"}, '{"error":null,"data":{"a":1}}'),
            ({"job": "d"}, '{"success":true,"error":"","errors":[]}'),
            ({"job": "e"}, '{"valid":false,"errors":["street is missing"],"checked":2}'),
        ],
    ),
    "http_get": (closed(url=TEXT), [({"url": "https://a.example"}, '{"status":404,"body":"<h1>Not Found</h1>"}')]),
    "get_page": (
        closed(id=COUNT),
        [
            ({"id": 1}, "<!doctype html><title>Error 404</title><p>Not found"),
            ({"id": 2}, "iVBORw0KGgo" * 300),
            ({"id": 3}, "Der Fehler liegt beim Kunden: Verbindung abgelehnt."),
            ({"id": 4}, "\u30a8\u30e9\u30fc\uff1a\u63a5\u7d9a"),
            ({"id": 5}, "a,b\n1,2"),
            ({"id": 6}, "42"),
            ({"id": 7}, "[]"),
        ],
    ),
    "pay": (
        closed(cents=COUNT, rate=NUMBER),
        [
            ({"cents": 100.0, "rate": 1}, ("", "upstream timed out")),
            ({"cents": 100.0, "rate": 1}, "paid"),
            ({"cents": 12345678901234567890, "rate": 0.1}, ("", "insufficient funds")),
        ],
    ),
    "find_user": (
        closed(name=TEXT, mail={"type": ["string", "null"]}, size={"anyOf": [COUNT, {"type": "null"}]}),
        [
            ({"name": "", "mail": None, "size": None}, '{"id":1}'),
            ({"name": "e\u0301", "mail": "", "size": 0}, '{"id":2}'),
        ],
    ),
    "save": (
        closed(body=TEXT, at={"type": "string", "format": "date-time"}),
        [
            ({"body": '{"a":1}', "at": "2026-11-17T09:00:00+01:00"}, '{"stored":"{\\"a\\":1}"}'),
            ({"body": "null", "at": "2026-11-17t09:00:00z"}, "saved"),
        ],
    ),
    "get_order": (
        closed(id=COUNT),
        [
            ({"id": 1}, '{"id":1,"total":5.0,"sent":"2026-11-17","note":null}'),
            ({"id": 2}, '{"id":2.0,"total":5,"sent":"","note":"x"}'),
            ({"id": 9}, ("", "order 9 not found")),
            ({"id": 8}, ("", '{"error":"not_found"}')),
        ],
    ),
    "get_text": (closed(id=COUNT), [({"id": 1}, "hello"), ({"id": 2}, '"hello"')]),
}
OUTPUTS = {"get_order": ORDER, "get_text": TEXT}


def sessions() -> list[Session]:
    found = []
    for tool, (schema, pairs) in ASKED.items():
        steps = []
        for number, (arguments, answer) in enumerate(pairs):
            call, failed = f"{tool}_{number}", isinstance(answer, tuple)
            text = answer[1] if isinstance(answer, tuple) else answer
            asked = Call(call, tool, json.dumps(arguments, ensure_ascii=False))
            steps.append(Step((asked,), (Result(call, text, failed),), ((tool, schema),)))
        twins = tuple(Call(f"{tool}_twin{number}", tool, steps[0].calls[0].arguments) for number in range(2))
        back = tuple(Result(call.id, steps[0].results[0].text, steps[0].results[0].failed) for call in reversed(twins))
        found.append(Session(tool, (*steps, Step(twins, back, ((tool, schema),)))))
    return found


@pytest.mark.parametrize("wire", some(WIRES, 3))
def test_nothing_that_works_is_an_error(wire: str, tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    for session in sessions():
        lines = (json.dumps(record) + "\n" for record in WIRES[wire](session))
        (folder / f"{session.name}.jsonl").write_text("".join(lines), encoding="utf-8")
    contracts = {
        tool: {"arguments": schema} | ({"output": OUTPUTS[tool]} if tool in OUTPUTS else {})
        for tool, (schema, _) in ASKED.items()
    }
    (tmp_path / "contracts.json").write_text(json.dumps(contracts), encoding="utf-8")
    made = audit([str(folder)], contracts=[str(tmp_path / "contracts.json")])
    assert (made.problems, made.unrecognised, made.crashed) == ([], [], [])
    told = made.findings.filter(made.findings["severity"] == "error")
    assert told.select("call_id", "slug", "message").rows() == []
