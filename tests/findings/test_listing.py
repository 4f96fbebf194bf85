"""More findings than are listed: the rest is counted to the last one, and nothing looks sound for it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from analyzer import Settings, audit
from analyzer.cli import main
from analyzer.findings.listing import UNLISTED, listed
from analyzer.findings.stated import NOT_LISTED
from tests.hostile.running import faults, report_formats, run
from tests.hostile.wire import session

CLOSED = {"type": "object", "properties": {"x": {"type": "string"}}, "required": ["y"], "additionalProperties": False}


def log(place: Path, sessions: int, calls: int = 8) -> Path:
    """Sessions of calls that nobody answers and that break their schema: two findings a call."""
    file = place / f"{sessions}-{calls}.ndjson"
    more = [(f"c{n}", '{"x":1,"z":2}') for n in range(calls - 1)]
    parts = [session(CLOSED, "{}", more=more, output=None, session_id=f"s{n}") for n in range(sessions)]
    file.write_bytes(b"".join(parts))
    return file


def rows(findings: pl.DataFrame) -> list[dict[str, Any]]:
    return findings.drop("hint").to_dicts()


def test_what_is_beyond_is_counted_exactly_and_told_by_rule(tmp_path: Path) -> None:
    file = log(tmp_path, 6)
    whole = audit([str(file)])
    assert whole.summary["not_listed"] == {}
    cut = audit([str(file)], settings=Settings(max_findings=20))
    told = cut.findings.filter(slug=NOT_LISTED)
    kept = cut.findings.filter(pl.col("slug") != NOT_LISTED)
    assert kept.filter(~pl.col("rule").str.starts_with("TOOL")).height <= 20  # rules of the fleet have their own
    before, after = (dict(each["rule"].value_counts().iter_rows()) for each in (whole.findings, kept))
    left = cut.summary["not_listed"]
    assert {rule: after[rule] + left.get(rule, 0) for rule in after} == before
    assert {each["rule"]: int(each["message"].split()[0]) for each in told.to_dicts()} == left
    # What is rare is there whole, what is frequent is there from the first on.
    assert [each for each in before if each not in left and before[each] != after[each]] == []
    for rule in after:
        of_rule = pl.col("rule") == rule
        assert rows(kept.filter(of_rule)) == rows(whole.findings.filter(of_rule).head(after[rule]))


@pytest.mark.parametrize("partitions", [2, 5])
def test_partitions_change_nothing(tmp_path: Path, partitions: int) -> None:
    file, settings = str(log(tmp_path, 7)), Settings(max_findings=9)
    one, several = audit([file], settings=settings), audit([file], settings=settings, partitions=partitions)
    assert one.findings.equals(several.findings)
    assert one.summary == several.summary


def test_processes_change_nothing(tmp_path: Path) -> None:
    file, settings = str(log(tmp_path, 7)), Settings(max_findings=9)
    one, several = audit([file], settings=settings), audit([file], settings=settings, jobs=2)
    assert one.findings.equals(several.findings)


@pytest.fixture
def small(tmp_path: Path) -> tuple[str, str]:
    config = tmp_path / "analyzer.toml"
    config.write_text("max_findings = 6\n")
    return "--config", str(config)


@pytest.mark.parametrize("form", [form for form in report_formats() if form != "parquet"])
def test_every_report_says_so(tmp_path: Path, small: tuple[str, str], form: str) -> None:
    done = run("audit", "--output-format", form, *small, str(log(tmp_path, 3)))
    assert done.status == 1
    assert list(faults(done, form=form)) == []
    assert b"counted, not listed" in done.out or (form == "text" and b"more not listed" in done.out)


def test_a_baseline_knows_the_number(tmp_path: Path, small: tuple[str, str]) -> None:
    known = str(tmp_path / "known.json")
    file = log(tmp_path, 3)
    assert run("audit", *small, "--write-baseline", known, str(file)).status == 0
    assert run("audit", *small, "--baseline", known, str(file)).status == 0
    assert run("audit", *small, "--baseline", known, str(log(tmp_path, 3, calls=9))).status == 1


def test_a_suppression_of_less_than_the_rule_leaves_the_rest_told(tmp_path: Path) -> None:
    file = log(tmp_path, 2)
    config = tmp_path / "analyzer.toml"

    def status(named: str) -> int:
        both = (named, 'rule = "CALL004"')
        blocks = [f'[[suppressions]]\nreason = "r"\nuntil = 2999-01-01\n{each}\n' for each in both]
        config.write_text("max_findings = 6\n" + "".join(blocks))
        return main(["audit", "--config", str(config), str(file)])

    assert status('rule = "ARG001"') == 0
    assert status('rule = "ARG001"\ntool = "f"') == 1


def test_shares_shrink_only() -> None:
    def found(counts: dict[str, int]) -> pl.DataFrame:
        rules = [rule for rule, count in counts.items() for _ in range(count)]
        return pl.DataFrame({"rule": rules}).with_columns(
            slug=pl.lit("s"), severity=pl.lit("error"), confidence=pl.lit("certain")
        )

    whole = found({"A": 50, "B": 5, "C": 30})
    kept, left = listed(whole, 25)
    assert dict(kept["rule"].value_counts().iter_rows()) == {"A": 10, "B": 5, "C": 10}
    assert dict(left["rule", "count"].iter_rows()) == {"A": 40, "C": 20}
    first, after = listed(found({"A": 50, "B": 1}), 25)
    both, rest = listed(pl.concat([first, found({"B": 4, "C": 30})]), 25, after)
    assert dict(both["rule"].value_counts().iter_rows()) == dict(kept["rule"].value_counts().iter_rows())
    assert dict(rest["rule", "count"].iter_rows()) == dict(left["rule", "count"].iter_rows())
    assert listed(whole, 1)[0].height == 3
    assert listed(whole, 85)[1].equals(UNLISTED.to_frame())
