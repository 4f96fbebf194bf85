"""Agents, tools and contract versions side by side over time: which glyph stands in which cell."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from analyzer.report.naming import bare
from analyzer.tui.lanebars import Axis, Bar, of_call, of_offers, of_turn
from analyzer.tui.rows import Span, find_line, fit
from analyzer.tui.steps import MOST
from analyzer.tui.theme import UNICODE, Glyphs, glyph
from analyzer.visible import visible

if TYPE_CHECKING:
    from analyzer.tui.case import Case

LABEL = 18  # cells of the names
_TOOLS = 24  # lanes of tools, the busiest first
_SEVERITY = {"info": 1, "warning": 2, "error": 3}
_LONG = 1_000_000  # microseconds
_WORST = ("", "info", "warning", "error")


class Lane(NamedTuple):
    """One line of the picture."""

    name: str
    kind: str  # agent, tool, contract
    bars: list[Bar]


class Lanes:
    """The lanes of one session (None: of all), ready to be drawn for any window."""

    def __init__(self, case: Case, session: str | None) -> None:
        self.session = session
        self._slow = case.slow["event"]
        events = case.events if session is None else case.events.filter(pl.col("session").cast(pl.String) == session)
        timed = events.height > 0 and events["time"].null_count() == 0 and events["time"].n_unique() > 1
        self.clock = "time" if timed else "sequence"
        x = pl.col("time").dt.epoch("us") if timed else pl.col("seq").cast(pl.Int64)
        if session is None and not timed:
            x = pl.int_range(pl.len())
        events = events.select("event", "seq", "turn", pl.col("session").cast(pl.String), x=x)
        mine = [] if session is None else [pl.col("session") == session]
        turns = case.scan("turns").filter(*mine).collect()
        agents = turns.select(
            "session",
            pl.col("turn").cast(pl.Categorical),
            lane=pl.coalesce("subagent", "agent"),
            root=pl.col("subagent").is_null(),
        )
        events = events.join(agents.drop("root"), on=("session", "turn"), how="left", maintain_order="left")
        first = events["lane"].drop_nulls()
        main = agents.filter(pl.col("root"))["lane"].drop_nulls()
        root = main[0] if len(main) else (first[0] if len(first) else "agent")
        names = [root, *[name for name in first.unique(maintain_order=True) if name != root]]
        events = events.with_columns(
            lane=pl.col("lane").fill_null(root).replace_strict(names, list(range(len(names))), return_dtype=pl.UInt32)
        )
        calls = case.scan("calls").filter(*mine).collect()
        findings = case.findings if session is None else case.findings.filter(pl.col("session") == session)
        worst = findings.filter(~pl.col("suppressed")).select(
            "session",
            pl.col("seq").cast(pl.UInt32),
            worst=pl.col("severity").replace_strict(_SEVERITY, default=0, return_dtype=pl.Int64),
        )
        worst = worst.drop_nulls().group_by("session", "seq").agg(pl.col("worst").max())
        events = events.join(worst, on=("session", "seq"), how="left", maintain_order="left").with_columns(
            pl.col("worst").fill_null(0)
        )
        tools = (
            calls.group_by("tool")
            .len()
            .sort("len", "tool", descending=[True, False])["tool"]
            .drop_nulls()[:_TOOLS]
            .to_list()
        )
        self.lanes = [Lane(name, "agent", []) for name in names]
        self.lanes += [Lane(bare(name), "tool", []) for name in tools]
        called = calls.filter(pl.col("tool").is_in(tools)).select(
            "session",
            pl.col("seq").cast(pl.UInt32),
            lane=pl.col("tool").replace_strict(
                tools, [len(names) + n for n in range(len(tools))], default=0, return_dtype=pl.UInt32
            ),
        )
        called = events.drop("lane").join(called, on=("session", "seq"), how="inner", maintain_order="left")
        self.points = pl.concat(
            [events.select("x", "lane", "worst", "event", "seq"), called.select("x", "lane", "worst", "event", "seq")]
        ).sort("x", "event", "lane")
        self.first = int(self.points["x"].min() or 0) if self.points.height else 0  # type: ignore[arg-type]
        self.last = int(self.points["x"].max() or 0) if self.points.height else 0  # type: ignore[arg-type]
        if session is not None:
            axis = Axis(dict(zip(events["seq"].to_list(), events["x"].to_list(), strict=True)), self.first, self.last)
            self._add_bars(case, axis, turns, calls, tools)
        self._cached: tuple[tuple[int, int, int], dict[int, dict[int, tuple[int, int]]]] | None = None

    def _add_bars(self, case: Case, axis: Axis, turns: pl.DataFrame, calls: pl.DataFrame, tools: list[str]) -> None:
        owner = {lane.name: lane for lane in self.lanes if lane.kind == "agent"}
        of_tool = dict(zip(tools, (lane for lane in self.lanes if lane.kind == "tool"), strict=True))
        mine = pl.col("session") == self.session
        answered = dict(case.scan("results").filter(mine).select("result", "seq").collect().iter_rows())
        of_turn_id: dict[str | None, Lane] = {}
        for turn in turns.iter_rows(named=True):
            lane = of_turn_id[turn["turn"]] = owner.get(turn["subagent"] or turn["agent"], self.lanes[0])
            lane.bars.extend(of_turn(turn, axis))
        for call in calls.iter_rows(named=True):
            bars = of_call(call, answered, axis)
            of_turn_id.get(call["turn"], self.lanes[0]).bars.extend(bars)
            if call["tool"] in of_tool:
                of_tool[call["tool"]].bars.extend(bars)
        offers = case.scan("offers").filter(mine, pl.col("role") == "arguments").sort("tool", "since").collect()
        for tool, bars in of_offers(offers, axis).items():
            self.lanes.append(Lane(f"= {bare(tool)}", "contract", bars))

    # --- windows ---

    def cells(self, since: int, until: int, columns: int) -> dict[int, dict[int, tuple[int, int]]]:
        """Events and worst severity by lane and cell of a window, `until` included."""
        key = (since, until, columns)
        if self._cached is None or self._cached[0] != key:
            size = max(1, until - since + 1)
            low = self.points["x"].search_sorted(since)
            high = self.points["x"].search_sorted(until, side="right")
            part = self.points[low:high]
            cell = ((pl.col("x") - since) * columns // size).alias("cell")
            found: dict[int, dict[int, tuple[int, int]]] = {}
            for lane, at, count, worst in part.group_by("lane", cell).agg(pl.len(), pl.col("worst").max()).iter_rows():
                found.setdefault(lane, {})[at] = (count, worst)
            self._cached = (key, found)
        return self._cached[1]

    def event_near(self, x: int, lane: int) -> int | None:
        """The event of a lane next to a point."""
        own = self.points.filter(pl.col("lane") == lane) if self.lanes[lane].kind != "contract" else self.points
        if not own.height:
            return None
        at = (own["x"] - x).abs().arg_min()
        return int(own["event"][at]) if at is not None else None

    def next_bad(self, x: int, lane: int, step: int) -> int | None:
        """Where the next error or warning of a lane stands."""
        own = self.points.filter(pl.col("lane") == lane, pl.col("worst") >= 2)
        own = own.filter(pl.col("x") > x) if step > 0 else own.filter(pl.col("x") < x)
        return None if not own.height else int(own["x"][0 if step > 0 else -1])

    def next_slow(self, x: int, lane: int, step: int) -> int | None:
        """Where the next slow step of a lane ends, or the next long call of a tool begins."""
        if self.clock != "time":
            return None
        if self.lanes[lane].kind == "agent":
            own = self.points.filter(pl.col("lane") == lane, pl.col("event").is_in(self._slow.implode()))["x"].to_list()
        else:
            long = [bar for bar in self.lanes[lane].bars if bar.kind != "contract" and bar.until - bar.since >= _LONG]
            own = sorted(bar.since for bar in sorted(long, key=lambda bar: bar.since - bar.until)[:MOST])
        found = [at for at in own if at > x] if step > 0 else [at for at in reversed(own) if at < x]
        return found[0] if found else None

    def stamp(self, x: int) -> str:
        """A point of the axis as people read it."""
        if self.clock == "sequence":
            return str(x)
        return str(pl.Series([x]).cast(pl.Datetime("us")).dt.strftime("%H:%M:%S")[0])

    def table(self) -> pl.DataFrame:
        """The lanes as a table: the form that needs no eyes for patterns."""
        names = pl.DataFrame(
            {
                "lane": range(len(self.lanes)),
                "name": [lane.name for lane in self.lanes],
                "kind": [lane.kind for lane in self.lanes],
            },
            schema_overrides={"lane": pl.UInt32},
        )
        counted = self.points.group_by("lane").agg(
            first=pl.col("x").min(),
            last=pl.col("x").max(),
            events=pl.len(),
            errors=(pl.col("worst") == 3).sum(),
            longest_gap=pl.col("x").diff().max(),
        )
        seconds = pl.lit(1.0 if self.clock == "sequence" else 1e6)
        return (
            names.join(counted, on="lane", how="left", maintain_order="left")
            .with_columns(
                pl.col("longest_gap") / seconds,
                *[pl.col(c).map_elements(self.stamp, return_dtype=pl.String) for c in ("first", "last")],
            )
            .drop("lane")
        )


class LaneRows:
    """A window of the lanes as lines; `column` is the cell under the cursor."""

    def __init__(self, lanes: Lanes, glyphs: Glyphs = UNICODE, *, most: int | None = None) -> None:
        self.lanes = lanes
        self.glyphs = glyphs
        self.since, self.until = lanes.first, lanes.last
        self.column: int | None = None
        self._most = most

    @property
    def height(self) -> int:
        """Lanes shown."""
        agents = sum(lane.kind == "agent" for lane in self.lanes.lanes)
        return len(self.lanes.lanes) if self._most is None else min(self._most, agents)

    def columns(self, width: int) -> int:
        """Cells of the picture."""
        return max(10, width - LABEL - 1)

    def at(self, column: int, width: int) -> int:
        """The point that a cell stands for."""
        return self.since + (self.until - self.since + 1) * column // self.columns(width)

    def column_of(self, x: int, width: int) -> int:
        """The cell that a point stands in."""
        return (x - self.since) * self.columns(width) // max(1, self.until - self.since + 1)

    def header(self, width: int) -> list[Span] | None:
        """The axis: five points of it, and what is counted."""
        columns = self.columns(width)
        marks = [fit(self.lanes.stamp(self.at(columns * n // 4, width)), columns // 4) for n in range(4)]
        return [(fit(f"by {self.lanes.clock}", LABEL) + " ", "dim"), ("".join(marks), "title")]

    def spans(self, row: int, width: int) -> list[Span]:
        """One lane: its name, then a glyph per cell."""
        lane, columns = self.lanes.lanes[row], self.columns(width)
        agents = sum(other.kind == "agent" for other in self.lanes.lanes)
        lead = "" if lane.kind != "agent" or row == 0 else self.glyphs.last if row == agents - 1 else self.glyphs.branch
        found = self.lanes.cells(self.since, self.until, columns).get(row, {})
        size = max(1, self.until - self.since + 1)
        cells = [" "] * columns
        styles = [""] * columns
        if lane.kind == "contract" or (lane.bars and sum(count for count, _ in found.values()) <= columns // 2):
            self._draw(lane, cells, styles, size)
        else:
            top = max((count for count, _ in found.values()), default=1)
            for at, (count, _) in found.items():
                cells[at] = self.glyphs.bars[max(1, count * (len(self.glyphs.bars) - 1) // top)]
        for at, (_, worst) in found.items():
            if worst:
                cells[at], styles[at] = glyph(self.glyphs, _WORST[worst]), _WORST[worst]
        if self.column is not None and 0 <= self.column < columns:
            styles[self.column] = "match"
        name = visible(lane.name, limit=LABEL)
        return [(fit(f"{lead}{name}", LABEL) + " ", "key"), *_runs(cells, styles)]

    def _draw(self, lane: Lane, cells: list[str], styles: list[str], size: int) -> None:
        columns, signs = len(cells), self.glyphs
        fill = {
            "model": signs.model,
            "tool": signs.tool,
            "wait": signs.wait,
            "contract": signs.line,
            "withdrawn": signs.idle,
        }
        for bar in lane.bars:
            if bar.until < self.since or bar.since > self.until:
                continue
            low = max(0, (bar.since - self.since) * columns // size)
            high = min(columns - 1, (bar.until - self.since) * columns // size)
            name = visible(bar.name, limit=high - low) if bar.kind != "model" and bar.name.isascii() else ""
            for at in range(low, high + 1):
                inside = at - low - 1
                cells[at] = name[inside] if len(name) < high - low and 0 <= inside < len(name) else fill[bar.kind]
                styles[at] = "dim" if bar.kind in ("wait", "withdrawn") else ""
            if bar.kind == "contract" and bar.since >= self.since:
                cells[low] = signs.since

    def find(self, needle: str, start: int, step: int) -> int | None:
        """The next lane with this name."""
        return find_line(self, needle, start, step)


def _runs(cells: list[str], styles: list[str]) -> list[Span]:
    out: list[Span] = []
    for cell, style in zip(cells, styles, strict=True):
        if out and out[-1][1] == style:
            out[-1] = (out[-1][0] + cell, style)
        else:
            out.append((cell, style))
    return out


def sparkline(counts: list[int], glyphs: Glyphs) -> str:
    """Counts as bars."""
    top = max(counts, default=0) or 1
    return "".join(glyphs.bars[0 if not count else max(1, count * (len(glyphs.bars) - 1) // top)] for count in counts)
