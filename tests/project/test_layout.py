"""What lies where, and what no file of the project may say."""

from __future__ import annotations

import re
import tomllib
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

TOP_LEVEL = {
    "CHANGELOG.md",
    "LICENSE",
    "README.md",
    "analyzer",
    "notebooks",
    "pyproject.toml",
    "sample_traces",
    "tests",
}
# Local by nature, and ignored by version control.
LOCAL = re.compile(r"\.git|\.venv.*|\..*_cache|\.hypothesis|__pycache__|\.coverage.*|\.ipynb_checkpoints")

# Spelled in pieces, so that this file does not hold what it looks for.
NOWHERE = [
    "py" + "pi.org",
    "python" + "hosted.org",
    "registry." + "npmjs.org",
    "deb." + "debian.org",
    "proxy." + "golang.org",
    "/wo" + "rk/",
    "co-" + "authored-by",
]
BESIDE = "../" + "shared"


def project_files(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.iterdir()):
        if LOCAL.fullmatch(path.name):
            continue
        if path.is_dir():
            yield from project_files(path)
        else:
            yield path


def test_the_top_level_holds_what_is_promised_and_nothing_else(root: Path) -> None:
    found = {path.name for path in root.iterdir() if not path.name.startswith(".")}
    assert found == TOP_LEVEL


@pytest.mark.parametrize("word", NOWHERE)
def test_no_file_names_a_machine_a_registry_or_an_author(root: Path, word: str) -> None:
    needle = word.encode()
    guilty = [str(path.relative_to(root)) for path in project_files(root) if needle in path.read_bytes().lower()]
    assert guilty == []


def test_only_tests_look_beside_the_project(root: Path) -> None:
    needle = BESIDE.encode()
    guilty = {path.relative_to(root).parts[0] for path in project_files(root) if needle in path.read_bytes()}
    assert guilty <= {".ci", "tests"}


def test_every_ignored_lint_rule_has_its_reason_in_eight_words(root: Path) -> None:
    text = (root / "pyproject.toml").read_text(encoding="utf-8")
    section = text.partition("[tool.ruff.lint]")[2].partition("[tool.ruff.lint.flake8")[0]
    ignored = re.findall(r'^  "([A-Z]+[0-9]*)",[ ]*(?:# (.+))?$', section, flags=re.MULTILINE)
    config = tomllib.loads(text)["tool"]["ruff"]["lint"]
    assert [code for code, _ in ignored] == config["ignore"] + config["per-file-ignores"]["tests/**"]
    assert [code for code, reason in ignored if not 1 <= len(reason.split()) <= 8] == []


def test_the_package_is_marked_as_typed(root: Path) -> None:
    assert (root / "analyzer" / "py.typed").is_file()


def test_the_readme_holds_the_two_commands_in_one_line_each(root: Path) -> None:
    text = (root / "README.md").read_text(encoding="utf-8")
    blocks = dict(re.findall(r"<!-- command: (\w+) -->\n```sh\n(.*?)```\n", text, flags=re.DOTALL))
    assert sorted(blocks) == ["audit", "test"]
    assert all(block.count("\n") == 1 for block in blocks.values())
