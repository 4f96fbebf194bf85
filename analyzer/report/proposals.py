"""Tighter schemas on paper: what is proposed at each place, what it stands on, and what it would have cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from analyzer.contracts.tightening.tighten import Proposal, Step
from analyzer.report.paper import Paper, Words
from analyzer.visible import visible, visible_value

_MOST_SHOWN = 300
_MOST_NAMED = 8


class Version(NamedTuple):
    """Which version of the tool's schema is tightened, and what is known of the others."""

    number: int | None
    newest: int
    other_calls: int
    later: tuple[int, str | None] | None


class Proposed(NamedTuple):
    """A proposal and what it is for."""

    tool: str
    server: str | None
    name: str
    role: str
    version: Version
    proposal: Proposal


def told(paper: Paper, proposed: Sequence[Proposed], *, every: bool) -> None:
    """By tool and role; with `every` also the steps that were dropped, and tools of which nothing was learnt."""
    silent: dict[str, list[str]] = {}
    for each in proposed:
        proposal = each.proposal
        if not any(step.kept for step in proposal.steps) and not every:
            silent.setdefault(visible(proposal.reason), []).append(f"{_label(each)} {each.role}")
            continue
        paper.blank()
        paper.line((_label(each), "head"), f"  {each.role}")
        if proposal.inferred:
            paper.wrapped(
                ("inferred: ", "warning"), "the tool has no such schema, all of it is observation", indent=2, hang=4
            )
        if each.version.other_calls or each.version.newest != (each.version.number or 0):
            paper.wrapped(*_version(each), indent=2, hang=4)
        paper.wrapped(_price(each), indent=2, hang=4)
        if proposal.reason:
            paper.wrapped(visible(proposal.reason), indent=2, hang=4)
        for step in proposal.steps:
            if step.kept or every:
                _step(paper, step)
    if silent:
        paper.heading("Nothing proposed")
        for reason, those in silent.items():
            if len(those) > _MOST_NAMED:
                paper.wrapped(f"{len(those)} payloads of tools: {reason} (--all names them)", indent=2, hang=4)
            else:
                paper.wrapped(f"{', '.join(those)}: {reason}", indent=2, hang=4)


def _label(each: Proposed) -> str:
    return visible(f"{each.server}/{each.name}" if each.server else each.name, limit=100)


def _price(each: Proposed) -> str:
    proposal = each.proposal
    held = f"{proposal.refused} of {proposal.held_out} good calls of the other half"
    text = f"fitted on {proposal.fitted} good calls; would refuse {held} ({proposal.refused_share * 100:.1f} %)"
    if proposal.bad:
        text += f", and {proposal.bad_refused} of {proposal.bad} that were not good"
    return text


def _version(each: Proposed) -> list[Words]:
    version, taught = each.version, each.proposal.elsewhere
    which = (
        "the newest version" if version.number == version.newest else f"not for the newest version, @{version.newest}"
    )
    told: list[Words] = [(f"for @{version.number}, {which}", "head" if version.number == version.newest else "warning")]
    if version.other_calls:
        told.append(
            f"; of {version.other_calls} calls under others {taught} good ones teach what the members that both have "
            f"hold, and may lack what @{version.number} wants besides"
        )
    if version.later is not None:
        number, session = version.later
        told.append(f"; @{number} was advertised after it, last in {visible(session or '-', limit=100)}: ")
        told.append((f"--tool {_label(each)}@{number}", "head"))
        told.append(" tightens that")
    return told


def _step(paper: Paper, step: Step) -> None:
    place = visible(step.pointer, limit=200) or "(root)"
    after = visible_value(step.after, limit=_MOST_SHOWN) if step.after is not None else "nothing"
    mark = "+ " if step.kept else "- "
    paper.wrapped((mark, "expected"), (place, "name"), f"  {step.klass}  ", (after, "expected"), indent=2, hang=4)
    support = (
        f"{step.support_calls} calls in {step.support_sessions} sessions; refuses {step.refused} of {step.held_out}"
    )
    paper.wrapped((support if step.kept else f"{support}; {visible(step.reason)}", "dim"), indent=6, hang=2)


def records(proposed: Sequence[Proposed]) -> list[dict[str, Any]]:
    """The same for programs, with all steps."""
    return [
        {
            "tool": each.tool,
            "role": each.role,
            "inferred": each.proposal.inferred,
            "reason": each.proposal.reason or None,
            "fitted": each.proposal.fitted,
            "held_out": each.proposal.held_out,
            "refused": each.proposal.refused,
            "refused_share": round(each.proposal.refused_share, 4),
            "bad": each.proposal.bad,
            "bad_refused": each.proposal.bad_refused,
            "version": each.version.number,
            "newest_version": each.version.newest or None,
            "advertised_after": each.version.later[0] if each.version.later else None,
            "other_versions": each.version.other_calls,
            "learnt_elsewhere": each.proposal.elsewhere,
            "steps": [
                {
                    "pointer": step.pointer,
                    "class": step.klass,
                    "before": step.before,
                    "after": step.after,
                    "calls": step.support_calls,
                    "sessions": step.support_sessions,
                    "held_out": step.held_out,
                    "refused": step.refused,
                    "kept": step.kept,
                    "reason": step.reason or None,
                }
                for step in each.proposal.steps
            ],
            "schema": each.proposal.schema,
        }
        for each in proposed
    ]


def contract_file(proposed: Sequence[Proposed]) -> dict[str, dict[str, Any]]:
    """A contract file of what was tightened or inferred; a schema that is observation alone says so in `$comment`."""
    found: dict[str, dict[str, Any]] = {}
    for each in proposed:
        proposal = each.proposal
        if not any(step.kept for step in proposal.steps):
            continue
        schema = proposal.schema
        if proposal.inferred and isinstance(schema, Mapping):
            count = f"inferred from {proposal.fitted} recorded calls; the tool itself has no such schema"
            schema = {"$comment": count, **schema}
        found.setdefault(f"{each.server}/{each.name}" if each.server else each.name, {})[each.role] = schema
    return found
