"""What fuzzers run: each target takes bytes and must return, whatever they are; its own claims are asserted inside."""

from __future__ import annotations

import contextlib
import io
import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from analyzer import pointer
from analyzer.cli import main
from analyzer.config import load
from analyzer.contracts.comparison.compare import compare
from analyzer.contracts.repairs.repair import repair
from analyzer.contracts.verdicts.engine import Judge
from analyzer.errors import AnalyzerError
from analyzer.masking import mask, mask_json, masked
from analyzer.read import ADAPTERS, broken, first_values, read
from analyzer.read.records import framing
from analyzer.read.recover import Unreadable, closed, parse
from analyzer.read.sources.files import Source
from analyzer.visible import homoglyph_note, visible, visible_lines, visible_value

Target = Callable[[bytes], None]

broken.BROKEN = ()  # what an adapter breaks with ends the target


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def _values(data: bytes, most: int) -> list[Any]:
    """Up to `most` JSON values of the lines of the input."""
    found = []
    for line in data.split(b"\n", most)[:most]:
        with contextlib.suppress(ValueError, RecursionError):
            found.append(json.loads(line))
    return found


def reader(name: str) -> Target:
    """All readers, as if a user had said that the input is of this format."""

    def target(data: bytes) -> None:
        with tempfile.NamedTemporaryFile(prefix="fuzz-") as file:
            file.write(data)
            file.flush()
            recording = read([Source(0, file.name)], input_format=name)
            for frames in recording.partitions():
                assert frames["events"]["event"].is_unique().all()
                for frame in frames.values():
                    if "event" in frame.columns:
                        assert frame["event"].is_in(frames["events"]["event"].implode()).all()

    return target


def any_reader(data: bytes) -> None:
    """One of the readers, which the first byte chooses."""
    if data:
        reader(ADAPTERS[data[0] % len(ADAPTERS)].name)(data[1:])


def sniffing(data: bytes) -> None:
    """How an input is told and cut."""
    kind = framing(data)
    values = first_values(data, kind)
    for adapter in ADAPTERS:
        assert 0 <= adapter.sniff(values, "x") <= len(ADAPTERS) if values else True
    parsed = parse(data)
    if not isinstance(parsed, Unreadable):
        json.dumps(parsed[0], allow_nan=False).encode()
    closed(data)


def showing(data: bytes) -> None:
    """Whatever is shown is printable, and shorter than twice its limit."""
    text = _text(data)
    for shown in (visible(text), visible(text, limit=5), *visible_lines(text, limit=500).split("\n")):
        assert all(char.isprintable() or not char.isascii() for char in shown), ascii(shown)
    homoglyph_note(text)
    for value in _values(data, 1):
        assert len(visible_value(value, limit=50)) < 400


def hiding(data: bytes) -> None:
    """Masking what is masked changes nothing, and JSON text stays JSON text."""
    text = _text(data)
    once = mask(text)
    assert mask(once) == once
    mask_json(text)
    for value in _values(data, 1):
        json.loads(mask_json(json.dumps(value)))
        assert masked(masked(value)) == masked(value)


def pointing(data: bytes) -> None:
    """Pointers and paths lead where they say, or are refused."""
    raw, _, text = data.partition(b"\n")
    spelled = _text(text)
    with contextlib.suppress(ValueError):
        assert pointer.pointer(pointer.parts(spelled)) == spelled
        pointer.path(spelled)
        pointer.star(spelled)
        if spelled:
            pointer.parent(spelled)
    with contextlib.suppress(ValueError):
        assert pointer.path(pointer.pointer_of_path(spelled)).startswith("$")
    for value in _values(raw, 1):
        with contextlib.suppress(LookupError, ValueError):
            start, end = pointer.locate(raw, spelled)
            assert 0 <= start <= end <= len(raw)
            with contextlib.suppress(LookupError):
                assert json.loads(raw[start:end]) == pointer.resolve(value, spelled) or b"NaN" in raw


def comparing(data: bytes) -> None:
    """Two schemas and a payload: the relation holds for the payload."""
    values = _values(data, 3)
    if len(values) < 2:
        return
    a, b, payload = (*values, None)[:3]
    found = compare(a, b)
    if isinstance(a, dict | bool) and isinstance(b, dict | bool):
        before, after = (Judge(schema).judge(payload)[0] for schema in (a, b))
        if found.relation in {"equal", "wider"} and before == "valid":
            assert after != "invalid", (a, b, payload)
        if found.relation in {"equal", "narrower"} and after == "valid":
            assert before != "invalid", (a, b, payload)


def repairing(data: bytes) -> None:
    """A schema and a payload: what the repair says passes does."""
    values = _values(data, 2)
    if len(values) == 2:
        judge = Judge(values[0])
        judge.violations(values[1])
        found = repair(values[0], values[1])
        if found is not None and found.verified:
            assert judge.judge(found.payload)[0] != "invalid"


def configuring(data: bytes) -> None:
    """A configuration is read or refused with a line."""
    with tempfile.TemporaryDirectory() as folder, contextlib.suppress(AnalyzerError):
        file = Path(folder) / "analyzer.toml"
        file.write_bytes(data)
        load(str(file))


def auditing(data: bytes) -> None:
    """The whole command, which never ends with a fault of its own."""
    with tempfile.NamedTemporaryFile(prefix="fuzz-") as file:
        file.write(data)
        file.flush()
        out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            status = main(["audit", file.name])
        out.flush()
        assert status in {0, 1, 2, 3}, out.buffer.getvalue()[-800:]


TARGETS: dict[str, Target] = {
    **{f"read-{adapter.name}": reader(adapter.name) for adapter in ADAPTERS},
    "read": any_reader,
    "sniff": sniffing,
    "visible": showing,
    "mask": hiding,
    "pointer": pointing,
    "compare": comparing,
    "repair": repairing,
    "config": configuring,
    "audit": auditing,
}
