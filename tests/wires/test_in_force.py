"""The schema in force, against the obvious answer: the table that was offered when the call was made."""

from __future__ import annotations

import json
import random
from pathlib import Path

import polars as pl
import pytest

from analyzer import audit
from tests.wires.bodies import Writer
from tests.wires.every import WIRES
from tests.wires.script import Call, Result, Session, Step, bulbs

#: The wires that record each table that is offered.
TABLES: dict[str, Writer] = {
    wire: writer
    for wire, writer in WIRES.items()
    if wire not in {"claude-code-jsonl", "codex-rollout", "vercel-ai", "gemini-cli", "openai-chat trajectory"}
    and not wire.startswith(("langchain", "pydantic-ai", "openhands", "strands"))
}


def _session(name: str, chance: random.Random) -> tuple[Session, dict[str, str]]:
    """A session whose tool comes, goes and changes from reply to reply, and the obvious verdict of each call."""
    steps, expected = [], {}
    most: int | None = chance.choice([None, 3, 6, 9])
    for number in range(chance.randint(2, 6)):
        if chance.random() < 0.4:
            most = chance.choice([None, 3, 6, 9])
        calls = tuple(
            Call(f"{name}_{number}_{place}", "find_bulb", json.dumps({"bulb": chance.randint(1, 9)}))
            for place in range(chance.choice([1, 1, 2]))
        )
        for call in calls:
            expected[call.id] = "absent" if most is None else "valid" if call.given["bulb"] <= most else "invalid"
        steps.append(Step(calls, tuple(Result(call.id) for call in calls), bulbs(most)))
    return Session(name, tuple(steps)), expected


@pytest.mark.parametrize("wire", TABLES)
def test_each_call_is_judged_by_the_table_of_its_moment(wire: str, tmp_path: Path) -> None:
    chance = random.Random(wire)
    expected: dict[str, str] = {}
    for number in range(30):
        session, wanted = _session(f"s{number}", chance)
        expected |= wanted
        lines = (json.dumps(record) + "\n" for record in TABLES[wire](session))
        (tmp_path / f"{session.name}.jsonl").write_text("".join(lines), encoding="utf-8")
    made = audit([str(tmp_path)])
    verdicts = made.frames["verdicts"].filter(role="arguments", side="advertised")
    calls = made.frames["calls"].join(verdicts.select("call", "verdict_is", "reason"), on="call", how="left")
    absent = set(made.findings.filter(slug="tool-not-advertised")["call_id"])
    told = {
        call: "absent" if call in absent else verdict if reason is None else f"{verdict} {reason}"
        for call, verdict, reason in calls.select("call_id", "verdict_is", "reason").iter_rows()
    }
    wrong = {call: (told.get(call), want) for call, want in expected.items() if told.get(call) != want}
    assert wrong == {}
    assert pl.Series(list(expected.values())).n_unique() == 3
