"""A last record that was cut while it was written is told from one that is not JSON."""

from __future__ import annotations

from pathlib import Path

import pytest

from analyzer import audit

EVENT = '{"type":"agent.session.idle","event_id":"evt_1","session":{"id":"s1","error":null,"a":[true,-1,"\\u00e9x"]}}'


@pytest.mark.parametrize("kept", range(1, len(EVENT)))
def test_every_cut_is_a_torn_write(tmp_path: Path, kept: int) -> None:
    log = tmp_path / "log.ndjson"
    log.write_text(f"{EVENT}\n{EVENT[:kept]}", encoding="utf-8")
    found = audit([str(log)], select=["LOG"]).findings["rule"].to_list()
    assert "LOG001" not in found
    assert "LOG002" in found


@pytest.mark.parametrize("line", ['{"a":nul1}', '{"a":,}', '{"a":"\\u12zz"}', "{} x"])
def test_no_json_is_no_torn_write(tmp_path: Path, line: str) -> None:
    log = tmp_path / "log.ndjson"
    log.write_text(f"{EVENT}\n{line}", encoding="utf-8")
    assert "LOG001" in audit([str(log)], select=["LOG"]).findings["rule"].to_list()
