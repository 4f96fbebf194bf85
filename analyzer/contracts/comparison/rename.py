"""Tools that were renamed, found again by the shape of their schemas."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import SequenceMatcher
from typing import Any, NamedTuple

from analyzer.contracts.comparison.normalise import normal
from analyzer.contracts.comparison.tidy import spell

__all__ = ["Rename", "match_renamed", "similarity"]

#: Below this share of common shape two tools are two tools.
THRESHOLD = 0.6
#: Features of one schema that count, and letters of a name that are compared.
MAX_FEATURES = 2_000
MAX_NAME = 100
_WEIGHT = {"member": 3.0, "type": 1.0, "required": 1.0, "value": 1.0, "closed": 0.5, "bound": 0.5}


class Rename(NamedTuple):
    """An old name, the new one its shape was found under, and how much of the shape they share (0 to 1)."""

    old: str
    new: str
    score: float


def similarity(a: Any, b: Any) -> float:
    """Return the weighted share of members, types, required marks, values and bounds that two schemas have in common.

    From 0.0 to 1.0; 1.0 for two of the same shape. A schema without members or without sense shares nothing.
    """
    return _share(_shape(a), _shape(b))


def match_renamed(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[Rename]:
    """Pair tools that went with tools that came, most alike first, each at most once.

    `old` and `new` map names to schemas; a name in both was not renamed. Equal shapes are told apart by their names.
    """
    gone = {name: _shape(old[name]) for name in sorted(old.keys() - new.keys())}
    come = {name: _shape(new[name]) for name in sorted(new.keys() - old.keys())}
    scored = [
        (-_share(shape, other), -_alike(name, candidate), name, candidate)
        for name, shape in gone.items()
        for candidate, other in come.items()
    ]
    found: list[Rename] = []
    for score, _, name, candidate in sorted(scored):
        taken = any(name == rename.old or candidate == rename.new for rename in found)
        if -score >= THRESHOLD and not taken:
            found.append(Rename(name, candidate, -score))
    return found


def _alike(a: str, b: str) -> float:
    return SequenceMatcher(None, a[:MAX_NAME], b[:MAX_NAME], autojunk=False).ratio()


def _share(a: Mapping[str, float], b: Mapping[str, float]) -> float:
    everything = {**a, **b}
    total = sum(everything[feature] for feature in sorted(everything))
    common = sum(everything[feature] for feature in sorted(a.keys() & b.keys()))
    return round(common / total, 6) if total else 0.0


def _shape(schema: Any) -> dict[str, float]:
    """Return the features of a schema with their weights; none when it has no member or item to know it by."""
    spelled = normal(schema)
    if spelled.fault:
        return {}
    out: dict[str, float] = {}
    for kind, text in _features(spelled.schema, ""):
        out[f"{kind} {text}"] = _WEIGHT[kind]
        if len(out) >= MAX_FEATURES:
            break
    return out if any(feature.startswith("member ") for feature in out) else {}


def _features(schema: Any, path: str) -> Iterator[tuple[str, str]]:
    if not isinstance(schema, dict):
        return
    named = schema.get("type", [])
    for name in [named] if isinstance(named, str) else named:
        yield "type", f"{path} {name}"
    for value in schema.get("enum", []):
        yield "value", f"{path} {spell(value)}"
    for name in ("maximum", "minimum", "maxLength", "minLength", "pattern", "maxItems", "minItems"):
        if name in schema:
            yield "bound", f"{path} {name} {spell(schema[name])}"
    if "additionalProperties" in schema:
        yield "closed", path
    for name in schema.get("required", []):
        yield "required", f"{path}/{name}"
    for name, below in schema.get("properties", {}).items():
        yield "member", f"{path}/{name}"
        yield from _features(below, f"{path}/{name}")
    beside = [(f"{path}/*", below) for below in (schema.get("items"), *schema.get("prefixItems", ()))]
    beside += [(path, below) for group in ("allOf", "anyOf", "oneOf") for below in schema.get(group, ())]
    beside += [(f"{path}#{name}", below) for name, below in sorted(schema.get("$defs", {}).items())]
    for place, below in beside:
        yield from _features(below, place)
