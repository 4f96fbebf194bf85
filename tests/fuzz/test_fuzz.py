"""What fuzzers once found stays repaired; and a few seconds more of looking, where there is time."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fuzz.run import once
from tests.fuzz.targets import TARGETS

FOUND = sorted((Path(__file__).parent / "corpus").glob("*/*"))


@pytest.mark.parametrize("file", FOUND, ids=lambda file: f"{file.parent.name}/{file.name}")
def test_what_was_found_stays_repaired(file: Path) -> None:
    TARGETS[file.parent.name](file.read_bytes())


@pytest.mark.long
@pytest.mark.parametrize("target", TARGETS)
def test_nothing_new_is_found_in_two_seconds(target: str) -> None:
    assert once(target, 2) > 0
