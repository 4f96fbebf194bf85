"""The exit status: what each number means, and which one an audit ends with. Numbers stand here and nowhere else."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from analyzer.cli.own_reports import is_report

if TYPE_CHECKING:  # `analyzer --help` answers without polars
    from analyzer.auditing import Audit

CLEAN = 0
FINDINGS = 1
"""A finding at or above `--fail-on`."""
USAGE = 2
"""An option, a setting or an argument that makes no sense."""
UNREAD = 3
"""No finding decides, but not everything could be read, recognised or, with `--strict`, judged; or less than in the
baseline was."""
FAULT = 4
"""The analyzer itself failed, or one of its rules did."""
INTERRUPTED = 130
"""Stopped from the keyboard, as shells count it."""
TERMINATED = 143
"""Stopped by SIGTERM, likewise."""

FAIL_ON = ("error", "warning", "info", "never")


def decide(audit: Audit, *, fail_on: str = "error", strict: bool = False, apart: Sequence[str | None] = ()) -> int:
    """The status that the audit ends with: 4 beats 1, 1 beats 3; `fail_on="never"` turns 1 into 0, but not 3.

    `apart` are files and folders that hold JSON and need not be logs: contracts, the baseline, reports.
    """
    if audit.crashed:
        return FAULT
    if _deciding(audit, fail_on):
        return FINDINGS
    recognised = all(each["format"] for each in audit.inputs) and bool(audit.inputs)
    read = not audit.lost and not audit.problems and not any(each["unreadable"] for each in audit.inputs)
    judged = not strict or not (audit.summary["verdicts"]["unverifiable"] or strange_json(audit, apart))
    return CLEAN if recognised and read and judged else UNREAD


def strange_json(audit: Audit, apart: Sequence[str | None] = ()) -> list[str]:
    """Files that were left out of a folder although they hold JSON: with `--strict` they may have been logs."""
    if not audit.unrecognised:
        return []
    sources, known = audit.frames["sources"], [Path(each).resolve() for each in apart if each is not None]
    left_out = sources.filter(sources["path"].is_in(audit.unrecognised), sources["records"] > 0)["path"].to_list()
    strange = [path for path in left_out if not any(map(Path(path).resolve().is_relative_to, known))]
    return [path for path in strange if not is_report(path)]


def _deciding(audit: Audit, fail_on: str) -> bool:
    from analyzer.findings.deciding import deciding

    return bool(audit.findings.select(deciding(fail_on).any()).item())
