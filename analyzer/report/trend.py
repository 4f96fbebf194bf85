"""The trend of a batch on paper and as JSON: what is new, fixed or recurring, and how often per thousand calls."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import polars as pl

from analyzer.report.accounts import counted, covered
from analyzer.report.finding import labelled, place_of
from analyzer.report.json import encoded
from analyzer.report.paper import Paper, Words
from analyzer.visible import visible

SCHEMA = "analyzer.trend/v1"

FRESH = ("new", "returned")
NOT_LOOKED_AT = "not looked at"
"""Was found in inputs that this run did not look at: gone, out of its time, or not to be read."""
KINDS = (*FRESH, "recurring", "suppressed", NOT_LOOKED_AT, "fixed")
CHANGES = pl.Schema(
    {
        "change": pl.String(),  # one of KINDS; `returned`: not in the last run, but in an earlier one
        "group": pl.String(),
        "rule": pl.String(),
        "slug": pl.String(),
        "severity": pl.String(),
        "tool": pl.String(),
        "agent": pl.String(),
        "schema_id": pl.String(),
        "at": pl.String(),
        "message": pl.String(),
        "count": pl.Int64(),
        "before": pl.Int64(),
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

    def count(self, kind: str) -> int:
        """How many groups changed so."""
        return self.changes.filter(pl.col("change") == kind).height

    def rates(self) -> list[dict[str, Any]]:
        """Findings per thousand calls by rule, in this run and in the last one."""
        calls, past = self.run["calls"], (self.before or {}).get("calls")
        rows = self.changes.group_by("rule", "slug").agg(pl.col("count", "before").sum()).sort("rule")
        return [
            {
                "rule": row["rule"],
                "slug": row["slug"],
                "rate": round(row["count"] * 1000 / calls, 3) if calls else None,
                "before": round(row["before"] * 1000 / past, 3) if past else None,
            }
            for row in rows.iter_rows(named=True)
        ]


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
    paper.wrapped(
        (f"run {run['run']}: ", "head"),
        f"{counted(run['inputs'], 'input')}, {run['audited']} audited, {kept} from the store; "
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
    for kind in KINDS:
        if before is not None or kind == "new":
            rows = trend.changes.filter(pl.col("change") == kind)
            _fresh(paper, kind, rows, findings) if kind in FRESH else _known(paper, kind, rows)
    if trend.versions.height:
        paper.heading("New versions of known tools")
        paper.table(
            [
                [
                    visible(row["tool"], limit=60),
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


def _fresh(paper: Paper, kind: str, rows: pl.DataFrame, findings: pl.DataFrame) -> None:
    """What nobody has looked at yet: what is wrong, and where the first of each kind is."""
    if not rows.height:
        return
    paper.heading(kind.capitalize())
    borne = pl.col("suppressed").struct.field("reason").is_not_null().fill_null(value=False)
    first = findings.filter(~borne).unique("group", keep="first", maintain_order=True)
    places = dict(first.select("group", "location").iter_rows())
    for row in rows.head(_MOST).iter_rows(named=True):
        tool = f"  {visible(row['tool'], limit=60)}" if row["tool"] else ""
        rule = (f"{row['rule']} {row['slug']}", "name")
        paper.wrapped((row["severity"], row["severity"]), " ", rule, f"{tool}  {row['count']}x", indent=2, hang=4)
        paper.wrapped(visible(row["message"] or "", limit=300), indent=4)
        if places.get(row["group"]) is not None:
            labelled(paper, "at ", place_of(places[row["group"]]), 4, 3)
    _more(paper, rows)


def _known(paper: Paper, kind: str, rows: pl.DataFrame) -> None:
    if not rows.height:
        return
    paper.heading(kind.capitalize())
    table: list[list[Words]] = []
    for row in rows.head(_MOST).iter_rows(named=True):
        times = f"{row['count']}" if row["before"] in (0, row["count"]) else f"{row['count']} (was {row['before']})"
        if not row["count"]:
            times = f"was {row['before']}"
        tool = visible(row["tool"] or "-", limit=30)
        what = visible(f"{row['slug']} {row['at'] or ''}", limit=300)
        table.append([(row["severity"], row["severity"]), row["rule"], tool, times, what])
    paper.table(table, indent=2, right=[3], wrap_last=True)
    _more(paper, rows)


def _more(paper: Paper, rows: pl.DataFrame) -> None:
    if rows.height > _MOST:
        paper.line((f"and {rows.height - _MOST} more: --output-format json has all", "dim"), indent=2)


def _rates(paper: Paper, trend: Trend) -> None:
    rates = trend.rates()
    if not rates:
        return
    paper.heading("Per thousand calls")
    paper.table(
        [
            [row["rule"], row["slug"], _number(row["rate"]), f"was {_number(row['before'])}" if trend.before else ""]
            for row in rates
        ],
        indent=2,
        right=[2],
    )


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
    }
    return [encoded(document), b"\n"]


def _dated(row: dict[str, Any] | None) -> dict[str, Any] | None:
    return row and {name: value.isoformat() if hasattr(value, "isoformat") else value for name, value in row.items()}
