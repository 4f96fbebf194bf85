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
Blind spots: of the changes of one session the first 64 are compared, the rest is counted. A change that was taken back
between two snapshots. Tools that come are no change of a definition.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import polars as pl

from analyzer.rules.drift.reworded import described_anew, reworded
from analyzer.rules.drift.versions import Direction, direction
from analyzer.rules.hits import NONE, hits, place
from analyzer.rules.order import source_of
from analyzer.rules.payloads import decode
from analyzer.trace import Trace, of_rows

_KEY = ["session", "tool", "role"]
#: Channels that show a whole table: in the others a missing tool was not taken away.
_WHOLE = ["session", "update", "listing"]
_LIST_CHANGED = "tools/list_changed"
_HINT = "Change tools between sessions, or start the turn anew and tell the model what changed."
_MOST_PAIRS = 64  # of definitions compared in one session: each costs some milliseconds
_OF = ("session", "tool")
_REWORDED = Direction(
    "wording", breaks=False, words="only its description changed", pointer="", confidence=None, wording_only=True
)
_Pair = tuple[str, str, str, bool]  # earlier schema, later schema, role, strict
_SEARCH = "hosted::tool_search"


def check(trace: Trace) -> pl.DataFrame:
    """Changes of offers, each tool once per place; announced and re-listed ones left out."""
    several = trace.offers.group_by(_KEY).len().filter(pl.col("len") > 1)  # nearly all tools are offered once
    found, anew = _in_order(trace, _changes(several, trace.offers)), described_anew(trace)
    if found.is_empty() and not anew:  # nearly always: then the events need not be searched
        return NONE
    words = _in_order(trace, reworded(trace))
    announced = trace.events.filter(pl.col("type").str.contains(_LIST_CHANGED, literal=True)).select(
        "session", at="seq"
    )
    rows = (
        _silent(found, announced)
        .sort("session", "tool", "since", "role")
        .unique(["session", "tool", "since"], keep="first", maintain_order=True)
    )
    words = _silent(words.join(rows, on=["session", "tool", "since"], how="anti"), announced)
    texts = dict(trace.schemas.select("schema_id", "text").iter_rows())
    of = pl.concat([each.select("session", "tool") for each in (rows, words)]).unique()
    seen: dict[tuple[str, str], list[int]] = {}
    for session, tool, seq in trace.calls.join(of, on=["session", "tool"], how="semi").select(*_OF, "seq").iter_rows():
        seen.setdefault((session, tool), []).append(seq)
    told = (
        _told(row, _REWORDED, seen.get((row["session"], row["tool"]), []))
        for row in words.sort("session", "since", "tool").iter_rows(named=True)
    )
    changed = _all(rows.sort("session", "since", "tool", "role"), texts, seen)
    return hits([*changed, *(hit for hit in told if hit is not None)])


@of_rows
def _changes(several: pl.DataFrame, offers: pl.DataFrame) -> pl.DataFrame:
    """The offers that say otherwise than the one before, which is named by `old_`."""
    before = {
        name: pl.col(name).shift(1).over(_KEY)
        for name in ("state", "schema_id", "event", "pointer", "since", "channel")
    }
    return (
        offers.join(several, on=_KEY, how="semi")
        .sort(*_KEY, "since")
        .with_columns(**{f"old_{name}": expression for name, expression in before.items()})
        .filter(pl.col("old_state") == "offered", pl.col("channel") != "search", pl.col("old_channel") != "search")
        # Requests ask for tool search, and no snapshot lists it.
        .filter((pl.col("tool") != _SEARCH) | (pl.col("channel") != "session"))
        .filter(
            ((pl.col("state") == "withdrawn") & pl.col("channel").is_in(_WHOLE))
            | ((pl.col("state") == "offered") & pl.col("schema_id").ne_missing(pl.col("old_schema_id")))
        )
    )


def _in_order(trace: Trace, changed: pl.DataFrame) -> pl.DataFrame:
    """The changes of which it is known what came before: across files whose order is not proved, nothing is."""
    if changed.is_empty():
        return changed
    guessed = trace.sessions.filter(pl.col("order") == "files")["session"]
    apart = source_of("event") != source_of("old_event")
    return changed.filter(~(pl.col("session").is_in(guessed.implode()).fill_null(value=False) & apart))


def _silent(changed: pl.DataFrame, announced: pl.DataFrame) -> pl.DataFrame:
    """The changes that no notice stands before: what is announced and listed again is as it should be."""
    noticed = (
        changed.select(*_OF, "since", "old_since")
        .sort("since")
        .join_asof(
            announced.filter(pl.col("session").is_not_null()).sort("at"),
            left_on="since",
            right_on="at",
            by="session",
            allow_exact_matches=False,
            check_sortedness=False,
        )
        .filter(pl.col("at") > pl.col("old_since"))
        .select(*_OF, "since")
    )
    return changed.join(noticed, on=[*_OF, "since"], how="anti", maintain_order="left")


def _all(rows: pl.DataFrame, texts: dict[str, str], seen: dict[tuple[str, str], list[int]]) -> Iterator[dict[str, Any]]:
    """The hits of all changes; the definitions that no comparison is left for are counted in one of their session."""
    compared: dict[_Pair, Direction | None] = {}
    left: list[dict[str, Any]] = []
    session, pairs = None, set[_Pair]()
    for row in rows.iter_rows(named=True):
        if row["session"] != session:
            yield from _rest(left)
            session, pairs, left = row["session"], set(), []
        pair = (row["old_schema_id"], row["schema_id"], row["role"], bool(row["strict"]))
        said = None
        if row["state"] != "withdrawn" and None not in pair:
            if pair not in pairs and len(pairs) == _MOST_PAIRS:
                left.append(row)
                continue
            pairs.add(pair)
            if pair not in compared:
                old, new = (decode(texts.get(schema)) for schema in pair[:2])
                compared[pair] = direction(old, new, pair[2], second="the new one", strict=pair[3], wording=True)
            said = compared[pair]
            if said is None:
                continue
        hit = _told(row, said, seen.get((row["session"], row["tool"]), []))
        if hit is not None:
            yield hit
    yield from _rest(left)


def _rest(left: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    if left:
        first, tools = left[0], len({row["tool"] for row in left})
        yield {
            **{name: first[name] for name in ("session", "event", "pointer")},
            "message": f"{len(left)} more changes of definitions, of {tools} tool{'s' if tools != 1 else ''}, "
            f"were not compared: the first {_MOST_PAIRS} of the session were.",
            "hint": _HINT,
            "keyword": "not compared",
        }


def _told(row: dict[str, Any], said: Direction | None, calls: list[int]) -> dict[str, Any] | None:
    early = sum(seq < row["since"] for seq in calls)
    if not early and (row["old_channel"], row["channel"]) == ("create", "session"):
        return None  # what a server makes of a create request: the session did not run yet
    ran = f"{early} call{'s' if early != 1 else ''} before, {len(calls) - early} after"
    severity, keyword, pointer = None, "withdrawn", ""
    if row["state"] == "withdrawn":
        what = "was taken out of the table"
    elif said is None:
        what, keyword = "came to have a schema, or lost it", "schema"
    else:
        what, keyword, pointer = f"changed under the running session: {said.words}", said.relation, said.pointer
        severity = "info" if said.wording_only else None
    return {
        **{name: row[name] for name in ("session", "event", "pointer", "tool", "schema_id", "channel")},
        "offer_event": row["event"],
        "offer_pointer": row["pointer"],
        "message": f"The definition of the tool {what} ({ran}).",
        "hint": _HINT,
        "severity": "info" if row["channel"] == "update" else severity,
        "keyword": keyword,
        "schema_pointer": pointer,
        "related": [place(row["old_event"], row["old_pointer"], "defined before")],
    }
