"""A session larger than memory is judged up to a limit that names itself, whoever reads it and however it is split."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from analyzer import audit
from analyzer.read import cutting, recording
from tests.hostile.running import run
from tests.hostile.wire import session

CLOSED = {"type": "object", "properties": {"x": {"type": "string"}}, "additionalProperties": False}


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recording, "LIMIT", 60)
    monkeypatch.setattr(recording.Recording, "BLOCK", 25)
    monkeypatch.setattr(cutting, "MOST_EVENTS", 100)


def calls(count: int, arguments: str, session_id: str) -> bytes:
    more = [(f"c{n}", arguments) for n in range(count - 1)]
    return session(CLOSED, arguments, more=more, output=None, session_id=session_id)


@pytest.fixture
def log(tmp_path: Path) -> str:
    file = tmp_path / "log.ndjson"
    parts = [calls(20, '{"x":1}', "before"), calls(398, '{"x":2}', "long"), calls(20, '{"x":3}', "after")]
    file.write_bytes(b"".join(parts))
    return str(file)


@pytest.mark.usefixtures("small")
def test_a_session_of_too_many_events_is_judged_up_to_the_limit_and_told(log: str) -> None:
    done = audit([log])
    assert dict(done.frames["events"]["session"].value_counts().iter_rows()) == {"before": 22, "long": 100, "after": 22}
    limit = f"100 events or {cutting.MOST_BYTES:,} bytes of texts"
    said = f"only the first 100 of its 400 events are judged; the limit is {limit}"
    (finding,) = done.findings.filter(rule="LOG001").to_dicts()
    assert (finding["session"], finding["severity"]) == ("long", "error")
    assert finding["message"] == f"The session is too large: {said}."
    assert [str(problem) for problem in done.problems] == [f"{log}: the session long is too large: {said}"]
    assert done.summary["calls"] == 20 + 98 + 20


@pytest.mark.usefixtures("small")
def test_it_is_the_same_for_any_number_of_partitions_and_processes(log: str) -> None:
    whole = audit([log])
    for several in (audit([log], partitions=7), audit([log], jobs=2)):
        assert several.findings.equals(whole.findings)
        assert list(map(str, several.problems)) == list(map(str, whole.problems))
        assert several.summary == whole.summary


@pytest.mark.usefixtures("small")
def test_it_is_never_sound(tmp_path: Path) -> None:
    file = tmp_path / "sound.ndjson"
    file.write_bytes(calls(398, '{"x":"y"}', "long"))
    done = run("audit", "--ignore", "CALL", "--output-format", "json", str(file))
    assert done.status == 3
    assert b"is too large: only the first 100 of its 400 events are judged" in done.err
    assert {each["rule"] for each in json.loads(done.out)["findings"]} >= {"LOG001"}


@pytest.mark.usefixtures("small")
def test_texts_count_as_well(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cutting, "MOST_BYTES", 200_000)
    file = tmp_path / "texts.ndjson"
    file.write_bytes(calls(70, json.dumps({"x": "y" * 10_000}), "long") + calls(20, '{"x":"y"}', "short"))
    done = audit([str(file)])
    kept = dict(done.frames["events"]["session"].value_counts().iter_rows())
    assert kept["short"] == 22
    assert 10 < kept["long"] <= 22
    assert done.findings.filter(rule="LOG001").height == 1


@pytest.mark.usefixtures("small")
def test_sessions_within_the_limit_are_whole(tmp_path: Path) -> None:
    file = tmp_path / "many.ndjson"
    file.write_bytes(b"".join(calls(90, '{"x":"y"}', f"s{n}") for n in range(9)))
    done = audit([str(file)])
    assert done.summary["calls"] == 9 * 90
    assert done.problems == []
