"""What is known is not audited again, what changed is, and the answer is that of one audit of everything."""

from __future__ import annotations

import gzip
import json
import os
import threading
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from analyzer import audit
from analyzer.batch import Night, Store, Terms
from analyzer.batch.segments import audit_segment
from analyzer.batch.store import MEASURES
from analyzer.batch.workers import Here
from analyzer.cli import exits
from analyzer.config import Suppression
from analyzer.contracts.files import load_contracts
from analyzer.errors import InputError, UsageError
from analyzer.report import html
from analyzer.report.trend import page, pieces
from analyzer.trace import Settings
from tests.audit.wire import CLOSED
from tests.batch.nights import changed, log, run, story, told
from tests.conftest import ROOT

GOOD, BAD, WORSE = {"id": "x"}, {"id": 7}, {"id": "x", "more": 1}


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """Give three files of two sessions."""
    folder = tmp_path / "logs"
    log(folder, "a.ndjson", story("s1", GOOD), story("s2", BAD))
    log(folder, "b.ndjson", story("s3", GOOD), story("s4", WORSE))
    log(folder, "c.ndjson", story("s5", GOOD))
    return folder


@pytest.mark.parametrize("size", [1, 3_000, 64 << 20])
def test_the_answer_is_that_of_one_audit(tmp_path: Path, logs: Path, size: int) -> None:
    night, whole = run(tmp_path / "store", logs, size=size), audit([str(logs)])
    assert told(night.audit.findings) == told(whole.findings)
    assert night.audit.summary == whole.summary
    assert night.audit.inputs == whole.inputs


def test_all_samples_as_one_audit(tmp_path: Path, root: Path) -> None:
    night = run(tmp_path / "store", root / "sample_traces", size=40_000)
    whole = audit([str(root / "sample_traces")])
    assert told(night.audit.findings) == told(whole.findings)
    assert night.audit.summary == whole.summary


def test_what_is_unchanged_is_not_audited_again(tmp_path: Path, logs: Path) -> None:
    first = run(tmp_path / "store", logs, size=1)
    again = run(tmp_path / "store", logs, size=1)
    assert (first.trend.run["audited"], again.trend.run["audited"]) == (3, 0)
    assert told(again.audit.findings) == told(first.audit.findings)
    log(logs, "c.ndjson", story("s5", BAD))
    assert run(tmp_path / "store", logs, size=1).trend.run["audited"] == 1


def test_same_size_and_time_is_seen_by_its_digest_only(tmp_path: Path, logs: Path) -> None:
    file = log(logs, "c.ndjson", story("s5", {"id": "x"}))
    state = file.stat()
    run(tmp_path / "store", logs, size=1)
    file.write_bytes(file.read_bytes().replace(b'"id": "x"', b'"id": 123'))
    os.utime(file, ns=(state.st_atime_ns, state.st_mtime_ns))
    assert run(tmp_path / "store", logs, size=1).trend.run["audited"] == 0
    night = run(tmp_path / "store", logs, size=1, verify=True)
    assert night.trend.run["audited"] == 1
    assert told(night.audit.findings) == told(audit([str(logs)]).findings)


def test_a_session_that_goes_on_in_another_file_is_one(tmp_path: Path) -> None:
    events = story("s1", BAD)
    log(tmp_path / "logs", "1.ndjson", events[:2])
    run(tmp_path / "store", tmp_path / "logs", size=1)
    log(tmp_path / "logs", "2.ndjson", story("s9", GOOD))
    log(tmp_path / "logs", "3.ndjson", events[2:])
    night = run(tmp_path / "store", tmp_path / "logs", size=1)
    assert told(night.audit.findings) == told(audit([str(tmp_path / "logs")]).findings)
    assert night.audit.summary["sessions"] == 2
    assert run(tmp_path / "store", tmp_path / "logs", size=1).trend.run["audited"] == 0


def test_other_settings_have_everything_audited_again(tmp_path: Path, logs: Path) -> None:
    run(tmp_path / "store", logs)
    terms = Terms(settings=replace(Settings(), retries=7))
    night = run(tmp_path / "store", logs, terms=terms)
    assert night.trend.run["audited"] == 3
    assert night.trend.before is not None
    assert night.trend.before["options"] != night.trend.run["options"]


def test_new_fixed_recurring_returned(tmp_path: Path, logs: Path) -> None:
    store = tmp_path / "store"
    assert set(changed(run(store, logs))) == {"new"}
    assert set(changed(run(store, logs))) == {"recurring"}
    log(logs, "a.ndjson", story("s1", GOOD), story("s2", GOOD))
    night = run(store, logs)
    gone = night.trend.changes.filter(night.trend.changes["change"] == "fixed")
    assert "ARG001" in gone["rule"].to_list()
    assert set(gone["count"]) == {0}
    log(logs, "a.ndjson", story("s1", BAD), story("s2", BAD))
    back = run(store, logs).trend.changes
    returned = back.filter((back["change"] == "returned") & (back["rule"] == "ARG001"))
    assert returned["count"].to_list() == [2]


@pytest.mark.parametrize(
    ("bad", "good", "change"),
    [(40, 57, "grew"), (4, 96, "recurring"), (9, 1, "grew"), (30, 970, "recurring"), (3, 7, "recurring")],
    ids=["much", "chance", "by call", "more of everything", "less of everything"],
)
def test_what_grew_is_told_apart(bad: int, good: int, change: str, tmp_path: Path, logs: Path) -> None:
    def night(bad: int, good: int) -> Night:
        each = [BAD] * bad + [GOOD] * good
        log(logs, "a.ndjson", *(story(f"s{at}", arguments) for at, arguments in enumerate(each)))
        return run(tmp_path / "store", logs / "a.ndjson")

    night(3, 97)
    assert _arg001(night(bad, good)) == [(change, bad, 3)]


def _arg001(night: Night) -> list[tuple[str, int, int]]:
    changes = night.trend.changes.filter(rule="ARG001")
    return changes.select("change", "count", "before").rows()


@pytest.mark.parametrize("way", ["gone", "older", "unreadable"])
def test_what_was_not_looked_at_is_not_fixed(way: str, tmp_path: Path) -> None:
    logs, store = tmp_path / "logs", tmp_path / "store"
    bad, good = log(logs, "a.ndjson", story("s1", BAD), story("s2", BAD)), log(logs, "b.ndjson", story("s3", GOOD))
    assert _arg001(run(store, logs)) == [("new", 2, 0)]
    kept, since = bad.read_bytes(), None
    if way == "gone":
        bad.unlink()
    elif way == "older":
        os.utime(bad, (1, 1))
        since = datetime(2000, 1, 1, tzinfo=UTC)
    else:
        bad.unlink()
        bad.symlink_to(tmp_path / "nowhere")
    night = run(store, bad if way == "unreadable" else logs, good, since=since)
    assert _arg001(night) == [("not looked at", 0, 2)]
    assert "Not looked at" in page(night.trend, night.audit.summary, night.audit.findings, next_command="x")
    assert _arg001(run(store, good)) == [], "told once"
    bad.unlink(missing_ok=True)
    bad.write_bytes(kept)
    assert _arg001(run(store, logs)) == [("recurring", 2, 2)], "it never went away"


def _kinds(night: Night) -> set[str]:
    return set(changed(night))


def _rotate(file: Path, how: str) -> None:
    if how == "packed":
        Path(f"{file}.1.gz").write_bytes(gzip.compress(file.read_bytes()))
        file.unlink()
    else:
        file.rename(file.with_name("app-20261130.ndjson" if how == "dated" else f"{file.name}.1"))


@pytest.mark.parametrize("grown", [False, True], ids=["as it was", "grown"])
@pytest.mark.parametrize("how", ["moved", "packed", "dated"])
def test_a_rotated_log_is_nothing_lost(how: str, grown: bool, tmp_path: Path) -> None:
    logs, store = tmp_path / "logs", tmp_path / "store"
    app = log(logs, "app.ndjson", story("s1", BAD), story("s2", GOOD))
    run(store, logs)
    if grown:
        log(logs, "app.ndjson", story("s1", BAD), story("s2", GOOD), story("s3", GOOD))
    _rotate(app, how)
    log(logs, "app.ndjson", story("s4", GOOD))
    night = run(store, logs)
    assert (night.audit.lost, _kinds(night)) == ([], {"recurring"})
    assert exits.decide(night.audit, fail_on="never") == exits.CLEAN


def test_what_was_rotated_away_is_lost(tmp_path: Path) -> None:
    logs, store = tmp_path / "logs", tmp_path / "store"
    app = log(logs, "app.ndjson", story("s1", BAD), story("s2", GOOD))
    run(store, logs)
    log(logs, "app.ndjson.1", story("s2", GOOD), story("s3", GOOD))
    log(logs, "app.ndjson", story("s4", GOOD))
    night = run(store, logs)
    assert f"{app}: 10 records could be read in the last run, and 5 now" in night.audit.lost
    assert exits.decide(night.audit, fail_on="never") == exits.UNREAD


@pytest.mark.parametrize("left", [b"", bytes(range(256)) * 12, b'{"house": 1}\n' * 9], ids=["empty", "random", "house"])
def test_what_was_overwritten_with_what_is_no_log_is_not_fixed(left: bytes, tmp_path: Path) -> None:
    logs, store = tmp_path / "logs", tmp_path / "store"
    bad = log(logs, "a.ndjson", story("s1", BAD), story("s2", BAD))
    log(logs, "b.ndjson", story("s3", GOOD))
    run(store, logs)
    kept = bad.read_bytes()
    bad.write_bytes(left)
    night = run(store, logs)
    assert _arg001(night) == [("not looked at", 0, 2)]
    assert "fixed" not in _kinds(night)
    told = page(night.trend, night.audit.summary, night.audit.findings, next_command="x", width=1000)
    assert "1 not recognised" in told.splitlines()[0]
    assert f"{bad}: not recognised" in told
    assert "a.ndjson was not read" in "".join(told.split("\n"))
    assert json.loads(b"".join(pieces(night.trend)))["unrecognised"] == [str(bad)]
    assert exits.decide(night.audit) == exits.UNREAD
    assert _arg001(run(store, logs)) == [], "told once"
    bad.write_bytes(kept)
    assert _kinds(run(store, logs)) == {"recurring"}, "it never went away"


def _shortened(logs: Path) -> None:
    log(logs, "a.ndjson", story("s1", BAD)[:1], story("s2", GOOD))


def _without_the_session(logs: Path) -> None:
    log(logs, "a.ndjson", story("s8", GOOD), story("s2", GOOD))


def _another_call(logs: Path) -> None:
    log(logs, "a.ndjson", story("s1", GOOD, tool="put"), story("s2", GOOD))


def _without_a_schema(logs: Path) -> None:
    log(logs, "a.ndjson", story("s1", BAD, schema=None), story("s2", GOOD))


@pytest.mark.parametrize("change", [_shortened, _without_the_session, _another_call, _without_a_schema])
def test_what_has_lost_its_evidence_is_not_fixed(change: Callable[[Path], None], tmp_path: Path) -> None:
    logs, store = tmp_path / "logs", tmp_path / "store"
    log(logs, "a.ndjson", story("s1", BAD), story("s2", GOOD))
    log(logs, "b.ndjson", story("s3", GOOD))
    run(store, logs)
    change(logs)
    lost = run(store, logs).audit.lost
    assert bool(lost) == (change is not _without_the_session), "there is as much of it, in another session"
    assert any(str(logs / "a.ndjson") in each for each in lost) == (change is _shortened)
    for _ in range(2):  # what was not looked at once is not fixed the next time either
        log(logs, "b.ndjson", story("s3", GOOD), story("s4", GOOD))
        assert [each for each in _arg001(run(store, logs)) if each[0] == "fixed"] == []
    log(logs, "a.ndjson", story("s1", GOOD), story("s2", GOOD))
    assert _arg001(run(store, logs)) == [("fixed", 0, 1)]


def test_what_other_terms_do_not_judge_is_not_fixed(tmp_path: Path) -> None:
    logs, store, file = tmp_path / "logs", tmp_path / "store", tmp_path / "contracts.json"
    closed = {"type": "object", "properties": {"id": {"type": "string"}}, "additionalProperties": False}
    out = {"type": "object", "required": ["done"]}
    file.write_text(json.dumps({"get": {"arguments": closed, "output": out}, "put": {"output": out}}))
    log(logs, "a.ndjson", story("s1", BAD, schema={}), story("s2", GOOD, tool="put"))
    terms = Terms(contracts=load_contracts([file]))
    first = run(store, logs, terms=terms)
    rules = {"OUT004", "DRIFT001"}
    assert rules <= set(changed(first)["new"])
    file.write_text(json.dumps({"put": {"output": out}}))  # OUT004 runs still, but not on what it found
    for less in (Terms(), Terms(contracts=load_contracts([file])), replace(terms, ignore=["OUT004", "DRIFT001"])):
        night = run(store, logs, terms=less)
        assert "fixed" not in _kinds(night), less
        rates = {row["rule"]: row for row in night.trend.rates()}
        assert all(rates[rule]["rate"] is None or rates[rule]["not_looked_at"] for rule in rules)
        assert rates["DRIFT001"]["rate"] is None
        assert not rules & set(changed(night).get("new", ()))
        assert bool(night.audit.lost) == (less.ignore == ()), "what was ignored is no loss"
        run(store, logs, terms=terms)
    again = run(store, logs, terms=terms)
    assert rules <= set(changed(again)["recurring"]), "it never went away"
    assert _kinds(again) == {"recurring"}
    file.write_text(json.dumps({"get": {"arguments": {}, "output": {}}, "put": {"output": out}}))
    right = run(store, logs, terms=Terms(contracts=load_contracts([file])))
    fixed = right.trend.changes.filter(change="fixed")
    assert set(fixed.select("rule", "tool").rows()) >= {("OUT004", "get"), ("DRIFT001", "get")}, "contracts put right"
    assert right.audit.lost == []


def test_a_rule_that_did_not_run_has_no_rate(tmp_path: Path, logs: Path) -> None:
    run(tmp_path / "store", logs)
    night = run(tmp_path / "store", logs, terms=Terms(ignore=["ARG001"]))
    (rate,) = [row for row in night.trend.rates() if row["rule"] == "ARG001"]
    assert (rate["rate"], rate["before"]) == (None, 400.0)
    told = page(night.trend, night.audit.summary, night.audit.findings, next_command="x", width=200)
    assert "was 400.00; not looked at" in told
    assert "the rule did not run" in told.split("Not looked at")[1].split("Per thousand")[0]


def test_what_two_inputs_show_together_is_fixed_only_when_both_were_looked_at(tmp_path: Path) -> None:
    logs, store = tmp_path / "logs", tmp_path / "store"
    log(logs, "a.ndjson", story("s1", GOOD))
    other = log(logs, "b.ndjson", story("s2", GOOD, schema={**CLOSED, "properties": {"id": {"type": "integer"}}}))
    first = run(store, logs).trend.changes
    drifts = set(first.filter(first["rule"].str.starts_with("DRIFT"))["rule"])
    assert drifts
    other.write_text("")
    last = run(store, logs).trend.changes
    assert drifts <= set(last.filter(last["change"] == "not looked at")["rule"])


def test_what_is_gone_when_it_is_looked_at_again_is_fixed(tmp_path: Path) -> None:
    logs, store = tmp_path / "logs", tmp_path / "store"
    log(logs, "a.ndjson", story("s1", BAD), story("s2", BAD))
    good = log(logs, "b.ndjson", story("s3", GOOD))
    run(store, logs)
    run(store, good)
    run(store, good)
    log(logs, "a.ndjson", story("s1", GOOD), story("s2", GOOD))
    assert _arg001(run(store, logs)) == [("fixed", 0, 2)]
    assert _arg001(run(store, logs)) == []


def test_some_of_it_is_looked_at(tmp_path: Path) -> None:
    logs, store = tmp_path / "logs", tmp_path / "store"
    log(logs, "a.ndjson", story("s1", BAD))
    other = log(logs, "b.ndjson", story("s2", BAD))
    run(store, logs)
    assert _arg001(run(store, other)) == [("recurring", 1, 2)]
    log(logs, "b.ndjson", story("s2", GOOD))
    assert _arg001(run(store, other)) == [("not looked at", 0, 1)]


def test_a_new_version_of_a_known_tool_is_told(tmp_path: Path, logs: Path) -> None:
    run(tmp_path / "store", logs)
    other = {**CLOSED, "required": []}
    log(logs, "d.ndjson", story("s6", GOOD, schema=other), story("s7", GOOD, tool="put"))
    versions = run(tmp_path / "store", logs).trend.versions
    assert versions["tool"].to_list() == ["function::get"]


def test_first_and_last_seen(tmp_path: Path, logs: Path) -> None:
    store = tmp_path / "store"
    run(store, logs)
    log(logs, "a.ndjson", story("s1", GOOD), story("s2", GOOD))
    log(logs, "b.ndjson", story("s3", GOOD), story("s4", GOOD))
    run(store, logs)
    seen = run(store, logs).trend.seen.filter(kind="rule", name="ARG001").to_dicts()
    assert [(row["first_run"], row["last_run"], row["count"]) for row in seen] == [(1, 1, 0)]


def test_rates_are_per_thousand_calls(tmp_path: Path, logs: Path) -> None:
    rates = {row["rule"]: row["rate"] for row in run(tmp_path / "store", logs).trend.rates()}
    assert rates["ARG001"] == 400.0  # two of five


def test_a_bad_file_is_told_and_the_night_goes_on(tmp_path: Path, logs: Path) -> None:
    (logs / "broken.ndjson.gz").write_bytes(b"\x1f\x8b\x08\x00rubbish")
    (logs / "empty.ndjson").write_bytes(b"")
    (logs / "notes.txt").write_text("no log at all\n")
    night = run(tmp_path / "store", logs, tmp_path / "not-there", size=1)
    assert night.audit.summary["sessions"] == 5
    problems = " ".join(map(str, night.audit.problems))
    assert "broken.ndjson.gz" in problems
    assert "not-there" in problems
    again = run(tmp_path / "store", logs, size=1)
    assert "broken.ndjson.gz" in " ".join(map(str, again.audit.problems)), "what is kept keeps its problems"


def test_an_input_on_which_we_fail_is_left_out_and_tried_again(
    tmp_path: Path, logs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(sources: list[object], *more: object) -> object:
        if any(str(getattr(each, "path", "")).endswith("b.ndjson") for each in sources):
            raise ValueError("a fault of ours")
        return audit_segment(sources, *more)  # type: ignore[arg-type]

    monkeypatch.setattr("analyzer.batch.scheduling.audit_segment", failing)
    night = run(tmp_path / "store", logs)
    assert [Path(path).name for path in night.failed] == ["b.ndjson"]
    assert night.audit.summary["sessions"] == 3
    monkeypatch.undo()
    whole = run(tmp_path / "store", logs)
    assert whole.failed == ()
    assert told(whole.audit.findings) == told(audit([str(logs)]).findings)


def test_several_jobs_give_the_same(tmp_path: Path, logs: Path) -> None:
    one, two = run(tmp_path / "one", logs, size=1), run(tmp_path / "two", logs, size=1, jobs=2)
    assert told(one.audit.findings) == told(two.audit.findings)
    assert one.audit.summary == two.audit.summary


def test_two_runs_at_once_wait_for_each_other(tmp_path: Path, logs: Path) -> None:
    nights = []
    threads = [threading.Thread(target=lambda: nights.append(run(tmp_path / "store", logs, size=1))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(night.trend.run["run"] for night in nights) == [1, 2]
    assert sorted(night.trend.run["audited"] for night in nights) == [0, 3]
    assert told(nights[0].audit.findings) == told(nights[1].audit.findings)


def test_files_that_are_gone_are_no_part_of_the_night(tmp_path: Path, logs: Path) -> None:
    run(tmp_path / "store", logs)
    (logs / "a.ndjson").unlink()
    night = run(tmp_path / "store", logs)
    assert night.audit.summary["sessions"] == 3
    assert told(night.audit.findings) == told(audit([str(logs)]).findings)


def test_since_and_until_take_files_by_when_they_were_written(tmp_path: Path, logs: Path) -> None:
    noon = datetime(2026, 11, 29, 12, tzinfo=UTC)
    for at, name in enumerate(("a", "b", "c")):
        when = (noon + timedelta(hours=at)).timestamp()
        os.utime(logs / f"{name}.ndjson", (when, when))
    night = run(tmp_path / "store", logs, since=noon + timedelta(hours=1), until=noon + timedelta(hours=2))
    assert [Path(each["path"]).name for each in night.audit.inputs] == ["b.ndjson"]


def test_a_store_is_no_other_folder(logs: Path) -> None:
    with pytest.raises(UsageError, match="something else"):
        Store(str(logs))
    assert sorted(file.name for file in logs.iterdir()) == ["a.ndjson", "b.ndjson", "c.ndjson"]


def test_no_log_at_all(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    night = run(tmp_path / "store", tmp_path / "empty")
    assert night.audit.summary["sessions"] == 0
    assert night.trend.run["inputs"] == 0


def test_a_segment_that_lost_an_input_counts_no_session_twice(tmp_path: Path, logs: Path) -> None:
    store = tmp_path / "store"
    run(store, logs)
    run(store, logs / "a.ndjson")  # by itself: what was audited with it is not asked for this time
    night, whole = run(store, logs), audit([str(logs)])
    assert night.audit.summary == whole.summary
    assert told(night.audit.findings) == told(whole.findings)


def test_inputs_that_cannot_be_audited_together_are_told(
    tmp_path: Path, logs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    events = story("s9", BAD)
    log(logs, "d.ndjson", events[:2])
    log(logs, "e.ndjson", events[2:])
    asked = 0

    def failing(sources: list[object], *more: object) -> object:
        nonlocal asked
        asked += 1
        if asked > 50:
            raise KeyboardInterrupt
        if len(sources) > 1:
            raise MemoryError
        return audit_segment(sources, *more)  # type: ignore[arg-type]

    monkeypatch.setattr("analyzer.batch.scheduling.audit_segment", failing)
    night = run(tmp_path / "store", logs)
    assert [Path(path).name for path in night.failed] == ["e.ndjson"]


def test_a_session_that_goes_on_is_found_whatever_its_name(tmp_path: Path) -> None:
    events = story("sk-proj-" + "aB3dE5fG7h" * 4, BAD)  # hidden, as a credential, in all that is kept
    log(tmp_path / "logs", "1.ndjson", events[:2])
    run(tmp_path / "store", tmp_path / "logs")
    log(tmp_path / "logs", "2.ndjson", events[2:])
    night = run(tmp_path / "store", tmp_path / "logs")
    assert night.audit.summary == audit([str(tmp_path / "logs")]).summary


def test_the_page_of_a_night_is_that_of_an_audit(tmp_path: Path) -> None:
    samples = [str(path) for path in sorted((ROOT / "sample_traces").iterdir()) if path.name[0].isdigit()]
    page_of_audit = b"".join(html.pieces(audit(samples)))
    for _ in range(2):  # the second run takes the answers from the store
        night = run(tmp_path / "store", *samples, size=1)
        assert b"".join(html.pieces(night.audit)) == page_of_audit


@pytest.mark.parametrize(
    ("files", "content"),
    [
        ("segments/*/told.json", None),
        ("segments/*/told.json", b"[]"),
        ("segments/*/told.json", b'{"problems": 7}'),
        ("segments/*/tools.parquet", None),
        ("segments/*/offers.parquet", b"rubbish"),
        ("segments/*/offers.parquet", "segments/*/spans.parquet"),
        ("segments/*/turns.parquet", "segments/*/spans.parquet"),
        ("groups/1.parquet", None),
        ("schemas/1.parquet", b"rubbish"),
        ("runs.parquet", b""),
    ],
)
def test_a_damaged_store_is_told(tmp_path: Path, logs: Path, files: str, content: bytes | str | None) -> None:
    store = tmp_path / "store"
    run(store, logs)
    for file in list(store.glob(files)):
        if content is None:
            file.unlink()
        else:
            file.write_bytes(content if isinstance(content, bytes) else next(store.glob(content)).read_bytes())
    with pytest.raises(InputError, match="the store is damaged"):
        run(store, logs)


def test_a_store_among_the_logs_is_no_log(logs: Path) -> None:
    first, again = run(logs / "store", logs), run(logs / "store", logs)
    assert (first.trend.run["inputs"], again.trend.run["inputs"], again.trend.run["audited"]) == (3, 3, 0)


def test_a_store_that_cannot_be_written_is_told(tmp_path: Path, logs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Store, "commit", full)
    with pytest.raises(UsageError, match="cannot keep a store: No space left"):
        run(tmp_path / "store", logs)
    with pytest.raises(UsageError, match="no UTF-8"):
        run(tmp_path / "s\udcff", logs)
    (tmp_path / "other" / "lock").mkdir(parents=True)
    with pytest.raises(UsageError, match="cannot keep a store"):
        run(tmp_path / "other", logs)


def test_what_is_suppressed_is_not_told_as_fixed(tmp_path: Path, logs: Path) -> None:
    store, borne = tmp_path / "store", [Suppression("known", date(9999, 1, 1), rule="ARG001")]
    run(store, logs)
    night = run(store, logs, suppressions=borne)
    assert changed(night)["suppressed"] == ["ARG001"]
    assert "fixed" not in changed(night)
    again = run(store, logs, suppressions=borne)
    assert changed(again)["suppressed"] == ["ARG001"], "told every night: it is there"
    assert again.trend.changes.filter(change="suppressed").select("count", "before", "why").rows() == [
        (1, 0, "known"),
        (1, 0, "known"),
    ]
    assert changed(run(store, logs))["returned"] == ["ARG001"]


def test_suppressing_is_no_improvement_of_the_rate(tmp_path: Path, logs: Path) -> None:
    store, borne = tmp_path / "store", [Suppression("known", date(9999, 1, 1), rule="ARG001", session="s2")]
    run(store, logs)
    night = run(store, logs, suppressions=borne)
    (rate,) = [row for row in night.trend.rates() if row["rule"] == "ARG001"]
    assert rate["rate"] == rate["before"] == 400.0
    assert (rate["suppressed"], rate["suppressed_before"]) == (200.0, 0.0)
    told = page(night.trend, night.audit.summary, night.audit.findings, next_command="x", width=200)
    assert "400.00  was 400.00; suppressed or known of it 200.00, was 0.00" in told
    night = run(store, logs, suppressions=[Suppression("see ticket 17", date(9999, 1, 1), rule="ARG001")])
    told = page(night.trend, night.audit.summary, night.audit.findings, next_command="x", width=200)
    assert "see ticket 17" in told
    assert night.trend.changes.filter(change="suppressed", rule="ARG001")["why"].unique().to_list() == ["see ticket 17"]


def test_a_suppression_that_has_expired_is_told(tmp_path: Path, logs: Path) -> None:
    night = run(tmp_path / "store", logs, suppressions=[Suppression("known", date(2020, 1, 1), rule="ARG001")])
    told = page(night.trend, night.audit.summary, night.audit.findings, next_command="x", width=200)
    assert "expired on 2020-01-01" in told
    assert "expired on 2020-01-01" in json.loads(b"".join(pieces(night.trend)))["notes"][0]


def test_what_a_folder_holds_beside_logs_is_told(tmp_path: Path, logs: Path) -> None:
    (logs / "README.md").write_text("no log\n")
    (logs / "broken.ndjson.gz").write_bytes(b"\x1f\x8b\x08\x00rubbish")
    night = run(tmp_path / "store", logs)
    told = page(night.trend, night.audit.summary, night.audit.findings, next_command="x", width=1000)
    document = json.loads(b"".join(pieces(night.trend)))
    assert document["left_out"] == [str(logs / "README.md")]
    assert str(logs / "README.md") in told.split("Left out")[1]
    assert any("broken.ndjson.gz" in each for each in document["unread"])
    assert "broken.ndjson.gz" in told.split("Not read")[1].split("Left out")[0]


def test_a_store_of_before_is_read(tmp_path: Path, logs: Path) -> None:
    store = tmp_path / "store"
    run(store, logs)
    for file, gone in (("runs.parquet", ["rules"]), ("places/1.parquet", ["rule", "session", "tool", *MEASURES])):
        pl.read_parquet(store / file).drop(gone).write_parquet(store / file)
    night = run(store, logs)
    assert _kinds(night) == {"recurring"}
    assert {row["before"] for row in night.trend.rates()} == {None}


def test_a_process_that_dies_fails_no_input_beside_its_own(
    tmp_path: Path, logs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Falling(Here):
        jobs = 2
        fallen = False

        def submit(self, work: Callable[..., Any], /, *arguments: Any) -> Future[Any]:
            self.fallen |= any(each.path.endswith("b.ndjson") for each in arguments[0])
            if not self.fallen:
                return super().submit(work, *arguments)
            future: Future[Any] = Future()
            future.set_exception(BrokenProcessPool("a process died"))
            return future

        def anew(self) -> None:
            self.fallen = False

    monkeypatch.setattr("analyzer.batch.night.workers", lambda *_, **__: Falling())
    night = run(tmp_path / "store", logs, size=1, jobs=2)
    assert [Path(path).name for path in night.failed] == ["b.ndjson"]
    assert night.audit.summary["sessions"] == 3
