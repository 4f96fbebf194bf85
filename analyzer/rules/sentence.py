"""Sentences made of columns."""

from __future__ import annotations

import polars as pl

from analyzer.visible import homoglyph_note


def sentence(template: str, *parts: pl.Expr | str) -> pl.Expr:
    """The template with each `{}` replaced by an expression or a column; null where one of them is null.

    What `pl.format` does, which in Polars 2.1 ends the process's thread on frames of several chunks with nulls.
    """
    texts = template.split("{}")
    pieces: list[pl.Expr] = [pl.lit(texts[0])]
    for part, text in zip(parts, texts[1:], strict=True):
        pieces += [pl.col(part) if isinstance(part, str) else part, pl.lit(text)]
    return pl.concat_str(pieces)


def lookalikes(names: pl.Series) -> pl.Expr:
    """What makes a name of the column look like another, to be put behind it in a sentence; empty for nearly all."""
    odd = names.filter(~names.str.contains(r"^[!-~]*$")).unique().drop_nulls()
    notes = {name: f" (the name {note})" for name in odd if (note := homoglyph_note(name))}
    return pl.col(names.name).replace_strict(notes, default="", return_dtype=pl.String).fill_null("")
