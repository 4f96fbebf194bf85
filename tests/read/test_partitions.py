"""A fault stays with its event, whatever the number of partitions."""

from __future__ import annotations

import json
from pathlib import Path

from analyzer import audit
from tests.batch.nights import story


def test_a_missing_line_end_is_told_in_every_partition(tmp_path: Path) -> None:
    for name in ("s1", "s2", "s3", "s4", "s5"):
        lines = [json.dumps(event) for event in story(name, {"id": 7})]
        (tmp_path / f"{name}.ndjson").write_text("\n".join(lines[:2]) + "\n" + "".join(lines[2:4]) + "\n" + lines[4])
    one = audit(tmp_path)
    assert (one.findings["rule"] == "LOG001").sum() == 5
    assert audit(tmp_path, partitions=7).findings.to_dicts() == one.findings.to_dicts()
