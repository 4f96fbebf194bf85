"""A schema with keywords added at one place, so that it never accepts what it did not accept before."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from analyzer.contracts.places import REFERENCES, conjuncts, resolve, subschemas

#: The step of a path that stands for every item of an array.
ITEM: Final = None
Path = tuple[str | None, ...]


def narrowable(root: object) -> str:
    """Why nothing can be added to a schema without looking at what it refers to; empty where it can.

    References may lead into definitions only: those are never edited. One that leads to a place of the payload would
    carry an added keyword to another place, or through a `not` into its opposite.
    """
    defined: set[int] = set()
    references: list[object] = []
    queue: list[tuple[object, bool]] = [(root, False)]
    seen: set[int] = set()
    while queue:
        schema, inside = queue.pop()
        if not isinstance(schema, dict) or id(schema) in seen:
            continue
        seen.add(id(schema))
        if inside:
            defined.add(id(schema))
        references.extend(schema[keyword] for keyword in REFERENCES if keyword in schema)
        definitions = [schema[k] for k in ("$defs", "definitions") if isinstance(schema.get(k), dict)]
        named = {id(child) for group in definitions for child in group.values()}
        queue.extend((child, inside or id(child) in named) for child in subschemas(schema))
    if any(id(resolve(root, reference)) not in defined for reference in references):
        return "the schema refers to itself or to a place outside its definitions"
    return ""


def narrowed(schema: Any, path: Path, keywords: Mapping[str, Any]) -> Any:
    """`schema` and, at the place `path` of a payload, `keywords`; the given schema is not changed."""
    if schema is False:
        return schema
    node: dict[str, Any] = dict(schema) if isinstance(schema, dict) else {}
    if "$ref" in node:
        # Up to draft 7 a reference silences its neighbours, and nothing could be added beside it.
        reference = {"$ref": node.pop("$ref")}
        node["allOf"] = [reference, *node.get("allOf", [])]
    if not path:
        return _conjoined(node, keywords)
    head, rest = path[0], path[1:]
    if head is ITEM:
        if isinstance(node.get("items"), list) or "prefixItems" in node:
            return {**node, "allOf": [*node.get("allOf", []), {"items": narrowed({}, rest, keywords)}]}
        return {**node, "items": narrowed(node.get("items", {}), rest, keywords)}
    properties = dict(node.get("properties", {}))
    properties[head] = narrowed(properties.get(head, _unlisted(node)), rest, keywords)
    return {**node, "properties": properties}


def closed(root: Any, schemas: list[dict[str, object]], names: list[str]) -> dict[str, Any]:
    """The keywords that close an object to all members but those that its schemas or the payloads name."""
    declared = [name for schema in conjuncts(root, schemas, branches=True) for name in _properties(schema)]
    return {"properties": {name: {} for name in [*declared, *names]}, "additionalProperties": False}


def _conjoined(node: dict[str, Any], keywords: Mapping[str, Any]) -> dict[str, Any]:
    out, apart = dict(node), dict[str, Any]()
    unlisted = _unlisted(node)
    for keyword, value in keywords.items():
        if keyword == "properties":
            listed = node.get("properties", {})
            # A member that gets a place of its own no longer meets `additionalProperties`: it takes that along.
            out["properties"] = {**listed, **{name: unlisted for name in value if name not in listed}}
        elif keyword == "required":
            out["required"] = [*node.get("required", []), *(n for n in value if n not in node.get("required", []))]
        elif keyword not in node or keyword == "additionalProperties":
            out[keyword] = value
        elif keyword in ("maxLength", "maximum"):
            out[keyword] = min(value, node[keyword])
        elif keyword == "minimum":
            out[keyword] = max(value, node[keyword])
        elif node[keyword] != value:
            apart[keyword] = value
    return {**out, "allOf": [*out.get("allOf", []), apart]} if apart else out


def _unlisted(node: Mapping[str, Any]) -> Any:
    """What binds a member without a place of its own; false would make a member of a pattern impossible."""
    unlisted = node.get("additionalProperties")
    return unlisted if isinstance(unlisted, dict) else {}


def _properties(schema: Mapping[str, object]) -> list[str]:
    properties = schema.get("properties")
    return list(properties) if isinstance(properties, dict) else []
