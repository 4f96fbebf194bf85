"""A session too large to be looked at whole is judged in windows, and what is found is what one whole look finds."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from analyzer import Audit, audit
from analyzer.auditing.windows import links
from analyzer.findings.details import DETAILS
from analyzer.read.spilled import large
from analyzer.rules.catalogue import RULES
from analyzer.trace import Settings
from tests.audit.tangled import tangled
from tests.hostile.running import run
from tests.hostile.wire import session
from tests.rules.story import tell
from tests.rules.test_manuals import block
from tests.wires.every import WIRES
from tests.wires.script import Session, plain, renamed

#: Rules that say of themselves that they look at one window at a time.
NEAR = [rule.code for rule in RULES if rule.reach in ("near", "once", "whole")]
CLOSED = {"type": "object", "properties": {"x": {"type": "string"}}, "additionalProperties": False}
SETTINGS = Settings(writes=frozenset({"refund"}))


@contextmanager
def windows_of(weight: int) -> Iterator[None]:
    before = large.WINDOW, links.EDGE
    large.WINDOW, links.EDGE = weight, 2
    try:
        yield
    finally:
        large.WINDOW, links.EDGE = before


def parted(done: Audit) -> pl.DataFrame:
    return done.frames["faults"].filter(fault="session_in_windows")


def told(done: Audit) -> list[dict[str, Any]]:
    """The findings, but for the one that says how the session was looked at."""
    return done.findings.filter(~pl.col("message").str.contains("too large to be looked at whole")).to_dicts()


def counted(done: Audit) -> dict[str, Any]:
    return {name: value for name, value in done.summary.items() if name != "findings"}


def same(whole: Audit, done: Audit) -> None:
    assert done.crashed == []
    assert told(done) == told(whole)
    assert counted(done) == counted(whole)
    assert done.hops == whole.hops
    for name, frame in whole.frames.items():
        mine = done.frames[name]
        assert (mine.filter(pl.col("fault") != "session_in_windows") if name == "faults" else mine).equals(frame), name


def in_windows(log: Path, weights: Iterable[int], **options: Any) -> int:
    """Audit a log whole and in windows of each weight; how often it was in more than one."""
    whole = audit([str(log)], ignore=NEAR, **options)
    count = 0
    for weight in weights:
        with windows_of(weight):
            done = audit([str(log)], ignore=NEAR, **options)
        same(whole, done)
        count += parted(done).height > 0
    return count


@pytest.mark.parametrize(
    ("name", "weights"),
    [
        pytest.param("1-morning.ndjson", (40,), marks=pytest.mark.long),
        ("2-stream.sse", (15,)),
        ("4-approvals.ndjson", (17,)),
        pytest.param("7-evening.ndjson.gz", (30,), marks=pytest.mark.long),
    ],
)
def test_samples(root: Path, name: str, weights: tuple[int, ...]) -> None:
    assert in_windows(root / "sample_traces" / name, weights) == len(weights)


LINKED = ["CALL001", "LOG007", "RUN003", "RUN009"]
ALSO = [rule.code for rule in RULES if rule.code not in (*LINKED, *NEAR) and "\nWire: " not in rule.manual]


@pytest.mark.parametrize("code", [*LINKED, *(pytest.param(code, marks=pytest.mark.long) for code in ALSO)])
def test_faults_of_manuals(code: str, tmp_path: Path) -> None:
    (rule,) = (rule for rule in RULES if rule.code == code)
    story = tell(block(rule, "Bad"))
    log, contracts = tmp_path / "log.ndjson", tmp_path / "contracts.json"
    log.write_bytes(story.log)
    contracts.write_text(json.dumps(story.contracts), encoding="utf-8")
    hints = Settings(writes=story.hints.get("writes", frozenset()), reads=story.hints.get("reads", frozenset()))
    count = len(story.log.splitlines())
    given = [str(contracts)] if story.contracts else []
    assert in_windows(log, [max(count // 3, 1)], settings=hints, contracts=given) > 0


@pytest.mark.parametrize(
    "seed", [1, 5, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(2, 12) if seed != 5)]
)
def test_tangled_sessions(seed: int, tmp_path: Path) -> None:
    """Ids that come again, results that come late, twice, to another turn or for no call, tables that change."""
    log = tmp_path / "log.ndjson"
    log.write_bytes(tangled(seed, 110))
    assert in_windows(log, [12 + 15 * (seed % 6)], settings=SETTINGS) == 1


@pytest.mark.parametrize("missing", [None, 61])
def test_numbers_that_count_the_events_of_the_file(missing: int | None, tmp_path: Path) -> None:
    log = tmp_path / "log.ndjson"
    events = (
        {
            "type": "agent.session.turn.output_text.delta",
            "session_id": f"s{number % 2}",
            "turn_id": f"t{number % 2}",
            "sequence_number": number,
            "delta": "a",
        }
        for number in range(1, 121)
        if number != missing
    )
    log.write_text("".join(json.dumps(event) + "\n" for event in events))
    gaps = audit([str(log)], select=["LOG007"]).findings.filter(pl.col("message").str.contains("missing"))
    assert gaps.height == (0 if missing is None else 2)  # it may be either session that it is of
    assert in_windows(log, [20]) == 1


def test_what_pages_show_beside_the_findings(tmp_path: Path) -> None:
    log = tmp_path / "log.ndjson"
    log.write_bytes(tangled(3, 110))
    whole = audit([str(log)], ignore=["LOG001", *NEAR], keep_frames=False, details=True, settings=SETTINGS)
    with windows_of(40):
        done = audit([str(log)], ignore=["LOG001", *NEAR], keep_frames=False, details=True, settings=SETTINGS)
    assert whole.frames["told_calls"].height > 5
    for name in DETAILS:
        by = whole.frames[name].columns[:4]
        assert done.frames[name].sort(by).equals(whole.frames[name].sort(by)), name


def calls(count: int, arguments: str, session_id: str) -> bytes:
    more = [(f"c{n}", arguments) for n in range(count - 1)]
    return session(CLOSED, arguments, more=more, output=None, session_id=session_id)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    file = tmp_path / "log.ndjson"
    parts = [calls(20, '{"x":1}', "before"), calls(398, '{"x":2}', "long"), calls(20, '{"x":3}', "after")]
    file.write_bytes(b"".join(parts))
    return file


def test_it_is_the_same_for_any_number_of_partitions_and_processes(log: Path) -> None:
    whole = audit([str(log)])
    with windows_of(100):
        done = audit([str(log)])
        several = audit([str(log)], partitions=7)
        alone = audit([str(log)], session="before")
    assert several.findings.equals(done.findings)
    assert several.summary == done.summary
    assert told(done) == told(whole)
    assert parted(done)["session"].to_list() == ["long"]
    assert set(alone.findings["session"].drop_nulls()) == {"before"}


@pytest.mark.parametrize("most", [60, *(pytest.param(most, marks=pytest.mark.long) for most in (7, 401))])
def test_of_more_findings_than_are_listed_the_first_are(log: Path, most: int) -> None:
    settings = Settings(max_findings=most)
    whole = audit([str(log)], ignore=["LOG001", *NEAR], settings=settings, keep_frames=False)
    with windows_of(60):
        done = audit([str(log)], ignore=["LOG001", *NEAR], settings=settings, keep_frames=False)
    assert whole.summary["not_listed"]
    assert done.findings.equals(whole.findings)
    assert done.summary == whole.summary


def test_it_says_so_and_leaves_nothing_out(log: Path) -> None:
    with windows_of(100):
        done = run("audit", "--output-format", "json", str(log))
    assert done.status == 1
    assert b"too large" not in done.err
    report = json.loads(done.out)
    (said,) = (each for each in report["findings"] if each["rule"] == "LOG001")
    assert (said["session"], said["severity"]) == ("long", "info")
    assert "its 400 events were judged in" in said["message"]
    assert "DRIFT006" in said["message"]
    assert report["summary"]["calls"] == 20 + 398 + 20


def test_ids_that_come_too_often_are_not_followed_and_told(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(links, "MOST_LINKED", 5)
    text = log.read_bytes().replace(b'"call_id": "c', b'"call_id": "same", "was": "c')
    log.write_bytes(text)
    with windows_of(100):
        done = audit([str(log)])
    (said,) = (each for each in done.findings.to_dicts() if each["rule"] == "LOG001" and each["severity"] == "error")
    assert "1 of its ids" in said["message"]
    assert [str(problem) for problem in done.problems] == [
        "the session long is too large: 1 of its ids stand on too many rows"
    ]


def test_records_that_were_written_again(tmp_path: Path) -> None:
    steps = tuple(step for number in range(12) for step in renamed(plain("s"), f"{number}_").steps)
    records = list(WIRES["codex-rollout"](Session("s", steps)))
    log = tmp_path / "log.jsonl"
    lines = [json.dumps(record) for record in records]
    log.write_text("\n".join(lines[: len(lines) // 2] + lines[len(lines) // 4 :]), encoding="utf-8")
    assert in_windows(log, [30]) == 1
    again = audit([str(log)]).findings.filter(slug="event-redelivered")
    assert again.height == 1
    assert "byte for byte" in again["message"][0]
