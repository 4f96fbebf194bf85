"""Two versions of one contract: which values each accepts that the other does not, and whom that breaks.

Arguments are accepted by the host: when it comes to accept less, callers break. Results are promised by it: when it
comes to promise less, readers break. A relation is stated only when it is proved, and two schemas are incomparable only
when there is a value for either side; the rest is `unknown`, with a reason.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from analyzer.contracts.comparison.changes import Change, changes
from analyzer.contracts.comparison.normalise import MAX_VALUES, extent, normal
from analyzer.contracts.comparison.side import Side
from analyzer.contracts.comparison.subset import Prover
from analyzer.contracts.comparison.tidy import spell, text
from analyzer.contracts.comparison.witness import probes
from analyzer.contracts.verdicts.bounded import Undecided
from analyzer.pointer import pointer

__all__ = [
    "Breakage",
    "Change",
    "Comparison",
    "Difference",
    "Disagreement",
    "Witness",
    "breaking",
    "compare",
    "structural_difference",
    "witnesses",
]

#: Values tried in search of a witness, and in doubt of a proof.
MAX_PROBES = 2_000
MAX_DOUBTS = 100
#: Tries times characters of both schemas: large ones are tried less often.
MAX_WORK = 6_000_000
#: Levels of nesting up to which two values that are no schemas are still told apart.
MAX_DEPTH = 300
#: Levels up to which a difference is shown in detail; its cost is the square of them.
MAX_SHOWN_DEPTH = 60

_WORDING = ("description", "title", "examples", "annotation")


class Witness(NamedTuple):
    """A value that one of two schemas accepts and the other refuses; it may be None, which is JSON's null."""

    value: Any


@dataclass(frozen=True, slots=True)
class Comparison:
    """How `b` stands to `a`.

    `relation` is `equal`, `wider` (proved: `b` accepts all that `a` accepts), `narrower` (the other way round),
    `incomparable` (a witness for either side) or `unknown`. `reason` says why it is unknown: `undecided`, or what is
    wrong with a schema (`schema_invalid`, `schema_unresolvable`, `schema_too_deep`, `schema_too_large`). `witness_a` is
    accepted by `a` alone, `witness_b` by `b` alone; without one a wider schema may in fact be equal.
    `description_only` is true when nothing but wording changed.
    """

    relation: Literal["equal", "wider", "narrower", "incomparable", "unknown"]
    reason: str
    description_only: bool
    changes: tuple[Change, ...]
    witness_a: Witness | None
    witness_b: Witness | None


class Breakage(NamedTuple):
    """Whether a change breaks the other side of a contract, and why in one sentence."""

    verdict: Literal["none", "breaking", "unknown"]
    reason: str


class Difference(NamedTuple):
    """One structural difference: the pointer, what happened there, and both values (None where there is none)."""

    pointer: str
    change: str
    old: Any
    new: Any


class Disagreement(NamedTuple):
    """A payload on which two schemas disagree: its position among those given, and which of the two accepts it."""

    position: int
    payload: Any
    accepted_by: Literal["a", "b"]


def compare(
    a: Any, b: Any, *, provider_strict: bool = False, assert_formats: bool = False, payloads: Iterable[Any] = ()
) -> Comparison:
    """Compare two versions of a schema; `payloads` are recorded values to look for witnesses in before making any.

    Never raises: a value that is no schema is `unknown`, unless both are the same.
    """
    old, new = (normal(schema, provider_strict=provider_strict) for schema in (a, b))
    if old.fault or new.fault:
        if _same(old.schema, new.schema):
            return Comparison("equal", "", False, (), None, None)
        return Comparison("unknown", old.fault or new.fault, False, (), None, None)
    named = changes(old, new, assert_formats=assert_formats)
    wording = bool(named) and all(change.kind.removesuffix("_changed") in _WORDING for change in named)
    if spell(old.schema) == spell(new.schema):
        return Comparison("equal", "", wording, named, None, None)
    try:
        left, right = (Side(schema, assert_formats=assert_formats) for schema in (old.schema, new.schema))
    except Undecided as undecided:
        reason = "schema_invalid" if str(undecided).startswith(("engine", "not")) else "schema_too_large"
        return Comparison("unknown", reason, wording, named, None, None)
    forth = Prover(old.schema, new.schema, assert_formats=assert_formats).proves(old.schema, new.schema)
    back = Prover(new.schema, old.schema, assert_formats=assert_formats).proves(new.schema, old.schema)
    only_a, only_b = _search(left, right, payloads, forth=forth, back=back)
    relation = _relation(forth and only_a is None, back and only_b is None, only_a, only_b)
    return Comparison(relation, "undecided" if relation == "unknown" else "", wording, named, only_a, only_b)


def _relation(
    forth: bool,  # noqa: FBT001 - two proofs, in the order of their names
    back: bool,  # noqa: FBT001
    only_a: Witness | None,
    only_b: Witness | None,
) -> Literal["equal", "wider", "narrower", "incomparable", "unknown"]:
    if forth:
        return "equal" if back else "wider"
    if back:
        return "narrower"
    return "incomparable" if only_a is not None and only_b is not None else "unknown"


def _search(
    left: Side, right: Side, payloads: Iterable[Any], *, forth: bool, back: bool
) -> tuple[Witness | None, Witness | None]:
    """Look for a value of either side; what is proved not to exist is still looked for a little, for proofs may err."""
    only_a: Witness | None = None
    only_b: Witness | None = None
    enough = max(MAX_DOUBTS, min(MAX_PROBES, MAX_WORK // (1 + len(text([left.document, right.document])))))
    for tried, value in enumerate(_candidates(left, right, payloads, enough)):
        if (only_a or (forth and tried >= MAX_DOUBTS)) and (only_b or (back and tried >= MAX_DOUBTS)):
            break
        in_a = left.judges(value)
        in_b = None if in_a is None else right.judges(value)
        if in_a and in_b is False:
            only_a = only_a or Witness(value)
        elif in_b and in_a is False:
            only_b = only_b or Witness(value)
    return only_a, only_b


def _candidates(left: Side, right: Side, payloads: Iterable[Any], enough: int) -> Iterator[Any]:
    yield from payloads
    seen: set[str] = set()
    for value in probes(left, right):
        spelled = text(value)
        if spelled not in seen:
            seen.add(spelled)
            yield value
        if len(seen) >= enough:
            break


def _same(a: Any, b: Any) -> bool:
    return a is b or (_small([a, b], MAX_DEPTH) and spell(a) == spell(b))


def _small(value: Any, levels: int) -> bool:
    found, values = extent(value)
    return found <= levels and values <= MAX_VALUES


def breaking(comparison: Comparison, *, role: Literal["arguments", "output", "final"]) -> Breakage:
    """Say whether going from `a` to `b` breaks those on the other side of a contract of this role."""
    accepted = role == "arguments"
    witness = comparison.witness_a if accepted else comparison.witness_b
    whom = "callers" if accepted else "readers"
    if witness is not None:
        what = "accepted before are refused now" if accepted else "never promised before may come now"
        return Breakage("breaking", f"{whom} break: values that were {what}")
    if comparison.relation in ("equal", "wider" if accepted else "narrower"):
        kept = "every value accepted before is accepted still" if accepted else "every value promised now was so before"
        return Breakage("none", f"{whom} are safe: {kept}")
    if comparison.relation == "unknown":
        return Breakage("unknown", f"not decided: {comparison.reason}")
    return Breakage("unknown", f"the schema is {comparison.relation}, but no value was found that shows it to {whom}")


def structural_difference(a: Any, b: Any) -> list[Difference]:
    """List how two JSON values differ in structure, sorted by place; where they are too large, only that they do."""
    if not _small([a, b], MAX_SHOWN_DEPTH):
        return [Difference("", "values_changed", a, b)]
    from deepdiff import DeepDiff  # costs more than all of this module; only a shown difference needs it

    tree = DeepDiff(a, b, view="tree", verbose_level=2, threshold_to_diff_deeper=0)
    found = []
    for change, levels in tree.items():
        for level in levels:
            place = pointer(level.path(output_format="list"))
            old, new = (None if "not present" in repr(side) else side for side in (level.t1, level.t2))
            found.append(Difference(place, change.removeprefix("iterable_").removeprefix("dictionary_"), old, new))
    return sorted(found, key=lambda d: (d.pointer, d.change, spell(d.old), spell(d.new)))


def witnesses(a: Any, b: Any, payloads: Iterable[Any], *, assert_formats: bool = False) -> list[Disagreement]:
    """List the payloads that one schema accepts and the other refuses, in the order given.

    A payload that cannot be judged under both is not among them, and a schema that is none disagrees with nothing.
    """
    old, new = normal(a), normal(b)
    if old.fault or new.fault:
        return []
    try:
        left, right = (Side(schema, assert_formats=assert_formats) for schema in (old.schema, new.schema))
    except Undecided:
        return []
    found = []
    for position, payload in enumerate(payloads):
        in_a, in_b = left.judges(payload), right.judges(payload)
        if in_a is not None and in_b is not None and in_a != in_b:
            found.append(Disagreement(position, payload, "a" if in_a else "b"))
    return found
