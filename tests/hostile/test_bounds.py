"""Readers end: what has no bound in a file has one here, and the limit names itself."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
import zstandard

from analyzer import audit
from analyzer.read import limits
from analyzer.read.sources import packed, zips
from tests.hostile.infect import zipped
from tests.hostile.running import run
from tests.hostile.wire import session

LOG = session({"type": "object"}, "{}")
_LIMIT = 2 << 20


@pytest.fixture
def short_records(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MAX_RECORD", _LIMIT)


_BIG = b'{"x":"' + b"a" * 7_000_000 + b'"}'
_FIRST, _SECOND, *_ = LOG.splitlines()


@pytest.mark.usefixtures("short_records")
@pytest.mark.parametrize(
    ("data", "oversized", "sound"),
    [
        (LOG + _BIG + b"\n" + LOG, 1, 8),
        (LOG + _BIG, 1, 4),
        (_BIG + b"\n" + _BIG + b"\n" + LOG, 2, 4),
        (_BIG + b"\n" + LOG + _BIG + b"\n", 2, 4),
        (b"data: %b\n\ndata: %b\n\ndata: %b\n\n" % (_FIRST, _BIG, _SECOND), 1, 2),
    ],
    ids=["between", "at the end", "two at the start", "around", "in a stream"],
)
def test_a_record_over_the_limit_is_named_and_the_others_are_read(
    tmp_path: Path, data: bytes, oversized: int, sound: int
) -> None:
    file = tmp_path / "log"
    file.write_bytes(data)
    done = audit([str(file)])
    faults = done.frames["faults"].filter(fault="too_large")
    assert faults.height == oversized
    assert faults["event"].is_unique().all()
    assert done.frames["events"].filter(kind="broken").height == oversized
    assert done.frames["events"].height == oversized + sound
    assert done.inputs[0]["unreadable"] == oversized
    assert all(f"bytes, the limit is {_LIMIT}" in detail for detail in faults["detail"])


@pytest.mark.usefixtures("short_records")
@pytest.mark.parametrize("tail", [b"", b"\n"], ids=["torn", "ended"])
def test_the_length_of_what_is_left_out_is_exact(tmp_path: Path, tail: bytes) -> None:
    file = tmp_path / "log"
    file.write_bytes(LOG + _BIG + tail)
    (detail,) = audit([str(file)]).frames["faults"].filter(fault="too_large")["detail"]
    assert detail == f"the record has {len(_BIG)} bytes, the limit is {_LIMIT}"


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.compress], ids=["gzip", "zstd"])
def test_a_compressed_bomb_names_its_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pack: object) -> None:
    monkeypatch.setattr(packed, "FREE_BYTES", 1 << 20)
    monkeypatch.setattr(packed, "MOST_TIMES", 100)
    file = tmp_path / "log"
    file.write_bytes(pack(LOG + bytes(1 << 26)))  # type: ignore[operator]
    done = audit([str(file)])
    limit = f"the stream is broken: {1 << 20} bytes and 100 times its own size are passed, which is the limit"
    assert [str(problem) for problem in done.problems] == [f"{file}: {limit}; what came before it was read"]
    assert done.summary["calls"] == 1


def test_a_zip_bomb_names_its_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zips, "_FREE_BYTES", 1 << 20)
    monkeypatch.setattr(zips, "_MOST_TIMES", 100)
    file = tmp_path / "x.eval"
    file.write_bytes(zipped({"samples/1.json": bytes(1 << 26)}))
    done = run("audit", str(file))
    assert done.status == 3
    assert f"its members have {1 << 26} bytes, more than 100 times its own" in done.err.decode()


def test_a_member_over_the_limit_names_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zips, "_MOST_BYTES", 1 << 20)
    file = tmp_path / "x.eval"
    file.write_bytes(zipped({"samples/1.json": bytes(1 << 22)}))
    assert f"the member is larger than {1 << 20} bytes" in run("audit", str(file)).err.decode()


def test_blank_lines_are_no_records(tmp_path: Path) -> None:
    file = tmp_path / "log"
    file.write_bytes(b"\n" * 50_000 + LOG.replace(b"\n", b"\n\r\n\n\n" * 10) + b"\n" * 50_000)
    done = audit([str(file)])
    assert done.inputs[0]["records"] == LOG.count(b"\n")
    assert done.frames["events"]["line"].to_list() == [50_001 + 40 * n for n in range(LOG.count(b"\n"))]
    assert done.inputs[0]["unreadable"] == 0


def test_a_file_of_which_nothing_is_known_is_left_and_its_digest_is_of_the_whole(tmp_path: Path) -> None:
    from hashlib import sha256

    data = b"{}\n" * 600_000
    file = tmp_path / "log"
    file.write_bytes(data)
    (held,) = audit([str(file)]).inputs
    assert (held["format"], held["bytes"], held["sha256"]) == ("", len(data), sha256(data).hexdigest())


def test_a_member_with_a_name_too_long_for_a_file_is_an_input(tmp_path: Path) -> None:
    file = tmp_path / "x.eval"
    file.write_bytes(zipped({f"samples/{'x' * 5_000}.json": LOG}))
    for command in (("audit",), ("batch", "--store", str(tmp_path / "store"))):
        assert run(*command, str(file)).status in {0, 1, 3}
