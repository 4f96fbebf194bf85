"""The worst schemas there are, each judged or refused in bounded work: CPU and memory of a child are limited."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from analyzer.contracts.verdicts.engine import Judge

_CHILD = """
import json, resource, sys
from analyzer.contracts.verdicts.engine import Judge
resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))
schema, payload, formats = json.load(sys.stdin)
judge = Judge(schema, assert_formats=formats)
print(json.dumps([*judge.judge(payload), judge.is_valid(payload), [v.keyword for v in judge.violations(payload)][:3]]))
"""


def below(levels: int, leaf: Any = 1) -> Any:
    for _ in range(levels):
        leaf = {"x": leaf}
    return leaf


def scopes(count: int) -> dict[str, Any]:
    """Resources that refer to each other, all of them the target of one dynamic reference."""
    here = {"properties": {"x": {"$dynamicRef": "#n"}}}
    made = {
        f"d{n}": {
            "$id": f"http://x/{n}",
            "$dynamicAnchor": "n",
            "allOf": [{"$ref": f"http://x/{n + 1}"}, here],
            "unevaluatedProperties": False,
        }
        for n in range(count)
    }
    last = {"$id": f"http://x/{count}", "$dynamicAnchor": "n", **here}
    return {"$ref": "http://x/0", "$defs": {**made, f"d{count}": last}}


LETTERS = "[\\p{L}\\p{N}\\w]{1,200}"
#: Name, schema, payload, verdict and reason.
CASES: list[tuple[str, Any, Any, tuple[str, str | None]]] = [
    ("equals are looked for among many", {"uniqueItems": True}, [[n] for n in range(200_000)], ("valid", None)),
    ("a tiny divisor", {"items": {"multipleOf": 1e-308}}, [1e308 + n for n in range(1_000)], ("valid", None)),
    ("a huge count", {"minItems": 10**30}, [1], ("invalid", None)),
    ("many branches", {"anyOf": [{"const": n} for n in range(100_000)]}, -1, ("invalid", None)),
    (
        "many branches for many values",
        {"items": {"anyOf": [{"minimum": n + 10} for n in range(2_000)]}},
        [1] * 2_000,
        ("invalid", None),
    ),
    (
        "long values in many failures",
        {"allOf": [{"maxLength": n} for n in range(900)]},
        "y" * 2_000_000,
        ("invalid", None),
    ),
    (
        "long choices in many failures",
        {"items": {"enum": [f"s{n}" for n in range(20_000)]}},
        ["x"] * 19_000,
        ("invalid", None),
    ),
    ("names that are missing", {"required": [f"q{n}" for n in range(20_000)]}, {"x": "y" * 100_000}, ("invalid", None)),
    ("steps over a long text", {"pattern": "(?=a)a*b"}, "a" * 100_000, ("unverifiable", "pattern_undecided")),
    ("a look ahead on a long text", {"pattern": "^(?!.*secret).*$"}, "a" * 1_000_000, ("valid", None)),
    (
        "possessive repeats are patterns that step back",
        {"anyOf": [{"pattern": f"^(?:a|a|b++)+{n}$"} for n in range(11)]},
        "a" * 40,
        ("unverifiable", "engine_failed"),
    ),
    (
        "large patterns",
        {"anyOf": [{"pattern": f"^{LETTERS}{n}$"} for n in range(490)]},
        "é",
        ("unverifiable", "engine_failed"),
    ),
    (
        "large patterns of names",
        {"patternProperties": {f"^{LETTERS}{n}$": True for n in range(2_000)}},
        {"x": 1},
        ("unverifiable", "engine_failed"),
    ),
    ("groups in groups", {"pattern": "(?:" * 100_000 + ")" * 100_000}, "a", ("unverifiable", "schema_invalid")),
    ("a scope in every level", scopes(6), below(12), ("unverifiable", "engine_failed")),
    ("a few scopes", scopes(1), below(3), ("valid", None)),
    ("fan-out", None, "x", ("unverifiable", "engine_failed")),
]


def fan_out(levels: int) -> dict[str, Any]:
    twice = {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(levels)}
    return {"$ref": "#/$defs/d0", "$defs": {**twice, f"d{levels}": {"type": "string"}}}


def _bounded() -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (20, 20))


def judged(root: Path, schema: Any, payload: Any, *, formats: bool = False) -> list[Any]:
    done = subprocess.run(
        [sys.executable, "-c", _CHILD],
        cwd=root,
        input=json.dumps([schema, payload, formats]),
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=_bounded,
    )
    assert done.returncode == 0, done.stderr[-500:]
    found: list[Any] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize(
    ("schema", "payload", "expected"), [each[1:] for each in CASES], ids=[each[0] for each in CASES]
)
def test_the_worst_is_judged_or_refused(
    root: Path, schema: Any, payload: Any, expected: tuple[str, str | None]
) -> None:
    verdict, reason, valid, told = judged(root, fan_out(22) if schema is None else schema, payload)
    assert (verdict, reason) == expected
    assert valid is (verdict == "valid")
    assert bool(told) is (verdict == "invalid")


_TEXTS = ("a", "a.b@c:/{%20}-1T", "xn--é.", "(", "1", ".", "/~", "::")
_FORMATS = (
    *("email", "idn-email", "hostname", "idn-hostname", "ipv4", "ipv6", "uri", "uri-reference", "iri", "uri-template"),
    *(
        "iri-reference",
        "date-time",
        "date",
        "time",
        "duration",
        "uuid",
        "json-pointer",
        "relative-json-pointer",
        "regex",
    ),
)


def test_formats_are_asserted_of_long_texts(root: Path) -> None:
    schema = {"properties": {name: {"items": {"format": name}} for name in _FORMATS}}
    payload = {name: [text * (200_000 // len(text)) for text in _TEXTS] for name in _FORMATS}
    assert judged(root, schema, payload, formats=True)[0] == "invalid"


def test_a_pattern_too_large_to_compile_is_not_called_wrong() -> None:
    judge = Judge({"pattern": f"^{LETTERS}$|x"})
    assert judge.problem == "engine_failed"
    assert judge.problem_detail == "the engine cannot run the pattern at /pattern"
