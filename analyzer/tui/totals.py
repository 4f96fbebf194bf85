"""What the first screen says below the sessions: findings by rule, coverage, inputs, and what was not read or run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from analyzer.tui.rows import Span
from analyzer.visible import visible

if TYPE_CHECKING:
    from analyzer.tui.case import Case


def rule_totals(case: Case) -> Any:
    """Findings by rule, in the order in which the report says where to look first."""
    import polars as pl

    from analyzer.report.text import faults
    from analyzer.tui.filters import SEVERITY

    where = pl.coalesce("tool", "session").fill_null(""), pl.col("call_id").fill_null("")
    first = (
        faults(case.found)
        .with_row_index("rank")
        .select("rank", "severity", "rule", first=pl.concat_str(*where, separator="  ").str.strip_chars())
        .unique(["severity", "rule"], keep="first", maintain_order=True)
    )
    return (
        case.findings.group_by("severity", "rule", "slug")
        .agg(
            findings=(~pl.col("suppressed")).sum(),
            sessions=pl.col("session").filter(~pl.col("suppressed")).n_unique(),
            borne=pl.col("suppressed").sum(),
        )
        .join(first, on=["severity", "rule"], how="left")
        .with_columns(
            what=pl.concat_str(
                "slug",
                pl.when(pl.col("borne") > 0).then(pl.format("{} suppressed", "borne")),
                "first",
                separator="  ",
                ignore_nulls=True,
            )
        )
        .sort(
            -pl.col("severity").replace_strict(SEVERITY, default=-1, return_dtype=pl.Int64),
            pl.col("rank").is_null(),  # all of it is suppressed
            "rank",
            "rule",
        )
    )


def facts(case: Case) -> list[list[Span]]:
    """Coverage, verdicts, inputs, what did not run and what could not be read, as lines."""
    from analyzer.report.accounts import covered

    summary = case.summary
    verdicts = summary.get("verdicts") or {}
    # What was not audited comes first: the rest looks complete without it.
    unread = [*case.untold.all_unread, *case.crashed]
    if not case.inputs:
        unread.append("no log was found")
    lines: list[list[Span]] = [[("not read  ", "error"), (visible(each, limit=300), "")] for each in unread]
    lines.append([("coverage  ", "key"), (covered({"coverage": summary.get("coverage")}), "")])
    styles = (("valid", "good"), ("invalid", "error"), ("not_applicable", "dim"))
    lines += [[(f"{word:<15}", "key"), (f"{verdicts.get(word) or 0:>9,}", style)] for word, style in styles]
    for reason, count in sorted((verdicts.get("unverifiable") or {}).items()):
        lines.append([("unverifiable   ", "warning"), (f"{count:>9,}  ", ""), (visible(str(reason), limit=60), "dim")])
    lines += [[("note  ", "warning"), (visible(note, limit=300), "")] for note in case.untold.notes]
    for entry in case.inputs:
        if not entry.get("format"):
            continue
        broken = entry.get("unreadable") or 0
        words = f"{entry.get('records') or 0:,} records, {broken:,} unreadable"
        lines.append(
            [
                ("input  ", "key"),
                (visible(str(entry.get("path")), limit=120), ""),
                (f"  {words}", "error" if broken else "dim"),
            ]
        )
    lines += [[("left out  ", "dim"), (visible(path, limit=300), "dim")] for path in case.untold.left_out]
    for entry in summary.get("rules_not_run") or []:
        lines.append(
            [
                ("not run  ", "key"),
                (visible(str(entry.get("rule")), limit=20), ""),
                (f"  {visible(str(entry.get('reason')), limit=120)}", "dim"),
            ]
        )
    return lines
