"""Two versions of one schema in words: which accepts more, whom that breaks, and by which change first."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from analyzer.rules.payloads import NO_JSON


class Direction(NamedTuple):
    """How the second version stands to the first."""

    relation: str
    breaks: bool
    words: str
    pointer: str  # of the change that is named first
    confidence: str | None
    wording_only: bool


def direction(
    a: Any,
    b: Any,
    role: str,
    *,
    second: str,
    strict: bool = False,
    shown: bool = False,
    payloads: Iterable[Any] = (),
    wording: bool = False,
) -> Direction | None:
    """How `b` stands to `a`, or None where both promise the same; `second` names `b` in the words.

    With `shown` `a` is what a model was shown of `b`: that its objects were closed on the way is no difference. With
    `wording` new words alone are told too.
    """
    if a is NO_JSON or b is NO_JSON:  # deeper than the decoder goes
        return None
    from analyzer.contracts.comparison.compare import (  # loads the engine, which most audits never need here
        breaking,
        compare,
    )

    compared = compare(a, b, provider_strict=strict, payloads=payloads)
    if compared.relation == "equal":
        if not (wording and compared.changes):
            return None
        return Direction("equal", False, "only its wording changed", compared.changes[0].pointer, None, True)
    if shown and compared.relation == "wider" and compare(a, b, provider_strict=True).relation == "equal":
        return None
    kept = [change for change in compared.changes if change.direction != "none"] or list(compared.changes)
    breakage = breaking(compared, role="arguments" if role == "arguments" else "output")
    first = kept[0] if kept else None
    named = "; ".join(f"{change.kind.replace('_', ' ')} at {change.pointer or 'the root'}" for change in kept[:3])
    undecided = compared.relation == "unknown" and compared.witness_a is None and compared.witness_b is None
    how = "different, and not decided which is wider" if compared.relation == "unknown" else compared.relation
    return Direction(
        relation=compared.relation,
        breaks=breakage.verdict == "breaking",
        words=f"{second} is {how}" + (f" ({named})" if named else "") + f"; {breakage.reason}",
        pointer=first.pointer if first else "",
        confidence="hint" if undecided else None,
        wording_only=compared.description_only,
    )
