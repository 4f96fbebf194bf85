"""The engine of the rules: what a crash does, and that no rule needs anything to be there."""

from __future__ import annotations

from collections.abc import Callable

import polars as pl
import pytest

from analyzer.rules import engine
from analyzer.rules.catalogue import RULES, Rule
from analyzer.trace import Trace, of_rows


def test_no_rule_crashes_on_a_trace_of_nothing() -> None:
    hits, crashes = engine.run(RULES, Trace())
    assert crashes == []
    assert hits.is_empty()


@pytest.mark.parametrize("broken", ["at once", "in a query"])
def test_a_rule_that_crashes_is_named_and_the_others_report(broken: str) -> None:
    class Broken(Rule):
        @property
        def check(self) -> Callable[[Trace], pl.DataFrame]:
            if broken == "at once":
                raise ValueError("no such thing")
            return lambda _: pl.DataFrame({"message": ["x"]}).with_columns(
                pl.col("message").str.to_integer(strict=True)
            )

    class Sound(Rule):
        @property
        def check(self) -> Callable[[Trace], pl.DataFrame]:
            return lambda _: pl.DataFrame({"session": ["s"], "message": ["seen"]})

    hits, crashes = engine.run([Broken("XXX001", "broken", "error"), Sound("XXX002", "sound", "info")], Trace())
    assert hits["rule"].to_list() == ["XXX002"]
    assert [crash.rule.code for crash in crashes] == ["XXX001"]


def test_a_step_without_rows_is_made_once_for_each_kind_of_frame() -> None:
    taken: list[list[str]] = []

    @of_rows
    def step(rows: pl.DataFrame, more: int) -> pl.DataFrame:
        taken.append(rows.columns)
        return rows.with_columns(more=pl.lit(more))

    narrow, wide = pl.DataFrame({"a": [1]}), pl.DataFrame({"a": [1], "b": [2]})
    for number, frame in enumerate((narrow.clear(), wide.clear(), narrow.clear(), wide.clear())):
        assert step(frame, number).columns == [*frame.columns, "more"]
    assert taken == [["a"], ["a", "b"]]
    assert [step(narrow, number)["more"].item() for number in (7, 8)] == [7, 8], "and rows are always looked at"
