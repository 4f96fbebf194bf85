"""Nights of small logs, and runs of the batch over them."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from analyzer.batch import Night, Store, Terms, Wanted, nightly
from tests.audit.wire import CLOSED, action, answered, called, function

Event = dict[str, Any]


def log(folder: Path, name: str, *sessions: list[Event]) -> Path:
    """Write a file of events."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / name
    file.write_text("".join(json.dumps(event) + "\n" for events in sessions for event in events))
    return file


def story(session: str, arguments: Any, *, call: str = "c1", tool: str = "get", schema: Any = CLOSED) -> list[Event]:
    """One session with one call: created, called, asked for, answered, idle."""
    turn = f"turn_{session}"
    agent = {"id": "agent_a", "model": "m", "tools": [function(tool, schema)]}
    held = {"id": session, "object": "agent.session", "agent": agent, "required_actions": []}
    waiting = {**held, "required_actions": [action(call, tool, arguments, at=turn)]}
    events: list[Event] = [
        {"type": "agent.session.created", "session": {**held, "status": "idle"}},
        {"type": "agent.session.turn.item.added", "item": called(call, tool, arguments, at=turn), "turn_id": turn},
        {"type": "agent.session.requires_action", "session": {**waiting, "status": "requires_action"}},
        {"type": "agent.session.turn.item.done", "item": answered(call, at=turn), "turn_id": turn},
        {"type": "agent.session.idle", "session": {**held, "status": "idle"}},
    ]
    return [
        {"event_id": f"evt_{session}_{at}", "session_id": session, "sequence_number": at, **event}
        for at, event in enumerate(events, 1)
    ]


def run(store: Path, *paths: Path | str, size: int = 64 << 20, terms: Terms | None = None, **more: Any) -> Night:
    """One run."""
    return nightly(Store(str(store)), Wanted([str(path) for path in paths], terms or Terms(), size=size, **more))


def told(findings: pl.DataFrame) -> list[dict[str, Any]]:
    """Findings as they are compared: all of each."""
    return findings.to_dicts()


def changed(night: Night) -> dict[str, Sequence[str]]:
    """The rules of each kind of change."""
    grouped = night.trend.changes.group_by("change").agg(pl.col("rule").unique().sort())
    return dict(grouped.iter_rows())


def at_work(*tasks: bytes) -> list[tuple[bytes, int]]:
    """The processes that work on one of these tasks for Ray now, each behind its task."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                told = (entry / "cmdline").read_bytes()
                found += [(task, int(entry.name)) for task in tasks if told.startswith(task)]
    return found
