"""The trend of a batch on paper and as JSON: what is new, fixed or recurring, how often, and what was not read."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, Literal

import polars as pl

from analyzer.report.accounts import counted, covered
from analyzer.report.finding import labelled, place_of
from analyzer.report.json import encoded
from analyzer.report.naming import bare
from analyzer.report.paper import Paper, Words
from analyzer.report.untold import Untold
from analyzer.visible import visible

SCHEMA = "analyzer.trend/v1"

GREW = "grew"
"""Was there in the last run, and is there more often than its rate per call and chance explain."""
FRESH = ("new", "returned", GREW)
"""What nobody has looked at yet."""
NOT_LOOKED_AT = "not looked at"
"""Was found where this run did not look, or had less to judge by (see `analyzer.batch.places`)."""
KNOWN = "known"
"""Is in the baseline."""
KINDS = (*FRESH, "recurring", "suppressed", KNOWN, NOT_LOOKED_AT, "fixed")
CHANGES = pl.Schema(
    {
        "change": pl.String(),  # one of KINDS; `returned`: not in the last run, but in an earlier one; see also GREW
        "group": pl.String(),
        "rule": pl.String(),
        "slug": pl.String(),
        "severity": pl.String(),
        "tool": pl.String(),
        "agent": pl.String(),
        "schema_id": pl.String(),
        "at": pl.String(),
        "message": pl.String(),
        "count": pl.Int64(),  # of what is suppressed or known: how many findings are
        "before": pl.Int64(),  # in the last run, without those
        "why": pl.String(),  # it is suppressed, or was not looked at
    }
)
SEEN = pl.Schema(
    {
        "kind": pl.String(),  # rule, tool, agent, schema
        "name": pl.String(),
        "first_run": pl.Int64(),
        "last_run": pl.Int64(),
        "since": pl.Datetime("us", "UTC"),
        "until": pl.Datetime("us", "UTC"),
        "count": pl.Int64(),  # in this run
    }
)
_MOST = 20  # groups of one kind told


@dataclass(frozen=True)
class Trend:
    """What a run changed."""

    run: dict[str, Any]
    """A row of RUNS (see the store of the batch)."""
    before: dict[str, Any] | None
    """The same of the last run; None where this is the first."""
    changes: pl.DataFrame
    """CHANGES, by kind, severity and rule."""
    versions: pl.DataFrame
    """Schemas that a known tool did not have in any earlier run: tool, role, schema_id, sessions."""
    seen: pl.DataFrame
    """SEEN: when everything that findings name was found first and last."""
    untold: Untold = field(default_factory=Untold)

    def count(self, kind: str) -> int:
        """How many groups changed so."""
        return self.changes.filter(pl.col("change") == kind).height

    def rates(self) -> list[dict[str, Any]]:
        """Findings per thousand calls by rule, in this run and in the last one: suppressed ones count, and are told.

        None where the rule did not run, or found nothing and did not look again at what it had found; and in a run of a
        store that did not keep that yet.
        """
        now, past = _rates_of(self.run), _rates_of(self.before or {})
        away = dict(self.changes.filter(pl.col("change") == NOT_LOOKED_AT)["rule"].value_counts().iter_rows())
        slugs = {rule: row["slug"] for rule, row in (past | now).items()}
        rows = [
            {
                "rule": rule,
                "slug": slugs[rule],
                **{name: now.get(rule, {}).get(name) for name in ("rate", "suppressed")},
                "before": past.get(rule, {}).get("rate"),
                "suppressed_before": past.get(rule, {}).get("suppressed"),
                "not_looked_at": away.get(rule, 0),  # kinds of fault
            }
            for rule in sorted(slugs)
        ]
        return [row for row in rows if row["rate"] or row["before"]]


def _rates_of(run: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """By rule `slug`, `rate` and `suppressed`, which is the part of the rate that is."""
    calls = run.get("calls")
    return {
        each["rule"]: {
            "slug": each["slug"],
            "rate": round(each["found"] * 1000 / calls, 3) if calls else None,
            "suppressed": round(each["suppressed"] * 1000 / calls, 3) if calls else None,
        }
        for each in run.get("rules") or ()
    }


def page(
    trend: Trend,
    summary: dict[str, Any],
    findings: pl.DataFrame,
    *,
    next_command: str,
    width: int = 80,
    colour: bool = False,
) -> str:
    """The trend as people read it in the morning; `summary` and FINDINGS are the audit's."""
    paper = Paper(width=width, colour=colour)
    run, before = trend.run, trend.before
    kept = run["inputs"] - run["audited"]
    fewer = f" ({before['inputs']} in the last run)" if before and before["inputs"] > run["inputs"] else ""
    odd = (("not recognised", trend.untold.unrecognised), ("left out", trend.untold.left_out))
    paper.wrapped(
        (f"run {run['run']}: ", "head"),
        f"{counted(run['inputs'], 'input')}{fewer}, {run['audited']} audited, {kept} from the store"
        f"{''.join(f', {len(paths)} {what}' for what, paths in odd if paths)}; "
        f"{counted(run['sessions'], 'session')}, {counted(run['calls'], 'call')}; {covered(summary)}",
    )
    if before is None:
        paper.wrapped("the first run of this store: there is nothing to compare it with")
    else:
        day = f"{before['ended']:%Y-%m-%d %H:%M} UTC"
        told = ", ".join(f"{trend.count(kind)} {kind}" for kind in KINDS)
        paper.wrapped(f"since run {before['run']} ({day}), by kind of fault: {told}")
        if (before["version"], before["options"]) != (run["version"], run["options"]):
            paper.wrapped("that run had other contracts, settings or another version of the analyzer", hang=2)
    _untold(paper, trend.untold)
    for kind in KINDS:
        if before is not None or kind in ("new", "suppressed", KNOWN):
            rows = trend.changes.filter(pl.col("change") == kind)
            if kind in FRESH:
                _fresh(paper, kind, rows, findings)
            elif kind == KNOWN:
                _in_baseline(paper, rows)
            else:
                _standing(paper, kind, rows)
    if trend.versions.height:
        paper.heading("New versions of known tools")
        paper.table(
            [
                [
                    visible(bare(row["tool"]), limit=60),
                    row["role"],
                    row["schema_id"][:12],
                    counted(row["sessions"], "session"),
                ]
                for row in trend.versions.iter_rows(named=True)
            ],
            indent=2,
        )
    _rates(paper, trend)
    paper.heading("Next")
    paper.exact(next_command, indent=2)
    return paper.text()


def _untold(paper: Paper, untold: Untold) -> None:
    """What was not read and so not audited, before what was found in the rest."""
    left_out = [f"{path}: no log by its name, and not recognised" for path in untold.left_out]
    told = (("Not read", untold.all_unread, "error"), ("Left out", left_out, ""), ("Notes", untold.notes, "warning"))
    for head, lines, style in told:
        if lines:
            paper.heading(head)
        for line in lines[:_MOST]:
            paper.wrapped((visible(line, limit=600), style), indent=2, hang=2)
        _more(paper, len(lines))


def _fresh(paper: Paper, kind: str, rows: pl.DataFrame, findings: pl.DataFrame) -> None:
    """What nobody has looked at yet: what is wrong, and where the first of each kind is (of what grew: the last)."""
    if not rows.height:
        return
    paper.heading(kind.capitalize())
    borne = pl.col("suppressed").struct.field("reason").is_not_null().fill_null(value=False)
    keep: Literal["first", "last"] = "last" if kind == GREW else "first"
    counted = findings.select("group", "suppressed").with_row_index("row").filter(~borne)
    first = findings[counted.unique("group", keep=keep, maintain_order=True)["row"]]
    places = dict(first.select("group", "location").iter_rows())
    for row in rows.head(_MOST).iter_rows(named=True):
        tool = f"  {visible(row['tool'], limit=60)}" if row["tool"] else ""
        rule = (f"{row['rule']} {row['slug']}", "name")
        times = f"{row['count']}x{f' (was {was})' if (was := row['before']) else ''}"
        paper.wrapped((row["severity"], row["severity"]), " ", rule, f"{tool}  {times}", indent=2, hang=4)
        paper.wrapped(visible(row["message"] or "", limit=300), indent=4)
        if places.get(row["group"]) is not None:
            labelled(paper, "at ", place_of(places[row["group"]]), 4, 3)
    _more(paper, rows.height)


def _standing(paper: Paper, kind: str, rows: pl.DataFrame) -> None:
    if not rows.height:
        return
    paper.heading(kind.capitalize())
    table: list[list[Words]] = []
    for row in rows.head(_MOST).iter_rows(named=True):
        times = f"{row['count']}" if row["before"] in (0, row["count"]) else f"{row['count']} (was {row['before']})"
        if not row["count"]:
            times = f"was {row['before']}"
        tool = visible(row["tool"] or "-", limit=30)
        why = f": {row['why']}" if row["why"] else ""
        what = visible(f"{row['slug']} {row['at'] or ''}".rstrip() + why, limit=300)
        table.append([(row["severity"], row["severity"]), row["rule"], tool, times, what])
    paper.table(table, indent=2, right=[3], wrap_last=True)
    _more(paper, rows.height)


def _in_baseline(paper: Paper, rows: pl.DataFrame) -> None:
    """By rule only, as in the report of an audit: nobody asked to see them again."""
    if rows.height:
        paper.heading("Known, for the baseline holds them")
        counts = rows.group_by("rule").agg(pl.col("count").sum()).sort("rule")
        paper.wrapped(", ".join(f"{count} {rule}" for rule, count in counts.iter_rows()), indent=2, hang=2)


def _more(paper: Paper, count: int) -> None:
    if count > _MOST:
        paper.line((f"and {count - _MOST} more: --output-format json has all", "dim"), indent=2)


def _rates(paper: Paper, trend: Trend) -> None:
    rates = trend.rates()
    if not rates:
        return
    paper.heading("Per thousand calls")
    paper.table(
        [[row["rule"], row["slug"], _number(row["rate"]), _compared(row, first=trend.before is None)] for row in rates],
        indent=2,
        right=[2],
        wrap_last=True,
    )


def _compared(row: dict[str, Any], *, first: bool) -> str:
    """The rate before, and how much of it is suppressed or known now and was."""
    told = [] if first else [f"was {_number(row['before'])}"]
    now, past = row["suppressed"] or 0, row["suppressed_before"] or 0
    if now or past:
        told.append(f"suppressed or known of it {_number(now)}" + ("" if first else f", was {_number(past)}"))
    if row["rate"] is None:
        told.append("not looked at")
    elif row["not_looked_at"]:
        told.append("not all was looked at again")
    return "; ".join(told)


def _number(rate: float | None) -> str:
    return "-" if rate is None else f"{rate:.2f}"


def pieces(trend: Trend) -> list[bytes]:
    """The trend as one JSON document."""
    document = {
        "schema": SCHEMA,
        "run": _dated(trend.run),
        "before": _dated(trend.before),
        "changes": trend.changes.to_dicts(),
        "versions": trend.versions.to_dicts(),
        "rates": trend.rates(),
        "seen": [_dated(row) for row in trend.seen.to_dicts()],
        **asdict(trend.untold),
    }
    return [encoded(document), b"\n"]


def _dated(row: dict[str, Any] | None) -> dict[str, Any] | None:
    return row and {name: value.isoformat() if hasattr(value, "isoformat") else value for name, value in row.items()}
