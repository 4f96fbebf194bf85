"""Verdicts against another validator: on random schemas of every dialect both agree, or ours says that it is unsure."""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator, exceptions, validators
from referencing.exceptions import Unresolvable

from analyzer import audit
from analyzer.contracts.dialects import DIALECTS, DRAFT2019, META_SCHEMAS
from analyzer.contracts.verdicts.engine import Judge
from tests.contracts.random_schemas import Case, case, cases, same
from tests.hostile.wire import lines, session


# Where the other validator is known to err, its keywords are replaced: it sorts before it looks for equals, divides
# long integers as doubles, measures `items` that are no list, and does not see `additionalProperties` of 2019-09.
def _unique(_validator: Any, unique: bool, array: Any, _schema: Any) -> Iterator[exceptions.ValidationError]:
    if unique and isinstance(array, list) and any(same(a, b) for at, a in enumerate(array) for b in array[:at]):
        yield exceptions.ValidationError("not unique")


def _multiple(validator: Any, divisor: Any, number: Any, _schema: Any) -> Iterator[exceptions.ValidationError]:
    if validator.is_type(number, "number") and Fraction(number) % Fraction(divisor):
        yield exceptions.ValidationError("no multiple")


def _reference(dialect: str) -> Any:
    theirs = validators.validator_for({"$schema": META_SCHEMAS[dialect]})
    replaced: dict[str, Any] = {"uniqueItems": _unique, "multipleOf": _multiple}
    if dialect == DRAFT2019:
        replaced["unevaluatedProperties"] = Draft202012Validator.VALIDATORS["unevaluatedProperties"]
    if additional := theirs.VALIDATORS.get("additionalItems"):
        replaced["additionalItems"] = lambda validator, rest, array, schema: (
            additional(validator, rest, array, schema) if isinstance(schema.get("items"), list) else None
        )
    return validators.extend(theirs, replaced)


REFERENCE = {dialect: _reference(dialect) for dialect in DIALECTS}


def disagreements(found: Case, tally: Counter[str]) -> Iterator[str]:
    """Where the two say different things, or ours is at odds with itself; what was said is counted."""
    judge = Judge(found.schema, dialect=found.dialect)
    theirs = None if judge.problem or _beyond(found) else REFERENCE[found.dialect](found.schema)
    for payload in found.payloads:
        verdict, reason = judge.judge(payload)
        tally[verdict if reason is None else f"{verdict}: {reason}"] += 1
        sound = (verdict == "unverifiable") is (reason is not None) and judge.is_valid(payload) is (verdict == "valid")
        if not sound or (verdict == "invalid") is not bool(judge.violations(payload)):
            yield f"{found.dialect} {json.dumps(found.schema)} {json.dumps(payload)}: {verdict}, {reason}"
        other = _theirs(theirs, payload)
        tally["the other gave up"] += theirs is not None and other is None
        if verdict != (other or verdict):
            yield f"{found.dialect} {json.dumps(found.schema)} {json.dumps(payload)}: {verdict}, the other: {other}"


def _beyond(found: Case) -> bool:
    """Whether the replaced keyword of 2019-09 meets a reference of that dialect, which it does not follow."""
    text = json.dumps(found.schema)
    return found.dialect == DRAFT2019 and "$recursiveRef" in text and "unevaluatedProperties" in text


def _theirs(validator: Any, payload: Any) -> str | None:
    try:
        return None if validator is None else "valid" if validator.is_valid(payload) else "invalid"
    except (Unresolvable, TypeError):  # `if` alone asserts nothing, and is looked at; `items` of 2019-09 may be true
        return None


@pytest.mark.parametrize("dialect", DIALECTS)
@given(st.data())
def test_both_validators_say_the_same(dialect: str, data: st.DataObject) -> None:
    assert list(disagreements(data.draw(cases(dialect)), Counter())) == []


@pytest.mark.parametrize("dialect", DIALECTS)
def test_few_random_schemas_are_not_judged(dialect: str) -> None:
    tally = Counter[str]()
    for seed in range(100):
        assert list(disagreements(case(random.Random(seed), dialect), tally)) == []
    assert min(tally["valid"], tally["invalid"]) > 80
    assert sum(tally.values()) - tally["valid"] - tally["invalid"] < 40
    assert tally["the other gave up"] < 4


@pytest.mark.long
@pytest.mark.parametrize("dialect", DIALECTS)
def test_both_validators_say_the_same_of_many(dialect: str) -> None:
    tally = Counter[str]()
    wrong = [each for seed in range(40_000) for each in disagreements(case(random.Random(seed), dialect), tally)]
    assert wrong == []
    print(dialect, dict(tally))  # noqa: T201 - the figures are what the long run is for


@pytest.mark.parametrize("dialect", DIALECTS)
def test_an_audit_says_what_the_validator_says(dialect: str, tmp_path: Path) -> None:
    made = [case(random.Random(f"log {seed}"), dialect) for seed in range(120)]
    calls = [
        (f"{tool}-{number}", f"t{tool}", payload)
        for tool, each in enumerate(made)
        for number, payload in enumerate(each.payloads)
        # Other payloads have readings of their own: texts that hold JSON, numbers that doubles do not.
        if isinstance(payload, dict) and not re.search("[0-9]{15}", json.dumps(payload))
    ]
    file = tmp_path / "log.ndjson"
    file.write_bytes(_log([each.schema for each in made], calls))
    done = audit([str(file)])
    frames = done.frames
    said = frames["verdicts"].filter(role="arguments").join(frames["calls"].select("call", "call_id"), on="call")
    verdicts = {
        call: (verdict, reason) for call, verdict, reason in said["call_id", "verdict_is", "reason"].iter_rows()
    }
    assert len(verdicts) == len(calls) > 150
    for call_id, tool, payload in calls:
        found = made[int(tool[1:])]
        judge = Judge(found.schema, dialect=dialect)
        other = None if judge.problem else _theirs(REFERENCE[dialect](found.schema), payload)
        expected = ("unverifiable", judge.problem) if judge.problem else (other, None)
        assert verdicts[call_id] == expected, (found.schema, payload)


def _log(schemas: list[Any], calls: list[tuple[str, str, Any]]) -> bytes:
    tools = [
        {"type": "function", "name": f"t{tool}", "description": "d", "parameters": schema}
        for tool, schema in enumerate(schemas)
    ]
    head, turn, *_ = session({}, "{}", tools=tools, output=None).splitlines(keepends=True)
    items = [
        {"type": "function_call", "id": f"i{call}", "call_id": call, "name": name, "arguments": json.dumps(payload)}
        for call, name, payload in calls
    ]
    added = [
        {"type": "agent.session.turn.item.added", "event_id": f"e{number}", "session_id": "s", "turn_id": "t"}
        | {"item": {**item, "turn_id": "t", "status": "completed"}}
        for number, item in enumerate(items)
    ]
    return head + turn + lines(added)
