"""Saved audits for the workspace, and an environment in which it looks the same everywhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from analyzer.tui.screens import proving, querybar
from tests.tui import saved
from tests.tui.hostile import PAYLOADS


@pytest.fixture(autouse=True)
def _same_everywhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("NO_COLOR", "TEXTUAL_THEME", "PAGER", "COLUMNS", "LINES"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TEXTUAL_ANIMATIONS", "none")
    monkeypatch.setattr(proving, "_REST", 0.001)  # what people wait for is measured elsewhere
    monkeypatch.setattr(querybar, "_PAUSE", 0.02)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.fixture(scope="session")
def plain_audit(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a saved audit of 4,000 events in 4 sessions; nobody writes to it."""
    return saved.write(tmp_path_factory.mktemp("plain"), 4_000, sessions=4)


@pytest.fixture(scope="session")
def hostile_audit(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give one of fifteen sessions, each with one hostile text in every foreign text of it."""
    folder = tmp_path_factory.mktemp("hostile")
    return saved.write(folder, 1_500, sessions=15, strange=tuple(PAYLOADS.values()), faults=50)
