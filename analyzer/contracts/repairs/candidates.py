"""What could mend one failed keyword: edits with a cost, none of them verified here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

from analyzer.contracts.nearest import did_you_mean
from analyzer.contracts.places import at, conjuncts, member, schemas_at
from analyzer.contracts.repairs.coercion import coercions
from analyzer.contracts.repairs.edits import INVENTED, Edit
from analyzer.contracts.repairs.plans import CUT, GIVEN, INVENT, LOSSLESS, LOSSY, NEAR, REMOVE, RENAME, Plan, batch
from analyzer.contracts.repairs.smallest import (
    MISSING,
    Sketcher,
    allowed_types,
    is_number,
    listed,
    named,
    nearest_number,
    size,
)
from analyzer.contracts.verdicts.bounded import Bounded
from analyzer.pointer import pointer
from analyzer.visible import homoglyph_note, visible

_MOST_BRANCHES = 16
_MOST_NAMES = 40
_DEEPEST_BRANCH = 6
_MOST_KNOWN = 5_000
_Place = tuple[tuple[str | int, ...], tuple[str | int, ...]]  # in the payload, in the schema


@dataclass(frozen=True)
class Finder:
    """Finds plans for the violations of one schema; the sketcher's fuel bounds what it may invent.

    What it has learnt of the schema's places holds for any payload.
    """

    root: object
    sketcher: Sketcher
    nearest: dict[tuple[str, tuple[str, ...]], str | None] = field(default_factory=dict)
    _sketched: dict[_Place, tuple[object, int]] = field(default_factory=dict)
    _binding_at: dict[tuple[bool, tuple[str | int, ...]], list[dict[str, object]]] = field(default_factory=dict)

    def begin(self) -> None:
        """Make ready for another payload."""
        self.sketcher.refuel()
        for known in (self.nearest, self._sketched, self._binding_at):
            if len(known) > _MOST_KNOWN:
                known.clear()

    def plans(self, payload: object, errors: Iterable[Any], depth: int = 0) -> list[list[Plan]]:
        """For each violation its plans, the cheapest first; one error over several members is several violations."""
        found: list[list[Plan]] = []
        for error in errors:
            path = list(error.instance_path)
            find = self._WAYS.get(error.kind.name, Finder._fallback)
            for some in find(self, _Violation(payload, path, at(payload, path), error, depth)):
                plans = sorted(some, key=lambda plan: plan.cost)
                if plans:
                    found.append(plans)
        return found

    def _sketch(self, violation: _Violation) -> object:
        """A value for the place of a violation; one that is known takes the fuel that it took to make."""
        holder = violation.error.schema_path[:-1]
        place = tuple(violation.path), tuple(holder)
        known = self._sketched.get(place)
        if known is not None and known[1] <= self.sketcher.fuel:
            self.sketcher.fuel -= known[1]
            return known[0]
        fuel = self.sketcher.fuel
        value = self.sketcher.sketch([*self._schemas_at(violation.path), at(self.root, holder)])
        if self.sketcher.fuel >= 0:
            self._sketched[place] = value, fuel - self.sketcher.fuel
        return value

    def _schemas_at(self, path: list[str | int], *, branches: bool = False) -> list[dict[str, object]]:
        key = branches, tuple(path)
        if key not in self._binding_at:
            self._binding_at[key] = schemas_at(self.root, path, branches=branches)
        return self._binding_at[key]

    def _near(self, name: str, free: tuple[str, ...]) -> str | None:
        if (name, free) not in self.nearest:
            self.nearest[name, free] = did_you_mean(name, free)
        return self.nearest[name, free]

    def _last_resort(self, v: _Violation) -> list[Plan]:
        """Take the value out, or put a placeholder in its place."""
        lost = size(v.value) / 20
        plans = []
        if v.path:
            plans.append(Plan(REMOVE + lost, (Edit("remove", v.pointer, v.value, None, v.why, lossless=False),)))
        value = self._sketch(v)
        if value is not MISSING:
            # A whole object thrown away is more than its characters: mending it member by member comes first.
            whole = INVENT * (isinstance(v.value, dict | list) and isinstance(value, type(v.value)))
            plans.append(Plan(INVENT + whole + lost + size(value) / 40, (v.invent(value),)))
        return plans

    def _fallback(self, v: _Violation) -> Iterator[list[Plan]]:
        """A keyword with no way of its own, `not` among them: what it forbids may be a member, or the value."""
        values: tuple[object, ...] = ("", 0, False, None, [], {})
        others = [Plan(INVENT + n, (v.invent(value),)) for n, value in enumerate(values)]
        yield self._last_resort(v) + self._without_member(v) + others

    def _type(self, v: _Violation) -> Iterator[list[Plan]]:
        types = v.error.kind.as_dict()["types"]
        plans = self._last_resort(v)
        for value, lossless in coercions(v.value, types):
            # A list of one and a text of an object pass often and mean little: after the plain spellings.
            little = 0.5 * (value == [v.value]) + NEAR * (isinstance(value, str) and isinstance(v.value, list | dict))
            plans.append(Plan((LOSSLESS if lossless else LOSSY) + little, (v.replace(value, lossless=lossless),)))
        if is_number(v.value):
            plans += self._nearest(v)
        if v.value is None and v.path:
            plans.append(Plan(LOSSY, (Edit("remove", v.pointer, None, None, v.why, lossless=False),)))
        yield plans

    def _options(self, v: _Violation) -> Iterator[list[Plan]]:
        given = v.error.kind.as_dict()
        options = given["options"] if "options" in given else [given["expected_value"]]
        plans = []
        types = sorted({_type_of(option) for option in options})
        for value, lossless in coercions(v.value, types):
            if _among(value, options):
                plans.append(Plan(LOSSLESS if lossless else LOSSY, (v.replace(value, lossless=lossless),)))
        texts = [option for option in options if isinstance(option, str)]
        near = did_you_mean(v.value, texts) if isinstance(v.value, str) else None
        if near is not None:
            plans.append(Plan(NEAR, (v.replace(near, why=f"{v.why}, {_nearness(v.value)}"),)))
        if len(options) == 1:
            plans.append(Plan(CUT, (v.replace(options[0], why="only value allowed"),)))
        yield plans + self._last_resort(v)

    def _required(self, v: _Violation) -> Iterator[list[Plan]]:
        name = v.error.kind.as_dict()["property"]
        if not isinstance(v.value, dict):
            return
        here = self._schemas_at(v.path)
        holder = conjuncts(self.root, [at(self.root, v.error.schema_path[:-1])])
        spoken = member([*here, *(schema for schema in holder if schema not in here)], name)
        plans = []
        value = self.sketcher.sketch(spoken)
        if value is not MISSING:
            bound = conjuncts(self.root, spoken)
            source = next((word for word in ("const", "default") if any(word in schema for schema in bound)), None)
            only = source or ("only value allowed" if any(_single(schema) for schema in bound) else None)
            why = f"required, {only}" if only else f"required; {INVENTED}"
            edit = Edit("add", pointer([*v.path, name]), None, value, why, lossless=True, invented=only is None)
            plans.append(Plan(GIVEN if only else INVENT + size(value) / 40, (edit,)))
        known = dict.fromkeys(other for schema in self._schemas_at(v.path, branches=True) for other in named(schema))
        free = tuple(other for other in {**known, name: None} if other not in v.value)
        strange = [other for other in v.value if other not in known][:_MOST_NAMES]
        near = [other for other in strange if self._near(other, free) == name]
        plans += [Plan(RENAME, (_rename(v.path, other, name),)) for other in near]
        yield plans

    def _unexpected(self, v: _Violation) -> Iterator[list[Plan]]:
        if not isinstance(v.value, dict):
            return
        here = self._schemas_at(v.path, branches=True)
        free = tuple(dict.fromkeys(name for schema in here for name in named(schema) if name not in v.value))
        for index, name in enumerate(v.error.kind.as_dict()["unexpected"]):
            if name not in v.value:
                continue
            near = self._near(name, free) if index < _MOST_NAMES else None
            plans = [v.without(name, v.value[name], near=near)]
            if near is not None:
                plans.append(Plan(RENAME, (_rename(v.path, name, near),)))
            yield plans

    def _false(self, v: _Violation) -> Iterator[list[Plan]]:
        if v.path:
            yield [
                Plan(REMOVE + size(v.value) / 20, (Edit("remove", v.pointer, v.value, None, v.why, lossless=False),))
            ]

    def _number(self, v: _Violation) -> Iterator[list[Plan]]:
        yield self._last_resort(v) + self._nearest(v)

    def _nearest(self, v: _Violation) -> list[Plan]:
        bound = self._binding(v)
        types = allowed_types(bound)
        if not is_number(v.value) or "integer" not in types:
            return []
        value = nearest_number(v.value, bound, whole="number" not in types)
        return [] if value is None else [Plan(CUT, (v.replace(value, why=f"{v.why}, nearest number in bounds"),))]

    def _binding(self, v: _Violation) -> list[dict[str, object]]:
        return [*self._schemas_at(v.path), *conjuncts(self.root, [at(self.root, v.error.schema_path[:-1])])]

    def _text(self, v: _Violation) -> Iterator[list[Plan]]:
        plans = self._last_resort(v)
        if isinstance(v.value, str):
            plans += [Plan(NEAR, (v.replace(text, why=f"{v.why}, spelling"),)) for text in self._spellings(v)]
            texts = _others(v.value, self.sketcher.texts(self._binding(v)))
            plans += [Plan(INVENT + n, (v.invent(text),)) for n, text in enumerate(texts)]
        yield plans

    def _spellings(self, v: _Violation) -> list[str]:
        """The text in other case, with other separators, or without white space around it, where the pattern has it."""
        pattern = v.error.kind.as_dict().get("pattern")
        if pattern is None:
            return []
        dashed, joined = v.value.replace("_", "-"), v.value.replace("-", "_")
        texts = [v.value.strip(), v.value.upper(), v.value.lower(), dashed, joined]
        matches = Bounded({"type": "string", "pattern": pattern})
        return [text for text in _others(v.value, texts) if matches.valid(text)]

    def _cut(self, v: _Violation) -> Iterator[list[Plan]]:
        most = v.error.kind.as_dict().get("limit")
        plans = self._last_resort(v)
        if isinstance(v.value, str | list) and isinstance(most, int):
            plans.append(Plan(CUT, (v.replace(v.value[:most], why=f"{v.why} {most}, cut"),)))
        yield plans

    def _items(self, v: _Violation) -> Iterator[list[Plan]]:
        """Too many, too few or the wrong items: `uniqueItems`, `minItems`, `contains`, `unevaluatedItems`."""
        plans = self._last_resort(v)
        if isinstance(v.value, list):
            keyword = v.error.kind.name
            if keyword == "uniqueItems":
                kept = [item for n, item in enumerate(v.value[:1_000]) if not _among(item, v.value[:n])]
                plans.append(Plan(CUT, (v.replace(kept, why="uniqueItems, later copies removed"),)))
            elif keyword == "unevaluatedItems" or v.error.schema_path[-1] == "maxContains":
                plans += [
                    Plan(REMOVE + n, (v.replace(v.value[:-n], why=v.why),)) for n in range(1, min(len(v.value), 4) + 1)
                ]
            else:
                bound = self._schemas_at(v.path)
                wanted = (
                    [schema["contains"] for schema in bound if "contains" in schema] if "ontains" in keyword else []
                )
                items = next((schema["items"] for schema in bound if isinstance(schema.get("items"), dict)), {})
                value = self.sketcher.sketch([items, *wanted])
                if value is not MISSING:
                    place = pointer([*v.path, len(v.value)])
                    edit = Edit("add", place, None, value, f"{keyword}; {INVENTED}", lossless=True, invented=True)
                    plans.append(Plan(INVENT + size(value) / 40, (edit,)))
        yield plans

    def _members(self, v: _Violation) -> Iterator[list[Plan]]:
        """Too many or too few members."""
        plans = self._last_resort(v)
        bound = self._schemas_at(v.path)
        if isinstance(v.value, dict) and v.error.kind.name == "maxProperties":
            needed = {name for schema in bound for name in listed(schema, "required")}
            names = [name for name in v.value if name not in needed]
            plans += [v.without(name, v.value[name]) for name in names[-_MOST_NAMES:]]
        elif isinstance(v.value, dict):
            absent = dict.fromkeys(name for schema in bound for name in named(schema) if name not in v.value)
            for name in [*list(absent)[:_MOST_NAMES], f"placeholder{len(v.value)}"]:
                value = self.sketcher.sketch(member(bound, name))
                if value is not MISSING:
                    edit = Edit(
                        "add",
                        pointer([*v.path, name]),
                        None,
                        value,
                        f"{v.why}; {INVENTED}",
                        lossless=True,
                        invented=True,
                    )
                    plans.append(Plan(INVENT + size(value) / 40, (edit,)))
        yield plans

    def _name(self, v: _Violation) -> Iterator[list[Plan]]:
        """A member's name breaks `propertyNames`."""
        inner = v.error.kind.as_dict()["error"]
        name = inner.instance
        if not isinstance(v.value, dict) or not isinstance(name, str) or name not in v.value:
            return
        plans = [v.without(name, v.value[name])]
        options = inner.kind.as_dict().get("options", [])
        near = did_you_mean(name, [option for option in options if isinstance(option, str) and option not in v.value])
        others = _others(name, [near or name, name.lower(), name.strip(), name.upper()])
        plans += [Plan(RENAME, (_rename(v.path, name, other),)) for other in others if other not in v.value]
        yield plans

    def _alternatives(self, v: _Violation) -> Iterator[list[Plan]]:
        """No branch of `anyOf` or `oneOf` fits: mend each on its own, the cheapest is the best branch."""
        plans = self._last_resort(v)
        context = v.error.kind.as_dict()["context"][:_MOST_BRANCHES]
        if not all(context):
            # Only `oneOf` fails with a branch that fits: more than one does. What lets the others fit has to go.
            plans += self._without_member(v)
        elif v.depth < _DEEPEST_BRANCH:
            for index, errors in enumerate(context):
                mended = self.plans(v.payload, errors, v.depth + 1)
                if mended and len(mended) >= len({str(error.instance_path) for error in errors}):
                    plan = batch(mended)
                    edits = tuple(edit._replace(why=f"{edit.why}, branch {index}") for edit in plan.edits)
                    plans.append(Plan(plan.cost, edits))
                    plans += [Plan(other.cost, other.edits) for other in mended[0][1:3] if len(mended) == 1]
        yield plans

    def _without_member(self, v: _Violation) -> list[Plan]:
        members = list(v.value.items())[:_MOST_NAMES] if isinstance(v.value, dict) else []
        return [v.without(name, value) for name, value in members]

    _WAYS: ClassVar[dict[str, Callable[[Finder, _Violation], Iterator[list[Plan]]]]] = {
        "type": _type,
        "enum": _options,
        "const": _options,
        "required": _required,
        "additionalProperties": _unexpected,
        "unevaluatedProperties": _unexpected,
        "falseSchema": _false,
        **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"), _number),
        **dict.fromkeys(("pattern", "format", "minLength"), _text),
        **dict.fromkeys(("maxLength", "maxItems", "additionalItems"), _cut),
        **dict.fromkeys(("minItems", "uniqueItems", "contains", "minContains", "unevaluatedItems"), _items),
        **dict.fromkeys(("minProperties", "maxProperties"), _members),
        "propertyNames": _name,
        "anyOf": _alternatives,
        "oneOf": _alternatives,
    }


@dataclass(frozen=True)
class _Violation:
    payload: object
    path: list[str | int]
    value: Any
    error: Any
    depth: int

    @property
    def pointer(self) -> str:
        return pointer(self.path)

    @property
    def why(self) -> str:
        keyword = str(self.error.kind.name)
        if keyword == "type":
            return "type " + " or ".join(self.error.kind.as_dict()["types"])
        return "not allowed" if keyword == "falseSchema" else keyword

    def without(self, name: str, value: object, *, near: str | None = None) -> Plan:
        why = self.why if near is None else f"{self.why}; did you mean {visible(near, limit=40)}?"
        edit = Edit("remove", pointer([*self.path, name]), value, None, why, lossless=False)
        return Plan(REMOVE + size(value) / 20, (edit,))

    def replace(self, value: object, *, lossless: bool = False, why: str = "") -> Edit:
        return Edit("replace", self.pointer, self.value, value, why or self.why, lossless)

    def invent(self, value: object) -> Edit:
        return Edit(
            "replace", self.pointer, self.value, value, f"{self.why}; {INVENTED}", lossless=False, invented=True
        )


def _rename(path: list[str | int], before: str, after: str) -> Edit:
    return Edit("rename", pointer([*path, before]), before, after, _nearness(before), lossless=False)


def _nearness(name: str) -> str:
    return homoglyph_note(name) or "nearest name"


def _others(value: str, texts: Iterable[str]) -> list[str]:
    return [text for text in dict.fromkeys(texts) if text != value]


def _among(value: object, options: list[Any]) -> bool:
    return any(value == option and isinstance(value, bool) == isinstance(option, bool) for option in options)


def _single(schema: dict[str, object]) -> bool:
    options = schema.get("enum")
    return isinstance(options, list) and len(options) == 1


def _type_of(value: object) -> str:
    if isinstance(value, bool):
        return "boolean"
    names = {type(None): "null", int: "number", float: "number", str: "string", list: "array", dict: "object"}
    return names.get(type(value), "null")
