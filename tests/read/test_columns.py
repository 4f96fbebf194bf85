"""Rows that come column by column give what they would row by row."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analyzer.read.rows import Rows, event_number
from analyzer.read.values import microseconds

_TEXTS = st.one_of(st.none(), st.text(max_size=12), st.text(max_size=12).map(json.dumps).map(str.encode))


@settings(max_examples=60, deadline=None)
@given(st.lists(_TEXTS, min_size=1, max_size=8), st.booleans())
def test_texts_as_they_stand_in_json_are_decoded_and_others_kept(texts: list[str | bytes | None], raw: bool) -> None:
    if raw:  # not escaped
        texts = [json.dumps(json.loads(t), ensure_ascii=False).encode() if isinstance(t, bytes) else t for t in texts]
    rows = Rows()
    rows.bulk("messages", quoted={"text": texts}, event=list(range(len(texts))))
    expected = [json.loads(text) if isinstance(text, bytes) else text for text in texts]
    assert rows.take()["messages"]["text"].to_list() == expected


def test_shared_and_lent_texts_and_constants_stand_in_every_row() -> None:
    rows = Rows()
    same, constant = {"pair_id": "call_id"}, {"wire": "w"}
    lending: list[tuple[int, list[int | None]]] = [(0, [None, None]), (2, [1, 0])]
    for start, lent in lending:
        rows.bulk(
            "result_sightings",
            constant=constant,
            same=same,
            shared={"stage": ["post", None]},
            quoted={"text": [None, None] if start else [b'"a"', "b"]},
            lent={"text": lent},
            event=[start, start + 1],
            call_id=["c", "d"],
        )
    found = rows.take()["result_sightings"].select("event", "wire", "stage", "call_id", "pair_id", "text").rows()
    assert found == [
        (0, "w", "post", "c", "c", "a"),
        (1, "w", None, "d", "d", "b"),
        (2, "w", "post", "c", "c", "b"),
        (3, "w", None, "d", "d", "a"),
    ]


def test_rows_of_all_ways_are_sorted_by_event() -> None:
    rows = Rows()
    rows.bulk("messages", event=[5, 1], role=["e", "a"])
    rows.messages.append((3, None, None, None, "c", None, None, None, None, None))
    assert rows.take()["messages"].select("event", "role").rows() == [(1, "a"), (3, "c"), (5, "e")]


def test_times_of_all_spellings_mean_the_same() -> None:
    rows = Rows()
    first = datetime(2026, 11, 20, 1, 2, 3, tzinfo=UTC)
    spelled = ["2026-11-20T01:02:03Z", "2026-11-20T01:02:03.000Z", "2026-11-20T01:02:03.000000Z"]
    others: list[Any] = [
        "2026-11-20T02:02:03+01:00",
        "2026-11-20T01:02:03",
        "2026-11-20 01:02:03.0",
        first.timestamp(),
        None,
        "x",
        10**400,
    ]
    columns: list[list[Any]] = [*([text] for text in spelled), [*spelled, *others]]
    for number, times in enumerate(columns):
        event = [100 * number + place for place in range(len(times))]
        rows.bulk("events", event=event, offset=event, length=event, line=event, time=times)
        found = rows.take()["events"]["time"]
        assert found.dtype == pl.Datetime("us", "UTC")
        assert found.to_list() == [None if text in (None, "x", 10**400) else first for text in times]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.one_of(st.none(), st.floats(-3e17, 3e17), st.integers(-(1 << 52), 1 << 52), st.just(10**400)),
        min_size=1,
        max_size=9,
    )
)
def test_times_that_are_numbers_are_what_each_is_alone(times: list[float | None]) -> None:
    rows = Rows()
    event = list(range(len(times)))
    rows.bulk("events", event=event, offset=event, length=event, line=event, time=times)
    found = rows.take()["events"]["time"].cast(pl.Int64).to_list()
    assert found == [None if when is None else microseconds(when) for when in times]


def test_events_of_a_block_lie_where_their_records_do_and_are_taken_back_with_all_they_said() -> None:
    rows = Rows()
    base = rows.base = event_number(0, 7)
    events = [base, base + 1, event_number(0, 9), event_number(0, 10)]
    for event in events:
        rows.whole.append((event, "s", None, None, None, "t", "item", f"/{event & 1}"))
        rows.messages.append((event, "s", None, None, "user", None, None, None, "", None))
    rows.undo(events[3])
    rows.place([10, 20, 30, 40], [5, 6, 7, 8], [1, 2, 3, 4])
    frames = rows.take()
    assert frames["events"].select("event", "offset", "length", "line", "pointer").rows() == [
        (events[0], 10, 5, 1, "/0"),
        (events[1], 10, 5, 1, "/1"),
        (events[2], 30, 7, 3, "/0"),
    ]
    assert frames["messages"]["event"].to_list() == events[:3]


def test_a_row_of_another_width_is_not_kept() -> None:
    rows = Rows()
    rows.messages.append((1, "s"))
    with pytest.raises(AssertionError, match="width"):
        rows.take()
