"""What is kept of partitions comes back as it was, but for the rows that nobody can ask for."""

from __future__ import annotations

from contextlib import closing
from typing import Any

import polars as pl
import pytest

from analyzer.findings import kept
from analyzer.findings.kept import SAME, Kept
from analyzer.findings.naming import NAMED
from analyzer.findings.packed import Packed
from analyzer.frames import EVENTS, OFFERS, RETRIES, SCHEMAS


def part(number: int, *, ended: str | None) -> dict[str, pl.DataFrame]:
    """A partition with one call, one offer and one schema that all have."""

    def one(schema: pl.Schema, **cells: Any) -> pl.DataFrame:
        return pl.DataFrame([cells], schema=schema)

    events = pl.concat([one(EVENTS, event=10 * number + each, session=f"s{number}") for each in (1, 2, 3)])
    return {
        **{name: one(SCHEMAS, schema_id=f"{name} everywhere") for name in SAME},
        "retries": one(RETRIES, session=f"s{number}", event=10 * number + 1, digest=number // 2, ended=ended),
        "offers": one(OFFERS, session=f"s{number}", event=10 * number + 2),
        "first_showings": one(EVENTS, event=10 * number + 2).select("event"),
        "strays": one(EVENTS, event=None).select("event"),
        "offer_events": events,
    }


@pytest.mark.parametrize("much", [1, 1 << 20])
def test_rows_that_may_be_asked_for_come_back(much: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "_MUCH", much)
    parts = [part(number, ended="failed" if number == 1 else None) for number in range(4)]
    with closing(Kept(1_000)) as held:
        for number, each in enumerate(parts):
            found = Packed(NAMED, [pl.DataFrame([{"rule": f"R{number}"}], schema=NAMED)])
            held.add(each, found)
        twice = held.whole(), held.whole()
    for whole, findings in twice:
        assert [each.unpack()["rule"].to_list() for each in findings] == [["R0"], ["R1"], ["R2"], ["R3"]]
        assert [each["offers"].equals(was["offers"]) for each, was in zip(whole, parts, strict=True)] == [True] * 4
        assert [each["retries"].height for each in whole] == [1, 1, 0, 0], "of the call that failed, and its like"
        assert [each["offer_events"]["event"].to_list() for each in whole] == [[1, 2], [11, 12], [22], [32]]
        assert {name: pl.concat([each[name] for each in whole]).height for name in SAME} == dict.fromkeys(SAME, 1)
