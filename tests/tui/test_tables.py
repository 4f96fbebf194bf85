"""Rows, filters, lanes: what is shown of frames, without a terminal."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzer.tui import columns, filters
from analyzer.tui.case import Case
from analyzer.tui.lanes import LaneRows, Lanes, sparkline
from analyzer.tui.opening import open_saved
from analyzer.tui.rows import WINDOW, Column, FrameRows, fit, plain
from analyzer.tui.screens.versions import compared
from analyzer.tui.theme import ASCII, UNICODE

FRAME = pl.DataFrame(
    {
        "severity": ["error", "info", "warning", "error", "info"],
        "tool": ["bash", "read_file", "bash", None, 'a"b\\c'],
        "seq": [10, 2, 30, 40, 5],
        "type": pl.Series(["item", "delta", "item", "delta", "item"], dtype=pl.Categorical),
        "time": [datetime(2026, 3, day, tzinfo=UTC) for day in range(1, 6)],
        "suppressed": [False, False, True, False, False],
    }
)


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("", None),
        ("sev>=warn", [0, 2, 3]),
        ("sev=err", [0, 3]),
        ("sev<warn", [1, 4]),
        ("tool:BASH", [0, 2]),
        ("!tool:bash", [1, 3, 4]),
        ("bash", [0, 2]),
        ("!bash sev>=warn", [3]),
        ("tool=bash", [0, 2]),
        ("tool!=bash", [1, 4]),
        ("tool~^read", [1]),
        ('tool:"b\\', [4]),
        ("seq>=10 seq<40", [0, 2]),
        ("type=delta", [1, 3]),
        ("time>=2026-03-04", [3, 4]),
        ("suppressed=true", [2]),
        ("sort:seq", [1, 4, 0, 2, 3]),
        ("sort:-seq", [3, 2, 0, 4, 1]),
        ("sort:severity sort:-seq", [4, 1, 2, 3, 0]),
        ("sev=info sort:-seq", [4, 1]),
        ("nowhere", []),
    ],
)
def test_the_filter_language(text: str, kept: list[int] | None) -> None:
    found = filters.order(FRAME, text)
    assert (found if found is None else found.to_list()) == kept


@pytest.mark.parametrize("text", ["sev>=grave", "nocolumn:x", "seq>many", "tool~(", "sort:nothing", "seq~1"])
def test_what_a_filter_cannot_say_is_an_error_in_words(text: str) -> None:
    with pytest.raises(filters.FilterError):
        filters.order(FRAME, text)


@given(st.text(max_size=30))
def test_any_text_is_a_filter_or_an_error_in_words(text: str) -> None:
    try:
        found = filters.order(FRAME, text)
    except filters.FilterError:
        return
    assert found is None or set(found.to_list()) <= set(range(FRAME.height))


def test_rows_are_read_a_window_at_a_time() -> None:
    frame = pl.DataFrame({"n": range(100_000)})
    asked: list[int] = []

    class Counting(FrameRows):
        def cells(self, start: int, stop: int) -> list[tuple[object, ...]]:
            asked.append(stop - start)
            return super().cells(start, stop)

    rows = Counting(frame, [Column("n", "n", 0)])
    for row in (0, 1, 300, 99_999, 99_990, 50_000):
        assert rows.spans(row, 20)[0][0].split() == [str(row)]
    assert max(asked) <= WINDOW
    assert len(asked) <= 5


def test_an_order_filters_and_sorts_without_losing_rows() -> None:
    rows = FrameRows(FRAME, [Column("seq", "seq", 0)], pl.Series([3, 1], dtype=pl.UInt32))
    assert [rows.spans(row, 40)[0][0].split()[0] for row in range(rows.height)] == ["40", "2"]
    assert (rows.row_of(1), rows.row_of(0), rows.index(0)) == (1, None, 3)


def test_find_goes_both_ways_and_only_over_what_is_kept() -> None:
    rows = FrameRows(FRAME, [Column("tool", "tool", 0)], pl.Series([4, 2, 0], dtype=pl.UInt32))
    assert (rows.find("bash", 0, 1), rows.find("bash", 2, -1), rows.find("read", 0, 1)) == (1, 2, None)
    assert rows.find("bash", -1, -1) is None, "above the first line there is nothing"


def test_what_is_found_is_what_can_be_seen() -> None:
    frame = pl.DataFrame({"fingerprint": ["4999", "a"], "file": ["b", "4999.jsonl"], "message": ["x", "y 4999"]})
    starred = Column("fingerprint", "", 1, lambda _: ("", ""))
    rows = FrameRows(frame, [starred, Column("message", "message", 0)])
    assert rows.find("4999", 0, 1) == 1
    assert rows.find("jsonl", 0, 1) is None
    assert filters.order(frame, "4999").to_list() == [1], "nor does a bare word mean digits of a digest"  # type: ignore[union-attr]
    assert filters.order(frame, "fingerprint:4999").to_list() == [0]  # type: ignore[union-attr]


@given(st.text(max_size=40), st.integers(1, 30), st.booleans())
def test_cells_have_exactly_their_width(text: str, size: int, middle: bool) -> None:
    from rich.cells import cell_len

    shown = fit(plain(text, size, middle=middle), size)
    assert cell_len(shown) == size
    assert shown.isprintable()


def test_a_narrow_table_keeps_room_for_its_last_column() -> None:
    rows = FrameRows(pl.DataFrame({"a": ["x"], "b": ["y"]}), [Column("a", "a", 40), Column("b", "b", 0)])
    (first, _), (last, _) = rows.spans(0, 50)
    assert (len(first), len(last)) == (19, 31)


def test_a_wide_table_gives_names_what_nobody_else_can_use() -> None:
    frame = pl.DataFrame({"a": ["x" * 36], "b": ["y"]})
    rows = FrameRows(frame, [Column("a", "a", 20, middle=True), Column("b", "b", 0, most=24)])
    assert rows.spans(0, 100)[0][0] == f"{'x' * 36}     "
    assert len(rows.spans(0, 46)[0][0]) == 21, "not before the others have theirs"
    assert sum(len(text) for text, _ in rows.spans(0, 100)) == sum(len(text) for text, _ in rows.header(100) or ())


def test_what_is_cut_says_so_and_a_secret_is_masked_before() -> None:
    assert (plain("date_currency_134", 11), plain("date", 4)) == ("date_curre…", "date")
    secret = f"sk-proj-{'A1b2C3d4E5' * 6}"
    assert "A1b2" not in plain(secret, 14, middle=True) + plain(secret, 12)
    assert "3d4E5" not in plain(secret, 20, middle=True)


# --- lanes ---


@pytest.mark.parametrize("glyphs", [UNICODE, ASCII])
def test_lanes_show_agents_tools_and_contracts(plain_audit: Path, glyphs: object) -> None:
    assert glyphs in (UNICODE, ASCII)
    case = open_saved(str(plain_audit))
    lanes = Lanes(case, "s000")
    kinds = [(lane.name, lane.kind) for lane in lanes.lanes]
    assert kinds[:3] == [("main", "agent"), ("helper-1", "agent"), ("helper-2", "agent")]
    assert ("read_file", "tool") in kinds
    assert ("= search", "contract") in kinds
    rows = LaneRows(lanes, UNICODE if glyphs is UNICODE else ASCII)
    drawn = ["".join(text for text, _ in rows.spans(row, 100)) for row in range(rows.height)]
    assert all(len(line) == 100 - 1 or len(line) == 100 for line in drawn)
    search = next(line for line in drawn if line.startswith("= search"))
    assert "v1" in search
    assert "v2" in search
    assert "withdrawn" in next(line for line in drawn if line.startswith("= run_shell"))
    if glyphs is ASCII:
        assert all(line.isascii() for line in drawn)


@given(st.integers(0, 900), st.integers(1, 400), st.integers(10, 200))
def test_buckets_conserve_what_they_count(since: int, size: int, columns_: int) -> None:
    case = _case()
    lanes = Lanes(case, None)
    low, high = lanes.first + since * 250_000, lanes.first + (since + size) * 250_000
    found = lanes.cells(low, high, columns_)
    counted = sum(count for cells in found.values() for count, _ in cells.values())
    inside = lanes.points.filter(pl.col("x").is_between(low, high)).height
    assert counted == inside
    assert all(0 <= at < columns_ for cells in found.values() for at in cells)


def _case() -> Case:
    return _CASES[0]


_CASES: list[Case] = []


@pytest.fixture(autouse=True)
def _one_case(plain_audit: Path) -> None:
    _CASES[:] = [open_saved(str(plain_audit))]


def test_the_lanes_as_a_table(plain_audit: Path) -> None:
    table = Lanes(open_saved(str(plain_audit)), "s001").table()
    main = table.row(0, named=True)
    assert (main["name"], main["errors"]) == ("main", 0)
    assert table.filter(pl.col("kind") == "agent")["events"].sum() == 1000


def test_sessions_without_a_clock_go_by_sequence(plain_audit: Path) -> None:
    case = open_saved(str(plain_audit))
    case.events = case.events.with_columns(time=pl.lit(None, pl.Datetime("us", "UTC")))
    lanes = Lanes(case, "s000")
    assert (lanes.clock, lanes.first, lanes.last, lanes.stamp(7)) == ("sequence", 0, 999, "7")


def test_sparklines() -> None:
    assert sparkline([0, 1, 4, 8], UNICODE) == " ▁▄█"
    assert sparkline([], ASCII) == ""


# --- the case ---


def test_counts_of_sessions(plain_audit: Path) -> None:
    case = open_saved(str(plain_audit))
    sessions = case.sessions
    assert sessions["session"].to_list() == ["s000", "s001", "s002", "s003"]
    assert sessions["events"].sum() == case.summary["events"]
    assert sessions.select("errors", "warnings", "infos").sum().row(0) == tuple(
        case.summary["findings"][word] for word in ("error", "warning", "info")
    )
    assert sum(sum(parts) for parts in case.activity().values()) == 4_000


def test_severity_has_sign_and_word() -> None:
    assert [columns.severity(UNICODE)(word)[0] for word in ("error", "warning", "info")] == [
        "✖ error",
        "▲ warning",
        "● info",
    ]
    assert all(columns.severity(ASCII)(word)[0].isascii() for word in ("error", "warning", "info"))


def test_versions_that_cannot_be_read_are_not_called_the_same() -> None:
    deep = "[" * 3_000 + "]" * 3_000
    assert "cannot be compared" in compared(deep, "{}", "arguments").told[0][0]
    assert compared('{"type":"string"}', '{"type":["string","null"]}', "output").changes == [
        ("/type", "changed", "both")
    ]
    told = compared('{"type":"string"}', '{"type":["string","null"]}', "output").told
    assert told == [
        ("the right one is wider; readers break: values that were never promised before may come now", "error")
    ]
