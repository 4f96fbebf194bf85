"""A tighter schema for a tool, from the good calls it had, and what it would have cost on calls it was not made from.

Fitted on half of the sessions, judged on the other half. The proposal accepts nothing that the tool's own schema
refuses. Calls made under other versions of that schema teach what the members that both have hold; of them only what
is added can be asked.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

from analyzer.contracts import dialects
from analyzer.contracts.repairs.coercion import decode
from analyzer.contracts.tightening.ideas import Idea, Klass, ideas
from analyzer.contracts.tightening.narrow import narrowable, narrowed
from analyzer.contracts.tightening.observed import Place, places
from analyzer.contracts.verdicts.bounded import Bounded, Undecided

__all__ = ["Limits", "Observation", "Proposal", "Step", "tighten"]


class Observation(NamedTuple):
    """One call: its session, the decoded payload, and whether it was good (valid, executed, not regretted)."""

    session: str
    payload: Any
    good: bool = True


@dataclass(frozen=True)
class Step:
    """One tightening of one place, judged by itself.

    `pointer` leads into the payload, `*` for every item of an array. `before` and `after` are the keywords concerned,
    `after` None where nothing was found to propose. Support counts all good calls and sessions that have the place;
    `held_out` those of the unseen half, `refused` how many of them the step would refuse. A step that is not `kept` is
    not in the proposal, and `reason` says why.
    """

    pointer: str
    klass: Klass
    before: Mapping[str, Any] | None
    after: Mapping[str, Any] | None
    support_calls: int
    support_sessions: int
    held_out: int
    refused: int
    kept: bool
    reason: str


@dataclass(frozen=True)
class Proposal:
    """The tighter schema and its price.

    `schema` is the tool's own one where nothing could be added, None where there is none. `inferred`: the tool had
    none, all of it is observation. `fitted` and `held_out` count the good calls of the two halves, `refused` those of
    the unseen half that the whole proposal would refuse; `bad` and `bad_refused` the same for all calls that were not
    good. `reason` says why nothing was proposed.
    """

    tool: str
    schema: Any
    inferred: bool
    steps: tuple[Step, ...]
    fitted: int
    held_out: int
    refused: int
    bad: int
    bad_refused: int
    reason: str = ""
    elsewhere: int = 0

    @property
    def refused_share(self) -> float:
        """The share of good held-out calls that the proposal would refuse."""
        return self.refused / self.held_out if self.held_out else 0.0


@dataclass(frozen=True)
class Limits:
    """How much must have been seen, and how many good calls of the unseen half a tightening may refuse."""

    calls: int = 20
    sessions: int = 3
    refused: float = 0.01


_LIMITS = Limits()


_NOTHING = Bounded({})


class _Call(NamedTuple):
    """A good call; `own` where it was made under the version of the schema that is tightened."""

    session: str
    value: Any
    fitted: bool
    own: bool


class _Schema(NamedTuple):
    """A tool's schema with some keywords added, and those keywords alone."""

    whole: Bounded
    added: Bounded

    def passes(self, call: _Call) -> bool:
        # What another version was given lacks what this one wants besides: that is no fault of what is added.
        return _passes(self.whole, call.value) if call.own else _passes(self.added, call.value, counted=False)


def tighten(
    observations: Iterable[tuple[str, Any, bool]],
    schema: Any = None,
    *,
    elsewhere: Iterable[tuple[str, Any, bool]] = (),
    tool: str = "",
    role: Literal["arguments", "output"] = "arguments",
    seed: int = 0,
    dialect: str = dialects.DEFAULT,
    limits: Limits = _LIMITS,
) -> Proposal:
    """Propose the tightest schema that the good calls of half of the sessions carry, judged on the other half.

    Args:
        observations: (session, decoded payload, good) per call; outputs may be texts that hold JSON, those are decoded.
        schema: What the tool has; None has all of it inferred.
        elsewhere: The same of calls made under other versions of the schema; of them the good ones count.
        tool: The tool's name, for the report.
        role: Which of the tool's payloads these are.
        seed: Another seed splits the sessions otherwise; one seed always splits them alike.
        dialect: The schema's dialect where it names none.
        limits: Support that a member needs, and the share of good calls that may be lost.
    """
    inferred = schema is None
    try:
        old = Bounded({} if inferred else schema, dialect=dialect)
    except Undecided as error:
        return Proposal(tool, schema, inferred, (), 0, 0, 0, 0, 0, f"the schema cannot be judged by: {error}")
    good: list[_Call] = []
    bad: list[tuple[Any, bool]] = []
    for session, payload, is_good in observations:
        value = _decoded(payload) if role == "output" else payload
        passes = _passes(old, value, counted=False)
        if is_good and passes:
            good.append(_Call(session, value, fitted=False, own=True))
        else:
            bad.append((value, passes))
    own = len(good)
    for session, payload, is_good in elsewhere:
        if is_good:
            value = _decoded(payload) if role == "output" else payload
            good.append(_Call(session, value, fitted=False, own=False))
    fitted = _half({call.session for call in good}, seed)
    calls = [call._replace(fitted=call.session in fitted) for call in good]
    reason = "" if inferred else narrowable(schema)
    if not reason and len(calls) > own == 0:
        reason = "no good call was made under this version"
    if not reason and (len(calls) < limits.calls or len({call.session for call in calls}) < limits.sessions):
        reason = f"fewer than {limits.calls} good calls over {limits.sessions} sessions"
    if not reason and role == "output" and not any(isinstance(call.value, dict | list) for call in calls):
        reason = "no output holds an object or an array"
    steps: list[Step] = []
    proposed = _Schema(old, _NOTHING)
    if not reason:
        shape_klass: Klass | None = None if not inferred else "output" if role == "output" else "schema"
        steps, proposed = _Trial(old, calls, limits).run(shape_klass)
        reason = "" if any(step.kept for step in steps) else "nothing to tighten"
    refused = sum(not proposed.passes(call) for call in calls if not call.fitted)
    bad_refused = sum(not passes or not _passes(proposed.whole, value) for value, passes in bad)
    result = schema if proposed.whole is old else proposed.whole.schema
    return Proposal(
        tool,
        result,
        inferred,
        tuple(steps),
        sum(call.fitted for call in calls),
        sum(not call.fitted for call in calls),
        refused,
        len(bad),
        bad_refused,
        reason,
        len(calls) - own,
    )


class _Trial:
    """The good calls, split, and the ideas tried on them one by one and then together."""

    def __init__(self, old: Bounded, calls: list[_Call], limits: Limits) -> None:
        self.old = old
        self.calls = calls
        self.limits = limits
        self.places = places((call.session, call.value, call.fitted) for call in calls)
        self.held_out = [call for call in calls if not call.fitted]

    def run(self, shape_klass: Klass | None) -> tuple[list[Step], _Schema]:
        """All steps in the order of their places, and the schema with the kept ones."""
        steps: list[Step] = []
        kept: dict[int, Idea] = {}
        for path, place in self.places.items():
            if len(place.calls) < self.limits.calls or len(place.sessions) < self.limits.sessions:
                continue
            # A member that this version's calls do not have may be one that it took away.
            if not any(self.calls[number].own for number in place.calls):
                continue
            for alternatives in ideas(self.old.schema, path, place, shape_klass):
                for idea in alternatives:
                    steps.append(self._step(idea, place))
                    if steps[-1].kept:
                        kept[len(steps) - 1] = idea
                        break
        while True:
            whole = _with(self.old, kept.values())
            if whole and not self._too_many([call for call in self.held_out if not whole.passes(call)], self.held_out):
                return steps, whole
            # Each is cheap and together they are not: the dearest goes first.
            dearest = max(kept, key=lambda number: steps[number].refused)
            del kept[dearest]
            reason = "together with the others it would refuse too many good calls"
            steps[dearest] = replace(steps[dearest], kept=False, reason=reason)

    def _step(self, idea: Idea, place: Place) -> Step:
        held = [self.calls[number] for number in sorted(place.calls) if not self.calls[number].fitted]
        reason, refused = idea.rejected, list[_Call]()
        if not reason:
            tighter = _with(self.old, [idea])
            refused = [call for call in held if not tighter.passes(call)] if tighter else []
            if tighter is None:
                reason = "the engine cannot use it"
            elif not held:
                reason = "no good call of the unseen half has it"
            elif self._too_many(refused, held):
                reason = f"would refuse {len(refused)} of {len(held)} good calls of the unseen half"
        return Step(
            idea.pointer,
            idea.klass,
            idea.before,
            idea.after,
            len(place.calls),
            len(place.sessions),
            len(held),
            len(refused),
            not reason,
            reason,
        )

    def _too_many(self, refused: list[_Call], calls: list[_Call]) -> bool:
        """Of all calls, and of those of this version: many older ones shall not outvote a few new ones."""
        own = sum(call.own for call in refused), sum(call.own for call in calls)
        return any(some > self.limits.refused * of for some, of in ((len(refused), len(calls)), own))


def _with(old: Bounded, chosen: Iterable[Idea]) -> _Schema | None:
    schema, added = old.schema, _NOTHING.schema
    for idea in chosen:
        schema = narrowed(schema, idea.path, idea.keywords)
        added = narrowed(added, idea.path, idea.keywords)
    try:
        if schema is old.schema:
            return _Schema(old, _NOTHING)
        return _Schema(Bounded(schema, dialect=old.dialect), Bounded(added, dialect=old.dialect))
    except Undecided:
        return None


def _passes(bounded: Bounded, value: Any, *, counted: bool = True) -> bool:
    # A tightened schema takes a few steps more than the one it comes from, whose steps were counted for every payload.
    try:
        return bounded.valid(value, counted=counted)
    except Undecided:
        return False


def _decoded(payload: Any) -> Any:
    found = decode(payload) if isinstance(payload, str) else None
    return found.value if found and isinstance(found.value, dict | list) else payload


def _half(sessions: Iterable[str], seed: int) -> set[str]:
    """One half of the sessions, the larger one: by a hash of their names, whatever their order."""

    def draw(session: str) -> bytes:
        return hashlib.blake2b(f"{seed}:{session}".encode("utf-8", "surrogatepass"), digest_size=16).digest()

    drawn = sorted(set(sessions), key=lambda session: (draw(session), session))
    return set(drawn[: (len(drawn) + 1) // 2])
