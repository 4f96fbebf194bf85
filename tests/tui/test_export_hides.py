"""What the workspace exports holds no credential and no formula, whatever the log says."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any, cast

import polars as pl
import pytest

from analyzer.tui.export import Shown, write
from analyzer.tui.jsonlines import JsonLines
from analyzer.tui.panes import JsonPane
from analyzer.tui.query import Query, decode
from analyzer.tui.searching import over_value
from tests.ground.tokens import BASE32, draw

SECRET = "AKIA" + draw(random.Random(9), BASE32, 16)


@pytest.mark.parametrize("ending", ["json", "jsonl", "csv", "parquet"])
def test_rows_hide_credentials(tmp_path: Path, ending: str) -> None:
    frame = pl.DataFrame({"text": [f"key {SECRET}", '{"password":"open sesame"}', "plain"], "n": [1, 2, 3]})
    file = tmp_path / f"x.{ending}"
    assert "written" in write(file, Shown(cast("Any", None), frame=frame), [])
    data = repr(pl.read_parquet(file).to_dicts()).encode() if ending == "parquet" else file.read_bytes()
    assert SECRET.encode() not in data
    assert b"open sesame" not in data
    assert b"aws-access-key-id" in data
    assert b"plain" in data


def test_no_cell_is_a_formula(tmp_path: Path) -> None:
    cells = [
        '=HYPERLINK("http://x.test")',
        "+cmd|' /C x'!A1",
        "@x",
        "-x",
        "\tx",
        "-2+3+cmd|' /C x'!A0",
        " =1",
        "\uff1d1",
        "-1.5",
        "plain",
        None,
    ]
    file = tmp_path / "x.csv"
    write(file, Shown(cast("Any", None), frame=pl.DataFrame({"text": cells})), [])
    held = pl.read_csv(file, infer_schema=False)["text"].to_list()
    assert held == [*(f"'{cell}" for cell in cells[:8] if cell), "-1.5", "plain", None]


RECORD = (
    rb'{"password":"sesame one","headers":[{"name":"Cookie","value":"sid=halloween tea"}],'
    rb'"secret":["first biscuit","second biscuit"],"dsn":"postgres:\/\/ann:fourthBiscuit9@h\/db",'
    rb'"text":"{\"secret\":[\"third biscuit\"]}"}'
)
WORDS = ("sesame", "halloween", "biscuit", "fourthBiscuit9")


def test_an_event_hides_what_names_say() -> None:
    lines = JsonLines(RECORD)
    lines.unfold_below(0)
    shown = "\n".join("".join(text for text, _ in lines.spans(row, 100)) for row in range(lines.height))
    assert lines.height > 10
    assert [word for word in WORDS if word in shown] == []


def test_what_is_copied_of_it_hides_it_too() -> None:
    pane, lines = JsonPane(), JsonLines(RECORD)
    lines.unfold_below(0)
    pane.model = lines
    for row in range(lines.height):
        pane.set_reactive(JsonPane.cursor, row)
        for key in "yv":
            assert [word for word in WORDS if word in pane.copies()[key][1]] == [], row


def test_an_exported_event_hides_it_too(tmp_path: Path) -> None:
    file = tmp_path / "x.json"
    write(file, Shown(JsonLines(RECORD), evidence={}, raw=RECORD), [])
    assert [word for word in WORDS if word in file.read_text(encoding="utf-8")] == []


@pytest.mark.parametrize("text", ["$.password", "/password", "password", "$.secret[*]", "[password, secret]", "$.text"])
def test_hits_of_a_query_hide_it_too(text: str) -> None:
    found = over_value(Query(text), decode(RECORD))
    assert found.hits
    assert [word for word in WORDS if word in repr(found.hits)] == []
