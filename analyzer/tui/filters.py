"""The filter language: words that all hold, such as `sev>=warn tool:bash !timeout sort:-seq`."""

from __future__ import annotations

import re
from collections.abc import Mapping

import polars as pl

SEVERITY = {"info": 0, "warning": 1, "error": 2}
_TERM = re.compile(r"(!?)(?:([A-Za-z_]+)(>=|<=|!=|[:=<>~]))?(.*)", re.DOTALL)
_SHORT = {
    "sev": "severity",
    "msg": "message",
    "err": "errors",
    "warn": "warnings",
    "conf": "confidence",
    "id": "call_id",
    "p": "pointer",
}
_DIGESTS = ("group", "fingerprint")  # any few digits stand in one of thousands
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


class FilterError(ValueError):
    """A filter that cannot be read; the text says which word and why."""


def order(frame: pl.DataFrame, text: str) -> pl.Series | None:
    """The numbers (UInt32) of the rows that a filter keeps, in its order; None where it keeps all as they are.

    Words are separated by blanks and all have to hold: `word` (in any text column but digests, whatever the case),
    `column:word` (contains), `column=value`, `column!=value`, `<`, `>`, `<=`, `>=`, `column~regex`; `!` turns a word
    round, `sort:column` or `sort:-column` sorts. Nothing is quoted: quotes and backslashes stand for themselves.

    Raises:
        FilterError: a word that cannot be read, or a column that is not there.
    """
    words = {name: kind for name, kind in frame.schema.items() if name not in _DIGESTS}
    keep: list[pl.Expr] = []
    sorts: list[tuple[str, bool]] = []
    for word in text.split():
        match = _TERM.fullmatch(word)
        if match is None:
            continue
        inverted, name, operator, value = match.groups()
        if name == "sort":
            sorts.append((_column(frame.schema, value.lstrip("-"), word), value.startswith("-")))
            continue
        term = holds(words, value.lower()) if name is None else _term(frame.schema, name, operator, value, word)
        keep.append(~term if inverted else term)
    if not keep and not sorts:
        return None
    try:
        if not keep:
            kept = pl.int_range(frame.height, dtype=pl.UInt32, eager=True)
        else:
            kept = frame.select(pl.arg_where(pl.all_horizontal(keep))).to_series()
        if sorts:
            by = frame.select(_rank(name, frame.schema[name]).alias(str(n)) for n, (name, _) in enumerate(sorts))[kept]
            at = by.select(
                pl.arg_sort_by(by.columns, descending=[down for _, down in sorts], nulls_last=True, maintain_order=True)
            )
            kept = kept[at.to_series()]
    except pl.exceptions.PolarsError as error:
        raise FilterError(str(error).splitlines()[0]) from error
    return kept


def holds(schema: Mapping[str, pl.DataType], needle: str) -> pl.Expr:
    """Whether any text column of a row holds the text, whatever the case."""
    names = [name for name, kind in schema.items() if kind in (pl.String, pl.Categorical) or isinstance(kind, pl.Enum)]
    if not needle or not names:
        return pl.lit(True)
    return pl.any_horizontal(_contains(name, schema[name], needle) for name in names)


def _contains(name: str, kind: pl.DataType, needle: str) -> pl.Expr:
    column = pl.col(name)
    if kind != pl.String:
        column = column.cast(pl.String)
    return column.str.contains(f"(?i){re.escape(needle)}").fill_null(False)


def _term(schema: Mapping[str, pl.DataType], name: str, operator: str, value: str, word: str) -> pl.Expr:
    name = _column(schema, name, word)
    kind = schema[name]
    if kind == pl.Boolean:
        return pl.col(name).fill_null(False) == (value.lower() in ("true", "yes", "1"))
    text = kind in (pl.String, pl.Categorical) or isinstance(kind, pl.Enum)
    if operator == ":" and text:
        return _contains(name, kind, value)
    if operator == "~":
        if not text:
            raise FilterError(f"{word}: {name} is no text")
        return pl.col(name).cast(pl.String).str.contains(value).fill_null(False)
    left = _rank(name, kind)
    right: pl.Expr
    if name == "severity":
        full = next((full for full in SEVERITY if value and full.startswith(value.lower())), None)
        if full is None:
            raise FilterError(f"{word}: severities are error, warning, info")
        right = pl.lit(SEVERITY[full])
    elif text:
        right = pl.lit(value)
    elif isinstance(kind, pl.Datetime):
        left, right = left.dt.strftime("%Y-%m-%dT%H:%M:%S"), pl.lit(value)
    elif _NUMBER.fullmatch(value):
        right = pl.lit(float(value))
    else:
        raise FilterError(f"{word}: {name} wants a number")
    compare = {
        ":": left == right,
        "=": left == right,
        "!=": left != right,
        "<": left < right,
        "<=": left <= right,
        ">": left > right,
        ">=": left >= right,
    }[operator]
    return compare.fill_null(False)


def _rank(name: str, kind: pl.DataType) -> pl.Expr:
    if name == "severity":
        return pl.col(name).cast(pl.String).replace_strict(SEVERITY, default=-1, return_dtype=pl.Int64)
    if kind == pl.Categorical or isinstance(kind, pl.Enum):
        return pl.col(name).cast(pl.String)
    return pl.col(name)


def _column(schema: Mapping[str, pl.DataType], name: str, word: str) -> str:
    full = _SHORT.get(name, name)
    if full in schema:
        return full
    near = [known for known in schema if known.startswith(name)]
    if len(near) == 1:
        return near[0]
    raise FilterError(f"{word}: no column {name}; there are {', '.join(schema)}")
