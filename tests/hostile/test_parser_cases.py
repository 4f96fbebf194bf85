"""Two parsers, two values: texts on which JSON readers part, as arguments of calls and as records of a log.

Sound ones are judged, broken ones never pass for valid, and of those in between a finding says that they can be read in
two ways, or they have no verdict.
"""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from analyzer import audit
from tests.hostile.wire import session

SOUND = [
    '{"a":1}',
    ' \t\r\n{"a" : 1 } ',
    "[]",
    "{}",
    '""',
    "0",
    "-0",
    "1E2",
    "1e-2",
    "0.1e+2",
    "null",
    "true",
    "false",
    '"\\u0061"',
    '"\\ud83d\\ude00"',
    '"\\"\\\\\\/\\b\\f\\n\\r\\t"',
    '"\u2028\u2029"',
    '"\x7f"',
    '{"":0}',
    '{"a":{},"b":[]}',
    "[[[[[[[[[[]]]]]]]]]]",
    '"\\u0000"',
    "[1,2,3]",
    '"é"',
    '{"\\u0061":1,"b":2}',
    "9007199254740991",
    "-9007199254740991",
    "123e45",
    '[null,1,"1",{}]',
    '"\U0001f600"',
    "1.7976931348623157e308",
    '"a/b"',
]
BROKEN = [
    "{",
    "}",
    "[",
    "]",
    '{"a"}',
    '{"a":}',
    '{"a":1,}',
    "[1,]",
    "[,1]",
    "[1 2]",
    "{,}",
    '{"a":1 "b":2}',
    "{a:1}",
    "{'a':1}",
    "01",
    "-01",
    "1.",
    ".5",
    "+1",
    "1e",
    "1e+",
    "0x1F",
    "--1",
    "1_000",
    "1,000",
    "Infinity",
    "-Infinity",
    "NaN",
    "nul",
    "True",
    '"',
    '"a',
    '"\\x41"',
    '"\\u12"',
    '"\\u{41}"',
    '"\t"',
    '"\n"',
    '"\x00"',
    "'a'",
    "`a`",
    "//c\n1",
    "/*c*/1",
    "#c\n1",
    '{"a":1}}',
    '{"a":1}{"b":2}',
    "1 2",
    "\ufeff{}",
    "{}\x00",
    "\x00",
    "\x0c{}",
    "\u00a0{}",
    "[1]x",
    "<x/>",
    "a: 1",
    "undefined",
    "[undefined]",
    '{"a":1;"b":2}',
    '{"a"=1}',
    "{1:2}",
    "{null:1}",
    '["a',
    "[1,[2]",
    '{"a":"b}',
    "\\u007b\\u007d",
    "0b1",
    "1e1.5",
    "-",
    "[-]",
    '["\\"]',
    "[1e]",
    "[+1]",
    "٣",
    "[٣]",
]
BETWEEN = [
    '{"a":1,"a":2}',
    '{"a":1,"\\u0061":2}',
    '{"a":{"b":1,"b":1}}',
    "9007199254740993",
    "-9007199254740993",
    "1e999",
    "-1e999",
    '"\\ud800"',
    '"\\udc00\\ud800"',
    '{"\\ud800":1}',
    "100000000000000000000000000",
    "[" * 600 + "]" * 600,
    '{"n":' + "1" * 5_000 + "}",
]
ANYTHING = {"type": ["object", "array", "string", "number", "boolean", "null"]}


def _judged(tmp_path: Path, texts: list[str]) -> pl.DataFrame:
    file = tmp_path / "log.ndjson"
    more = [(f"call_{number}", text) for number, text in enumerate(texts)]
    file.write_bytes(session(ANYTHING, "{}", more=more))
    done = audit([str(file)])
    assert done.crashed == []
    verdicts = done.frames["verdicts"].filter(role="arguments").select("call", "verdict_is", "reason")
    rules = done.findings.group_by("call_id").agg("rule")
    return (
        done.frames["calls"]
        .join(verdicts, on="call", how="left")
        .join(rules, on="call_id", how="left")
        .filter(pl.col("call_id").str.starts_with("call_"))
        .sort(pl.col("call_id").str.slice(5).cast(pl.Int64))
        .select("call_id", "text", "verdict_is", "reason", "rule")
    )


def test_sound_texts_are_judged(tmp_path: Path) -> None:
    found = _judged(tmp_path, SOUND)
    assert found.height == len(SOUND)
    assert found.filter(pl.col("verdict_is") == "unverifiable").rows() == []


def test_broken_texts_never_pass(tmp_path: Path) -> None:
    found = _judged(tmp_path, BROKEN)
    assert found.height == len(BROKEN)
    assert found.filter(pl.col("verdict_is") == "valid")["text"].to_list() == []


def test_what_reads_in_two_ways_is_said_to(tmp_path: Path) -> None:
    found = _judged(tmp_path, BETWEEN)
    assert found.height == len(BETWEEN)
    silent = found.filter(
        (pl.col("verdict_is") == "valid") & ~pl.col("rule").list.contains("LOG009").fill_null(value=False)
    )
    assert silent["text"].to_list() == []


@pytest.mark.parametrize(
    "text", [each for each in BROKEN if "\n" not in each and "NaN" not in each and "Inf" not in each]
)
def test_broken_records_are_counted_and_the_others_read(tmp_path: Path, text: str) -> None:
    first, *rest = session({"type": "object"}, "{}").splitlines()
    file = tmp_path / "log.ndjson"
    file.write_bytes(b"\n".join([first, b'{"type":"x","v":' + text.encode() + b"}", *rest, b""]))
    done = audit([str(file)], ignore=["SAFE", "RUN"])
    assert done.crashed == []
    assert done.summary["calls"] == 1
    assert done.inputs[0]["records"] >= len(rest) + 2
