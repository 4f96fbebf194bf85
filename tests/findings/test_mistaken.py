"""Invalid arguments that another advertised tool takes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from analyzer.auditing import audit
from analyzer.findings import repairs
from tests.samples.wire import Call, Recording, ndjson


def tool(name: str, **properties: str) -> dict[str, Any]:
    members = {member: {"type": kind} for member, kind in properties.items()}
    schema = {"type": "object", "properties": members, "required": list(members), "additionalProperties": False}
    return {"type": "function", "name": name, "description": "", "parameters": schema}


ANYTHING = {"type": "function", "name": "note", "description": "", "parameters": {"type": "object"}}
TOOLS = [tool("find", text="string"), tool("get", id="string"), ANYTHING]


def hints(folder: Path, *arguments: dict[str, Any], tools: list[dict[str, Any]] = TOOLS) -> list[str]:
    log = Recording("09:00:00", tools)
    log.ask("Find them.")
    for each in arguments:
        log.run(Call("find", each, "{}"))
    log.end("Done.")
    file = folder / "log.ndjson"
    file.write_bytes(ndjson(log.entries))
    return audit([str(file)], select=["ARG001"]).findings["hint"].to_list()


def test_the_other_tool_is_named_and_one_that_takes_anything_is_not(tmp_path: Path) -> None:
    mixed, nobody, empty = hints(tmp_path, {"id": "a"}, {"id": 1}, {})
    assert "Another advertised tool takes these arguments: get." in mixed
    assert "Another" not in nobody
    assert "Another" not in empty


def test_few_are_named_and_the_work_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    many = [*TOOLS, *(tool(f"get_{number}", id="string") for number in range(4))]
    [hint] = hints(tmp_path, {"id": "a"}, tools=many)
    assert "get, get_0, get_1 and 2 more." in hint
    monkeypatch.setattr(repairs, "MOST", 1)
    told = hints(tmp_path, {"id": "a"}, {"id": "b"}, {"id": "a"})
    assert ["Another" in hint for hint in told] == [True, False, True]
