"""What tests of a Ray cluster share."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def cluster() -> Iterator[None]:
    """Skip where Ray is not installed; its workers find the project as this process does."""
    pytest.importorskip("ray", reason="the extra `ray` is not installed")
    patch = pytest.MonkeyPatch()
    patch.setenv("PYTHONPATH", os.pathsep.join([str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")]))
    patch.setenv("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    patch.setenv("RAY_ENABLE_UV_RUN_RUNTIME_ENV", "0")
    yield
    patch.undo()
