"""Where the references of one schema document lead: inside it, or nowhere; nothing is ever fetched."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple
from urllib.parse import unquote, urljoin

from analyzer.contracts.places import subschemas

#: Keywords whose value names another schema.
REFERENCE_KEYWORDS = ("$ref", "$dynamicRef", "$recursiveRef")
_REFERRING = frozenset(REFERENCE_KEYWORDS)


class References:
    """The identifiers and anchors of a document, found in one walk when the first reference is followed."""

    def __init__(self, root: object) -> None:
        self._root = root
        self._followed: dict[tuple[int, str], object | None] = {}

    @cached_property
    def _named(self) -> _Names:
        return _names(self._root)

    def follow(self, schema: dict[str, object], keyword: str = "$ref") -> object | None:
        """Return the subschema that `schema[keyword]` names, or None: it is outside the document or nowhere."""
        if keyword not in schema:
            return None
        key = (id(schema), keyword)
        if key not in self._followed:
            self._followed[key] = self._follow(schema, keyword)
        return self._followed[key]

    def _follow(self, schema: dict[str, object], keyword: str) -> object | None:
        reference = schema[keyword]
        if not isinstance(reference, str):
            return None
        document, _, fragment = self.absolute(schema, reference).partition("#")
        if document not in self._named.resources:
            return None
        if fragment and not fragment.startswith("/"):
            return self._named.anchors.get((document, unquote(fragment)))
        here = self._named.resources[document]
        for token in unquote(fragment).split("/")[1:]:
            name = token.replace("~1", "/").replace("~0", "~")
            if isinstance(here, dict) and name in here:
                here = here[name]
            elif isinstance(here, list) and name.isdecimal() and len(name) < 8 and int(name) < len(here):
                here = here[int(name)]
            else:
                return None
        return here

    def targets(self, schema: dict[str, object]) -> Iterator[object]:
        """All subschemas that the references of one schema lead to."""
        if _REFERRING.isdisjoint(schema):
            return
        for keyword in REFERENCE_KEYWORDS:
            target = self.follow(schema, keyword)
            if target is not None:
                yield target

    def outside(self, schema: dict[str, object], keyword: str = "$ref") -> bool:
        """Say whether `schema[keyword]` names another document, which is a matter of its own."""
        reference = schema.get(keyword)
        if not isinstance(reference, str):
            return False
        return self.absolute(schema, reference).partition("#")[0] not in self._named.resources

    def absolute(self, schema: dict[str, object], reference: str) -> str:
        """Return the reference resolved against the identifier of the resource it stands in."""
        return _join(self._named.base.get(id(schema), ""), reference)


class _Names(NamedTuple):
    """The base of each subschema by its identity, the documents by theirs, and the anchors inside each."""

    base: dict[int, str]
    resources: dict[str, object]
    anchors: dict[tuple[str, str], object]


def _names(root: object) -> _Names:
    names = _Names({}, {"": root}, {})
    stack: list[tuple[object, str]] = [(root, "")]
    while stack:
        schema, base = stack.pop()
        if not isinstance(schema, dict) or id(schema) in names.base:
            continue
        named = schema.get("$id", schema.get("id") if schema is root else None)
        if isinstance(named, str) and not named.startswith("#"):
            base = _join(base, named).partition("#")[0]
            names.resources.setdefault(base, schema)
        elif isinstance(named, str):
            names.anchors.setdefault((base, named[1:]), schema)  # how drafts before 2019-09 spell an anchor
        names.base[id(schema)] = base
        for keyword in ("$anchor", "$dynamicAnchor"):
            if isinstance(schema.get(keyword), str):
                names.anchors.setdefault((base, schema[keyword]), schema)
        stack.extend((child, base) for child in subschemas(schema))
    return names


def _join(base: str, reference: str) -> str:
    if reference.startswith("#"):
        return base + reference
    try:
        return urljoin(base, reference)
    except ValueError:  # `http://[` is no URI and resolves to nothing
        return reference
