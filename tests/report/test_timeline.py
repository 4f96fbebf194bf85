"""`show` of a log or a session: what stands first, and what is left for the report."""

from __future__ import annotations

from pathlib import Path

import pytest

from analyzer.cli import main
from tests.audit.wire import function
from tests.batch.nights import Event, log, story

OPEN = {"type": "object", "properties": {"id": {"type": "string"}, "page": {"type": "integer"}}, "required": ["id"]}


def _many_tools() -> list[Event]:
    """A session whose table has seven tools that one rule objects to."""
    events = story("s2", {"id": "x"}, schema=OPEN, tool="tool_0")
    for event in events:
        if "session" in event:
            event["session"]["agent"]["tools"] = [
                function(f"tool_{number}", {**OPEN, "title": f"{number}"}) for number in range(7)
            ]
    return events


def test_the_worst_session_stands_first(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log(tmp_path, "a.ndjson", story("fine", {"id": "x"}), story("bad", {"id": 7}))
    assert main(["show", str(tmp_path)]) == 0
    names = [line.split()[0] for line in capsys.readouterr().out.splitlines()[1:3]]
    assert names == ["bad", "fine"]


def test_a_rule_that_objects_to_every_tool_does_not_bury_the_events(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = log(tmp_path, "a.ndjson", _many_tools())
    assert main(["audit", "--fail-on", "never", "--select", "TOOL003", str(file)]) == 0
    assert capsys.readouterr().out.startswith("7 warnings")
    assert main(["show", "--session", "s2", str(file)]) == 0
    out = capsys.readouterr().out
    assert out.count("! warning TOOL003") == 3
    assert "TOOL003 tool_0: " in " ".join(out.split()), "whose schema it is"
    assert "and 4 more of TOOL003 here: `analyzer audit --select TOOL003` lists them" in " ".join(out.split())


def test_what_is_suppressed_is_marked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = log(tmp_path / "logs", "a.ndjson", story("s1", {"id": 7}))
    (config := tmp_path / "a.toml").write_text(
        '[[suppressions]]\nrule = "ARG001"\nreason = "known"\nuntil = 2099-01-01\n'
    )
    assert main(["show", "--config", str(config), str(file)]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "(suppressed)" in out
    assert main(["show", "--config", str(config), "--call", "c1", str(file)]) == 0
    assert "suppressed known (until 2099-01-01)" in " ".join(capsys.readouterr().out.split())
    assert main(["show", str(file)]) == 0
    assert "(suppressed)" not in capsys.readouterr().out
