"""Frames that are held packed come back as they were, whatever was done with them meanwhile."""

from __future__ import annotations

import polars as pl
import pytest

from analyzer.findings import packed
from analyzer.findings.packed import Packed

SCHEMA = pl.Schema({"n": pl.Int64(), "text": pl.String(), "list": pl.List(pl.Struct({"a": pl.String()}))})
ROWS = pl.DataFrame([{"n": n, "text": f"text {n}", "list": [{"a": "x"}] * (n % 3)} for n in range(9)], schema=SCHEMA)


@pytest.fixture(autouse=True, params=[0, 1_000], ids=["packed", "as they are"])
def _few(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packed, "_FEW", request.param)


def test_frames_come_back_one_behind_the_other() -> None:
    held = Packed(SCHEMA, [ROWS[:4], ROWS[4:4], ROWS[4:]])
    assert held.height == 9
    assert held.select("list", "n").equals(ROWS.select("list", "n"))
    assert held.copy().unpack().equals(ROWS)
    assert held.unpack().equals(ROWS)
    assert held.height == 0
    assert held.unpack().equals(ROWS.clear())


def test_rows_are_kept_in_an_order_and_more_come_behind_them() -> None:
    held, other = Packed(SCHEMA, [ROWS[:5]]), Packed(SCHEMA, [ROWS[5:]])
    held.keep(pl.Series([4, 0, 2]))
    held.keep(pl.Series([2, 0]))
    other.keep(pl.Series([3, 1]))
    held.extend(other)
    held.add(ROWS[1:2])
    assert (held.height, other.height) == (5, 0)
    assert held.select("n")["n"].to_list() == [2, 4, 8, 6, 1]
    held.leave_out()
    assert held.unpack().equals(ROWS[[2, 4, 8, 6, 1]])


def test_a_copy_stays_when_the_other_goes() -> None:
    held = Packed(SCHEMA, [ROWS])
    copied = held.copy()
    held.keep(pl.Series([0]))
    held.unpack()
    assert copied.unpack().equals(ROWS)


def test_one_more_column_is_of_the_rows_as_they_were_added() -> None:
    held = Packed(SCHEMA, [ROWS[:2], ROWS[2:]])
    schema = pl.Schema({"n": pl.Int64(), "name": pl.String()})
    held.with_column(ROWS["text"].str.to_uppercase().alias("name"), schema)
    held.keep(pl.Series([8, 7]))
    assert held.unpack().to_dicts() == [{"n": 8, "name": "TEXT 8"}, {"n": 7, "name": "TEXT 7"}]
