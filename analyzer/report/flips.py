"""A replay on paper: which verdicts flip, by tool, place and keyword, with sample calls; and what else changes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import polars as pl

from analyzer import pointer as pointers
from analyzer.replay.against import Replayed
from analyzer.report.accounts import counted
from analyzer.report.naming import bare
from analyzer.report.paper import Paper, Words
from analyzer.visible import visible

_SAMPLES = 3
_GROUPS = 40


class Group(NamedTuple):
    """Payloads that change in one way, over one keyword at one place."""

    change: str
    tool: str
    role: str
    pointer: str
    keyword: str
    calls: list[dict[str, Any]]


# What became of a payload, worst first; the last ones only where something is worth telling.
CHANGES = {
    "broken": "passed, and would fail",
    "other version": "passed under another version of the tool than these contracts follow, and would fail",
    "caught": "passed although an error was found in it, and would fail",
    "newly judged": "was not judged, and would fail",
    "still refused": "failed, and would fail at other places",
    "unjudged": "was judged, and could not be",
    "mended": "failed, and would pass",
}
_STYLES = {"broken": "error", "other version": "error", "newly judged": "warning", "unjudged": "warning"}


def change_of(row: dict[str, Any]) -> str | None:
    """What becomes of one row of FLIPS; None where nothing does."""
    before, after = row["before"], row["after"]
    if after == "invalid":
        if before == "invalid":
            return "still refused" if _new(row) else None
        if before != "valid":
            return "newly judged"
        return "caught" if row["regretted"] else "other version" if row["version"] else "broken"
    if after == "unverifiable":
        return "unjudged" if before in ("valid", "invalid") else None
    return "mended" if before == "invalid" else None


def _new(row: dict[str, Any]) -> list[tuple[str, str]]:
    """Places and keywords that fail now and did not before."""
    known = {(each["pointer"], each["keyword"]) for each in row["keywords_before"] or []}
    found = [(each["pointer"], each["keyword"]) for each in row["failures"]]
    return [each for each in found if each not in known]


def groups(replayed: Replayed) -> list[Group]:
    """The changes, worst first, by tool, role, place and keyword."""
    found: dict[tuple[str, str, str, str, str], Group] = {}
    for row in replayed.flips.iter_rows(named=True):
        change = change_of(row)
        if change is None:
            continue
        for pointer, keyword in _places(change, row):
            key = (change, row["tool"], row["role"], pointers.star(pointer), keyword)
            calls = found.setdefault(key, Group(*key, [])).calls
            if not calls or calls[-1] is not row:
                calls.append(row)
    order = list(CHANGES)
    return sorted(found.values(), key=lambda group: (order.index(group.change), -len(group.calls), group[1:5]))


def _places(change: str, row: dict[str, Any]) -> Iterator[tuple[str, str]]:
    if change == "mended":
        yield from (
            (each["pointer"], each["keyword"]) for each in row["keywords_before"] or [{"pointer": "", "keyword": ""}]
        )
    elif change == "unjudged":
        yield "", row["reason"] or ""
    elif change == "still refused":
        yield from _new(row)
    else:
        yield from (
            (each["pointer"], each["keyword"]) for each in row["failures"] or [{"pointer": "", "keyword": "json"}]
        )


def counts(replayed: Replayed) -> dict[str, int]:
    """How many payloads were judged, keep their verdict, and change in each way."""
    found = dict.fromkeys(CHANGES, 0)
    for row in replayed.flips.iter_rows(named=True):
        change = change_of(row)
        if change is not None:
            found[change] += 1
    passed = replayed.flips.filter((pl.col("before") == "valid") & ~pl.col("regretted")).height
    return {"judged": replayed.flips.height, "passed before": passed, **found}


def told(paper: Paper, replayed: Replayed) -> None:
    """The whole report."""
    told_counts = counts(replayed)
    _first_line(paper, told_counts)
    listed = groups(replayed)
    change = None
    for group in listed[:_GROUPS]:
        if group.change != change:
            change = group.change
            paper.heading(f"{CHANGES[change].capitalize()}: {told_counts[change]}")
        _group(paper, group)
    if len(listed) > _GROUPS:
        paper.line(f"and {len(listed) - _GROUPS} more kinds", indent=2)
    if replayed.left:
        paper.heading("Called, and not in these contracts")
        paper.wrapped(
            ", ".join(visible(tool, limit=80) for tool in sorted({bare(tool) for tool in replayed.left})), indent=2
        )


def _first_line(paper: Paper, told_counts: dict[str, int]) -> None:
    elsewhere, broken = told_counts["other version"], told_counts["broken"]
    passed = told_counts["passed before"] - elsewhere
    share = f" ({broken / passed * 100:.1f} %)" if passed else ""
    words: list[Words] = [f"{counted(told_counts['judged'], 'payload')} judged; "]
    if passed:
        words.append(f"of {passed} that passed ")
        words.append((f"{broken} would fail{share}", "error") if broken else "none would fail")
    else:
        words.append("none had passed before")
    if elsewhere:
        words += ["; ", (f"{elsewhere} more, made under another version of the tool, would fail", "error")]
    if told_counts["caught"]:
        words.append(f"; {told_counts['caught']} more, in which an error was found, would be refused")
    if told_counts["mended"]:
        words.append(f"; {told_counts['mended']} that failed would pass")
    paper.wrapped(*words)


def _group(paper: Paper, group: Group) -> None:
    place = visible(group.pointer, limit=200) or "(root)"
    head: list[Words] = [(f"{len(group.calls):>4} ", _STYLES.get(group.change, "dim"))]
    head += [(visible(bare(group.tool), limit=100), "head"), f" {group.role}  ", (place, "guilty")]
    paper.wrapped(*head, f"  {visible(group.keyword)}", indent=2, hang=5)
    for row in group.calls[:_SAMPLES]:
        paper.wrapped((f"{_name(row)}", "place"), *_sides(group, row), indent=9, hang=2)
    if len(group.calls) > _SAMPLES:
        paper.line((f"and {len(group.calls) - _SAMPLES} more", "dim"), indent=9)


def _name(row: dict[str, Any]) -> str:
    return f"{visible(row['session'] or '-', limit=60)} {visible(row['call_id'] or '-', limit=60)}"


def _sides(group: Group, row: dict[str, Any]) -> list[Words]:
    for each in row["failures"]:
        if pointers.star(each["pointer"]) == group.pointer and each["keyword"] == group.keyword:
            expected, actual = visible(each["expected"] or "", limit=80), visible(each["actual"] or "nothing", limit=80)
            return [f"  wants {expected}, and there is {actual}"]
    return []


def record(replayed: Replayed) -> dict[str, Any]:
    """The same for programs, with every changed payload."""
    rows = []
    for row in replayed.flips.iter_rows(named=True):
        change = change_of(row)
        if change is not None:
            rows.append({"change": change, **{name: row[name] for name in row if name != "call"}})
    return {
        "schema": "analyzer.replay/v1",
        "counts": {name.replace(" ", "_"): count for name, count in counts(replayed).items()},
        "groups": [
            {
                "change": group.change,
                "tool": bare(group.tool),
                "role": group.role,
                "pointer": group.pointer,
                "keyword": group.keyword,
                "count": len(group.calls),
                "samples": [{"session": row["session"], "call_id": row["call_id"]} for row in group.calls[:_SAMPLES]],
            }
            for group in groups(replayed)
        ],
        "changed": [{**row, "tool": bare(row["tool"])} for row in rows],
        "not_covered": [bare(tool) for tool in replayed.left],
    }
