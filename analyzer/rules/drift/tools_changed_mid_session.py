"""A tool's definition changed, or the tool went away, while the session ran.

What it says: two tables of one session define the tool differently, or the later one lacks it. The message says
whether callers break, and how many calls ran on either side. A change that an update request announces, and one of
wording alone, is info; a list that was announced as changed and read again is no finding.
Why it matters: the model may still hold the old definition; calls between two snapshots cannot be judged.
Bad:
    tool refund {"type":"object","properties":{"id":{"type":"string"}},"required":["id"]}
    call c1 refund {"id":"a"}
    result c1 ok {}
    tool refund {"type":"object","properties":{"id":{"type":"string"},"ref":{"type":"string"}},"required":["id","ref"]}
    snapshot
Good:
    tool refund {"type":"object","properties":{"id":{"type":"string"}},"required":["id"]}
    call c1 refund {"id":"a"}
    result c1 ok {}
    tool other {"type":"object","properties":{}}
    untool refund
    tool refund {"required":["id"],"properties":{"id":{"type":"string"}},"type":"object"}
    snapshot
Blind spots: a change that was taken back between two snapshots. Tools that come are no change of a definition.
"""

from __future__ import annotations

from typing import Any

import polars as pl

from analyzer.rules.drift.versions import direction
from analyzer.rules.hits import hits, place
from analyzer.rules.payloads import decode
from analyzer.trace import Trace

_KEY = ["session", "tool", "role"]
#: Channels that show a whole table: in the others a missing tool was not taken away.
_WHOLE = ["session", "update", "listing"]
_LIST_CHANGED = "tools/list_changed"
_SEARCH = "hosted::tool_search"


def check(trace: Trace) -> pl.LazyFrame:
    """Changes of offers, each tool once per place; announced and re-listed ones left out."""
    before = {
        name: pl.col(name).shift(1).over(_KEY)
        for name in ("state", "schema_id", "event", "pointer", "since", "channel")
    }
    several = trace.offers.group_by(_KEY).len().filter(pl.col("len") > 1)  # nearly all tools are offered once
    found = (
        trace.offers.lazy()
        .join(several.lazy(), on=_KEY, how="semi")
        .sort(*_KEY, "since")
        .with_columns(**{f"old_{name}": expression for name, expression in before.items()})
        .filter(pl.col("old_state") == "offered", pl.col("channel") != "search", pl.col("old_channel") != "search")
        # Requests ask for tool search, and no snapshot lists it.
        .filter((pl.col("tool") != _SEARCH) | (pl.col("channel") != "session"))
        .filter(
            ((pl.col("state") == "withdrawn") & pl.col("channel").is_in(_WHOLE))
            | ((pl.col("state") == "offered") & pl.col("schema_id").ne_missing(pl.col("old_schema_id")))
        )
        .join(trace.sessions.lazy().select("session", "order"), on="session", how="left", maintain_order="left")
        # Across files whose order is not proved, before and after mean nothing.
        .filter(
            (pl.col("order") != "files").fill_null(value=True)
            | (pl.col("event") // 2**43 == pl.col("old_event") // 2**43)
        )
    )
    changed = found.collect()
    if changed.is_empty():  # nearly always: then the events need not be searched
        return hits(())
    announced = (
        trace.events.lazy().filter(pl.col("type").str.contains(_LIST_CHANGED, literal=True)).select("session", at="seq")
    )
    relisted = (
        changed.lazy()
        .join(announced, on="session")
        .filter(pl.col("at") > pl.col("old_since"), pl.col("at") < pl.col("since"))
        .select(*_KEY, "since")
    )
    rows = (
        changed.lazy()
        .join(relisted, on=[*_KEY, "since"], how="anti")
        .sort("session", "tool", "since", "role")
        .unique(["session", "tool", "since"], keep="first", maintain_order=True)
        .collect()
    )
    texts = dict(trace.schemas.select("schema_id", "text").iter_rows())
    calls = trace.calls.lazy().join(rows.lazy().select("session", "tool").unique(), on=["session", "tool"], how="semi")
    seen: dict[tuple[str, str], list[int]] = {}
    for session, tool, seq in calls.select("session", "tool", "seq").collect().iter_rows():
        seen.setdefault((session, tool), []).append(seq)
    return hits(
        hit
        for row in rows.iter_rows(named=True)
        if (hit := _told(row, texts, seen.get((row["session"], row["tool"]), [])))
    )


def _told(row: dict[str, Any], texts: dict[str, str], calls: list[int]) -> dict[str, Any] | None:
    early = sum(seq < row["since"] for seq in calls)
    if not early and (row["old_channel"], row["channel"]) == ("create", "session"):
        return None  # what a server makes of a create request: the session did not run yet
    ran = f"{early} call{'s' if early != 1 else ''} before, {len(calls) - early} after"
    severity, keyword, pointer = None, "withdrawn", ""
    if row["state"] == "withdrawn":
        what = "was taken out of the table"
    elif row["schema_id"] is None or row["old_schema_id"] is None:
        what, keyword = "came to have a schema, or lost it", "schema"
    else:
        old, new = (decode(texts.get(row[side])) for side in ("old_schema_id", "schema_id"))
        said = direction(old, new, row["role"], second="the new one", strict=bool(row["strict"]), wording=True)
        if said is None:
            return None
        what, keyword, pointer = f"changed under the running session: {said.words}", said.relation, said.pointer
        severity = "info" if said.wording_only else None
    return {
        **{name: row[name] for name in ("session", "event", "pointer", "tool", "schema_id", "channel")},
        "offer_event": row["event"],
        "offer_pointer": row["pointer"],
        "message": f"The definition of the tool {what} ({ran}).",
        "hint": "Change tools between sessions, or start the turn anew and tell the model what changed.",
        "severity": "info" if row["channel"] == "update" else severity,
        "keyword": keyword,
        "schema_pointer": pointer,
        "related": [place(row["old_event"], row["old_pointer"], "defined before")],
    }
