"""What the audit looked at and what it could not judge: totals, hops, coverage, rules that did not run, inputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from analyzer.read import ADAPTERS
from analyzer.report.borne import borne_of
from analyzer.report.paper import Paper, Words
from analyzer.rules.catalogue import RULES
from analyzer.visible import visible

if TYPE_CHECKING:
    from analyzer.auditing import Audit

_INPUTS = 12  # inputs listed one by one
_FORMATS = 2  # of which it is told what they cannot prove; of more it would be longer than what was found
_LISTED = 20  # of what was left out
REASONS = {
    "schema_unavailable": "no schema of the tool was in force: the log offers none there, and no contract file does",
    "schema_invalid": "the schema breaks its own dialect",
    "schema_ambiguous": "the table changed about then, and the candidates disagree",
    "schema_unresolvable": "the schema refers to what is not in it; nothing is fetched",
    "payload_redacted": "the recorder took the payload out",
    "payload_truncated": "the payload is cut: by a token limit, or by the recorder",
    "payload_unmapped": "the mapping's `arguments` found nothing there: `analyzer formats --try LOG` shows it",
    "payload_ambiguous": "two parsers can read two values",
    "payload_too_deep": "nested too deep for any engine",
    "payload_too_large": "larger than the limit",
    "pattern_undecided": "a pattern of the schema takes too long to decide",
    "engine_failed": "the engine gave up",
}


def totals(paper: Paper, audit: Audit) -> None:
    """The first line: how much of what was found, in how much of what was read."""
    counts, summary = audit.summary["findings"], audit.summary
    found: list[Words] = []
    for severity in ("error", "warning"):
        if counts[severity]:
            found += [(counted(counts[severity], severity), severity), ", "]
    if counts["info"]:
        found += [(f"{counts['info']} info", "info"), ", "]
    for words in borne_of(audit.findings).counted:
        found += [words, ", "]
    if beyond := sum(summary.get("not_listed", {}).values()):
        found += [f"{beyond} more not listed", ", "]
    if audit.crashed:
        found += [(counted(len(audit.crashed), "rule") + " crashed", "error"), ", "]
    paper.wrapped(
        *(found[:-1] or ["no findings"]),
        f" in {counted(summary['sessions'], 'session')}: {counted(summary['events'], 'event')}, "
        f"{counted(summary['calls'], 'call')}, {counted(summary['results'], 'result')}; "
        f"{covered(summary, audit.hops)}",
    )
    for rule, error in audit.crashed:
        paper.wrapped((f"{rule} crashed: ", "error"), visible(str(error)), hang=2)


def hops(paper: Paper, audit: Audit) -> None:
    """The hop table: seen, judged, failed, and what cannot be judged with the reasons."""
    if not audit.hops:
        return
    paper.heading("Hops")
    head: list[Words] = [(word, "dim") for word in ("", "seen", "judged", "failed", "cannot be judged")]
    rows: list[list[Words]] = [head]
    for hop in audit.hops:
        failed: Words = (str(hop["failed"]), "error") if hop["failed"] else "0"
        rows.append([hop["hop"], str(hop["seen"]), str(hop["judged"]), failed, _reasons(hop["unjudged"]) or "-"])
    paper.table(rows, indent=2, right=[1, 2, 3], wrap_last=True)
    if (errors := errors_of(audit.summary)) is not None:
        paper.wrapped(errors, indent=2, hang=2)


def errors_of(summary: dict[str, Any]) -> str | None:
    """How many errors the other side reported, and how to see them, in words; None where there are none."""
    errors = summary.get("errors")
    if not errors:
        return None
    are = "event is an error" if errors == 1 else "events are errors"
    return (
        f"{errors} {are} that a provider, server or host reported, and no finding: `analyzer query --over events "
        "\"[?kind=='error']\"` shows what it says"
    )


def coverage(paper: Paper, audit: Audit) -> None:
    """How much of what was owed a verdict has one, and why the rest has none."""
    verdicts = audit.summary["verdicts"]
    paper.heading("Coverage")
    undecided = sum(verdicts["unverifiable"].values())
    judged = f"{verdicts['valid']} valid, {verdicts['invalid']} invalid, {undecided} unverifiable"
    bracketed = audit.summary["bracketed"]
    paper.wrapped(
        judged,
        f"; {verdicts['not_applicable']} owed none" if verdicts["not_applicable"] else "",
        f"; {bracketed} judged in a window where the table changed" if bracketed else "",
        f"; {covered(audit.summary, audit.hops)}",
        indent=2,
    )
    paper.table(
        [[str(count), reason, REASONS.get(reason, "")] for reason, count in sorted(verdicts["unverifiable"].items())],
        indent=4,
        right=[0],
        wrap_last=True,
    )


def losses(paper: Paper, audit: Audit) -> None:
    """What the formats of the inputs do not record, so that nothing here can prove it."""
    read = {name for each in audit.inputs for name in each["format"].split(",")}
    formats = [each for each in ADAPTERS if each.name in read and each.loses]
    if not formats:
        return
    paper.heading("What the formats cannot prove")
    if len(formats) > _FORMATS:
        names = ", ".join(each.name for each in formats)
        paper.wrapped((names, "name"), ": `analyzer formats NAME` says it of each", indent=2, hang=2)
        return
    for each in formats:
        for sentence in each.loses:
            paper.wrapped((each.name, "name"), f": {sentence}", indent=2, hang=2)


def rules_not_run(paper: Paper, audit: Audit) -> None:
    """Rules that had nothing to look at or were not wanted, by reason."""
    idle = idle_rules(audit.summary)
    if idle:
        paper.heading("Rules that did not run")
    for rules, reason in idle:
        paper.wrapped((rules, "name"), f": {visible(reason)}", indent=2, hang=2)


def idle_rules(summary: dict[str, Any]) -> list[tuple[str, str]]:
    """The rules that did not run and why, by reason; families of which none ran by their own names."""
    by_reason: dict[str, list[str]] = {}
    for each in summary["rules_not_run"]:
        by_reason.setdefault(each["reason"], []).append(each["rule"])
    return [(", ".join(_families(rules)), reason) for reason, rules in by_reason.items()]


def _families(rules: Sequence[str]) -> list[str]:
    """Codes of rules, and for all of a family its name alone."""
    whole: dict[str, list[str]] = {}
    for rule in RULES:
        whole.setdefault(rule.code.rstrip("0123456789"), []).append(rule.code)
    told: list[str] = []
    for family, codes in whole.items():
        mine = [code for code in codes if code in rules]
        told += [family] if len(mine) == len(codes) > 1 else mine
    return told


def inputs(paper: Paper, audit: Audit) -> None:
    """What was read, what was not, and what is no log."""
    paper.heading("Inputs")
    # Those with something wrong are listed first, so that a cap never hides them.
    wrong = [each for each in audit.inputs if each["unreadable"] or not each["format"]]
    sound = [each for each in audit.inputs if not (each["unreadable"] or not each["format"])]
    listed = [*wrong, *sound][: max(_INPUTS, len(wrong))]
    paper.table([_input(each) for each in listed], indent=2, right=[0, 1], cut=False)
    if len(listed) < len(audit.inputs):
        paper.line((f"and {len(audit.inputs) - len(listed)} more, all read", "dim"), indent=2)
    for problem in audit.problems:
        paper.exact(("not read: ", "error"), visible(str(problem), limit=1000), indent=2)
    if audit.unrecognised:
        paper.exact(("no log, left out: ", "dim"), _named(audit.unrecognised), indent=2)
    if not audit.inputs and not audit.problems and not audit.unrecognised:
        paper.line("nothing to read", indent=2)


def notes(paper: Paper, audit: Audit) -> None:
    """What is to be said of the suppressions, of the baseline, and of contracts whose tools nobody called."""
    if not audit.notes:
        return
    paper.heading("Notes")
    for note in audit.notes:
        paper.wrapped(visible(note, limit=1000), indent=2, hang=2)


def _input(each: dict[str, Any]) -> list[Words]:
    unreadable: Words = (f"{each['unreadable']} unreadable", "error") if each["unreadable"] else "all read"
    if not each["format"] and not each["unreadable"]:
        unreadable = ("none read", "error")
    known: Words = each["format"] or ("not recognised", "error")
    if not each["records"] and not each["format"]:
        known = ("empty" if not each["bytes"] else "not recognised", "error")
    return [counted(each["records"], "record"), unreadable, known, visible(each["path"], limit=1000)]


def tallied(audit: Audit) -> str:
    """How many findings of each severity there are, and how many are borne."""
    counts = audit.summary["findings"]
    told = [counted(counts["error"], "error"), counted(counts["warning"], "warning"), f"{counts['info']} info"]
    return ", ".join([*told, *borne_of(audit.findings).counted])


def covered(summary: dict[str, Any], hops: Sequence[dict[str, Any]] = ()) -> str:
    """The coverage in words, rounded down: 100 % is said only where nothing is missing.

    Results without an output contract are owed no verdict, and are no part of the share: how many there are is said
    beside it, as the `hops` of the audit count them.
    """
    share = summary["coverage"]
    said = "nothing was owed a verdict"
    if share is not None:
        said = f"{int(share * 1000) / 10:g} % of what was owed a verdict has one"
    bare = sum(hop["unjudged"].get("no_output_contract", 0) for hop in hops)
    if not bare:
        return said
    have, were = ("has", "was") if bare == 1 else ("have", "were")
    return f"{said}; {counted(bare, 'result')} {have} no output contract and {were} not judged"


def strange_files(audit: Audit) -> str | None:
    """The files of folders that are no log, as a sentence that names the first; None where there are none."""
    names = audit.unrecognised
    if not names:
        return None
    are = "file of a folder is" if len(names) == 1 else "files of folders are"
    return f"{len(names)} {are} no log, and left out: {_named(names)}"


def _named(names: Sequence[str]) -> str:
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return ", ".join(visible(name, limit=200) for name in names[:_LISTED]) + more


def _reasons(unjudged: dict[str, int]) -> str:
    return ", ".join(f"{count} {reason}" for reason, count in sorted(unjudged.items()))


def unjudged(reason: str, count: int) -> str:
    """How many payloads were owed a verdict and have none, as a sentence."""
    return f"{counted(count, 'payload')} without a verdict that {'was' if count == 1 else 'were'} owed one: {reason}."


def more_kinds(faults: int, findings: int) -> str:
    """How many kinds of fault stand elsewhere, and of how many findings."""
    return f"{faults} more kind{'' if faults == 1 else 's'} of fault ({counted(findings, 'finding')})"


def counted(number: int, noun: str) -> str:
    """A number and its noun, in the plural where it needs one."""
    return f"{number} {noun}{'' if number == 1 else 's'}"
