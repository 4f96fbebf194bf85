"""Read on several processes, a log is what it is read on one: whole files here and there, or ranges of one file.

The shares are read one after the other in this process, by what a worker of a pool runs; what a pool adds is tested
where whole audits are held together.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from analyzer.read import Crew, limits, read, shares
from analyzer.read.recording import Recording
from analyzer.read.sources import ranges
from analyzer.read.sources.files import Source
from analyzer.read.sources.finding import find
from analyzer.read.spilled.spill import Spill
from tests.batch.nights import Event, story

SAMPLES = Path(__file__).parents[2] / "sample_traces"
BOM = b"\xef\xbb\xbf"
BLOCK = 200  # bytes read at a time: so small that a record lies over several


class Here(Executor):
    """Runs what it is given at once."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_result(fn(*args, **kwargs))
        return future


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read tiny pieces, and take any file apart that can be."""
    monkeypatch.setattr(limits, "BLOCK", BLOCK)
    monkeypatch.setattr(limits, "HEAD", 16 << 10)
    monkeypatch.setattr(shares, "_EACH", 1 << 20)
    monkeypatch.setattr(shares, "LEAST", 1 << 30)  # set anew by each reading


def told(sources: list[Source], *, jobs: int = 1, least: int = 1 << 30, limit: int = 300_000) -> dict[str, Any]:
    """All that was read: the sources, the problems, and every recorded frame."""
    shares.LEAST = least
    crew = Crew(Here(), jobs) if jobs > 1 else None
    recording = read(sources, recording=Recording(limit=limit, parts=2), crew=crew)
    parts = list(recording.partitions())
    whole = {name: pl.concat([part[name] for part in parts]) for name in parts[0] if name != "tables"}
    frames = {name: frame.sort("event", maintain_order=True).to_dicts() for name, frame in whole.items()}
    frames["tables"] = parts[0]["tables"].sort("table").to_dicts()
    return {
        "sources": recording.sources,
        "problems": [str(problem) for problem in recording.problems],
        "adrift": sorted(recording.adrift),
        **frames,
    }


def in_ranges(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What becomes of the ranges that are read: `read`, or `left` for the process that sees everything."""
    became: list[str] = []
    real = shares.read_share

    def seen(share: Any, terms: Any) -> Any:
        answer = real(share, terms)
        if share.range is not None:
            became.append("left" if answer.spilled is None else "read")
        return answer

    monkeypatch.setattr(shares, "read_share", seen)
    return became


def events(sessions: int = 6) -> list[Event]:
    """Sessions side by side, as a recorder writes them that has many."""
    stories = [story(f"s{number}", {"id": number if number % 2 else "x"}) for number in range(sessions)]
    return [event for step in zip(*stories, strict=True) for event in step]


def lines(found: list[Any], end: bytes = b"\n") -> bytes:
    return b"".join(json.dumps(each).encode() + end for each in found)


def _broken() -> bytes:
    made = lines(events()).splitlines(keepends=True)
    made[4] = made[4][:70] + b"\n"
    made[11] = b"\n"
    made[17] = made[17].rstrip(b"\n")  # two records on one line
    made.insert(23, b"no JSON at all\n")
    made.insert(24, b'{"strange": true}\n')
    return b"".join(made)


def _invalid() -> bytes:
    made = lines(events()).splitlines(keepends=True)
    made[9] = made[9].replace(b"agent_a", b"agent_\xff")
    made[14] = made[14].replace(b'"agent_a"', b'"agent_\\ud800"')
    return b"".join(made)


def _unicode() -> bytes:
    return b"".join(json.dumps(each, ensure_ascii=False).encode() + b"\n" for each in events()).replace(
        b"agent_a", "ägent—数据🙂".encode()
    )


LOGS: dict[str, Callable[[], bytes]] = {
    "plain": lambda: lines(events()),
    "byte order mark": lambda: BOM + lines(events()),
    "CRLF": lambda: lines(events(), b"\r\n"),
    "blank lines": lambda: lines(events(), b"\n\n\r\n\n"),
    "torn": lambda: lines(events())[:-40],
    "no last line end": lambda: lines(events())[:-1],
    "broken": _broken,
    "not UTF-8": _invalid,
    "other letters": _unicode,
    "one session twice": lambda: lines(events()) * 2,
}


@pytest.mark.parametrize("name", LOGS)
@pytest.mark.parametrize("least", [400, 2500])
def test_a_file_in_ranges_is_the_file(name: str, least: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = tmp_path / "log.ndjson"
    log.write_bytes(LOGS[name]())
    sources, _ = find([str(log)])
    whole = told(sources)
    became = in_ranges(monkeypatch)
    assert told(sources, jobs=2, least=least) == whole
    assert set(became) == {"read"}, "and it was read in ranges"


def test_a_border_at_every_byte(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = tmp_path / "log.ndjson"
    log.write_bytes(BOM + lines(events(1), b"\r\n") + b"\n\n" + _broken()[-1500:])
    sources, _ = find([str(log)])
    whole = told(sources)
    size = log.stat().st_size
    became = in_ranges(monkeypatch)
    for border in random.Random(1).sample(range(1, size), 40):
        monkeypatch.setattr(shares, "ranges", lambda file, size, _, at=border: ranges.ranges(file, size, at))
        assert told(sources, jobs=2, least=200) == whole
    assert set(became) == {"read"}


def test_a_line_over_the_limit_is_told_at_its_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MAX_RECORD", 3000)
    made = lines(events()).splitlines(keepends=True)
    made.insert(12, b'{"type": "agent.session.idle", "session_id": "s1", "long": "' + b"x" * 5000 + b'"}\n')
    log = tmp_path / "log.ndjson"
    log.write_bytes(b"".join(made))
    sources, _ = find([str(log)])
    whole = told(sources)
    assert [row["fault"] for row in whole["faults"]] == ["too_large"]
    for least in (300, 1300, 5000):
        assert told(sources, jobs=2, least=least) == whole


def _bare(event: Event) -> Event:
    return {name: value for name, value in event.items() if name != "session_id"}


@pytest.mark.parametrize(
    "odd",
    [
        # of the session named last, wherever that was
        {"type": "agent.session.turn.item.added", "item": {"type": "message", "role": "user", "content": "hello"}},
        # of the session that has the turn
        {"type": "agent.session.turn.completed", "turn_id": "turn_s0", "turn": {"id": "turn_s0"}},
        {"id": "m", "type": "message", "turn_id": "turn_s1", "role": "assistant", "content": []},
        # of another wire
        {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "get", "arguments": {"id": 1}}},
    ],
)
def test_where_a_record_depends_on_those_before_the_file_is_read_in_one(
    odd: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = events()
    log = tmp_path / "log.ndjson"
    log.write_bytes(lines([*found[:9], odd, *found[9:]]))
    sources, _ = find([str(log)])
    whole = told(sources)
    became = in_ranges(monkeypatch)
    for before in (9, 7, 0):  # records before it that are read elsewhere
        border = len(lines(found[:before])) + 1
        monkeypatch.setattr(shares, "ranges", lambda file, size, _, at=border: ranges.ranges(file, size, at))
        assert told(sources, jobs=2, least=400) == whole
        assert ("left" in became) or before == 7
        became.clear()


def test_bare_events_of_a_session_are_read_all_the_same(tmp_path: Path) -> None:
    log = tmp_path / "log.ndjson"
    log.write_bytes(lines([_bare(event) for number in range(4) for event in story(f"s{number}", {"id": number})]))
    sources, _ = find([str(log)])
    whole = told(sources)
    for least in (400, 2500):
        assert told(sources, jobs=2, least=least) == whole


def test_what_is_not_taken_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import zlib

    packed = tmp_path / "a.ndjson.gz"
    packed.write_bytes(zlib.compress(lines(events()), wbits=31))
    array = tmp_path / "b.json"
    array.write_text(json.dumps(events()))
    strange = tmp_path / "c.ndjson"
    strange.write_bytes(b'{"what": 1}\n' * 900)
    sources, _ = find([str(packed), str(array), str(strange), str(SAMPLES / "formats")])
    whole = told(sources)
    became = in_ranges(monkeypatch)
    assert told(sources, jobs=2, least=200) == whole
    assert not became


@pytest.mark.parametrize("least", [20_000, 1 << 20])
def test_the_samples_and_all_formats_together(least: int, tmp_path: Path) -> None:
    gone = Source(10_000, str(tmp_path / "gone.ndjson"))
    sources, _ = find([str(SAMPLES)])
    sources = [*sources, gone]
    whole = told(sources)
    assert len(whole["sources"]) > 30
    assert told(sources, jobs=2, least=least) == whole
    assert told(sources, jobs=3, least=least, limit=50) == whole


def test_nothing_is_left_on_disk(tmp_path: Path) -> None:
    recording = Recording(limit=3)
    log = tmp_path / "log.ndjson"
    log.write_bytes(lines(events()))
    sources, _ = find([str(log)])
    shares.LEAST = 1
    read(sources, recording=recording, crew=Crew(Here(), 2))
    assert isinstance(recording.spilled, Spill)
    folder = recording.spilled.folder
    assert list(folder.iterdir())
    recording.close()
    assert not folder.exists()


def test_a_part_that_is_too_large_is_given_in_slices(tmp_path: Path) -> None:
    log = tmp_path / "log.ndjson"
    log.write_bytes(lines(events(24)))
    sources, _ = find([str(log)])
    recording = read(sources, recording=Recording(limit=15, parts=2))
    parts = list(recording.partitions())
    assert len(parts) > 4
    sessions = [set(part["events"]["session"]) for part in parts]
    assert sum(map(len, sessions)) == len(set().union(*sessions)) == 24
    assert max(part["events"].height for part in parts) < 60
