"""Writes what is shown to a new file; the ending of its name says how."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from analyzer.frame_masking import masked_frame
from analyzer.masking import mask_json, masked

if TYPE_CHECKING:
    from analyzer.auditing import Audit
    from analyzer.tui.rows import Model

_MOST_LINES = 100_000
_WIDTH = 200  # cells of a line on paper


class Shown(NamedTuple):
    """What a pane can give: `findings` and `frame` are the same rows, nested and flat, `audit` what they are of."""

    lines: Model
    frame: pl.DataFrame | None = None
    findings: pl.DataFrame | None = None
    audit: Audit | None = None
    evidence: dict[str, Any] | None = None
    raw: bytes | None = None
    svg: str | None = None


def write(file: Path, shown: Shown, marks: list[dict[str, Any]]) -> str:
    """Write a pane to a file that does not exist yet, and say in words what was done or why not.

    `.json` holds findings, rows or evidence, with the marks; `.jsonl`, `.csv` and `.parquet` hold rows; `.sarif`
    and `.md` findings as the reports of those names; `.txt` the lines as they look; `.svg` the screen; `.bin` the
    bytes of the record, unmasked. In all others credentials are hidden, and no cell of a table is a formula.
    """
    make = _KINDS.get(file.suffix)
    if make is None:
        return f"the name has to end in one of {' '.join(_KINDS)}"
    made = make(_hidden(shown), marks)
    if made is None:
        return f"this pane has nothing that fits {file.suffix}; .json, .txt and .svg always do"
    try:
        with file.open("xb") as target:
            target.write(made)
    except FileExistsError:
        return f"{file} exists; nothing was written"
    except OSError as error:
        return f"nothing was written: {error.strerror or error}"
    return f"{file} written, {len(made):,} bytes"


def _hidden(shown: Shown) -> Shown:
    return shown._replace(
        findings=None if shown.findings is None else masked_frame(shown.findings),
        frame=None if shown.frame is None else masked_frame(shown.frame),
        evidence=masked(shown.evidence),
    )


def _json(shown: Shown, marks: list[dict[str, Any]]) -> bytes:
    whole: dict[str, Any] = {}
    rows = shown.findings if shown.findings is not None else shown.frame
    if shown.evidence is not None:
        record = mask_json((shown.raw or b"").decode("utf-8", "backslashreplace"))
        whole["evidence"] = {**shown.evidence, "record": record}
    elif rows is not None:
        whole["rows"] = rows.to_dicts()
    else:
        whole["lines"] = _text(shown)
    whole["marks"] = marks
    return (json.dumps(whole, indent=1, default=str) + "\n").encode()


def _text(shown: Shown) -> list[str]:
    some = range(min(shown.lines.height, _MOST_LINES))
    return ["".join(text for text, _ in shown.lines.spans(row, _WIDTH)).rstrip() for row in some]


def _txt(shown: Shown, _: list[dict[str, Any]]) -> bytes:
    return "".join(f"{line}\n" for line in _text(shown)).encode("utf-8", "backslashreplace")


def _jsonl(shown: Shown, _: list[dict[str, Any]]) -> bytes | None:
    rows = shown.findings if shown.findings is not None else shown.frame
    if rows is None:
        return None
    return "".join(json.dumps(row, default=str) + "\n" for row in rows.iter_rows(named=True)).encode()


def _csv(shown: Shown, _: list[dict[str, Any]]) -> bytes | None:
    if shown.frame is None:
        return None
    text = pl.col(pl.String)
    # What a spreadsheet would run: it drops blanks, and in some languages takes wide signs as well.
    formula = text.str.contains(r"^\s*[=+@\u{ff1d}\u{ff0b}\u{ff20}\u{ff0d}-]|^[\t\r]") & ~text.str.contains(
        r"^-?[0-9.]+$"
    )
    safe = shown.frame.with_columns(pl.when(formula).then("'" + text).otherwise(text).name.keep())
    return safe.write_csv().encode("utf-8", "backslashreplace")


def _parquet(shown: Shown, _: list[dict[str, Any]]) -> bytes | None:
    import io

    rows = shown.findings if shown.findings is not None else shown.frame
    if rows is None:
        return None
    out = io.BytesIO()
    rows.write_parquet(out)
    return out.getvalue()


def _sarif(shown: Shown, _: list[dict[str, Any]]) -> bytes | None:
    if shown.audit is None:
        return None
    from analyzer.report import sarif

    return b"".join(sarif.pieces(shown.audit))


def _ticket(shown: Shown, _: list[dict[str, Any]]) -> bytes | None:
    if shown.audit is None:
        return None
    from analyzer.report import markdown

    return b"".join(markdown.pieces(shown.audit))


_KINDS: dict[str, Callable[[Shown, list[dict[str, Any]]], bytes | None]] = {
    ".json": _json,
    ".jsonl": _jsonl,
    ".csv": _csv,
    ".parquet": _parquet,
    ".sarif": _sarif,
    ".md": _ticket,
    ".txt": _txt,
    ".svg": lambda shown, _: None if shown.svg is None else shown.svg.encode(),
    ".bin": lambda shown, _: shown.raw,
}
