"""One spelling for every schema, so that what providers change on the way does not look like drift.

A tool's schema is rewritten by whoever carries it: wrapped in an envelope, its `$schema` dropped, its `$ref` inlined,
`["string"]` for `"string"`, `anyOf` with null for a list of types. All of that says the same thing, and all of it
comes out of here as the same value, written in the 2020-12 dialect.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import jsonschema_rs

from analyzer.contracts.comparison.tidy import tidy
from analyzer.contracts.dialects import DRAFT4, DRAFT7, DRAFT2019, DRAFT2020, META_SCHEMAS, dialect_of, unknown_to
from analyzer.contracts.places import REFERENCES, resolve
from analyzer.contracts.schemas import plain
from analyzer.pointer import pointer

__all__ = ["MAX_VALUES", "Normal", "extent", "normal", "normalise", "unwrap"]

#: Levels of nesting, references included: far beyond any tool, below what the engine refuses.
MAX_DEPTH = 100
#: Schema objects once inlined: a fan-out of references would otherwise double with every level.
MAX_NODES = 5_000
#: JSON values of all kinds in one document.
MAX_VALUES = 50_000

_ENVELOPES = ("parameters", "inputSchema", "input_schema", "function", "json_schema", "schema")
_JSON_TYPES = ("array", "boolean", "integer", "null", "number", "object", "string")
_SPEAKS_FOR_ITSELF = ("$ref", "$schema", "allOf", "anyOf", "enum", "oneOf", "properties")
_MAPS = ("dependentSchemas", "patternProperties", "properties")
_LISTS = ("allOf", "anyOf", "oneOf", "prefixItems")
_ONE = ("additionalProperties", "contains", "else", "if", "items", "not", "propertyNames", "then")
_UNEVALUATED = ("unevaluatedItems", "unevaluatedProperties")
_VALUES = ("const", "dependentRequired", "enum", "format", "multipleOf", "pattern", "required", "type", "uniqueItems")
_BOUNDS = ("exclusiveMaximum", "exclusiveMinimum", "maximum", "minimum")
_COUNTS = tuple(end + what for end in ("max", "min") for what in ("Contains", "Items", "Length", "Properties"))
#: What names places of the document and says nothing of the values it accepts.
_ANCHORS = ("$anchor", "$dynamicAnchor", "$recursiveAnchor")
_IDENTITY = ("$defs", "$id", "$schema", "$vocabulary", "definitions", "id", *_ANCHORS, *REFERENCES)
_OLD = tuple(f"{META_SCHEMAS[dialect]}#" for dialect in (DRAFT7, DRAFT4))


class Normal(NamedTuple):
    """A schema in its one spelling, its annotations apart; or the reason why it has none.

    `annotations` maps the JSON Pointer of a place in `schema` (a reference is no step) to the members there that
    constrain nothing: description, title, default, examples, and all that no dialect knows. `fault` is empty, or
    `schema_invalid`, `schema_unresolvable`, `schema_too_deep` or `schema_too_large`; then `schema` is what came in.
    """

    schema: Any
    annotations: Mapping[str, Mapping[str, Any]]
    fault: str


class _Unfit(Exception):
    """The schema cannot be spelled; the text is the fault."""


def normalise(schema: Any, *, provider_strict: bool = False) -> Any:
    """Return the schema in its one spelling, without annotations; one that has none comes back as it was.

    `provider_strict` also undoes a provider's strict mode: open objects are closed, a member that is required and may
    be null is one that may be left out, `oneOf` is `anyOf`. The difference between these is lost, so it is for schemas
    of which one side is known to have been rewritten.
    """
    return normal(schema, provider_strict=provider_strict).schema


def normal(schema: Any, *, provider_strict: bool = False) -> Normal:
    """Return the schema in its one spelling, its annotations, and the fault when it cannot be spelled."""
    bare = unwrap(schema)
    try:
        walk = _Walk(bare, strict=provider_strict)
        return Normal(walk.document(), walk.annotations, "")
    except _Unfit as unfit:
        return Normal(bare, {}, str(unfit))


def unwrap(schema: Any) -> Any:
    """Take a schema out of the tool definition or response format that carries it; `null` there states nothing."""
    for _ in range(len(_ENVELOPES)):
        if not isinstance(schema, dict) or schema.get("type", "function") in _JSON_TYPES:
            break
        inner = next((name for name in _ENVELOPES if isinstance(schema.get(name, ""), dict | bool | None)), None)
        if inner is None or isinstance(schema.get("type"), list) or any(name in schema for name in _SPEAKS_FOR_ITSELF):
            break
        schema = {} if schema[inner] is None else schema[inner]
    return schema


def extent(value: Any) -> tuple[int, int]:
    """Count the levels and the values of a JSON value, up to about 1,000 and 50,000; never by recursion."""
    levels, values, now = 0, 0, [value]
    while now and levels <= 10 * MAX_DEPTH and values <= MAX_VALUES:
        levels, values = levels + 1, values + len(now)
        now = [child for item in now for child in _children(item)]
    return levels, values


def _children(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []


def _names_unevaluated(value: Any) -> bool:
    now = [value]
    while now:
        if any(name in item for item in now if isinstance(item, dict) for name in _UNEVALUATED):
            return True
        now = [child for item in now for child in _children(item)]
    return False


class _Walk:
    """One pass over one document, in sorted order, so that recursive definitions are numbered alike everywhere."""

    def __init__(self, root: Any, *, strict: bool) -> None:
        levels, values = extent(root)
        if levels > MAX_DEPTH or values > MAX_VALUES:
            raise _Unfit("schema_too_deep" if levels > MAX_DEPTH else "schema_too_large")
        self.root = root
        self.strict = strict
        dialect = _dialect(root)
        self.siblings_of_ref_count = dialect in (DRAFT2019, DRAFT2020)
        self.notes = unknown_to(dialect)  # keywords that say nothing in this dialect
        self.unevaluated = "unevaluatedItems" not in self.notes and _names_unevaluated(root)
        self.annotations: dict[str, dict[str, Any]] = {}
        self.nodes = 0
        self.checked = {id(root)}
        self.names: dict[int, str] = {}  # target of a reference to itself -> name of its definition
        self.definitions: dict[str, Any] = {}
        self.trail: dict[int, int] = {}  # target being walked -> how many members or items deep it was entered

    def document(self) -> Any:
        body = self.target(self.root, (), 0)
        return {**body, "$defs": self.definitions} if self.definitions and body is not False else body

    def target(self, schema: Any, path: tuple[str, ...], level: int) -> Any:
        """Walk the document, or what a reference names: inlined, unless it contains itself."""
        key = id(schema)
        if key in self.trail:
            if self.trail[key] == level:
                raise _Unfit("schema_unresolvable")  # it names itself and never comes to a value
            self.names.setdefault(key, str(len(self.names) + 1))
        if key in self.trail or self.names.get(key) in self.definitions:
            return {"$ref": f"#/$defs/{self.names[key]}"}
        if len(self.trail) > MAX_DEPTH:
            raise _Unfit("schema_too_deep")
        self.trail[key] = level
        body = self.walk(schema, path, level)
        del self.trail[key]
        if key not in self.names:
            return body
        self.definitions[self.names[key]] = body
        return {"$ref": f"#/$defs/{self.names[key]}"}

    def walk(self, schema: Any, path: tuple[str, ...], level: int) -> Any:
        self.nodes += 1
        if self.nodes > MAX_NODES:
            raise _Unfit("schema_too_large")
        if len(path) > 2 * MAX_DEPTH:
            raise _Unfit("schema_too_deep")
        if isinstance(schema, bool):
            return {} if schema else False
        if not isinstance(schema, dict):
            raise _Unfit("schema_invalid")
        refs = [name for name in REFERENCES if name in schema and name not in self.notes]
        if len(refs) > 1 or ("$id" in schema and schema is not self.root):
            raise _Unfit("schema_unresolvable")  # what a reference means would depend on the way there
        # In a document that is one resource, the way there is always the same: a dynamic reference is a plain one.
        referred = self.reference(schema[refs[0]], path, level) if refs else {}
        if "$ref" in schema and not self.siblings_of_ref_count:
            return referred
        notes = {name: member for name, member in schema.items() if name in self.notes and name not in _IDENTITY}
        known = {name: member for name, member in schema.items() if name not in self.notes}
        own = {name: member for name, member in _modern(known).items() if name not in _IDENTITY}
        out = {name: plain(own.pop(name)) for name in (*_VALUES, *_BOUNDS, *_COUNTS) if name in own}
        for name in sorted(set(own) & {*_ONE, *_UNEVALUATED, *_LISTS, *_MAPS}):
            out[name] = self.below(name, own.pop(name), path, level)
        if own or notes:
            place = pointer(path)
            self.annotations[place] = {**self.annotations.get(place, {}), **own, **notes}
        return tidy(out, referred, strict=self.strict, unevaluated=self.unevaluated)

    def reference(self, ref: Any, path: tuple[str, ...], level: int) -> Any:
        found = resolve(self.root, ref)
        if found is None:
            raise _Unfit("schema_unresolvable")
        if id(found) not in self.checked:
            self.checked.add(id(found))
            if not _sound(found):  # what lies outside the known keywords was not checked with the document
                raise _Unfit("schema_invalid")
        return self.target(found, path, level)

    def below(self, name: str, member: Any, path: tuple[str, ...], level: int) -> Any:
        """Walk the subschemas under one keyword; only members and items are a level deeper in the value."""
        if name in _MAPS:
            deeper = level + (name != "dependentSchemas")
            return {key: self.walk(member[key], (*path, name, key), deeper) for key in sorted(member)}
        if name in _LISTS:
            deeper = level + (name == "prefixItems")
            return [self.walk(item, (*path, name, str(i)), deeper) for i, item in enumerate(member)]
        deeper = level + (name not in ("else", "if", "not", "then"))
        return self.walk(member, (*path, name), deeper)


def _dialect(document: Any) -> str:
    """Tell which dialect the document is written in, by name or by what it can only mean."""
    named = dialect_of(document)
    if named in (DRAFT2019, DRAFT2020) and _sound(document):
        return named
    # Tuples and exclusive bounds are read as they were meant where the dialect's name was lost on the way.
    if isinstance(document, dict) and any(_sound({**document, "$schema": uri}) for uri in _OLD):
        return named
    raise _Unfit("schema_invalid")


def _sound(schema: Any) -> bool:
    if not isinstance(schema, dict | bool):
        return False
    if isinstance(schema, dict) and schema.get("$schema") not in _OLD:
        schema = {name: member for name, member in schema.items() if name != "$schema"}
    try:
        return jsonschema_rs.meta.is_valid(schema)
    except (ValueError, OverflowError):  # lone surrogates, numbers the engine does not hold
        return False


def _modern(schema: dict[str, Any]) -> dict[str, Any]:
    """Spell what the older dialects wrote differently the way 2020-12 does."""
    out = dict(schema)
    if isinstance(out.get("items"), list):
        out["prefixItems"] = out.pop("items")
        if "additionalItems" in out:
            out["items"] = out["additionalItems"]
    out.pop("additionalItems", None)
    for bound in ("minimum", "maximum"):
        exclusive = f"exclusive{bound.capitalize()}"
        if isinstance(out.get(exclusive), bool) and out.pop(exclusive) and bound in out:
            out[exclusive] = out.pop(bound)
    for name, needs in out.pop("dependencies", {}).items():
        kind = "dependentRequired" if isinstance(needs, list) else "dependentSchemas"
        out[kind] = {**out.get(kind, {}), name: needs}
    return out
