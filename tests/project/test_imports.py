"""What a fresh interpreter loads: the second guard beside the layers in pyproject.toml."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "analyzer"

# Drawing, comparing and wording are for the few who look: they are loaded where they are used.
HEAVY = ("deepdiff", "jsonschema", "textual")

IMPORT_ALL = """
import importlib, sys
for name in sys.argv[1:]:
    importlib.import_module(name)
print(*sys.modules)
"""
RUN_COMMAND = """
import sys
from analyzer.cli import main
sys.argv = ["analyzer", *sys.argv[1:]]
try:
    main()
except SystemExit as end:
    assert not end.code, end.code
print(*sys.modules)
"""


def loaded(program: str, *arguments: str) -> set[str]:
    """Run a program in a fresh interpreter, and give the modules it names on its last line."""
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return set(done.stdout.splitlines()[-1].split())


def modules_of(child: str) -> list[str]:
    """Name every module at or below one member of the package."""
    file = PACKAGE / f"{child}.py"
    paths = [file] if file.is_file() else sorted((PACKAGE / child).rglob("*.py"))
    parts = (path.relative_to(ROOT).with_suffix("").parts for path in paths)
    return [".".join(name).removesuffix(".__init__") for name in parts]


HEADLESS = sorted(
    {
        path.relative_to(PACKAGE).parts[0].removesuffix(".py")
        for path in PACKAGE.rglob("*.py")
        if "__pycache__" not in path.parts
    }
    - {"__init__", "__main__", "tui"}
)


@pytest.mark.parametrize("child", HEADLESS)
def test_headless_modules_load_nothing_heavy(child: str) -> None:
    assert loaded(IMPORT_ALL, *modules_of(child)).isdisjoint(HEAVY)


def test_the_package_itself_loads_nothing_heavy() -> None:
    assert loaded(IMPORT_ALL, "analyzer").isdisjoint({*HEAVY, "polars"})


@pytest.mark.parametrize("arguments", [("--help",), ("rules",), ("formats",)], ids=" ".join)
def test_a_command_that_only_tells_loads_no_frames(arguments: tuple[str, ...]) -> None:
    assert loaded(RUN_COMMAND, *arguments).isdisjoint({*HEAVY, "polars"})


def test_the_package_runs_as_a_module() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "analyzer", "--help"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "audit" in done.stdout
