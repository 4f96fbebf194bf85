"""The notebooks run from their first cell to the last, and hold no output that a run did not make."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parents[2] / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


@pytest.mark.parametrize("file", NOTEBOOKS, ids=lambda file: file.stem)
def test_no_output_is_kept(file: Path) -> None:
    cells = json.loads(file.read_text(encoding="utf-8"))["cells"]
    assert [cell["source"] for cell in cells if cell.get("outputs") or cell.get("execution_count")] == []


@pytest.mark.notebooks
@pytest.mark.parametrize("file", NOTEBOOKS, ids=lambda file: file.stem)
def test_it_runs(file: Path, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nbformat = pytest.importorskip("nbformat", reason="the extra `notebooks` is not installed")
    client = pytest.importorskip("nbclient", reason="the extra `notebooks` is not installed")
    pytest.importorskip("matplotlib", reason="the extra `notebooks` is not installed")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(root), os.environ.get("PYTHONPATH", "")]))
    notebook = nbformat.read(file, 4)
    client.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(FOLDER)}}).execute()
    assert pictures(notebook) >= 2, "a notebook shows something"


CALM = ["1-morning.ndjson"]  # a day without a finding
BARE = ["formats/claude-code-jsonl.jsonl"]  # no schemas, nothing owed that has a verdict
QUIET = ["formats/mcp-jsonrpc.jsonl", "formats/openai-chat.jsonl"]  # no times, several shapes


@pytest.mark.notebooks
@pytest.mark.parametrize("logs", [CALM, BARE, QUIET], ids=["calm", "bare", "quiet"])
@pytest.mark.parametrize("file", NOTEBOOKS, ids=lambda file: file.stem)
def test_it_runs_on_other_logs(
    file: Path, logs: list[str], root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nbformat = pytest.importorskip("nbformat", reason="the extra `notebooks` is not installed")
    client = pytest.importorskip("nbclient", reason="the extra `notebooks` is not installed")
    pytest.importorskip("matplotlib", reason="the extra `notebooks` is not installed")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(root), os.environ.get("PYTHONPATH", "")]))
    samples = tmp_path / "sample_traces"
    samples.mkdir()
    for name in ("contracts.json", *logs):
        shutil.copy(root / "sample_traces" / name, samples)
    (samples / "house.jsonl").write_text('{"level": 30}\n', encoding="utf-8")
    notebook = nbformat.read(file, 4)
    client.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    told = [output.get("text", "") for cell in notebook.cells for output in cell.get("outputs", [])]
    assert file.stem != "triage" or any("house.jsonl: not recognised" in text for text in told)


def pictures(notebook: Any) -> int:
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    return sum("image/png" in output.get("data", {}) for output in outputs)


def test_there_are_three() -> None:
    assert [file.stem for file in NOTEBOOKS] == ["drift", "hunting", "triage"]
