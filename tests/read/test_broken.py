"""A fault in an adapter costs the records that bring it out, and is told; the rest of the log is audited."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from analyzer import audit
from analyzer.read import ADAPTERS, broken, limits
from analyzer.read.records import Block
from tests.wires.every import WIRES
from tests.wires.script import planted, renamed

MARK = b'"breaks_readers"'
Told = Counter[tuple[Any, ...]]


@pytest.fixture(autouse=True)
def as_for_users(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let faults be told, as they are outside of tests."""
    monkeypatch.setattr(broken, "BROKEN", (Exception,))


@pytest.fixture
def breaking_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every adapter breaks when it has read a block that holds the mark."""
    for adapter in ADAPTERS:
        real = adapter.read

        def read(self: Any, block: Block, real: Any = real) -> list[int]:
            left: list[int] = real(self, block)
            if any(MARK in raw for raw in block.raw):
                raise IndexError("secret words of the log")
            return left

        monkeypatch.setattr(adapter, "read", read)


@pytest.fixture
def breaking_records(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every adapter that takes its records one by one breaks when it has taken one that holds the mark; its name."""
    broke: list[str] = []
    for adapter in ADAPTERS:
        if not hasattr(adapter, "_take"):
            continue

        def take(self: Any, record: Any, raw: bytes, *rest: Any, real: Any = adapter._take, **more: Any) -> bool:
            if MARK in raw and self.name == "otlp":  # it appends its records at the end of the block
                broke.append(self.name)
                raise KeyError("secret words of the log")
            taken: bool = real(self, record, raw, *rest, **more)
            if MARK in raw:
                broke.append(self.name)
                raise KeyError("secret words of the log")
            return taken

        monkeypatch.setattr(adapter, "_take", take)
    return broke


def _lines(wire: str, kind: str, number: int, *, marked: bool = False) -> list[str]:
    records = list(WIRES[wire](renamed(planted(kind).session, f"{number}_")))
    if marked:
        last = records[-1]
        records.append(
            {**last, "breaks_readers": 1} if isinstance(last, dict) else [*last[:-1], last[-1] | {"breaks_readers": 1}]
        )
    return [json.dumps(each) for each in records]


def _told(folder: Path, logs: dict[str, list[str]]) -> tuple[Told, list[str], list[str]]:
    """What is told of the calls in some logs, which of these hold unreadable records, and what is said of those."""
    folder.mkdir()
    for name, lines in logs.items():
        (folder / f"{name}.jsonl").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    made = audit([str(folder)])
    assert (made.crashed, made.unrecognised) == ([], [])
    found = made.findings.filter(slug="record-unreadable")
    told = Counter(made.findings.drop_nulls("call_id").select("call_id", "slug", "severity").iter_rows())
    told.update(made.frames["calls"].select("call_id", "name", "outcome").iter_rows())
    unread = [Path(each["path"]).stem for each in made.inputs if each["unreadable"]]
    return told, unread, [*found["message"], *map(str, made.problems)]


#: These read whole blocks at once, and those that break them once more, record by record.
AGAIN = ("claude-code-jsonl", "openai-agents-api")


@pytest.mark.usefixtures("breaking_blocks")
@pytest.mark.parametrize("wire", AGAIN)
@pytest.mark.parametrize("size", [1 << 20, 1_500])
def test_a_block_that_breaks_its_reader_is_read_record_by_record(
    wire: str, size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "BLOCK", size)
    good, bad = _lines(wire, "output_schema", 1), _lines(wire, "missing", 0)
    whole, _, nothing = _told(tmp_path / "whole", {"bad": bad, "good": good})
    assert nothing == []
    for place in (0, len(bad) // 2, len(bad)):
        marked = [*bad[:place], json.dumps({**json.loads(bad[-1]), "breaks_readers": 1}), *bad[place:]]
        told, unread, said = _told(tmp_path / f"{place}", {"bad": marked, "good": good})
        assert unread == ["bad"]
        assert len(said) == 1
        assert "A record cannot be read and is left out: it broke its reader," in said[0]
        assert told == whole


@pytest.mark.usefixtures("breaking_blocks")
@pytest.mark.parametrize("wire", [wire for wire in WIRES if wire not in AGAIN])
def test_a_block_that_breaks_its_reader_is_left_out_whole(wire: str, tmp_path: Path) -> None:
    good = _lines(wire, "output_schema", 1)
    alone, _, nothing = _told(tmp_path / "alone", {"good": good})
    assert nothing == []
    told, unread, said = _told(tmp_path / "both", {"bad": _lines(wire, "missing", 0, marked=True), "good": good})
    assert unread == ["bad"]
    assert "a fault of the analyzer itself: IndexError at test_broken.py" in "".join(said)
    assert "secret" not in "".join(said)
    assert told == alone


@pytest.mark.parametrize("wire", [wire for wire in WIRES if len(list(WIRES[wire](planted("missing").session))) > 1])
def test_a_record_that_breaks_its_reader_is_left_out_alone(
    wire: str, tmp_path: Path, breaking_records: list[str]
) -> None:
    logs = {"bad": _lines(wire, "missing", 0), "good": _lines(wire, "output_schema", 1)}
    whole, _, nothing = _told(tmp_path / "whole", logs)
    assert nothing == []
    logs["bad"] = _lines(wire, "missing", 0, marked=True)
    told, unread, said = _told(tmp_path / "broken", logs)
    if breaking_records:
        assert unread == ["bad"]
        assert ["a fault of the analyzer itself: KeyError" in each for each in said] == [True]
        assert told == whole


@pytest.mark.usefixtures("breaking_blocks")
def test_what_was_posted_in_a_block_that_is_left_out_is_lent_to_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    post = {"type": "agent.session.input.tool_result", "session_id": "s", "turn_id": "t", "call_id": "c", "output": "a"}
    item = {"type": "function_call_output", "id": "fco", "call_id": "c", "output": "a", "status": "completed"}
    echo = {"type": "agent.session.turn.item.added", "session_id": "s", "turn_id": "t", "event_id": "e", "item": item}
    begun = {"type": "agent.session.in_progress", "session_id": "s", "event_id": "b"}
    first = "".join(json.dumps(each) + "\n" for each in (begun, {**post, "success": True, "breaks_readers": 1}))
    monkeypatch.setattr(limits, "BLOCK", len(first))
    log = tmp_path / "log.ndjson"
    log.write_text(first + json.dumps(echo) + "\n", encoding="utf-8")
    made = audit([str(log)])
    assert made.frames["events"]["kind"].to_list() == ["session", "broken", "item"]
    assert made.frames["results"]["text"].to_list() == ["a"]


def test_an_adapter_that_breaks_on_sight_knows_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    logs = {"good": _lines("openai-chat", "missing", 0)}
    whole = _told(tmp_path / "whole", logs)

    def knows(record: Any) -> float:
        raise IndexError(record)

    for adapter in ADAPTERS:
        if adapter.name not in {"openai-chat", "gemini-cli"}:
            monkeypatch.setattr(adapter, "knows", staticmethod(knows))
    assert _told(tmp_path / "broken", logs) == whole


def test_an_adapter_that_breaks_at_the_end_of_a_log_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    logs = {"good": _lines("openai-chat", "missing", 0)}
    told, _, _ = _told(tmp_path / "whole", logs)
    (adapter,) = (each for each in ADAPTERS if each.name == "openai-chat")

    def close(_: Any) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(adapter, "close", close)
    again, _, (said,) = _told(tmp_path / "broken", logs)
    assert again == told
    assert "good.jsonl: its end" in said
    assert "ZeroDivisionError at test_broken.py" in said
