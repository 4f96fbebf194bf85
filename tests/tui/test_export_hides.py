"""What the workspace exports holds no credential and no formula, whatever the log says."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any, cast

import polars as pl
import pytest

from analyzer.tui.export import Shown, write
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
    cells = ['=HYPERLINK("http://x.test")', "+cmd|' /C x'!A1", "@x", "-x", "\tx", "-1.5", "plain", None]
    file = tmp_path / "x.csv"
    write(file, Shown(cast("Any", None), frame=pl.DataFrame({"text": cells})), [])
    held = pl.read_csv(file, infer_schema=False)["text"].to_list()
    assert held == [*(f"'{cell}" for cell in cells[:5] if cell), "-1.5", "plain", None]
