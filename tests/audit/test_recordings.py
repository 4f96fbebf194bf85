"""One session, however it was recorded, has the same findings; and a report does not depend on how it was made."""

from __future__ import annotations

import gzip
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard

from analyzer import audit
from analyzer.read import recording

SAMPLE = Path(__file__).parents[2] / "sample_traces" / "4-approvals.ndjson"
RECORDER = ("recorded_at", "session_id", "direction", "sequence_number")


def _events() -> list[dict[str, object]]:
    return [json.loads(line) for line in SAMPLE.read_bytes().splitlines()]


def _lines(events: list[dict[str, object]]) -> bytes:
    return b"".join(json.dumps(event).encode() + b"\n" for event in events)


def _sse(events: list[dict[str, object]]) -> bytes:
    frames = [": a comment\r\n\r\n"]
    for event in events:
        # Pretty-printed: the data of one event over several lines.
        data = "".join(f"data: {line}\r\n" for line in json.dumps(event, indent=1).splitlines())
        frames.append(f"event: {event['type']}\r\n{data}\r\n")
    return "".join(frames).encode()


def _envelopes(events: list[dict[str, object]]) -> bytes:
    session = "sess_1117_1130"
    return b"".join(
        json.dumps(
            {
                "recorded_at": event.get("recorded_at"),
                "session_id": session,
                "direction": "sent" if ".input." in str(event["type"]) else "received",
                "event": {name: value for name, value in event.items() if name not in RECORDER},
            }
        ).encode()
        + b"\n"
        for event in events
    )


def _two_frames(events: list[dict[str, object]]) -> bytes:
    half = len(events) // 2
    make = zstandard.ZstdCompressor()
    return make.compress(_lines(events[:half])) + make.compress(_lines(events[half:]))


FORMS: dict[str, Callable[[list[dict[str, object]]], bytes]] = {
    "lines": _lines,
    "sse": _sse,
    "array": lambda events: json.dumps(events).encode(),
    "pretty array": lambda events: json.dumps(events, indent=2).encode(),
    "envelopes": _envelopes,
    "gzip": lambda events: gzip.compress(_lines(events)),
    "zstd of two frames": _two_frames,
    "posted body": lambda events: _lines(
        [{"events": [event]} if ".input." in str(event["type"]) else event for event in events]
    ),
}


def _fingerprints(path: Path) -> list[tuple[str, str, str]]:
    found = audit([str(path)]).findings
    assert found.height >= 2
    return sorted(found.select("rule", "group", "fingerprint").iter_rows())


@pytest.mark.parametrize("form", [name for name in FORMS if name != "lines"])
def test_every_recording_of_a_session_has_the_same_fingerprints(form: str, tmp_path: Path) -> None:
    plain = tmp_path / "plain.ndjson"
    plain.write_bytes(_lines(_events()))
    other = tmp_path / "other.log"
    other.write_bytes(FORMS[form](_events()))
    assert _fingerprints(other) == _fingerprints(plain)


def test_the_same_script_with_new_ids_has_the_same_groups(tmp_path: Path) -> None:
    text = SAMPLE.read_text()
    renamed = re.sub(r"\b(sess|turn|call|evt|fc|fco|msg|item)_(\d\w*)", r"\1_new\2", text)
    assert renamed != text
    other = tmp_path / "again.ndjson"
    other.write_text(renamed)
    first, second = audit([str(SAMPLE)]).findings, audit([str(other)]).findings
    assert first.select("rule", "group").rows() == second.select("rule", "group").rows()
    assert not set(first["fingerprint"]) & set(second["fingerprint"])


def test_what_is_spilled_to_disk_is_audited_as_if_it_were_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    paths = [
        str(SAMPLE.parent / name)
        for name in ("4-approvals.ndjson", "5-worker-a.ndjson", "5-worker-b.ndjson", "6-afternoon.ndjson")
    ]
    paths += [str(SAMPLE.parent / "3-incident.envelopes.ndjson"), str(SAMPLE.parent / "2-stream.sse")]
    whole = audit(paths)
    monkeypatch.setattr(recording, "LIMIT", 60)
    monkeypatch.setattr(recording.Recording, "BLOCK", 20)
    spilled = audit(paths)
    assert spilled.findings.equals(whole.findings)
    assert spilled.summary == whole.summary
    assert not list(tmp_path.iterdir())


def _report(*, partitions: int, threads: int, seed: int, jobs: int = 1) -> bytes:
    script = (
        "import sys; from analyzer import audit; from analyzer.report import json\n"
        "if __name__ == '__main__':\n"
        " done = audit(['sample_traces'], contracts=['sample_traces/contracts.json'],"
        f" partitions={partitions}, jobs={jobs})\n"
        " sys.stdout.buffer.writelines(json.pieces(done))"
    )
    environment = {**os.environ, "POLARS_MAX_THREADS": str(threads), "PYTHONHASHSEED": str(seed)}
    root = Path(__file__).parents[2]
    return subprocess.run(
        [sys.executable, "-c", script], cwd=root, env=environment, capture_output=True, check=True
    ).stdout


def test_reports_are_byte_identical_whatever_the_partitions_threads_and_hash_seed() -> None:
    first = _report(partitions=1, threads=1, seed=0)
    assert json.loads(first)["findings"]
    assert _report(partitions=2, threads=8, seed=1) == first
    assert _report(partitions=7, threads=8, seed=2, jobs=2) == first


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_pipe_is_read_like_standard_input(tmp_path: Path, jobs: int) -> None:
    log = (Path(__file__).parents[2] / "sample_traces" / "3-incident.envelopes.ndjson").read_bytes()
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen([sys.executable, "-c", f"open({str(pipe)!r}, 'wb').write({log!r})"]):
        found = audit(str(pipe), jobs=jobs)
    assert found.summary["calls"] == 6


def test_a_link_that_leads_nowhere_is_told(tmp_path: Path) -> None:
    (tmp_path / "today.jsonl").symlink_to("gone.jsonl")
    assert [str(each) for each in audit(str(tmp_path), lenient=True).problems] == [
        f"{tmp_path / 'today.jsonl'}: cannot read: a link that leads to no file"
    ]
