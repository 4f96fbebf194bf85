"""The counts that are known of recorded data beside the repository, and the same counts of an audit."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from analyzer import Audit, audit
from tests.read.adapters import lines

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"


def truth(name: str) -> dict[str, int]:
    """What is known of a folder of the recorded data; skips the test where the data is not there."""
    if not SHARED.is_dir():
        pytest.skip("the recorded data is not beside the repository")
    found: dict[str, int] = json.loads((SHARED / "truth.json").read_text())[name]
    return found


def counted(found: Audit) -> dict[str, int]:
    """The same counts of an audit."""
    calls, results = found.frames["calls"], found.frames["results"]
    named = calls.filter(pl.col("call_id").is_not_null())
    verdicts = found.frames["verdicts"].filter(pl.col("role") == "arguments")
    return {
        "sessions": found.frames["sessions"].height,
        "calls": calls.height,
        "results": results.height,
        "orphan_calls": calls["result"].null_count(),
        "orphan_results": results["call"].null_count(),
        "dup_call_ids": named.height - named.select("session", "call_id").n_unique(),
        "args_checked": int(verdicts["verdict_is"].is_in(["valid", "invalid"]).sum() or 0),
        "args_schema_fail": int((verdicts["verdict_is"] == "invalid").sum() or 0),
    }


def audited(tmp_path: Path, *records: Any, name: str = "log.jsonl", **options: Any) -> Audit:
    """An audit of these records, which nothing crashed."""
    path = tmp_path / name
    path.write_bytes(lines(*records))
    found = audit([str(path)], **options)
    assert found.crashed == []
    assert found.problems == []
    return found


def errors(found: Audit) -> set[str]:
    """The slugs of the findings that are errors."""
    return set(found.findings.filter(pl.col("severity") == "error")["slug"])
