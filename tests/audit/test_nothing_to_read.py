"""An audit of nothing is an error, not an audit without findings."""

from __future__ import annotations

from pathlib import Path

import pytest

import analyzer
from analyzer.auditing import open_audit
from analyzer.errors import ContractFileError, InputError, UsageError

SAMPLES = Path(__file__).parents[2] / "sample_traces"
MORNING = SAMPLES / "1-morning.ndjson"


def test_logs_of_which_none_can_be_read_raise(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no/such/dir: cannot read: No such file or directory"):
        analyzer.audit(["no/such/dir", "nor/this"])
    with pytest.raises(InputError, match="nothing to read"):
        analyzer.audit(tmp_path)
    with pytest.raises(UsageError, match="no path"):
        analyzer.audit([])


def test_a_session_that_is_not_in_the_log_is_no_good_session() -> None:
    with pytest.raises(UsageError, match="no session 'sess_1117_0804' in the log"):
        analyzer.audit(MORNING, session="sess_1117_0804")
    assert analyzer.audit(MORNING, session="sess_1117_0803").summary["sessions"] == 1


def test_contracts_of_which_none_can_be_read_raise(tmp_path: Path) -> None:
    with pytest.raises(ContractFileError, match="nodir: cannot be read: No such file or directory"):
        analyzer.audit(MORNING, contracts=["nodir/"])
    with pytest.raises(ContractFileError, match=r"a folder without any \.json file"):
        analyzer.audit(MORNING, contracts=[str(tmp_path)])


def test_what_could_be_read_is_audited_and_the_rest_is_among_the_problems() -> None:
    done = analyzer.audit([MORNING, "no/such/dir"], contracts=[str(SAMPLES / "contracts.json"), "nodir/"])
    assert done.summary["calls"]
    assert sorted(problem.file or "" for problem in done.problems) == ["no/such/dir", "nodir"]


def test_a_name_alone_is_not_taken_for_its_letters(tmp_path: Path) -> None:
    incident = SAMPLES / "3-incident.envelopes.ndjson"
    assert set(analyzer.audit(incident, select="ARG").findings["rule"]) == {"ARG001"}
    assert "ARG001" not in set(analyzer.audit(incident, ignore="ARG").findings["rule"])
    done = analyzer.audit(incident, contracts=SAMPLES / "contracts.json")
    assert (done.problems, done.frames["contracts"].is_empty()) == ([], False)
    assert analyzer.audit(incident, contracts=str(SAMPLES / "contracts.json")).problems == []
    schema = tmp_path / "final.json"
    schema.write_text('{"type": "object"}', encoding="utf-8")
    assert "FINAL002" in set(analyzer.audit(incident, final_schema=schema).findings["rule"])


def test_what_is_saved_is_opened_by_its_path(tmp_path: Path) -> None:
    done = analyzer.audit(MORNING)
    done.save(tmp_path / "kept")
    assert open_audit(tmp_path / "kept").summary == done.summary


def test_a_rule_that_does_not_exist_selects_nothing_and_is_no_empty_audit() -> None:
    with pytest.raises(UsageError, match="no rule 'ARG01'"):
        analyzer.audit(MORNING, select=["ARG01"])
    with pytest.raises(UsageError, match="no rule 'RUM'"):
        analyzer.audit(MORNING, ignore=["RUM"])


def test_an_audit_shows_itself_in_one_line_with_what_is_missing(tmp_path: Path) -> None:
    house = tmp_path / "house.jsonl"
    house.write_text('{"level": 30}\n', encoding="utf-8")
    done = analyzer.audit([MORNING, house, "no/such/dir"])
    told = repr(done)
    assert told.startswith("<Audit: 0 error, 0 warning, ")
    assert told.endswith("1 sessions, 9 calls, 9 results, coverage 1.0, 1 not recognised, 1 problems>")
    assert repr(done.problems) == "[InputError('no/such/dir: cannot read: No such file or directory')]"


def test_a_saved_audit_that_is_damaged_is_said_to_be(tmp_path: Path) -> None:
    analyzer.audit(MORNING).save(tmp_path)
    (tmp_path / "calls.parquet").write_bytes(b"PAR1")
    with pytest.raises(InputError, match="the saved audit is damaged"):
        open_audit(tmp_path)
