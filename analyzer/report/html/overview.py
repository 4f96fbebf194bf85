"""What the page says of the whole audit: counts, coverage, hops, rules, inputs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from analyzer.report.accounts import REASONS, covered
from analyzer.report.borne import borne_of
from analyzer.report.html.shown import LONG, shown
from analyzer.report.version import version
from analyzer.rules.catalogue import RULES

if TYPE_CHECKING:
    from analyzer.auditing import Audit

_INPUTS = 2_000
_PATH = 1_000


def overview(audit: Audit, next_command: str | None, *, bare: bool) -> dict[str, Any]:
    """Everything but findings, sessions, calls and contracts."""
    fired = set(audit.findings["rule"].unique()) | {each["rule"] for each in audit.summary["rules_not_run"]}
    wrong = [each for each in audit.inputs if each["unreadable"] or not each["format"]]
    sound = [each for each in audit.inputs if not (each["unreadable"] or not each["format"])]
    listed = [*wrong, *sound][:_INPUTS]
    return {
        "version": version(),
        "summary": audit.summary,
        "covered": covered(audit.summary, audit.hops),
        "known": borne_of(audit.findings).known,
        "reasons": REASONS,
        "hops": audit.hops,
        "rules": {
            rule.code: {"slug": rule.slug, "title": rule.title, "manual": rule.manual}
            for rule in RULES
            if rule.code in fired
        },
        "inputs": [
            [shown(each["path"], _PATH), each["format"], each["records"], each["unreadable"], each["bytes"]]
            for each in listed
        ],
        "inputs_left_out": len(audit.inputs) - len(listed),
        "unrecognised": [shown(name, _PATH) for name in audit.unrecognised[:_INPUTS]],
        "problems": [shown(str(problem), _PATH) for problem in audit.problems],
        "notes": [shown(note, LONG) for note in audit.notes],
        "crashed": [[rule, shown(error, LONG)] for rule, error in audit.crashed],
        "next": next_command,
        "bare": bare,
    }
