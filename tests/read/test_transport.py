"""Logs as a transport or an editor left them are read like any other, and their records are found again."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

import pytest

from analyzer.read.sources.files import Evidence, Source
from tests.read.adapters import SAMPLES, picture, recorded

LOG = (SAMPLES / "openai-chat.jsonl").read_bytes()
SSE = (SAMPLES / "openai-responses.sse").read_bytes()
HEADERS = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/2 200 \r\ncontent-type: text/event-stream\r\nx-request-id: r1\r\n\r\n"


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be"])
def test_utf_16_is_read_as_utf_8(encoding: str) -> None:
    text = LOG.decode().replace('assistant",', 'assistant","name":"Zürich 🎉",')
    assert "🎉" in text
    mark = b"\xfe\xff" if encoding == "utf-16-be" else b""
    recording, frames = recorded(mark + text.encode(encoding))
    _, plain = recorded(text.encode())
    assert picture(frames) == picture(plain)
    assert recording.sources[0]["bytes"] == len(text.encode())


def test_a_character_cut_at_the_end_of_utf_16_ends_nothing() -> None:
    _, frames = recorded(LOG.decode().encode("utf-16")[:-1])
    assert frames["events"]["line"].max() == LOG.count(b"\n")


def test_the_record_of_a_utf_16_log_is_found_again(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(LOG.decode().encode("utf-16"))
    _, frames = recorded(path.read_bytes())
    last = frames["events"].sort("event").row(-1, named=True)
    with Evidence([Source(0, str(path))]) as evidence:
        assert evidence.fetch(0, last["offset"], last["length"]) == LOG.splitlines()[last["line"] - 1]


def test_an_event_stream_whose_lines_end_in_cr_alone() -> None:
    data = SSE.replace(b"\r\n", b"\n").replace(b"\n", b"\r")
    recording, frames = recorded(data, name="log.sse")
    _, plain = recorded(data.replace(b"\r", b"\n"), name="log.sse")
    assert picture(frames) == picture(plain)
    assert frames["events"].height > 1
    assert recording.sources[0]["sha256"] == sha256(data).hexdigest()


@pytest.mark.parametrize("body", [SSE, LOG], ids=["sse", "lines"])
@pytest.mark.parametrize("ends", [b"\r\n", b"\n"])
def test_http_headers_before_a_body_are_passed_over(body: bytes, ends: bytes) -> None:
    before = HEADERS.replace(b"\r\n", ends)
    recording, frames = recorded(before + body)
    _, plain = recorded(body)
    keys = ["type", "kind", "session"]
    events, others = frames["events"], plain["events"]
    assert events.select(keys).equals(others.select(keys))
    assert (events["offset"] - len(before)).equals(others["offset"])
    assert (events["line"] - before.count(b"\n")).equals(others["line"])
    assert recording.sources[0]["sha256"] == sha256(before + body).hexdigest()


def test_headers_alone_are_nothing_that_is_known() -> None:
    recording, _ = recorded(HEADERS)
    assert recording.sources[0]["format"] == ""
