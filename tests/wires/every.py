"""Every way to write the script of a session down, by name."""

from __future__ import annotations

from tests.wires.bodies import BODIES, Writer
from tests.wires.histories import HISTORIES
from tests.wires.observers import OBSERVERS
from tests.wires.streams import STREAMS

WIRES: dict[str, Writer] = {**BODIES, **STREAMS, **HISTORIES, **OBSERVERS}
