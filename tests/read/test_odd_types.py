"""No member of another type than its wire says, in all records of a sample at once, ends the reading of any format."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from analyzer.read import ADAPTERS
from tests.read.adapters import SAMPLES, lines, recorded

KEYS = (
    *("type", "role", "state", "status", "object", "kind", "id", "name", "model", "content", "arguments", "input"),
    *("output", "error", "tools", "text", "event_type", "span_data", "delta", "index", "args", "response", "result"),
)
ODD: tuple[Any, ...] = ([], {}, 5)
FILES = sorted(SAMPLES.glob("*.jsonl"))
NAMES = frozenset(adapter.name for adapter in ADAPTERS)


def changed(value: Any, key: str, odd: Any) -> Any:
    if isinstance(value, list):
        return [changed(each, key, odd) for each in value]
    if not isinstance(value, dict):
        return value
    return {name: odd if name == key else changed(each, key, odd) for name, each in value.items()}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_odd_types_end_no_reading(path: Path) -> None:
    records = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    name = path.stem.split(".")[0]
    for key in KEYS:
        if f'"{key}"' not in path.read_text(encoding="utf-8"):
            continue
        for odd in ODD:
            odder = [each if number == 0 else changed(each, key, odd) for number, each in enumerate(records)]
            for some in (odder, [changed(each, key, odd) for each in records]):
                _, frames = recorded(lines(*some), input_format=name if name in NAMES else None)
                assert frames["events"]["event"].is_unique().all(), (key, odd)
