"""Which subschemas speak about one place of a payload; references are followed inside the document only."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from urllib.parse import unquote

type_names = ("null", "boolean", "integer", "number", "string", "array", "object")

#: Keywords whose value is one schema, a list of schemas, or a mapping of names to schemas.
ONE = (
    "not",
    "if",
    "then",
    "else",
    "additionalProperties",
    "unevaluatedProperties",
    "propertyNames",
    "items",
    "additionalItems",
    "unevaluatedItems",
    "contains",
    "contentSchema",
)
MANY = ("allOf", "anyOf", "oneOf", "prefixItems", "items")
NAMED = ("properties", "patternProperties", "dependentSchemas", "dependencies", "$defs", "definitions")
REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
_HOLDING = frozenset((*ONE, *MANY, *NAMED))
_MOST = 500


def subschemas(schema: object) -> Iterator[object]:
    """The schemas directly inside one schema, definitions included, references not followed."""
    if not isinstance(schema, dict) or _HOLDING.isdisjoint(schema):
        return
    for keyword in ONE:
        if isinstance(schema.get(keyword), dict | bool):
            yield schema[keyword]
    for keyword in MANY:
        if isinstance(schema.get(keyword), list):
            yield from schema[keyword]
    for keyword in NAMED:
        if isinstance(schema.get(keyword), dict):
            yield from (child for child in schema[keyword].values() if isinstance(child, dict | bool))


def resolve(root: object, reference: object) -> object | None:
    """The subschema a `$ref`, `$dynamicRef` or `$recursiveRef` names inside `root`, or None."""
    if not isinstance(reference, str):
        return None
    document, _, fragment = reference.partition("#")
    base: object | None = root
    if document and not (isinstance(root, dict) and root.get("$id") == document):
        base = _find(root, "$id", document)
    if base is None or not fragment:
        return base
    if not fragment.startswith("/"):
        return _find(base, "$anchor", fragment) or _find(base, "$dynamicAnchor", fragment)
    for step in unquote(fragment).split("/")[1:]:
        token = step.replace("~1", "/").replace("~0", "~")
        if isinstance(base, dict) and token in base:
            base = base[token]
        elif isinstance(base, list) and token.isdecimal() and len(token) < 8 and int(token) < len(base):
            base = base[int(token)]
        else:
            return None
    return base


def at(root: object, path: Sequence[object]) -> object | None:
    """What stands at a path of keys and indexes, or None."""
    for key in path:
        inside = isinstance(root, list) and isinstance(key, int) and key < len(root)
        if not inside and not (isinstance(root, dict) and key in root):
            return None
        root = root[key]  # type: ignore[index]
    return root


def conjuncts(root: object, schemas: Iterable[object], *, branches: bool = False) -> list[dict[str, object]]:
    """All object schemas that bind one value: references and `allOf` unfolded, with `branches` the alternatives too."""
    found: list[dict[str, object]] = []
    seen: set[int] = set()
    queue = list(schemas)
    while queue and len(found) < _MOST:
        schema = queue.pop(0)
        if not isinstance(schema, dict) or id(schema) in seen:
            continue
        seen.add(id(schema))
        found.append(schema)
        queue.extend(resolve(root, schema.get(keyword)) for keyword in REFERENCES if keyword in schema)
        for keyword in ("allOf", "anyOf", "oneOf") if branches else ("allOf",):
            if isinstance(schema.get(keyword), list):
                queue.extend(schema[keyword])
        if branches:
            queue.extend(schema.get(keyword) for keyword in ("then", "else"))
            for keyword in ("dependentSchemas", "dependencies"):
                if isinstance(schema.get(keyword), dict):
                    queue.extend(schema[keyword].values())
    return found


def member(schemas: Iterable[dict[str, object]], name: str) -> list[object]:
    """The schemas for one member of an object that the conjuncts describe."""
    found: list[object] = []
    for schema in schemas:
        properties = schema.get("properties")
        if isinstance(properties, dict) and name in properties:
            found.append(properties[name])
        elif isinstance(schema.get("additionalProperties"), dict):
            found.append(schema["additionalProperties"])
    return found


def element(schemas: Iterable[dict[str, object]], index: int) -> list[object]:
    """The schemas for one item of an array that the conjuncts describe."""
    found: list[object] = []
    for schema in schemas:
        tuples = schema.get("prefixItems", schema.get("items"))
        rest = schema.get("items") if not isinstance(schema.get("items"), list) else schema.get("additionalItems")
        if isinstance(tuples, list) and index < len(tuples):
            found.append(tuples[index])
        elif isinstance(rest, dict | bool):
            found.append(rest)
    return found


def schemas_at(root: object, path: Sequence[object], *, branches: bool = False) -> list[dict[str, object]]:
    """The conjuncts that bind the value at a path of a payload."""
    here = conjuncts(root, [root], branches=branches)
    for key in path:
        below = element(here, key) if isinstance(key, int) else member(here, str(key))
        here = conjuncts(root, below, branches=branches)
    return here


def _find(root: object, keyword: str, value: str) -> object | None:
    queue: list[object] = [root]
    while queue:
        schema = queue.pop()
        if isinstance(schema, dict) and schema.get(keyword) == value:
            return schema
        queue.extend(subschemas(schema))
    return None
