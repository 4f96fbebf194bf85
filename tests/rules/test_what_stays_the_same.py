"""What is found in a session does not change with what else is in the log, with the order of sessions, or with ids.

All stories of the manuals that stand for themselves are sessions of one log, so that each change costs one audit.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from analyzer import audit
from analyzer.rules.catalogue import RULES
from tests.rules.story import tell
from tests.rules.test_manuals import block

#: What looks at all sessions, or at a log as a file.
_OF_ALL = sorted({rule.code for rule in RULES if rule.scope == "fleet" or rule.across} | {"LOG001", "LOG002"})
#: What is said of the end of a recording.
_OF_THE_END = {"CALL004", "RUN010"}
_BESIDE = ("contract ", "output ", "writes ", "reads ", "line ", "torn ", "session ")
_TURN = re.compile(r'"(t[0-9]|t_last)"')
_ID = re.compile(r"\b(fc_|fco_)?([acm][0-9])\b")
_CLEAN = (
    'tool look_up {"type":"object","properties":{},"additionalProperties":false}',
    "turn t_last",
    "call z9 look_up {}",
    "result z9 ok fine",
    "say Done.",
    "end",
    "idle",
)


class Said(NamedTuple):
    """A finding, without its place in the file."""

    session: str | None
    rule: str
    severity: str
    confidence: str
    tool: str | None
    call_id: str | None
    pointer: str | None
    message: str
    fingerprint: str


def _lines(name: str, story: Iterable[str]) -> list[str]:
    """The log of a story in a session of this name, whose turns have names of their own."""
    told = tell([f"session {name}", *(line.replace('"s1"', f'"{name}"') for line in story)])
    return [_TURN.sub(rf'"\1_{name}"', line) for line in told.log.decode().splitlines()]


def _stories() -> Iterator[tuple[str, list[str]]]:
    for rule in RULES:
        for name in () if "\nWire: " in rule.manual else ("Bad", "Good"):
            story = block(rule, name)
            if not any(line.startswith(_BESIDE) for line in story):
                yield f"{rule.code}-{name}", story


@cache
def _logs() -> dict[str, list[str]]:
    return {name: _lines(name, story) for name, story in _stories()}


def _found(folder: Path, *logs: Iterable[str]) -> list[Said]:
    """What is said of the sessions of some logs that are audited together, in the order of names."""
    for number, lines in enumerate(logs):
        (folder / f"{number}.ndjson").write_text("\n".join(lines) + "\n", encoding="utf-8")
    made = audit([str(folder / f"{number}.ndjson") for number in range(len(logs))], ignore=_OF_ALL)
    assert (made.crashed, made.problems) == ([], [])
    return sorted((_said(row) for row in made.findings.to_dicts()), key=str)


def _said(row: dict[str, Any]) -> Said:
    told = row | {"pointer": (row["location"] or {}).get("pointer")}
    return Said._make(told[name] for name in Said._fields)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> list[Said]:
    """What is found where all sessions are in one log, one after the other."""
    return _found(tmp_path_factory.mktemp("whole"), [line for lines in _logs().values() for line in lines])


def _told(said: list[Said], other: list[Said]) -> list[Said]:
    """What only one of them holds."""
    return sorted(set(said) ^ set(other), key=str)


def test_there_is_enough_to_look_at(whole: list[Said]) -> None:
    assert len(_logs()) > 100
    assert len({said.rule for said in whole}) > 40


@pytest.mark.parametrize("part", [0, 1])
def test_sessions_say_nothing_of_each_other(part: int, whole: list[Said], tmp_path: Path) -> None:
    mine = dict([*_logs().items()][part::2])
    found = _found(tmp_path, [line for lines in mine.values() for line in lines])
    assert _told(found, [said for said in whole if said.session in mine]) == []


def test_the_order_of_sessions_says_nothing(whole: list[Said], tmp_path: Path) -> None:
    found = _found(tmp_path, [line for name in sorted(_logs(), reverse=True) for line in _logs()[name]])
    assert _told(found, whole) == []


def test_sessions_may_be_recorded_at_once(whole: list[Said], tmp_path: Path) -> None:
    """In turn, a record of each; what does not name its session stays behind the one before it."""
    waiting = []
    for lines in _logs().values():
        pieces: list[list[str]] = []
        for line in lines:
            if pieces and not any(each in line for each in ('"session_id":', '"session":{', "/sessions/")):
                pieces[-1].append(line)
            else:
                pieces.append([line])
        waiting.append(pieces)
    found: list[str] = []
    for pieces_in_turn in zip_longest(*waiting, fillvalue=[]):
        found += chain.from_iterable(pieces_in_turn)
    assert _told(_found(tmp_path, found), whole) == []


def test_each_session_may_have_a_file_of_its_own(whole: list[Said], tmp_path: Path) -> None:
    assert _told(_found(tmp_path, *_logs().values()), whole) == []


def test_ids_are_names_only(whole: list[Said], tmp_path: Path) -> None:
    def renamed(text: str) -> str:
        return _ID.sub(r"\1x\2x", text)

    found = _found(tmp_path, [renamed(line) for lines in _logs().values() for line in lines])
    told = [
        said._replace(call_id=said.call_id and renamed(said.call_id), message=renamed(said.message)) for said in whole
    ]
    odd = {"CALL003-Bad", "CALL003-Good", "CALL005-Bad"}  # of the form of ids, and how near they are
    assert [said for said in _told(found, told) if said.session not in odd] == []


def test_what_goes_well_afterwards_takes_nothing_back(whole: list[Said], tmp_path: Path) -> None:
    longer = [_lines(name, [*story, *_CLEAN]) for name, story in _stories()]
    found = {said[:-2] for said in _found(tmp_path, [line for lines in longer for line in lines])}
    assert [said for said in whole if said[:-2] not in found and said.rule not in _OF_THE_END] == []
