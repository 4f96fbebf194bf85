"""What lasts, for the lanes: turns, calls and the waits for their results, contract versions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import polars as pl


class Bar(NamedTuple):
    """Something that lasts: from where to where, of which kind, with a name that is drawn inside where it fits."""

    since: int
    until: int
    kind: str  # model, tool, wait, contract, withdrawn
    name: str


class Axis(NamedTuple):
    """Where each sequence number of a session stands, and where the session begins and ends."""

    at: Mapping[int | None, int]
    first: int
    last: int


def of_turn(turn: Mapping[str, Any], axis: Axis) -> list[Bar]:
    """A turn, to its end or to that of the recording."""
    since = axis.at.get(turn["since"])
    return [] if since is None else [Bar(since, axis.at.get(turn["until"], axis.last), "model", turn["turn"] or "")]


def of_call(call: Mapping[str, Any], answered: Mapping[int, int], axis: Axis) -> list[Bar]:
    """A call until it was asked for, then the wait for its result (`answered`: sequence number by result)."""
    since = axis.at.get(call["seq"])
    if since is None:
        return []
    until = axis.at.get(answered.get(call["result"], call["last_seq"]), since)
    asked = axis.at.get(call["action_seq"])
    if asked is None or asked >= until:
        return [Bar(since, until, "tool", call["name"] or "")]
    return [Bar(since, asked, "tool", call["name"] or ""), Bar(asked, until, "wait", "")]


def of_offers(offers: pl.DataFrame, axis: Axis) -> dict[str, list[Bar]]:
    """The versions of each tool, each until the next one; `offers` is sorted by tool and `since`."""
    out: dict[str, list[Bar]] = {}
    for (tool,), rows in offers.group_by("tool", maintain_order=True):
        starts = [axis.at.get(since, axis.first) for since in rows["since"]]
        version = 0
        for state, since, until in zip(rows["state"], starts, [*starts[1:], axis.last], strict=True):
            version += state != "withdrawn"
            bar = (
                Bar(since, until, "withdrawn", "withdrawn")
                if state == "withdrawn"
                else Bar(since, until, "contract", f"v{version}")
            )
            out.setdefault(str(tool), []).append(bar)
    return out
