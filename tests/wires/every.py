"""Every way to write the script of a session down, by name."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from tests.wires.bodies import BODIES, Writer
from tests.wires.histories import HISTORIES
from tests.wires.observers import OBSERVERS
from tests.wires.streams import STREAMS

WIRES: dict[str, Writer] = {**BODIES, **STREAMS, **HISTORIES, **OBSERVERS}


def some(cases: Iterable[Any], nth: int) -> list[Any]:
    """Of many cases one in `nth` for each run, spread over all; the others are run where there is time."""
    given = [case if isinstance(case, tuple) else (case,) for case in cases]
    return [
        pytest.param(*case, marks=() if (number + number // nth) % nth == 0 else pytest.mark.long)
        for number, case in enumerate(given)
    ]
