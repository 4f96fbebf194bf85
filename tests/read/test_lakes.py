"""Rows of a lake: an event as text in each row, in Parquet or as lines, and beside it whose it is."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from analyzer import audit
from analyzer.read.tried import tried
from tests.batch.nights import Event, log, story

BEGUN = datetime(2026, 11, 29, 22, 0, tzinfo=UTC)


def rows(*sessions: list[Event], event: str = "event", text: bool = True) -> list[dict[str, Any]]:
    """What a recorder writes of events into a table: the event apart from what the recorder knows."""
    found = []
    for at, step in enumerate(each for held in sessions for each in held):
        own = {name: value for name, value in step.items() if name not in ("session_id", "sequence_number")}
        beside = {"session_id": step["session_id"], "sequence_number": step["sequence_number"]}
        found.append({**beside, "recorded_at": BEGUN + timedelta(seconds=at), event: json.dumps(own) if text else own})
    return found


def lake(file: Path, *sessions: list[Event], event: str = "event") -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    pl.DataFrame(rows(*sessions, event=event)).write_parquet(file, row_group_size=3)
    return file


def findings(*paths: Path, **more: Any) -> list[dict[str, Any]]:
    return audit(list(paths), **more).findings.drop("location", "related", "contract").to_dicts()


@pytest.mark.parametrize("event", ["event", "raw", "payload"])
def test_rows_of_parquet_are_the_events(event: str, tmp_path: Path) -> None:
    stories = [story("s1", {"id": 7}), story("s2", {"id": "x"})]
    plain = log(tmp_path, "plain.ndjson", *stories)
    table = lake(tmp_path / "lake" / "part-0.parquet", *stories, event=event)
    assert findings(table) == findings(plain) != []
    done = audit(table)
    (told,) = (each for each in done.inputs)
    assert (told["format"], told["records"], told["unreadable"]) == ("openai-agents-api", 10, 0)
    assert told["bytes"] == table.stat().st_size


def test_a_finding_names_the_row_and_shows_its_text(tmp_path: Path) -> None:
    table = lake(tmp_path / "part-0.parquet", story("s1", {"id": "x"}), story("s2", {"id": 7}))
    done = audit(table)
    place = done.findings.filter(rule="ARG001")["location"][0]
    assert (place["file"], place["line"], place["offset"]) == (str(table), 7, 6)
    evidence = done.evidence()
    shown = json.loads(evidence.fetch(0, place["offset"], place["length"]))
    evidence.close()
    assert shown["item"]["call_id"] == "c1"
    assert shown["event_id"] == "evt_s2_2"


def test_the_same_row_again_is_a_copy(tmp_path: Path) -> None:
    once = lake(tmp_path / "a.parquet", story("s1", {"id": "x"}))
    again = tmp_path / "b.parquet"
    pl.concat([pl.read_parquet(once)] * 2).write_parquet(again)
    assert audit(again).summary["calls"] == audit(once).summary["calls"] == 1
    assert [each["rule"] for each in findings(again)] == [*(each["rule"] for each in findings(once)), "LOG004"]


def test_lines_may_hold_the_event_as_text(tmp_path: Path) -> None:
    stories = [story("s1", {"id": 7}), story("s2", {"id": "x"})]
    plain = log(tmp_path, "plain.ndjson", *stories)
    table = tmp_path / "rows.ndjson"
    table.write_text("".join(json.dumps(row, default=str) + "\n" for row in rows(*stories)))
    assert [each["rule"] for each in findings(table)] == [each["rule"] for each in findings(plain)]
    assert audit(table).inputs[0]["unreadable"] == 0


def test_other_wires_stand_in_the_rows_as_they_are(tmp_path: Path) -> None:
    samples = Path(__file__).parents[2] / "sample_traces" / "formats"
    sample = next(samples.glob("claude-code*.jsonl"))
    lines = sample.read_text().splitlines()
    table = tmp_path / "part.parquet"
    pl.DataFrame({"session": ["other"] * len(lines), "raw": lines}).write_parquet(table)
    assert audit(table).summary["calls"] == audit(sample).summary["calls"] > 0


def test_trying_a_lake_shows_its_first_rows(tmp_path: Path) -> None:
    stories = [story(f"s{number}", {"id": "x" * 300}) for number in range(200)]
    found = tried(str(lake(tmp_path / "part.parquet", *stories)))
    assert (found.format, found.records, found.scores[0][0]) == ("openai-agents-api", 200, "openai-agents-api")
    assert found.frames["events"]["line"].to_list() == list(range(1, 201))


@pytest.mark.parametrize("broken", ["cut", "none", "empty"])
def test_what_is_no_lake_is_told(broken: str, tmp_path: Path) -> None:
    table = lake(tmp_path / "part.parquet", story("s1", {"id": 7}))
    if broken == "cut":
        table.write_bytes(table.read_bytes()[:-30])
    elif broken == "none":
        pl.DataFrame({"a": [1, 2]}).write_parquet(table)
    else:
        pl.DataFrame({"event": []}, schema={"event": pl.String}).write_parquet(table)
    (told,) = audit(table).inputs
    assert told["format"] == ""
    assert told["unreadable"] == (broken != "empty")
