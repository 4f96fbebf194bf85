"""Two sessions that were logged at once into one file, record by record, are told as in files apart."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from analyzer import Audit, audit
from analyzer.read import limits
from analyzer.read.recording import Recording
from tests.wires.bodies import Json, Writer, bedrock, gemini, responses
from tests.wires.every import WIRES, some
from tests.wires.histories import responses_chained
from tests.wires.script import FOUND, GOOD, Call, Result, Session, Step

Records = list[Any]


def _apart(writer: Writer) -> Writer:
    """The halves of each exchange as records of their own."""

    def written(session: Session) -> Iterator[Json]:
        for exchange in writer(session):
            yield exchange["request"]
            yield exchange["response"]

    return written


ALL: dict[str, Writer] = {
    **WIRES,
    "openai-responses, request and response apart": _apart(responses),
    "openai-responses chained, request and response apart": _apart(responses_chained),
    "gemini, request and response apart": _apart(gemini),
    "bedrock, request and response apart": _apart(bedrock),
}
#: These write streams of which most events name nothing: what cannot be told apart is told, and its calls are judged
#: where a later request shows them.
NAMELESS = {"anthropic-messages streamed"}
#: A file of these is one session, or names none at all.
ONE = {"codex-rollout", "openai-chat trajectory", "langchain updates", "openhands", "strands", "vercel-ai"}


def _session(name: str) -> Session:
    """A session without fault, with two calls at once in the middle."""
    first, second = (Call(f"{name}_{nth}", arguments=GOOD.replace("7", nth)) for nth in "89")
    steps = (
        Step((Call(f"{name}_1"),), (Result(f"{name}_1"),)),
        Step((first, second), (Result(first.id), Result(second.id, FOUND.replace("4", "5")))),
        Step((Call(f"{name}_3", arguments=GOOD.replace("7", "3")),), (Result(f"{name}_3"),)),
    )
    return Session(name, steps, f"Done with {name}.")


def _records(wire: str, name: str) -> Records:
    """The records of a session; its turns have names of their own."""
    records = json.dumps(list(ALL[wire](_session(name)))).replace('"t1"', f'"turn_{name}"')
    return list(json.loads(records))


def _in_turn(one: Records, other: Records) -> Records:
    more = len(max(one, other, key=len))
    return [record for at in range(more) for record in (*one[at : at + 1], *other[at : at + 1])]


def _by_chance(seed: int) -> Callable[[Records, Records], Records]:
    def woven(one: Records, other: Records) -> Records:
        chance, left = random.Random(seed), [list(one), list(other)]
        mixed = []
        while any(left):
            mixed.append(chance.choice([each for each in left if each]).pop(0))
        return mixed

    return woven


def _one_late(one: Records, other: Records) -> Records:
    """The second session begins within the first and ends behind it."""
    middle = len(one) // 2 + 1
    return one[:middle] + _in_turn(one[middle:], other)


WOVEN = {"in turn": _in_turn, "late": _one_late, **{f"by chance {seed}": _by_chance(seed) for seed in range(6)}}


def _audited(folder: Path, contracts: Path, *logs: Records) -> Audit:
    folder.mkdir()
    for number, log in enumerate(logs):
        (folder / f"{number}.jsonl").write_text("".join(f"{json.dumps(each)}\n" for each in log), encoding="utf-8")
    made = audit([str(folder)], contracts=[str(contracts)])
    assert (made.problems, made.unrecognised, made.crashed) == ([], [], [])
    return made


def _errors(made: Audit) -> list[tuple[Any, ...]]:
    return made.findings.filter(severity="error").select("call_id", "slug", "message").rows()


def _calls(made: Audit) -> Counter[tuple[Any, ...]]:
    return Counter(made.frames["calls"].select("call_id", "name", "outcome").iter_rows())


@pytest.mark.parametrize(("wire", "woven"), some(product([wire for wire in ALL if wire not in ONE], WOVEN), 8))
def test_sessions_at_once_are_told_as_apart(wire: str, woven: str, contracts: Path, tmp_path: Path) -> None:
    one, other = (_records(wire, name) for name in ("ash", "elm"))
    apart = _audited(tmp_path / "apart", contracts, one, other)
    together = _audited(tmp_path / "together", contracts, WOVEN[woven](one, other))
    assert _errors(together) == _errors(apart) == []
    assert _calls(together) == _calls(apart)
    if wire not in NAMELESS:
        assert together.summary["coverage"] == apart.summary["coverage"]
    elif together.summary["coverage"] != apart.summary["coverage"]:
        assert not together.findings.filter(rule="LOG003").is_empty()


APART = [wire for wire in ALL if "apart" in wire or "streamed" in wire]


@pytest.mark.parametrize(("wire", "seed"), some(product(APART, range(4)), 8))
def test_one_of_three_sessions_breaks_off_and_a_request_is_sent_twice(
    wire: str, seed: int, contracts: Path, tmp_path: Path
) -> None:
    chance = random.Random(seed)
    cut, twice, plain = (_records(wire, name) for name in ("ash", "elm", "oak"))
    del cut[chance.randrange(1, len(cut)) :]
    asked = chance.choice([at for at, each in enumerate(twice) if "tools" in each or "toolConfig" in each])
    twice.insert(asked, twice[asked])
    apart = _audited(tmp_path / "apart", contracts, cut, twice, plain)
    mixed = _by_chance(seed)(_by_chance(seed + 1)(cut, twice), plain)
    together = _audited(tmp_path / "together", contracts, mixed)
    assert set(_errors(together)) <= set(_errors(apart))
    lost = set(apart.frames["calls"]["call_id"]) - set(together.frames["calls"]["call_id"])
    assert not lost or not together.findings.filter(rule="LOG003").is_empty()


@pytest.mark.parametrize("wire", APART)
def test_sessions_at_once_are_the_same_in_blocks_of_any_size(
    wire: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "log.jsonl"
    records = _by_chance(2)(_records(wire, "ash"), _records(wire, "elm"))
    log.write_text("".join(f"{json.dumps(each)}\n" for each in records), encoding="utf-8")
    whole = audit([str(log)])
    for block, rows in ((70, 9), (1_000, 1)):
        monkeypatch.setattr(limits, "BLOCK", block)
        monkeypatch.setattr(Recording, "BLOCK", rows)
        parts = audit([str(log)])
        assert parts.findings.equals(whole.findings)
        for name, frame in whole.frames.items():
            assert parts.frames[name].equals(frame), name


@pytest.mark.parametrize(("wire", "seed"), some(product(sorted(ALL.keys() - ONE - NAMELESS), range(4)), 8))
def test_two_that_ask_the_same_at_once_are_no_retry(wire: str, seed: int, contracts: Path, tmp_path: Path) -> None:
    one = _records(wire, "ash")
    other = json.loads(json.dumps(_records(wire, "elm")).replace("seeds of elm", "seeds of ash"))
    apart = _audited(tmp_path / "apart", contracts, one, other)
    together = _audited(tmp_path / "together", contracts, _by_chance(seed)(one, other))
    assert _errors(together) == _errors(apart) == []
    assert _calls(together) == _calls(apart)


@pytest.mark.parametrize("wire", [wire for wire in APART if wire.startswith(("openai-chat", "gemini", "bedrock"))])
def test_a_request_that_is_tried_again_is_of_one_session(wire: str, contracts: Path, tmp_path: Path) -> None:
    records = _records(wire, "ash")
    asked = [at for at, each in enumerate(records) if "tools" in each or "toolConfig" in each]
    for at in reversed(asked):
        records[at:at] = [records[at]] * (1 + at % 3)
    made = _audited(tmp_path / "log", contracts, records)
    assert _errors(made) == []
    assert made.summary["sessions"] == 1
    assert made.findings.filter(rule="LOG003").is_empty()
