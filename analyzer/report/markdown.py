"""Markdown for an incident ticket: what broke, where, by which schema, what to do, and what nobody could judge.

Everything that comes from a log stands in code spans, where no viewer looks for links, mentions, references or markup.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import polars as pl

from analyzer.report.accounts import REASONS, counted, covered, errors_of, idle_rules, more_kinds, tallied
from analyzer.report.borne import Borne, borne_of
from analyzer.report.finding import CHANNELS, meant, origin, place_of
from analyzer.report.json import records
from analyzer.report.text import faults
from analyzer.visible import visible

if TYPE_CHECKING:
    from analyzer.auditing import Audit

_TOLD = 25  # different faults told in full
_LISTED = 40  # and with a line each
_RUN = re.compile("`+")


def pieces(audit: Audit, *, next_command: str | None = None) -> Iterator[bytes]:
    """The ticket, in pieces."""
    for block in _blocks(audit, next_command):
        yield block.encode("utf-8", "backslashreplace") + b"\n\n"


def code(text: str, *, limit: int = 300, in_table: bool = False) -> str:
    """Foreign text as a code span, whatever it holds."""
    shown = visible(text, limit=limit) or " "
    if in_table:
        shown = shown.replace("|", r"\|")  # a cell is cut at a bar before code is looked for
    fence = "`" * (max((len(run) for run in _RUN.findall(shown)), default=0) + 1)
    pad = " " if shown[:1] in "` " or shown[-1:] in "` " else ""
    return f"{fence}{pad}{shown}{pad}{fence}"


def _blocks(audit: Audit, next_command: str | None) -> Iterator[str]:
    found, held = faults(audit.findings), borne_of(audit.findings)
    yield "# Session trace audit"
    yield (
        f"**{tallied(audit)}** in {counted(audit.summary['sessions'], 'session')}, "
        f"{counted(audit.summary['calls'], 'call')} and {counted(audit.summary['results'], 'result')}; "
        f"{covered(audit.summary, audit.hops)}."
    )
    for rule, error in audit.crashed:
        yield f"**{rule} crashed and judged nothing:** {code(error)}"
    if found.height:
        yield "## Where to look first"
        yield _list(found.head(_LISTED))
        if found.height > _LISTED:
            left = found.slice(_LISTED)
            yield f"and {more_kinds(left.height, int(left['times'].sum()))}; the JSON report has all."
        told = found.filter(pl.col("severity") != "info").head(_TOLD)
        if told.height:
            yield "## Findings"
        for number, (times, row) in enumerate(
            zip(told["times"], records(audit.findings[told["row"].to_list()]), strict=True), 1
        ):
            yield from _finding(row, number, times)
    yield from _borne(held)
    yield from _unjudged(audit)
    yield from _read(audit)
    if next_command:
        yield "## Next"
        yield f"```sh\n{next_command}\n```"


def _list(found: pl.DataFrame) -> str:
    rows = ["| | rule | times | tool | call, or session |", "|---|---|--:|---|---|"]
    for row in found.iter_rows(named=True):
        tool = code(row["tool"], limit=60, in_table=True) if row["tool"] else ""
        call = row["call_id"] or row["session"]
        called = code(call, limit=60, in_table=True) if call else ""
        rows.append(f"| {row['severity']} | {row['rule']} {row['slug']} | {row['times']} | {tool} | {called} |")
    return "\n".join(rows)


def _finding(row: dict[str, Any], number: int, times: int) -> Iterator[str]:
    sure = "" if row["confidence"] == "certain" else f", {row['confidence']}"
    often = f", {times} times" if times > 1 else ""
    yield f"### {number}. {row['rule']} {row['slug']} ({row['severity']}{sure}{often})"
    yield code(row["message"], limit=1000)
    if row["failures"]:
        lines = ["| member | expected | actual |", "|---|---|---|"]
        for failure in row["failures"]:
            expected = f"{failure['keyword'] or ''} {failure['expected'] or ''}".strip()
            sides = (meant(failure) or "(root)", expected, failure["actual"] or "nothing there")
            lines.append("| " + " | ".join(code(side, in_table=True) for side in sides) + " |")
        yield "\n".join(lines)
    told = [
        f"- {word}: {code(row[key], limit=100)}"
        for word, key in (("session", "session"), ("turn", "turn"), ("call", "call_id"), ("tool", "tool"))
        if row[key]
    ]
    if row["location"] is not None:
        told.append(f"- at {code(place_of(row['location']), limit=2000)}")
    told += [
        f"- {code(other['role'] or 'see', limit=30)}: {code(place_of(other['location']), limit=2000)}"
        for other in row["related"][:4]
        if other["location"] is not None
    ]
    if row["contract"] is not None:
        contract = row["contract"]
        where = f" at {code(place_of(contract), limit=2000)}" if contract["file"] is not None else ""
        channel = contract["channel"]
        whose = origin(channel) if channel in CHANNELS else code(channel or "?")
        told.append(f"- judged by schema {code(contract['schema_id'] or '?')}, {whose}{where}")
    if row["hint"]:
        told.append(f"- do: {code(row['hint'], limit=1000)}")
    told.append(f"- group `{row['group']}`, fingerprint `{row['fingerprint']}`")
    yield "\n".join(told)


def _borne(held: Borne) -> Iterator[str]:
    if held.suppressed:
        rows = ["| rule | tool | call, or session | why | until |", "|---|---|---|---|---|"]
        for row in held.listed:
            cells = (code(text, in_table=True) if text else "" for text in (row.tool, row.call, row.reason))
            rows.append(f"| {row.rule} | {' | '.join(cells)} | {row.until} |")
        yield "## Suppressed"
        yield "\n".join(rows)
        if held.suppressed > len(held.listed):
            yield f"and {held.suppressed - len(held.listed)} more suppressed findings; the JSON report has all."
    if held.known:
        yield "## Known"
        yield f"{counted(held.known, 'finding')} of the baseline: " + ", ".join(f"{n} {rule}" for rule, n in held.rules)


def _unjudged(audit: Audit) -> Iterator[str]:
    verdicts = audit.summary["verdicts"]
    yield "## What was judged"
    undecided = sum(verdicts["unverifiable"].values())
    judged = f"{verdicts['valid']} valid, {verdicts['invalid']} invalid, {undecided} unverifiable"
    lines = [f"- {judged}: {covered(audit.summary, audit.hops)}"]
    lines += [
        f"- {count} `{reason}`: {REASONS.get(reason, '')}" for reason, count in sorted(verdicts["unverifiable"].items())
    ]
    if (errors := errors_of(audit.summary)) is not None:
        lines.append(f"- {errors}")
    lines += [f"- did not run: {rules} ({visible(reason)})" for rules, reason in idle_rules(audit.summary)]
    yield "\n".join(lines)


def _read(audit: Audit) -> Iterator[str]:
    lines = [f"- not read: {code(str(problem), limit=1000)}" for problem in audit.problems]
    lines += [
        f"- {each['unreadable']} of {each['records']} records not read: {code(each['path'], limit=1000)}"
        for each in audit.inputs
        if each["format"] and each["unreadable"]
    ]
    lines += [f"- not recognised: {code(each['path'], limit=1000)}" for each in audit.inputs if not each["format"]]
    lines += [f"- no log, left out: {code(name, limit=1000)}" for name in audit.unrecognised[:_LISTED]]
    if len(audit.unrecognised) > _LISTED:
        lines.append(f"- and {len(audit.unrecognised) - _LISTED} more that are no log")
    lines += [f"- note: {code(note, limit=1000)}" for note in audit.notes]
    sound = sum(bool(each["format"]) and not each["unreadable"] for each in audit.inputs)
    yield "## What was read"
    yield "\n".join([f"- {counted(sound, 'input')} in full", *lines])
