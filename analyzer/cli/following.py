"""The next command to type: what the text report ends with."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from analyzer.visible import visible

if TYPE_CHECKING:
    from analyzer.auditing import Audit
    from analyzer.cli.given import Given

_PATHS = 4


def following(audit: Audit, given: Given) -> str:
    """The command that shows the worst finding; without findings, the one that leads on from what was read."""
    paths, contracts = given["paths"], given["contracts"]
    same = [part for each in contracts for part in ("--contracts", each)]
    same += [part for each in given["executed"] for part in ("--executed", each)]
    same += ["--input-format", given["input_format"]] if given["input_format"] else []
    for path in audit.inputs:
        if path["format"]:
            break
    else:
        return _spelled("formats")
    worst = _worst(audit)
    if worst is not None:
        session, call_id, file = worst
        narrowed = ["--session", session] if session else []
        narrowed += ["--call", call_id] if call_id else []
        if narrowed:
            return _spelled("show", *narrowed, *same, *_logs(paths, file)) + _again(paths)
    if "schema_unavailable" in audit.summary["verdicts"]["unverifiable"] and not contracts:
        return f"{_spelled('audit')} --contracts FILE {_spelled(*_logs(paths, None), name='')}" + _again(paths)
    return _spelled("show", *same, *_logs(paths, None)) + _again(paths)


def _worst(audit: Audit) -> tuple[str | None, str | None, str | None] | None:
    from analyzer.report.text import faults

    for row in faults(audit.findings).head(1).iter_rows(named=True):
        location = audit.findings["location"][row["row"]]
        return row["session"], row["call_id"], (location or {}).get("file")
    return None


def _logs(paths: tuple[str, ...], file: str | None) -> list[str]:
    """The paths as given, none of them to be taken for an option; of very many, the file at hand."""
    logs = list(paths) if len(paths) <= _PATHS or file is None else [file]
    return ["--", *logs] if any(each.startswith("-") and each != "-" for each in logs) else logs


def _again(paths: tuple[str, ...]) -> str:
    """Standard input is read once: it has to be given anew."""
    return " < LOG" if "-" in paths else ""


def _spelled(*parts: str, name: str = "analyzer") -> str:
    """A line for a shell. A part that cannot be shown as it is cannot be typed either: it becomes a question mark."""
    safe = [part if visible(part, limit=4096) == part else "?" for part in parts]
    return " ".join([*([name] if name else []), *(shlex.quote(part) for part in safe)])
