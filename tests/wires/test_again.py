"""What a collector delivers twice is told once, and what is written otherwise is the same log."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from analyzer import audit
from tests.wires.every import WIRES, some
from tests.wires.script import planted, renamed

Records = list[Any]
KINDS = ("orphan", "narrowed")


def _twice(records: Records) -> Records:
    return [record for record in records for _ in range(2)]


def _from_the_middle(records: Records) -> Records:
    """A batch that was sent again: the rest of the log stands behind it once more."""
    return records[:-1] + records[len(records) // 2 : -1] + records[-1:]


AGAIN: dict[str, Callable[[Records], Records]] = {"every record": _twice, "a batch": _from_the_middle}
#: Pieces of streams may be alike; halves, lists and whole files say nothing that is theirs alone, and nobody's time.
UNTOLD = {
    *("openai-responses streamed", "openai-chat streamed", "anthropic-messages streamed", "vercel-ai"),
    *("openai-chat, request and response apart", "anthropic-messages, request and response apart"),
    *("openai-chat trajectory", "langchain", "langchain updates", "pydantic-ai", "openhands", "strands", "inspect"),
}


def _told(folder: Path, contracts: Path) -> Counter[tuple[str | None, ...]]:
    made = audit([str(folder)], contracts=[str(contracts)])
    assert (made.problems, made.unrecognised, made.crashed) == ([], [], [])
    told = Counter(made.findings.select("call_id", "slug", "severity").iter_rows())
    told.update(made.frames["calls"].select("call_id", "name", "outcome").iter_rows())
    return told


def _write(folder: Path, wire: str, form: Callable[[Records], str]) -> Path:
    folder.mkdir()
    for kind in KINDS:
        records = list(WIRES[wire](renamed(planted(kind).session, "w_")))
        if wire == "openai-agents-api":  # what is posted has no time of its own
            records = [
                {"recorded_at": f"2026-11-17T09:00:{n:02}.25Z", "session_id": f"w_{kind}", "event": record}
                for n, record in enumerate(records)
            ]
        (folder / f"{kind}.jsonl").write_text(form(records), encoding="utf-8")
    return folder


def _lines(dump: Callable[[Any], str] = json.dumps) -> Callable[[Records], str]:
    return lambda records: "".join(dump(record) + "\n" for record in records)


@pytest.mark.parametrize("wire", [wire for wire in WIRES if wire not in UNTOLD])
def test_what_is_delivered_twice_is_told_once(wire: str, contracts: Path, tmp_path: Path) -> None:
    plain = _told(_write(tmp_path / "plain", wire, _lines()), contracts)
    assert sum(plain.values()) > 3 * len(KINDS)
    records = list(WIRES[wire](planted(KINDS[0]).session))
    for name, again in AGAIN.items() if len(records) > 1 else [("every record", _twice)]:
        told = _told(_write(tmp_path / name, wire, lambda records, again=again: _lines()(again(records))), contracts)  # type: ignore[misc]
        assert told.pop((None, "event-redelivered", "info"), 0) > 0, name
        assert told == plain, name


def _backwards(value: Any) -> Any:
    """With the members of all objects in the other order."""
    if isinstance(value, dict):
        return {name: _backwards(member) for name, member in reversed(value.items())}
    return [_backwards(each) for each in value] if isinstance(value, list) else value


def _escaped(value: Any) -> str:
    """As JSON with every character of every string escaped, those of names too."""
    if isinstance(value, str):
        units = value.encode("utf-16-be")
        return '"' + "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2)) + '"'
    if isinstance(value, dict):
        return "{" + ",".join(f"{_escaped(name)}:{_escaped(member)}" for name, member in value.items()) + "}"
    return "[" + ",".join(map(_escaped, value)) + "]" if isinstance(value, list) else json.dumps(value)


def _with_more(value: Any) -> Any:
    """With members that nobody knows; some have names that mean something elsewhere."""
    if not isinstance(value, dict):
        return value
    return {"x_added": {"type": "function_call", "name": "n", "id": "q"}, **value, "zz_added": [1, {"a": None}]}


SAME: dict[str, Callable[[Any], str]] = {
    "members sorted, more of them, with spaces and tabs, years later": lambda record: (
        " \t" + json.dumps(_with_more(record), sort_keys=True, separators=("  , ", " :  ")) + "\t "
    ).replace("2026-11-17T", "2031-02-03T"),
    "members in the other order, all escaped, without spaces": lambda record: _escaped(_backwards(record)),
}


@pytest.mark.parametrize("wire", some(WIRES, 3))
def test_how_it_is_written_changes_nothing(wire: str, contracts: Path, tmp_path: Path) -> None:
    plain = _told(_write(tmp_path / "plain", wire, _lines()), contracts)
    for name, dump in SAME.items():
        assert _told(_write(tmp_path / name, wire, _lines(dump)), contracts) == plain, name


@pytest.mark.parametrize("names", [("1.jsonl", "2.jsonl"), ("2.jsonl", "1.jsonl")])
@pytest.mark.parametrize("wire", ["openai-chat", "openai-responses", "anthropic-messages", "gemini", "bedrock"])
def test_a_log_that_is_there_as_it_was_and_as_it_grew_is_one(
    wire: str, names: tuple[str, str], contracts: Path, tmp_path: Path
) -> None:
    records = [list(WIRES[wire](planted(kind).session)) for kind in KINDS]
    was = [record for each in records for record in each[: len(each) // 2 + 1]]
    grown = [record for each in records for record in each]
    told = []
    for folder, logs in (("alone", [grown]), ("both", [was, grown])):
        (tmp_path / folder).mkdir()
        for name, log in zip(names, logs, strict=False):
            (tmp_path / folder / name).write_text(_lines()(log), encoding="utf-8")
        told.append(_told(tmp_path / folder, contracts))
    assert told[1].pop((None, "event-redelivered", "info"), 0) > 0
    assert told[1] == told[0]
