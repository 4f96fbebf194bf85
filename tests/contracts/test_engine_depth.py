"""No schema with any payload ends the process: each is judged in a child that would be missed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from analyzer.contracts.verdicts.engine import Judge

CHILD = """
import json, sys, threading
from analyzer.contracts.verdicts.engine import Judge

def nested(levels, core, wrap):
    for _ in range(levels):
        core = wrap(core)
    return core

def chain(form, links):
    def step(to):
        forms = {"ref": to, "not": {"not": {"not": to}}, "if": {"if": to, "then": True}}
        forms["deep"] = nested(40, to, lambda x: {"not": x})
        return forms.get(form, {form: [to]})
    defs = {f"d{n}": step({"$ref": f"#/$defs/d{n + 1}"}) for n in range(links)}
    last = {"properties": {"a": {"$ref": "#/$defs/d0"}}, "items": {"$ref": "#/$defs/d0"}}
    return {"$ref": "#/$defs/d0", "$defs": {**defs, f"d{links}": last}}

def all_judged():
    for form in ("ref", "not", "if", "deep", "allOf", "anyOf", "oneOf"):
        for links in (1, 30, 300, 3_000):
            judge = Judge(chain(form, links))
            for levels in (1, 100, 499):
                for wrap in (lambda x: {"a": x}, lambda x: [x]):
                    payload = nested(levels, 1, wrap)
                    verdict = judge.judge(payload)
                    judge.is_valid(payload), judge.violations(payload)
                    judged = verdict[0] != "unverifiable"
                    assert judged or verdict[1] in ("payload_too_deep", "engine_failed"), verdict
                    assert links > 30 or form == "deep" or judged, (form, links, levels, verdict)

all_judged()
thread = threading.Thread(target=all_judged)  # whose stack is smaller on some systems
thread.start()
thread.join()
print("judged")
"""


@pytest.mark.long
def test_no_chain_of_references_under_a_deep_payload_ends_the_process(root: Path) -> None:
    done = subprocess.run([sys.executable, "-c", CHILD], cwd=root, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, "judged"), done.stderr[-500:]


@pytest.mark.parametrize(("form", "links"), [("not", 300), ("if", 300), ("not", 900)])
def test_a_chain_at_each_of_many_levels_is_refused_before_the_engine(form: str, links: int) -> None:
    refs = [{"$ref": f"#/$defs/d{n + 1}"} for n in range(links)]
    defs = {f"d{n}": {"not": {"not": to}} if form == "not" else {"if": to, "then": True} for n, to in enumerate(refs)}
    judge = Judge({"$ref": "#/$defs/d0", "$defs": {**defs, f"d{links}": {"properties": {"a": {"$ref": "#/$defs/d0"}}}}})
    deep, shallow = (json.loads('{"a":' * levels + "1" + "}" * levels) for levels in (499, 5))
    assert judge.judge(deep) == ("unverifiable", "payload_too_deep")
    assert judge.is_valid(deep) is False
    assert judge.violations(deep) == []
    assert judge.judge(shallow)[0] != "unverifiable"


def test_wide_schemas_and_real_recursion_are_judged_as_before() -> None:
    wide = Judge({"items": {"enum": [{"k": n} for n in range(9_000)]}})
    assert wide.judge([{"k": 8_999}]) == ("valid", None)
    union = {"anyOf": [{"properties": {"a": {"$ref": "#"}, "kind": {"const": n}}} for n in range(80)]}
    assert Judge(union).judge(json.loads('{"a":' * 60 + '{"kind":1}' + "}" * 60))[0] != "unverifiable"


def test_patterns_that_may_step_back_are_few_or_the_schema_is_not_judged() -> None:
    stepping = [f"^(?:(?=a)a+)+{n}$" for n in range(11)]
    few, many = ({"anyOf": [{"pattern": each} for each in some]} for some in (stepping[:10], stepping))
    assert Judge(few).judge("a9") == ("valid", None)
    assert Judge(many).judge("a9") == ("unverifiable", "engine_failed")
    assert Judge({"anyOf": [{"pattern": f"^(a+)+{n}$"} for n in range(400)]}).judge("a" * 40 + "399") == ("valid", None)
    groups: dict[str, object] = {"patternProperties": {rf"^(x)\1{n}": {} for n in range(11)}}
    assert Judge(groups).judge({}) == ("unverifiable", "engine_failed")
