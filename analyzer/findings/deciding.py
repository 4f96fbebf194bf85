"""Which findings decide how an audit ends, and which are borne: one place, for the exit status and for every report."""

from __future__ import annotations

import polars as pl

# Torn and unreadable records decide 3: that what could be read is sound is not what they tell.
NEVER_DECIDE = ("LOG001", "LOG002")
_DECIDING = {
    "error": ("error",),
    "warning": ("error", "warning"),
    "info": ("error", "warning", "info"),
    "never": (),
}


def borne() -> pl.Expr:
    """Whether a finding is suppressed or known: marked, and without consequence."""
    mark = pl.col("suppressed")
    return mark.is_not_null() & mark.struct.field("reason").is_not_null()


def deciding(fail_on: str) -> pl.Expr:
    """Whether a finding ends the audit with status 1 under `--fail-on`; a hint never does."""
    severe = pl.col("severity").is_in(_DECIDING[fail_on]) & (pl.col("confidence") != "hint")
    return (severe & ~pl.col("rule").is_in(NEVER_DECIDE) & ~borne()).fill_null(value=False)
