"""What the sessions of all wires are judged by."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.wires.script import CONTRACTS


@pytest.fixture(scope="session")
def contracts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The contract file of the script's tool."""
    file = tmp_path_factory.mktemp("contracts") / "contracts.json"
    file.write_text(json.dumps(CONTRACTS), encoding="utf-8")
    return file
