"""Writes what is shown to a new file; the ending of its name says how."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from analyzer.secrets import mask

if TYPE_CHECKING:
    import polars as pl

    from analyzer.tui.rows import Model

_MOST_LINES = 100_000


def write(
    file: Path,
    *,
    lines: Model,
    frame: pl.DataFrame | None = None,
    findings: pl.DataFrame | None = None,
    evidence: dict[str, Any] | None = None,
    raw: bytes | None = None,
    marks: list[dict[str, Any]],
    svg: str | None = None,
) -> str:
    """Write a pane to a file that does not exist yet, and say in words what was done or why not.

    `.json` holds findings, rows or evidence, with the marks; `.jsonl`, `.csv` and `.parquet` hold rows; `.sarif`
    findings; `.txt` the lines as they look; `.svg` the screen; `.bin` the bytes of the record, unmasked.
    """
    made = _content(file.suffix, lines, frame, findings, evidence, raw, marks, svg)
    if isinstance(made, str):
        return made
    try:
        with file.open("xb") as target:
            target.write(made)
    except FileExistsError:
        return f"{file} exists; nothing was written"
    except OSError as error:
        return f"nothing was written: {error.strerror or error}"
    return f"{file} written, {len(made):,} bytes"


def _content(
    suffix: str,
    lines: Model,
    frame: pl.DataFrame | None,
    findings: pl.DataFrame | None,
    evidence: dict[str, Any] | None,
    raw: bytes | None,
    marks: list[dict[str, Any]],
    svg: str | None,
) -> bytes | str:
    rows = findings if findings is not None else frame
    if suffix == ".json":
        return _json(lines, rows, evidence, raw, marks)
    if suffix == ".txt":
        shown = range(min(lines.height, _MOST_LINES))
        return "".join("".join(t for t, _ in lines.spans(row, 200)).rstrip() + "\n" for row in shown).encode(
            "utf-8", "backslashreplace"
        )
    if suffix == ".svg":
        return svg.encode() if svg is not None else "no picture of this"
    if suffix == ".bin":
        return raw if raw is not None else "this pane shows no record; go to the event and export there"
    if suffix == ".sarif":
        return _sarif(findings)
    if suffix not in (".jsonl", ".csv", ".parquet"):
        return "the name has to end in .json .jsonl .csv .parquet .sarif .txt .svg or .bin"
    if rows is None or frame is None:
        return "this pane shows no table; .json, .txt, .svg and .bin are what it can give"
    if suffix == ".jsonl":
        return "".join(json.dumps(row, default=str) + "\n" for row in rows.iter_rows(named=True)).encode()
    import io

    out = io.BytesIO()
    if suffix == ".csv":
        frame.write_csv(out)  # the flat form: a cell holds no list
    else:
        rows.write_parquet(out)
    return out.getvalue()


def _json(
    lines: Model,
    rows: pl.DataFrame | None,
    evidence: dict[str, Any] | None,
    raw: bytes | None,
    marks: list[dict[str, Any]],
) -> bytes:
    whole: dict[str, Any] = {}
    if evidence is not None:
        record = mask((raw or b"").decode("utf-8", "backslashreplace"))
        whole["evidence"] = {**evidence, "record": record}
    elif rows is not None:
        whole["rows"] = rows.to_dicts()
    else:
        whole["lines"] = [
            "".join(text for text, _ in lines.spans(row, 200)) for row in range(min(lines.height, _MOST_LINES))
        ]
    whole["marks"] = marks
    return (json.dumps(whole, indent=1, default=str) + "\n").encode()


def _sarif(findings: pl.DataFrame | None) -> bytes | str:
    if findings is None:
        return "SARIF holds findings: export it from their table"
    from analyzer.audit import Audit
    from analyzer.report import sarif

    return b"".join(sarif.pieces(Audit(findings)))
