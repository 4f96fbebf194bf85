"""A table that could not be read says nothing: not even that a tool is not in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from analyzer import audit
from analyzer.contracts import timeline
from tests.hostile.schemas import nested
from tests.hostile.wire import session

_MANY = [{"type": "function", "name": f"t{n}", "parameters": {"type": "object"}} for n in range(200)]


def _rules(tmp_path: Path, data: bytes) -> list[str]:
    file = tmp_path / "log.ndjson"
    file.write_bytes(data)
    done = audit([str(file)])
    assert done.crashed == []
    assert done.summary["verdicts"]["valid"] == 0
    return done.findings["rule"].to_list()


def test_a_table_over_the_limit_accuses_no_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timeline, "MAX_TABLE_BYTES", 1_000)
    assert "ARG002" not in _rules(tmp_path, session({"type": "object"}, "{}", tools=_MANY))


@pytest.mark.parametrize("levels", [700, 20_000])
def test_a_table_with_a_schema_too_deep_accuses_no_call(tmp_path: Path, levels: int) -> None:
    data = session("@@", "{}", tools=_MANY).replace(b'"@@"', nested(levels, '{"not":', "}", "{}").encode())
    assert "ARG002" not in _rules(tmp_path, data)


def test_the_tools_beside_a_schema_too_deep_are_judged(tmp_path: Path) -> None:
    data = session("@@", "{}", tools=_MANY).replace(b'"@@"', nested(700, '{"not":', "}", "{}").encode())
    file = tmp_path / "log.ndjson"
    file.write_bytes(data.replace(b'"call_id": "c", "name": "f"', b'"call_id": "c", "name": "t7"'))
    assert audit([str(file)]).summary["verdicts"]["valid"] == 1


def test_what_is_not_in_it_either_is_accused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timeline, "MAX_TABLE_BYTES", 1_000)
    data = session({"type": "object"}, "{}", tools=_MANY).replace(
        b'"call_id": "c", "name": "f"', b'"call_id": "c", "name": "g"'
    )
    assert "ARG002" in _rules(tmp_path, data)
