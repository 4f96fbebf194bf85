"""Calls, results and verdicts are numbered in their partition; here they get the numbers that one partition gives.

So the frames that are kept have the keys and the order that `analyzer.frames` promises, however the log was split.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from analyzer.frames import Frames

NUMBERED = {"calls": "call", "results": "result", "verdicts": "verdict"}
NUMBERS = {
    "calls": ("call", "result"),
    "results": ("result", "call"),
    "verdicts": ("verdict", "call", "result"),
    "violations": ("verdict",),
}
_BY_EVENT = ("events", "approvals", "gates", "messages", "summaries", "faults")
# Verdicts in the order in which they are reached: on what was sent, on what came back, each by what was advertised and
# then by what the tool really does; what is owed none; the final answers.
STAGE = (
    pl.when(pl.col("role") == "final")
    .then(5)
    .when(pl.col("verdict_is") == "not_applicable")
    .then(4)
    .otherwise(2 * (pl.col("role") == "output").cast(pl.Int8) + (pl.col("side") != "advertised").cast(pl.Int8))
)


ORDER = {
    **{name: (number,) for name, number in NUMBERED.items()},
    "violations": ("verdict", "position"),
    "sightings": ("what", "id", "seq", "event", "pointer"),
    "turns": ("session", "since", "turn"),
    **dict.fromkeys(_BY_EVENT, ("event",)),
}
"""By what the rows of each frame are sorted, once they have their numbers."""


def told_apart(parts: Sequence[Frames]) -> None:
    """Give the numbers of each part a range of their own, in place."""
    since = dict.fromkeys(NUMBERED.values(), 0)
    for part in parts:
        heights = {number: part[name].height for name, number in NUMBERED.items()}
        for name, numbers in NUMBERS.items():
            part[name] = part[name].with_columns(pl.col(number) + since[number] for number in numbers)
        before = pl.col("what").replace_strict({"call": since["call"], "result": since["result"]})
        part["sightings"] = part["sightings"].with_columns(pl.col("id") + before.cast(pl.Int64))
        since = {number: count + heights[number] for number, count in since.items()}


def in_order(whole: Frames) -> Frames:
    """The frames of all parts, numbered and sorted as those of one; every session is whole in one part."""
    found = {name: whole[name].sort("session", number) for name, number in NUMBERED.items()}
    found["verdicts"] = whole["verdicts"].sort(STAGE, "session", "verdict")
    anew = {
        number: pl.DataFrame({number: found[name][number], "number": pl.int_range(found[name].height, eager=True)})
        for name, number in NUMBERED.items()
    }
    found["violations"] = whole["violations"]
    for name, numbers in NUMBERS.items():
        for number in numbers:
            found[name] = _numbered(found[name], number, anew[number])
    found["violations"] = found["violations"].sort(ORDER["violations"])
    own = pl.concat(
        [
            anew[what].select(pl.lit(what).alias("what"), pl.col(what).alias("id"), "number")
            for what in ("call", "result")
        ]
    )
    shown = whole["sightings"].join(own, on=["what", "id"], how="left", maintain_order="left")
    found["sightings"] = shown.with_columns(id="number").drop("number").sort(ORDER["sightings"], maintain_order=True)
    found["turns"] = whole["turns"].sort(ORDER["turns"])
    return {**whole, **found, **{name: whole[name].sort("event", maintain_order=True) for name in _BY_EVENT}}


def _numbered(frame: pl.DataFrame, column: str, anew: pl.DataFrame) -> pl.DataFrame:
    found = frame.join(anew, on=column, how="left", maintain_order="left")
    return found.with_columns(pl.col("number").alias(column)).select(frame.columns)
