"""What every test may use: the reference material beside the project, and how hard Hypothesis searches."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

ROOT = Path(__file__).resolve().parents[1]

os.environ.setdefault("POLARS_MAX_THREADS", "1")  # as the command sets it, before anything imports Polars

# Derandomized: a red run is red again on the next machine. `--hypothesis-profile long` searches deep, and at random.
settings.register_profile(
    "small", max_examples=12, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("long", max_examples=3_000, deadline=None, database=None)
settings.load_profile("small")


@pytest.fixture(autouse=True)
def adapters_break_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let what an adapter breaks with end the test, where a user would be told of it and the log be read on."""
    monkeypatch.setattr("analyzer.read.broken.BROKEN", ())


@pytest.fixture(scope="session")
def root() -> Path:
    """Give the top folder of the project."""
    return ROOT


@pytest.fixture(scope="session")
def shared() -> Path:
    """Give the folder of reference cases and recorded logs, or skip where the project stands alone."""
    folder = (ROOT / ".." / "shared").resolve()
    if not folder.is_dir():
        pytest.skip("no folder ../shared beside the project: reference cases and recorded logs are not here")
    return folder
