"""A last record that was cut while it was written is told from one that is not JSON."""

from __future__ import annotations

from pathlib import Path

import pytest

from analyzer import audit

EVENT = '{"type":"agent.session.idle","event_id":"evt_1","session":{"id":"s1","error":null,"a":[true,-1,"\\u00e9x"]}}'


def test_every_cut_is_a_torn_write(tmp_path: Path) -> None:
    logs = [tmp_path / f"{kept:03}.ndjson" for kept in range(1, len(EVENT))]
    for kept, log in enumerate(logs, 1):
        log.write_text(f"{EVENT}\n{EVENT[:kept]}", encoding="utf-8")
    found = audit([str(tmp_path)], select=["LOG"]).findings
    assert found.filter(rule="LOG001").is_empty()
    assert found.filter(rule="LOG002")["location"].struct.field("file").sort().to_list() == [str(log) for log in logs]


@pytest.mark.parametrize("line", ['{"a":nul1}', '{"a":,}', '{"a":"\\u12zz"}', "{} x"])
def test_no_json_is_no_torn_write(tmp_path: Path, line: str) -> None:
    log = tmp_path / "log.ndjson"
    log.write_text(f"{EVENT}\n{line}", encoding="utf-8")
    assert "LOG001" in audit([str(log)], select=["LOG"]).findings["rule"].to_list()
