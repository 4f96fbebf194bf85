"""Hostile and broken recordings: each has a defined outcome, and what can be read is read."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import zstandard

from analyzer import audit
from analyzer import frames as recorded
from analyzer.read import limits, read
from analyzer.read.records import framing
from analyzer.read.sources.finding import find

SESSION = {
    "id": "s1",
    "object": "agent.session",
    "status": "idle",
    "required_actions": [],
    "agent": {
        "id": "a",
        "model": "m",
        "tools": [
            {
                "type": "function",
                "name": "weigh",
                "parameters": {
                    "type": "object",
                    "properties": {"crate": {"type": "string"}},
                    "additionalProperties": False,
                },
            }
        ],
    },
}
CREATED = {"type": "agent.session.created", "event_id": "e1", "session": SESSION}
TURN = {
    "type": "agent.session.turn.created",
    "event_id": "e2",
    "session_id": "s1",
    "turn_id": "t1",
    "turn": {"id": "t1", "status": "queued"},
}


def call(arguments: str, *, event: str = "e3") -> bytes:
    """A function call whose arguments stand there exactly as given."""
    return (
        f'{{"type":"agent.session.turn.item.added","event_id":"{event}","session_id":"s1","turn_id":"t1","output_index":0,'
        f'"item":{{"type":"function_call","id":"fc_{event}","call_id":"c_{event}","name":"weigh","turn_id":"t1",'
        f'"status":"in_progress","arguments":{arguments}}}}}'
    ).encode()


def log(*lines: bytes | dict[str, Any], end: bytes = b"\n") -> bytes:
    """Lines with the head of a session before them."""
    whole = [CREATED, TURN, *lines]
    return end.join(line if isinstance(line, bytes) else json.dumps(line).encode() for line in whole) + end


def frames(path: Path) -> dict[str, pl.DataFrame]:
    sources, errors = find([str(path)])
    assert not errors
    return next(iter(read(sources).partitions()))


def findings(path: Path) -> list[tuple[str, int | None]]:
    rows = audit([str(path)]).findings.select("rule", pl.col("location").struct.field("line")).rows()
    return sorted(rows)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "log.ndjson"


def test_a_broken_line_is_a_finding_and_the_rest_is_read(file: Path) -> None:
    file.write_bytes(log(b'{"type": "agent.session.turn.item.added", oops}', call('{"crate":"c"}')))
    assert ("LOG001", 3) in findings(file)
    assert frames(file)["call_sightings"].height == 1


def test_a_torn_last_line_is_cut_and_not_broken(file: Path) -> None:
    file.write_bytes(log(call('{"crate":"c"}')) + call('{"crate":"d"}', event="e4")[:90])
    found = findings(file)
    assert ("LOG002", 4) in found
    assert not [line for rule, line in found if rule == "LOG001"]


def test_a_last_line_without_a_line_end_is_whole(file: Path) -> None:
    file.write_bytes(log(call('{"crate":"c"}')).rstrip(b"\n"))
    assert frames(file)["faults"].is_empty()
    assert frames(file)["events"].height == 3


@pytest.mark.parametrize(
    "end", [b"\n", b"\r\n", b"\n\n", b"\r\n\r\n", b"\n \t\n"], ids=["lf", "crlf", "blank", "blank crlf", "space"]
)
def test_line_ends_and_blank_lines_are_no_faults(file: Path, end: bytes) -> None:
    file.write_bytes(b"\xef\xbb\xbf" + log(call('{"crate":"c"}'), end=end))
    read_frames = frames(file)
    assert read_frames["events"].height == 3
    assert read_frames["faults"].is_empty()


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_offsets_and_lines_point_at_the_records(file: Path, mark: bytes) -> None:
    raw = mark + log(call('{"crate":"c"}'), b"", call('{"crate":"d"}', event="e4"))
    file.write_bytes(raw)
    for offset, length, line in frames(file)["events"].select("offset", "length", "line").iter_rows():
        assert json.loads(raw[offset : offset + length])["type"].startswith("agent.")
        assert raw.count(b"\n", 0, offset) == line - 1


def test_invalid_utf8_is_named_and_the_payload_is_not_judged(file: Path) -> None:
    file.write_bytes(log(call('{"crate":"c"}').replace(b'"c"', b'"\xff"')))
    done = audit([str(file)])
    assert "LOG009" in set(done.findings["rule"])
    assert done.frames["verdicts"].select("verdict_is", "reason").rows() == [("unverifiable", "payload_ambiguous")]


def test_a_lone_surrogate_is_named_and_the_payload_is_not_judged(file: Path) -> None:
    file.write_bytes(log(call('{"crate":"\\ud800"}')))
    done = audit([str(file)])
    assert "LOG009" in set(done.findings["rule"])
    assert done.frames["verdicts"].select("verdict_is", "reason").rows() == [("unverifiable", "payload_ambiguous")]
    assert done.frames["calls"]["text"].to_list() == ['{"crate":"\\\\ud800"}']


def test_a_member_that_stands_twice_makes_the_payload_ambiguous(file: Path) -> None:
    file.write_bytes(log(call('{"crate":1,"crate":"c"}')))
    done = audit([str(file)])
    assert "LOG009" in set(done.findings["rule"])
    assert done.frames["verdicts"].select("verdict_is", "reason").rows() == [("unverifiable", "payload_ambiguous")]


def test_spaces_and_escapes_are_no_ambiguity(file: Path) -> None:
    file.write_bytes(log(call('{ "crate" : "\\u0063", "crate2": 1.50 }')))
    done = audit([str(file)])
    assert "LOG009" not in set(done.findings["rule"])
    assert done.frames["verdicts"]["verdict_is"].to_list() == ["invalid"]


def test_a_number_beyond_2_53_is_named_and_judged_as_written(file: Path) -> None:
    file.write_bytes(log(call('{"crate":9007199254740993}')))
    done = audit([str(file)])
    assert "LOG009" in set(done.findings["rule"])
    assert done.frames["violations"]["actual"].to_list() == ["9007199254740993"]


@pytest.mark.parametrize(
    "number", ["1e999", "NaN", "-Infinity", "9" * 5000], ids=["exponent", "nan", "infinity", "digits"]
)
def test_a_number_that_no_double_holds_is_not_judged(file: Path, number: str) -> None:
    file.write_bytes(log(call(f'{{"crate":{number}}}')))
    done = audit([str(file)])
    assert {"LOG009", "LOG001"} & set(done.findings["rule"])
    assert "valid" not in done.frames["verdicts"]["verdict_is"].to_list()


def test_deep_payloads_are_not_judged_and_crash_nothing(file: Path) -> None:
    deep = '{"crate":' * 700 + "1" + "}" * 700
    file.write_bytes(
        log(call(deep), call("[" * 100_000 + "]" * 100_000, event="e4"), call('{"crate":"c"}', event="e5"))
    )
    done = audit([str(file)])
    assert "valid" in done.frames["verdicts"]["verdict_is"].to_list()
    assert done.summary["verdicts"]["unverifiable"] or "LOG001" in set(done.findings["rule"])


def test_a_line_of_100_mb_is_read(file: Path) -> None:
    file.write_bytes(log(call('{"crate":"' + "x" * 100_000_000 + '"}')))
    done = audit([str(file)], keep_frames=False)
    assert done.summary["calls"] == 1
    assert done.summary["verdicts"]["unverifiable"] == {"payload_too_large": 1}


def test_a_line_over_the_limit_is_named_and_what_follows_keeps_its_place(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "MAX_RECORD", 100_000)
    monkeypatch.setattr(limits, "BLOCK", 4096)
    raw = log(call('{"crate":"' + "x" * 300_000 + '"}'), call('{"crate":"d"}', event="e4"))
    file.write_bytes(raw)
    read_frames = frames(file)
    assert read_frames["faults"]["fault"].to_list() == ["too_large"]
    last = read_frames["events"].filter(pl.col("event_id") == "e4")
    offset, length, line = last.select("offset", "length", "line").row(0)
    assert json.loads(raw[offset : offset + length])["event_id"] == "e4"
    assert line == 4


def test_an_unknown_event_is_kept_and_counted(file: Path) -> None:
    file.write_bytes(log({"type": "agent.session.budget_reached", "session_id": "s1", "event_id": "e9"}))
    done = audit([str(file)])
    assert done.frames["events"].filter(pl.col("kind") == "unknown")["type"].to_list() == [
        "agent.session.budget_reached"
    ]
    assert "LOG003" in set(done.findings["rule"])


def test_a_member_of_another_type_is_left_out_and_the_record_kept(file: Path) -> None:
    strange = {"type": "agent.session.idle", "event_id": "e4", "session": {**SESSION, "status": 7}}
    file.write_bytes(log(strange))
    read_frames = frames(file)
    assert read_frames["events"].height == 3
    assert read_frames["faults"].select("fault", "pointer").rows() == [("member_type", "/session/status")]


def test_an_array_that_is_cut_gives_what_was_whole(tmp_path: Path) -> None:
    file = tmp_path / "log.json"
    file.write_bytes(json.dumps([CREATED, TURN, json.loads(call('{"crate":"c"}'))]).encode()[:-20])
    read_frames = frames(file)
    assert read_frames["events"].filter(pl.col("kind") != "broken").height == 2
    assert read_frames["faults"]["fault"].to_list() == ["truncated"]


def test_what_stands_behind_an_array_is_read_or_named(tmp_path: Path) -> None:
    file = tmp_path / "log.json"
    first, second = json.dumps([CREATED, TURN], indent=1), json.loads(call('{"crate":"c"}'))
    file.write_text(f"{first}\n{json.dumps([second], indent=1)} and more\n", encoding="utf-8")
    read_frames = frames(file)
    events = read_frames["events"].select("kind", "pointer", "line").rows()
    line = 2 + first.count("\n")
    assert [(pointer, at) for _, pointer, at in events] == [("/0", 1), ("/1", 1), ("/0", line), ("", events[-1][2])]
    assert events[-1][0] == "broken"
    assert read_frames["faults"]["fault"].to_list() == ["unreadable"]


@pytest.mark.parametrize("compress", [gzip.compress, zstandard.ZstdCompressor().compress], ids=["gzip", "zstd"])
def test_a_compressed_stream_that_is_cut_says_so_and_keeps_what_came_before(tmp_path: Path, compress: Any) -> None:
    lines = [call(json.dumps({"crate": f"c{number:x}" * 40}), event=f"n{number}") for number in range(4000)]
    file = tmp_path / "log.gz"
    file.write_bytes(compress(log(*lines))[:-30])
    done = audit([str(file)])
    assert done.summary["calls"] > 100
    assert [problem for problem in done.problems if "cut" in str(problem)]
    assert done.inputs[0]["unreadable"] >= 1


def test_several_sessions_in_one_file_stay_apart(file: Path) -> None:
    other = log(call('{"crate":"c"}')).replace(b'"s1"', b'"s2"').replace(b'"t1"', b'"t2"')
    file.write_bytes(
        b"".join(
            a + b"\n" + b + b"\n"
            for a, b in zip(log(call('{"crate":"c"}')).split(b"\n"), other.split(b"\n"), strict=True)
        )
    )
    done = audit([str(file)])
    assert done.summary["sessions"] == 2
    assert done.summary["calls"] == 2


def test_standard_input_is_a_log_like_any_other(file: Path, tmp_path: Path) -> None:
    import subprocess
    import sys

    file.write_bytes(log(call('{"crate":7}')))
    piped = subprocess.run(
        [sys.executable, "-m", "analyzer", "audit", "--output-format", "json", "-"],
        input=gzip.compress(file.read_bytes()),
        capture_output=True,
        check=False,
        cwd=tmp_path,
    )
    report = json.loads(piped.stdout)
    assert report["inputs"][0]["path"] == "-"
    assert [finding["rule"] for finding in report["findings"] if finding["severity"] == "error"] == ["ARG001"]


def _names(events: pl.DataFrame) -> list[str]:
    return events["type"].str.split(".").list.last().to_list()


def test_records_that_share_a_line_are_all_read(file: Path) -> None:
    raw = log(call('{"crate":"c"}') + call('{"crate":"}{"}', event="e4") + call('{"crate":1}', event="e5"), b"", TURN)
    file.write_bytes(raw)
    read_frames = frames(file)
    events = read_frames["events"]
    assert _names(events) == ["created", "created", "added", "added", "added", "created"]
    assert events["line"].to_list() == [1, 2, 3, 3, 3, 5]
    assert read_frames["call_sightings"]["call_id"].to_list() == ["c_e3", "c_e4", "c_e5"]
    for offset, length in events.select("offset", "length").iter_rows():
        assert json.loads(raw[offset : offset + length])["type"].startswith("agent.")
    done = audit([str(file)])
    said = done.findings.filter(pl.col("rule") == "LOG001")
    assert said.select("severity", "message").rows() == [
        ("warning", "3 records stand on one line; they were told apart.")
    ]
    assert done.inputs[0]["unreadable"] == 0
    assert done.inputs[0]["records"] == events.height


def test_events_after_some_that_share_a_line_have_numbers_of_their_own(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "BLOCK", 1 << 12)
    shared = call('{"crate":"c"}') + call('{"crate":"d"}', event="e4") + call('{"crate":"e"}', event="e5")
    padding = {"type": "agent.session.turn.updated", "pad": "x" * (1 << 12)}
    bodies = [json.dumps(CREATED).encode(), json.dumps(TURN).encode(), shared, *[json.dumps(padding).encode()] * 3]
    file.write_bytes(b"".join(b"data: %b\n\n" % body for body in bodies))
    events = frames(file)["events"]
    assert events.height == 8
    assert events["event"].is_unique().all()


def test_what_is_whole_on_a_line_is_read_and_the_rest_is_named(file: Path) -> None:
    torn = call('{"crate":"x"}')[:-20]
    file.write_bytes(log(call('{"crate":"c"}') + torn + b"}" + call('{"crate":"d"}', event="e4"), TURN))
    assert frames(file)["call_sightings"]["call_id"].to_list() == ["c_e3", "c_e4"]
    assert audit([str(file)]).inputs[0]["unreadable"] == 1


@pytest.mark.parametrize("end", ["\n", "\r\n", "\n\n"])
def test_pretty_printed_records_are_read_one_by_one(file: Path, end: str) -> None:
    events = [CREATED, TURN, json.loads(call('{"crate":"c"}'))]
    raw = "".join(json.dumps(event, indent=2) + end for event in events).encode()
    file.write_bytes(raw)
    found = frames(file)["events"]
    assert _names(found) == ["created", "created", "added"]
    assert found["pointer"].to_list() == [""] * 3
    for offset, length, line in found.select("offset", "length", "line").iter_rows():
        assert json.loads(raw[offset : offset + length])["type"].startswith("agent.")
        assert raw.count(b"\n", 0, offset) == line - 1


def test_a_broken_one_among_pretty_printed_records_is_left_out_alone(file: Path) -> None:
    texts = [json.dumps(event, indent=2) for event in (CREATED, TURN, TURN, json.loads(call('{"crate":"c"}')))]
    texts[1] = texts[1].replace(":", "=", 1)
    file.write_text("\n".join(texts)[:-1])
    done = audit([str(file)])
    kept = done.frames["events"].filter(pl.col("type") != "")
    assert _names(kept) == ["created", "created"]
    assert [rule for rule, _ in findings(file) if rule in ("LOG001", "LOG002")] == ["LOG001", "LOG002"]


def test_more_records_than_there_are_numbers_are_told(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "BLOCK", 1 << 12)
    file.write_bytes(log(*(call('{"crate":"' + "x" * 500 + '"}', event=f"e{number}") for number in range(40))))
    whole = audit(file)
    monkeypatch.setattr(recorded, "MOST_RECORDS", 20)
    done = audit(file)
    assert 0 < done.inputs[0]["records"] <= 20 < whole.inputs[0]["records"]
    assert done.inputs[0]["sha256"] == whole.inputs[0]["sha256"]
    assert [problem.problem for problem in done.problems] == [
        "it has more than 20 records, and the others were not read"
    ]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (b'10:00:01 app {"a":1}\n10:00:02 app {"a":2}\n', "prefixed"),
        (b'[info] [x] got: {"a":1}\n[info] [x] got: {"a":2} { more }\n', "prefixed"),
        (b'# Title\n\nText, text.\nAn example: {"a":1}\nmore\nmore\nmore\n', "lines"),
        (b'[\n  {"a":1},\n  {"a":2}\n]\n', "document"),
        (b'["a", {"b":1}]\n', "document"),
        (b'data: {"a":1}\n\ndata: {"a":2}\n\n', "sse"),
        (b'"a":{"b":1}}\n{"a":{"b":1}}\n', "lines"),
    ],
)
def test_lines_with_a_text_before_their_object_are_told_from_all_others(text: bytes, kind: str) -> None:
    assert framing(text) == kind
