"""The notebooks over hostile logs: they run, and what a log says is neither markup nor a command nor a secret there."""

from __future__ import annotations

import gzip
import os
import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.hostile.infect import infected
from tests.hostile.payloads import TEXTS, named_secrets, secrets
from tests.hostile.running import Output, faults

FOLDER = Path(__file__).parents[2] / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
#: What a drawing library takes for a formula, and fails on.
_FORMULAS = ("$\\frac{", "$x^{$", "$$", "\\$", "a_$b$_{", "%d%s{0}")


@pytest.fixture
def place(tmp_path: Path, root: Path) -> tuple[Path, tuple[str, ...]]:
    """A folder of notebooks beside samples that were made hostile, and the credentials in them."""
    rng = random.Random(7)
    hidden, named = secrets(7), named_secrets(7)
    words = [text for kind in ("escapes", "invisible", "markup") for text in TEXTS[kind]]
    words += [*_FORMULAS, *(each.text for each in hidden)]
    samples = tmp_path / "sample_traces"
    samples.mkdir()

    def say(text: str) -> str:
        return f"{text} {rng.choice(words)}"

    # The same wherever it stands, so that calls and results still lead to each other.
    def ids(text: str) -> str:
        return text + random.Random(text).choice(TEXTS["markup"]) + random.Random(text).choice(_FORMULAS)

    for file in sorted((root / "sample_traces").iterdir()):
        if file.name == "contracts.json":
            shutil.copy(file, samples)
        elif file.is_file() and file.suffix != ".md":
            packed = file.suffix == ".gz"
            data = gzip.decompress(file.read_bytes()) if packed else file.read_bytes()
            made = infected(data, file.name.removesuffix(".gz"), say, ids=ids, members=named)
            (samples / file.name).write_bytes(gzip.compress(made, mtime=0) if packed else made)
    shutil.copytree(FOLDER, tmp_path / "notebooks")
    return tmp_path / "notebooks", (*(each.value for each in hidden), *named.values())


@pytest.mark.notebooks
@pytest.mark.parametrize("name", [file.name for file in NOTEBOOKS])
def test_nothing_of_a_log_comes_alive(
    name: str, place: tuple[Path, tuple[str, ...]], root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nbformat = pytest.importorskip("nbformat", reason="the extra `notebooks` is not installed")
    client = pytest.importorskip("nbclient", reason="the extra `notebooks` is not installed")
    pytest.importorskip("matplotlib", reason="the extra `notebooks` is not installed")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(root), os.environ.get("PYTHONPATH", "")]))
    folder, hidden = place
    notebook = nbformat.read(folder / name, 4)
    client.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(folder)}}).execute()
    told = list(outputs(notebook))
    assert {kind for kind, _ in told} >= {"image/png", "text/plain"}
    wrong = [
        f"{kind}: {fault}"
        for kind, text in told
        if kind != "image/png"
        for fault in faults(Output(0, text.encode(), b""), form=kind.removeprefix("text/"), secrets=hidden)
    ]
    assert wrong == []


def outputs(notebook: Any) -> Iterator[tuple[str, str]]:
    """What the cells gave, with its kind."""
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            if "text" in output:
                yield "text/plain", output["text"]
            yield from output.get("data", {}).items()
