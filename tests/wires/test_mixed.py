"""One file of several formats: each record goes to the adapter that knows it; what is found is as in files apart."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from analyzer import Audit, audit
from analyzer.read import ADAPTERS
from analyzer.read.adapter import Adapter
from analyzer.read.records import Block
from analyzer.read.rows import Rows
from tests.read.adapters import SAMPLES
from tests.wires.every import WIRES
from tests.wires.script import CONTRACTS, FAULTS, plain, planted, renamed

#: The wires whose records say what they belong to, each by itself.
NAMED = (
    *("openai-agents-api", "openai-responses", "openai-responses chained", "openai-chat", "anthropic-messages"),
    *("claude-code-jsonl", "mcp-jsonrpc", "gemini", "bedrock", "otlp", "otlp openinference", "langfuse", "langsmith"),
    *("agents-sdk", "inspect"),
)
_SURE = 0.6  # that a record is of a format; errors and other small things are of several


def _lines(wire: str) -> list[bytes]:
    sessions = [plain("clean"), *(planted(kind).session for kind in FAULTS)]
    return [json.dumps(record).encode() for session in sessions for record in WIRES[wire](session)]


def _block(lines: list[bytes]) -> Block:
    block = Block(0)
    for line, raw in enumerate(lines, 1):
        block.add(raw, 0, len(raw), line)
    return block


@pytest.mark.parametrize("adapter", [each for each in ADAPTERS if not each.between], ids=lambda each: each.name)
def test_no_adapter_takes_what_another_knows_and_it_does_not(adapter: type[Adapter]) -> None:
    logs = {wire: _lines(wire)[:60] for wire in WIRES}
    logs |= {file.name: file.read_bytes().splitlines() for file in sorted(SAMPLES.glob("*.jsonl"))}
    if adapter.name == "anthropic-messages":
        del logs["bedrock.jsonl"]  # Bedrock carries its bodies under addresses that it knows
    for log, lines in logs.items():
        left = set(adapter(0, Rows()).read(_block(lines)))
        for index, raw in enumerate(lines):
            record = json.loads(raw)
            if index not in left and adapter.sniff([record], "") == 0:
                assert max(each.sniff([record], "") for each in ADAPTERS) < _SURE, (log, index)


def _told(made: Audit) -> set[tuple[str, str, str]]:
    return set(made.findings.select("call_id", "slug", "severity").drop_nulls("call_id").iter_rows())


def test_formats_in_turn_in_one_file_are_told_as_files_apart(tmp_path: Path) -> None:
    contracts = tmp_path / "contracts.json"
    contracts.write_text(json.dumps(CONTRACTS), encoding="utf-8")
    sessions = [plain("clean"), *(planted(kind).session for kind in FAULTS)]
    logs: list[list[str]] = []
    for number, wire in enumerate(NAMED):
        mine = (renamed(session, f"w{number}_") for session in sessions)
        logs.append([json.dumps(record) + "\n" for session in mine for record in WIRES[wire](session)])
        (tmp_path / f"{number}.jsonl").write_text("".join(logs[-1]), encoding="utf-8")
    chance, mixed, rest = random.Random(7), [], [iter(log) for log in logs]
    for log in chance.sample(range(len(logs)), counts=[len(log) for log in logs], k=sum(map(len, logs))):
        mixed.append(next(rest[log]))  # noqa: PERF401 - one of each in turn
    (tmp_path / "mixed.jsonl").write_text("".join(mixed), encoding="utf-8")
    apart = audit([str(tmp_path / f"{number}.jsonl") for number in range(len(logs))], contracts=[str(contracts)])
    together = audit([str(tmp_path / "mixed.jsonl")], contracts=[str(contracts)])
    assert together.summary["sessions"] == apart.summary["sessions"] == len(sessions) * len(logs)
    assert set(together.frames["calls"]["call_id"]) == set(apart.frames["calls"]["call_id"])
    assert _told(together) == _told(apart)
