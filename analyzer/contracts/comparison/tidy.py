"""The one spelling of a single schema object whose subschemas are spelled already.

Nothing here changes which values are accepted, but for `strict`, which is asked for.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

from analyzer.contracts.schemas import plain

__all__ = ["spell", "text", "tidy"]

_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"))  # made once: `json.dumps` makes one each time
_GROUPS = (
    frozenset({"properties", "patternProperties", "additionalProperties"}),
    frozenset({"items", "prefixItems"}),
    frozenset({"if", "then", "else"}),
    frozenset({"contains", "minContains", "maxContains"}),
)
_BY_TYPE = {
    "string": {"format", "maxLength", "minLength", "pattern"},
    "number": {"exclusiveMaximum", "exclusiveMinimum", "maximum", "minimum", "multipleOf"},
    "array": {"items", "maxItems", "minItems", "prefixItems", "uniqueItems"},
    "object": {"additionalProperties", "maxProperties", "minProperties", "patternProperties", "properties", "required"},
    "null": set[str](),
    "boolean": set[str](),
}
_BY_TYPE["integer"] = _BY_TYPE["number"]
#: Keywords that look at members or items, which others then count as evaluated.
_LOOKS = ("additionalProperties", "items", "unevaluatedItems", "unevaluatedProperties")
#: Keyword values that say nothing.
_EMPTY: dict[str, tuple[Any, ...]] = {
    "additionalProperties": ({},),
    "allOf": ([],),
    "dependentRequired": ({},),
    "dependentSchemas": ({},),
    "items": ({},),
    "minItems": (0,),
    "minLength": (0,),
    "minProperties": (0,),
    "not": (False,),
    "pattern": ("", "^", ".*", "^.*"),
    "patternProperties": ({},),
    "prefixItems": ([],),
    "properties": ({},),
    "propertyNames": ({},),
    "required": ([],),
    "unevaluatedItems": ({},),
    "unevaluatedProperties": ({},),
    "uniqueItems": (False,),
}


def tidy(schema: dict[str, Any], referred: Any, *, strict: bool, unevaluated: bool) -> Any:
    """Spell one schema object, joined with what its reference named ({} without one).

    `unevaluated` tells that the document asks which members and items were looked at: then nothing that looks goes.
    """
    if referred is False:
        return False
    parts = [referred] if referred else []
    schema = _joined(schema, parts)
    if not unevaluated and {} in schema.get("anyOf", ()):
        schema = {name: member for name, member in schema.items() if name != "anyOf"}
    for step in _STEPS:
        schema = step(schema)
    kept = _LOOKS if unevaluated else ()
    schema = {name: member for name, member in schema.items() if name in kept or member not in _EMPTY.get(name, ())}
    if _accepts_nothing(schema):
        return False
    return _strict(schema) if strict else schema


def spell(value: Any) -> str:
    """Spell a JSON value as text in one way, so that equal values and only they have equal texts."""
    return text(plain(value))


def text(value: Any) -> str:
    """Spell a value that is plain already."""
    return _ENCODER.encode(value)


def _joined(schema: dict[str, Any], parts: list[Any]) -> dict[str, Any]:
    """Join a schema with what else must hold, in place where their keywords do not meet, else by `allOf`."""
    rest: list[Any] = []
    for part in [*parts, *schema.get("allOf", [])]:
        own = {name: member for name, member in schema.items() if name != "allOf"}
        if isinstance(part, dict) and _apart(own, part):
            nested = part.get("allOf", [])
            schema = {**own, **{name: member for name, member in part.items() if name != "allOf"}}
            rest += nested
        elif part not in rest and part != {}:
            rest.append(part)
    out = {name: member for name, member in schema.items() if name != "allOf"}
    return {**out, "allOf": rest} if rest else out


def _apart(a: dict[str, Any], b: dict[str, Any]) -> bool:
    if any(name.startswith("unevaluated") for name in (*a, *b)):
        return False
    if any(spell(a[name]) != spell(b[name]) for name in a.keys() & b.keys()):
        return False
    return not any(group & a.keys() and group & b.keys() for group in _GROUPS)


def _values(schema: dict[str, Any]) -> dict[str, Any]:
    """`const` is an enum of one; an enum is sorted, keeps what its types allow, and states their types."""
    out = {name: member for name, member in schema.items() if name != "const"}
    if "const" in schema:
        only = spell(schema["const"])
        out["enum"] = [v for v in schema.get("enum", [schema["const"]]) if spell(v) == only]
    if "enum" in out:
        types = _types(out)
        kept = {spell(v): v for v in out["enum"] if types is None or _type(v) in types or _number(v, types)}
        out["enum"] = [kept[one] for one in sorted(kept)]
        out["type"] = sorted({_type(v) for v in out["enum"]})
    return out


def _types(schema: dict[str, Any]) -> set[str] | None:
    named = schema.get("type")
    return None if named is None else {named} if isinstance(named, str) else set(named)


def _type(value: Any) -> str:
    if value is None:
        return "null"
    kinds = ((bool, "boolean"), (int, "integer"), (float, "number"), (str, "string"), (list, "array"))
    return next((name for kind, name in kinds if isinstance(value, kind)), "object")


def _number(value: Any, types: set[str]) -> bool:
    return "number" in types and _type(value) == "integer"


def _choices(schema: dict[str, Any]) -> dict[str, Any]:
    """Alternatives that differ in type are one list of types; doubled and single ones go."""
    out = dict(schema)
    if "anyOf" in out:
        branches = list({spell(branch): branch for branch in out["anyOf"] if branch is not False}.values())
        out["anyOf"] = branches
        if len(branches) == 1 and _apart({n: m for n, m in out.items() if n != "anyOf"}, branches[0]):
            del out["anyOf"]
            out = {**out, **branches[0]}
        elif len(branches) > 1 and out.keys() <= {"anyOf", "type"}:
            merged = _one_list(branches)
            if merged is not None and ("type" not in out or _types(out) == _types(merged)):
                out = merged
    if "oneOf" in out:
        out["oneOf"] = [branch for branch in out["oneOf"] if branch is not False]
    if len(out.get("oneOf", ())) == 1 and _apart({n: m for n, m in out.items() if n != "oneOf"}, out["oneOf"][0]):
        only = out.pop("oneOf")[0]
        out = {**out, **only}
    return out


def _one_list(branches: list[dict[str, Any]]) -> dict[str, Any] | None:
    """Write alternatives of unlike types as one schema with a list of types, or None where that says something else."""
    if all(set(branch) == {"enum", "type"} or branch == {"type": "null"} for branch in branches):
        return _values({"enum": [value for branch in branches for value in branch.get("enum", [None])]})
    types: list[str] = []
    out: dict[str, Any] = {}
    for branch in branches:
        named = sorted(_types(branch) or ())
        kinds = {"number" if name == "integer" else name for name in named}
        if not named or kinds & {"number" if name == "integer" else name for name in types}:
            return None
        if not branch.keys() - {"type"} <= set[str]().union(*(_BY_TYPE[name] for name in named)):
            return None
        types += named
        out |= branch
    return {**out, "type": sorted(types)}


def _type_list(schema: dict[str, Any]) -> dict[str, Any]:
    """One type stands alone, several are sorted, all of them say nothing, none is nothing."""
    types = _types(schema)
    if types is None:
        return schema
    if "number" in types and "enum" not in schema:
        types = types - {"integer"}
    if types >= _BY_TYPE.keys() - {"integer"} and "enum" not in schema:
        return {name: member for name, member in schema.items() if name != "type"}
    return {**schema, "type": sorted(types) if len(types) != 1 else next(iter(types))}


def _bounds(schema: dict[str, Any]) -> dict[str, Any]:
    """An exclusive bound of integers is the next inclusive one, and the weaker of two bounds goes."""
    out = dict(schema)
    for low, inclusive, exclusive in ((True, "minimum", "exclusiveMinimum"), (False, "maximum", "exclusiveMaximum")):
        if (_types(out) or {"number"}) & {"integer", "number"} == {"integer"}:
            whole = []
            if inclusive in out:
                whole.append(math.ceil(out[inclusive]) if low else math.floor(out[inclusive]))
            if exclusive in out:
                edge = out.pop(exclusive)
                whole.append(math.floor(edge) + 1 if low else math.ceil(edge) - 1)
            if whole:
                out[inclusive] = max(whole) if low else min(whole)
        elif inclusive in out and exclusive in out:
            weaker = out[exclusive] >= out[inclusive] if low else out[exclusive] <= out[inclusive]
            del out[inclusive if weaker else exclusive]
    return out


def _members(schema: dict[str, Any]) -> dict[str, Any]:
    """Sort what has no order, and write a closed object in the one way where two mean the same."""
    out = dict(schema)
    if "required" in out:
        out["required"] = sorted(set(out["required"]))
    if "dependentRequired" in out:
        needs = {name: sorted(set(members)) for name, members in out["dependentRequired"].items() if members}
        out["dependentRequired"] = dict(sorted(needs.items()))
    in_place = ("$ref", "allOf", "anyOf", "dependentSchemas", "if", "oneOf")
    if "unevaluatedProperties" in out and not any(name in out for name in in_place):
        rest = out.pop("unevaluatedProperties")
        out.setdefault("additionalProperties", rest)
    return out


_STEPS: tuple[Callable[[dict[str, Any]], dict[str, Any]], ...] = (_values, _choices, _type_list, _bounds, _members)


def _accepts_nothing(schema: dict[str, Any]) -> bool:
    if any(schema.get(name) == [] for name in ("enum", "anyOf", "oneOf")) or False in schema.get("allOf", ()):
        return True
    return "not" in schema and schema["not"] == {}


def _strict(schema: dict[str, Any]) -> dict[str, Any]:
    """Undo strict mode: close the object, let a required member that may be null be left out, `oneOf` is `anyOf`."""
    out = dict(schema)
    if "oneOf" in out and "anyOf" not in out:
        out = _choices({**{n: m for n, m in out.items() if n != "oneOf"}, "anyOf": out["oneOf"]})
    if not ("properties" in out or out.get("type") == "object"):
        return out
    if "additionalProperties" not in out and "patternProperties" not in out:
        out["additionalProperties"] = False
    required = []
    properties = dict(out.get("properties", {}))
    for name in out.get("required", []):
        without = _without_null(properties.get(name))
        if without is None:
            required.append(name)
        else:
            properties[name] = without
    for name, member in (("properties", properties), ("required", required)):
        out[name] = member
        if not member:
            del out[name]
    return out


def _without_null(schema: Any) -> Any:
    """Take null out of a schema that allows it beside something else; None where it does not."""
    if not isinstance(schema, dict):
        return None
    types = _types(schema) or set[str]()
    if "null" in types and len(types) > 1:
        out = {**schema, "type": sorted(types - {"null"})}
        if "enum" in out:
            out["enum"] = [value for value in out["enum"] if value is not None]
        return _type_list(out)
    branches = schema.get("anyOf", [])
    rest = [branch for branch in branches if branch != {"type": "null"}]
    if rest and len(rest) < len(branches) and "type" not in schema:
        return _type_list(_choices({**schema, "anyOf": rest}))
    return None
