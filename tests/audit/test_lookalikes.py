"""Names that look like others: the report must not show two equal names and call one of them unknown."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from analyzer import audit

SCHEMA = {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"], "additionalProperties": False}


def _exchange(number: int, called: str, arguments: dict[str, Any], *, offered: str = "get_order") -> str:
    call = {"id": f"c{number}", "type": "function", "function": {"name": called, "arguments": json.dumps(arguments)}}
    return json.dumps(
        {
            "request": {
                "model": "m",
                "messages": [{"role": "user", "content": f"order {number}"}],
                "tools": [{"type": "function", "function": {"name": offered, "parameters": SCHEMA}}],
            },
            "response": {
                "id": f"r{number}",
                "object": "chat.completion",
                "choices": [{"index": 0, "message": {"role": "assistant", "content": None, "tool_calls": [call]}}],
            },
        }
    )


def test_a_name_that_only_looks_like_an_offered_one_is_said_to_be_another(tmp_path: Path) -> None:
    lines = [
        _exchange(1, "get_\u043erder", {"id": "1"}),
        _exchange(2, "get_order", {"\u0456d": "1"}),
        _exchange(3, "get_\u043erder", {"id": "1"}, offered="get_\u043erder"),
    ]
    (tmp_path / "log.jsonl").write_text("\n".join(lines), encoding="utf-8")
    found = audit([str(tmp_path / "log.jsonl")], select=["ARG001", "ARG002", "TOOL007"]).findings
    told = {row["rule"]: row["message"] + " " + row["hint"] for row in found.iter_rows(named=True)}
    assert "It is not get_order, which was offered: the name mixes Latin with Cyrillic U+043E" in told["ARG002"]
    assert "(the name mixes Latin with Cyrillic U+0456; reads as id) is not in the schema" in told["ARG001"]
    assert 'rename to "id" (mixes Latin with Cyrillic U+0456; reads as id)' in told["ARG001"]
    assert "(the name mixes Latin with Cyrillic U+043E; reads as get_order)" in told["TOOL007"]


def test_names_of_one_script_are_shown_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "log.jsonl").write_text(_exchange(1, "get_order", {"größe": "1"}), encoding="utf-8")
    message = audit([str(tmp_path / "log.jsonl")], select=["ARG001"]).findings["message"][0]
    assert "größe is not in the schema" in message
