"""What the tests of all adapters share: bytes in, recorded frames out; goldens; and mutations of a sample."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any

import polars as pl
from hypothesis import strategies as st

from analyzer.frames import RECORDED
from analyzer.read import read
from analyzer.read.recording import Recording
from analyzer.read.records import framing
from analyzer.read.sources.files import Source

GOLDEN = Path(__file__).parent / "golden"
SAMPLES = Path(__file__).parents[2] / "sample_traces" / "formats"


def recorded(
    data: bytes, *, name: str = "log.jsonl", input_format: str | None = None
) -> tuple[Recording, dict[str, pl.DataFrame]]:
    """Read a log; its sources and problems, and the recorded frames."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, name)
        path.write_bytes(data)
        recording = read([Source(0, str(path))], input_format=input_format)
        (frames,) = recording.partitions()
    return recording, frames


def lines(*records: Any) -> bytes:
    """Records as NDJSON; strings and bytes stand as they are."""
    return b"".join(
        (each if isinstance(each, bytes) else (each if isinstance(each, str) else json.dumps(each)).encode()) + b"\n"
        for each in records
    )


def picture(frames: dict[str, pl.DataFrame]) -> str:
    """The recorded frames as text, a row a line, without what is null."""
    told = []
    for name in RECORDED:
        frame = frames[name]
        order = ["table"] if name == "tables" else ["event"]
        told += [f"# {name}"] if frame.height else []
        for row in frame.sort(order, maintain_order=True).iter_rows(named=True):
            kept = {
                key: value
                for key, value in row.items()
                if value is not None and key not in ("source", "offset", "length")
            }
            told.append(json.dumps(kept, default=str, ensure_ascii=False))
    return "\n".join(told) + "\n"


def assert_golden(name: str, frames: dict[str, pl.DataFrame]) -> None:
    """Compare with the kept picture; `UPDATE_GOLDEN=1` keeps this one instead."""
    file = GOLDEN / f"{name}.txt"
    told = picture(frames)
    if os.environ.get("UPDATE_GOLDEN"):
        file.write_text(told, encoding="utf-8")
    assert told == file.read_text(encoding="utf-8")


_VALUES: tuple[Any, ...] = (None, True, 7, 1e300, "", "x", [], [1], {}, {"type": 3}, ["\ud800"], "\ud800", {"id": []})


@st.composite
def mutations(draw: st.DrawFn, sample: bytes) -> bytes:
    """The sample with lines dropped, doubled or swapped, bytes cut out or changed, members of another type."""
    records = sample.splitlines()
    for _ in range(draw(st.integers(1, 3))):
        index = draw(st.integers(0, len(records) - 1)) if records else 0
        how = draw(st.sampled_from(("drop", "swap", "double", "cut", "byte", "type", "type", "type")))
        if not records:
            break
        if how == "drop":
            del records[index]
        elif how == "double":
            records.insert(index, records[index])
        elif how == "swap":
            other = draw(st.integers(0, len(records) - 1))
            records[index], records[other] = records[other], records[index]
        elif how == "cut":
            records[index] = records[index][: draw(st.integers(0, len(records[index])))]
        elif how == "byte":
            place = draw(st.integers(0, max(len(records[index]) - 1, 0)))
            change = bytes([draw(st.integers(0, 255))])
            records[index] = (records[index][:place] + change + records[index][place + 1 :]).replace(b"\n", b" ")
        else:
            records[index] = draw(_retyped(records[index]))
    return b"\n".join(records) + draw(st.sampled_from((b"\n", b"")))


@st.composite
def _retyped(draw: st.DrawFn, record: bytes) -> bytes:
    """One member of a record replaced by a value of any type."""
    try:
        value = json.loads(record)
    except ValueError:
        return record
    places: list[tuple[Any, Any]] = []
    _places(value, places)
    if not places:
        return record
    holder, key = draw(st.sampled_from(places))
    holder[key] = draw(st.sampled_from(_VALUES))
    return json.dumps(value).encode()


def _places(value: Any, places: list[tuple[Any, Any]]) -> None:
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in list(pairs):
        places.append((value, key))
        _places(inner, places)


def assert_nothing_lost(data: bytes) -> None:
    """Reading raises nothing, and every line that is JSON has an event that is not `broken`."""
    recording, frames = recorded(data)
    assert not recording.problems
    events = frames["events"]
    if not recording.source_frame()["format"][0] or framing(data) == "document":
        return  # nothing left that any adapter knows; or it begins like an array, and has no lines
    assert events["event"].is_unique().all()
    whole = set(events.filter(pl.col("kind") != "broken")["line"].to_list())
    every = set(events["line"].to_list())
    for number, line in enumerate(data.split(b"\n"), 1):
        if not line.strip():
            continue
        assert number in every, line
        if _readable(line):
            assert number in whole, line
    for name in RECORDED:
        if "event" in frames[name].columns and name != "events":
            assert frames[name].join(events, on="event", how="anti").is_empty(), name


def _readable(line: bytes) -> bool:
    try:
        json.loads(line.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return False
    return True
