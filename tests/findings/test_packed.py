"""Frames held packed, one behind the other, are the frames."""

from __future__ import annotations

import random

import polars as pl
import pytest

from analyzer.findings.packed import Packed

SCHEMA = pl.Schema({"n": pl.Int64(), "text": pl.String()})


def _frame(since: int, height: int) -> pl.DataFrame:
    numbers = range(since, since + height)
    return pl.DataFrame({"n": numbers, "text": [f"t{n}" for n in numbers]}, schema=SCHEMA)


@pytest.mark.parametrize("seed", range(60))
def test_it_holds_what_frames_would(seed: int) -> None:
    rng = random.Random(seed)
    packed, plain, count = Packed(SCHEMA), _frame(0, 0), 0

    def some() -> tuple[Packed, pl.DataFrame]:
        nonlocal count
        height = rng.choice((0, 1, 5))
        frame = _frame(count, height)
        count += height
        return Packed(SCHEMA, [frame]), frame

    for _ in range(8):
        match rng.randrange(5):
            case 0:
                frame = some()[1]
                packed.add(frame)
                plain = pl.concat([plain, frame])
            case 1:
                other, frame = some()
                if rng.random() < 0.5:
                    rows = pl.Series(rng.sample(range(frame.height), frame.height), dtype=pl.Int64)
                    other.keep(rows)
                    frame = frame[rows]
                packed.extend(other)
                assert other.height == 0
                plain = pl.concat([plain, frame])
            case 2:
                rows = pl.Series(rng.sample(range(plain.height), rng.randint(0, plain.height)), dtype=pl.Int64)
                packed.keep(rows)
                plain = plain[rows]
            case 3:
                packed.leave_out()
            case _:
                packed.pack()
        assert packed.height == plain.height
        assert packed.select("text", "n").equals(plain.select("text", "n"))
    assert packed.copy().unpack().equals(plain)
