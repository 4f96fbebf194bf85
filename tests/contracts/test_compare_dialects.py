"""What `compare` says of schemas of every dialect, against values as the engine of each dialect judges them."""

from __future__ import annotations

import copy
import random
from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analyzer.contracts.comparison.compare import compare
from analyzer.contracts.dialects import DIALECTS, dialect_of
from analyzer.contracts.places import REFERENCES
from analyzer.contracts.verdicts.engine import Judge
from tests.contracts.random_schemas import case, changed, nearly

Json = Any


def quick(examples: int) -> settings:
    return settings(max_examples=examples, deadline=None, derandomize=True, database=None)


def tweaked(rng: random.Random, schema: Json, dialect: str) -> Json:
    """The schema with a keyword somewhere dropped, or with keywords of another one."""
    out = copy.deepcopy(schema)
    spots = [out]
    for spot in spots:
        for member in spot.values():
            spots += [m for m in (member if isinstance(member, list) else [member]) if isinstance(m, dict)]
    kept = ("$schema", "$defs", "definitions", "$dynamicAnchor")
    spot = rng.choice([each for each in spots if each.keys() - kept] or [out])
    if rng.random() < 0.5 and spot.keys() - kept:
        del spot[rng.choice(sorted(spot.keys() - kept))]
    else:
        other = case(rng, dialect, payloads=1).schema
        spot.update({name: member for name, member in other.items() if name not in (*kept, *REFERENCES)})
    return out


def run_dialects(examples: int, tries: int) -> Counter[str]:
    counts: Counter[str] = Counter()

    @quick(examples)
    @given(st.integers(min_value=0, max_value=2**32))
    def pairs(seed: int) -> None:
        rng = random.Random(seed)
        dialect, other = rng.choice(DIALECTS), rng.choice(DIALECTS)
        a = case(rng, dialect, payloads=1).schema
        b = tweaked(rng, a, dialect)
        if rng.random() < 0.2:
            b["$schema"] = case(rng, other, payloads=1).schema["$schema"]
        judge_a, judge_b = (Judge(each, dialect=dialect_of(each)) for each in (a, b))
        if judge_a.problem or judge_b.problem:
            return
        found = compare(a, b)
        counts[found.relation] += 1
        for witness, own, its_other in ((found.witness_a, judge_a, judge_b), (found.witness_b, judge_b, judge_a)):
            if witness is not None:
                assert own.judge(witness.value)[0] != "invalid", (a, b, witness)
                assert its_other.judge(witness.value)[0] != "valid", (a, b, witness)
        for _ in range(tries):
            one = nearly(rng, *rng.choice(((a, a), (b, b))))
            one = changed(rng, one) if rng.random() < 0.5 else one
            in_a, in_b = judge_a.judge(one)[0], judge_b.judge(one)[0]
            assert found.relation not in ("wider", "equal") or (in_a, in_b) != ("valid", "invalid"), (a, b, one)
            assert found.relation not in ("narrower", "equal") or (in_b, in_a) != ("valid", "invalid"), (a, b, one)

    pairs()
    return counts


def test_a_condition_alone_still_looks_at_items() -> None:
    looks: Json = {"if": {"prefixItems": [True, {"items": {"multipleOf": 2}}]}, "unevaluatedItems": False}
    blind: Json = {"if": {"prefixItems": [True, {"items": {}}]}, "unevaluatedItems": False}
    assert compare(looks, blind).relation not in ("equal", "narrower")


def test_no_claim_is_refuted_in_any_dialect() -> None:
    counts = run_dialects(examples=150, tries=40)
    assert counts["wider"] + counts["narrower"] + counts["equal"] > 40, counts


@pytest.mark.long
def test_no_claim_is_refuted_in_any_dialect_at_length() -> None:
    run_dialects(examples=10_000, tries=120)
