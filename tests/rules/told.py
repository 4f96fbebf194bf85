"""What an audit says of a story: the findings of one rule, as rows."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from analyzer import audit
from analyzer.trace import Settings
from tests.rules.story import tell


def found(slug: str, story: str, *others: str) -> list[dict[str, Any]]:
    """The findings with this slug, in the order of the report, where this rule runs and the `others` beside it."""
    told = tell(story.splitlines())
    with tempfile.TemporaryDirectory() as folder:
        log, contracts = Path(folder, "story.ndjson"), Path(folder, "contracts.json")
        log.write_bytes(told.log)
        contracts.write_text(json.dumps(told.contracts), encoding="utf-8")
        settings = Settings(writes=told.hints.get("writes", frozenset()), reads=told.hints.get("reads", frozenset()))
        given = [str(contracts)] if told.contracts else []
        audited = audit([str(log)], contracts=given, settings=settings, select=[slug, *others])
    assert audited.crashed == []
    rows = audited.findings.to_dicts()
    for row in rows:
        places = [row["location"], *(each["location"] for each in row["related"] or [])]
        assert all(place is None or resolves(told.log, place) for place in places), row
    return [row for row in rows if row["slug"] == slug]


def resolves(log: bytes, place: dict[str, Any]) -> bool:
    """Whether a location leads somewhere: a line of the log, and a member of it where the line is JSON."""
    try:
        value = json.loads(log.split(b"\n")[place["line"] - 1])
    except ValueError:
        return True
    for step in (place["pointer"] or "").split("/")[1:]:
        name = step.replace("~1", "/").replace("~0", "~")
        try:
            value = value[int(name)] if isinstance(value, list) else value[name]
        except (LookupError, TypeError, ValueError):
            return False
    return True
