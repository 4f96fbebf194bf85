"""The files that other tools read of us name commands that exist."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from analyzer.cli import main

HOOKS = yaml.safe_load((Path(__file__).parents[2] / ".pre-commit-hooks.yaml").read_bytes())


@pytest.mark.parametrize("hook", HOOKS, ids=lambda hook: str(hook["id"]))
def test_a_hook_is_whole_and_runs(hook: dict[str, Any], root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert {"id", "name", "entry", "language", "files"} <= hook.keys()
    program, *command = shlex.split(hook["entry"])
    assert program == "analyzer"
    assert main([*command, "--help"]) == 0
    capsys.readouterr()
    files = [str(path) for path in (root / "sample_traces").iterdir() if re.search(hook["files"], path.name)]
    if command == ["audit"]:
        assert main([*command, *files]) == 1
        assert "ARG001" in capsys.readouterr().out


def test_the_workflow_in_the_readme_is_yaml_and_its_commands_exist(root: Path) -> None:
    text = (root / "README.md").read_text(encoding="utf-8")
    [workflow] = [
        yaml.safe_load(block) for block in re.findall(r"```yaml\n(.*?)```", text, flags=re.DOTALL) if "jobs:" in block
    ]
    [job] = workflow["jobs"].values()
    runs = [step["run"] for step in job["steps"] if "analyzer" in str(step.get("run"))]
    assert runs
    options = set(re.findall(r"--[a-z-]+", " ".join(runs)))
    from analyzer.cli.audit import command

    known = {name for param in command.params for name in param.opts}
    assert options <= known


def test_the_suite_in_the_readme_passes_on_sound_sessions_and_fails_on_the_incident(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (root / "README.md").read_text(encoding="utf-8")
    [program] = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    names: dict[str, Any] = {}
    exec(program, names)
    monkeypatch.chdir(tmp_path)
    recordings, tools = Path("tests/recordings"), Path("tools")
    recordings.mkdir(parents=True)
    tools.mkdir()
    shutil.copy(root / "sample_traces" / "contracts.json", tools)
    shutil.copy(root / "sample_traces" / "1-morning.ndjson", recordings)
    names["test_recorded_sessions_keep_their_contracts"]()
    shutil.copy(root / "sample_traces" / "3-incident.envelopes.ndjson", recordings)
    with pytest.raises(AssertionError, match="ARG001"):
        names["test_recorded_sessions_keep_their_contracts"]()
