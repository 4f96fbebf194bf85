"""Rules measured on planted faults: a few of each here, all of them with `-m long`."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from analyzer.rules.catalogue import RULES
from tests.corpus import measure
from tests.corpus.clean import clean
from tests.corpus.log import Fault, Log

MEASURED: dict[str, Any] = json.loads(files("analyzer.rules").joinpath("measured.json").read_bytes())
FAMILIES = sorted({rule.rstrip("0123456789") for rule in MEASURED["rules"]})


def test_clean_sessions_are_clean_and_a_fault_of_each_kind_is_found(tmp_path: Path) -> None:
    told = measure.measure(tmp_path, faults=1, clean_sessions=12, seed=7)
    assert told.errors_on_clean == 0
    assert set(told.faults) == set(MEASURED["rules"])
    assert told.overall >= 0.98, told.misses
    assert sum(told.false.values()) <= 2, told.strays


@pytest.mark.long
def test_recall_and_false_findings_over_the_whole_corpus(tmp_path: Path) -> None:
    told = measure.measure(tmp_path, faults=measure.FAULTS, clean_sessions=measure.CLEAN, seed=measure.SEED + 1)
    assert told.errors_on_clean == 0
    assert min(told.faults.values()) >= 20
    assert told.overall >= 0.98, told.misses
    assert {rule: told.recall(rule) for rule in told.faults if told.recall(rule) < 0.95} == {}


def test_every_rule_is_measured_or_named_out_of_reach() -> None:
    known = {rule.code for rule in RULES}
    assert set(MEASURED["rules"]).isdisjoint(MEASURED["out_of_reach"])
    assert known - set(MEASURED["rules"]) - set(measure.OUT_OF_REACH) == set()
    assert set(measure.OUT_OF_REACH) == set(MEASURED["out_of_reach"])


def test_the_last_measured_run_keeps_the_promise() -> None:
    rules = MEASURED["rules"].values()
    assert MEASURED["errors_on_clean_sessions"] == 0
    assert MEASURED["recall"] >= 0.98
    assert min(each["faults"] for each in rules) >= 20
    assert min(each["recall"] for each in rules) >= 0.95


def test_the_readme_shows_the_table_of_the_last_measured_run(root: Path) -> None:
    assert measure.table(MEASURED) in (root / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("mutation", measure.MUTATIONS, ids=lambda each: each.__name__)
def test_a_mutation_changes_the_log_and_is_the_same_every_time(mutation: Callable[[Log], Fault]) -> None:
    made = []
    for _ in range(2):
        rng = random.Random(11)
        session = clean(3, rng)
        log = Log(session, rng)
        before = log.bytes(), dict(log.contracts), dict(log.pins)
        fault = mutation(log)
        after = log.bytes(), dict(log.contracts), dict(log.pins)
        assert before != after
        made.append((fault, after))
    assert made[0] == made[1]


def test_the_generator_knows_nothing_of_what_it_measures(root: Path) -> None:
    for file in (root / "tests" / "corpus").glob("*.py"):
        if file.name not in ("measure.py", "test_corpus.py"):
            assert "analyzer" not in file.read_text(encoding="utf-8"), file
