"""Suppressions: findings that are known and borne, for a reason and until a day; marked, never dropped."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import date

import polars as pl

from analyzer.config import Suppression
from analyzer.frames import FINDINGS
from analyzer.rules.catalogue import find_rule


def suppress(
    findings: pl.DataFrame, suppressions: Sequence[Suppression], *, today: date, ran: Collection[str]
) -> tuple[pl.DataFrame, list[str]]:
    """FINDINGS with `suppressed` filled where a suppression holds, and what is wrong with the suppressions.

    The first that names all of a finding holds. One that has expired suppresses nothing; one that suppresses nothing is
    named, so that the list does not outlive what it was made for: but what it is for may stand in other logs, or its
    rule is not among those that `ran`, which are the codes of all that had something to look at.
    """
    notes: list[str] = []
    mark = pl.col("suppressed")
    for each in suppressions:
        named = _named(each)
        met = findings.filter(named).height
        place = f"{each.place}: " if each.place else ""
        what = f"{place}the suppression of {', '.join(f'{name} {value}' for name, value in _members(each))}"
        if each.until < today:
            again = f"{met} findings that it named are" if met > 1 else "the finding that it named is"
            held = f"{again} told again" if met else "nothing that it named is there any more"
            notes.append(f"{what} expired on {each.until}: {held}")
        elif not met:
            rule = None if each.rule is None else find_rule(each.rule)
            looked = rule is None or rule.code in ran
            why = "take it out if this is all that it is for" if looked else "its rule did not run"
            notes.append(f"{what} suppressed nothing here: {why}")
        else:
            value = pl.struct(reason=pl.lit(each.reason), until=pl.lit(each.until.isoformat()))
            findings = findings.with_columns(
                suppressed=pl.when(mark.is_null() & named).then(value.cast(FINDINGS["suppressed"])).otherwise(mark)
            )
    return findings, notes


def _members(suppression: Suppression) -> list[tuple[str, str]]:
    names = ("rule", "tool", "session", "group", "fingerprint")
    return [(name, value) for name in names if (value := getattr(suppression, name)) is not None]


def _named(suppression: Suppression) -> pl.Expr:
    tests = [
        (pl.col("rule") == value.upper()) | (pl.col("slug") == value.lower())
        if name == "rule"
        else pl.col(name) == value
        for name, value in _members(suppression)
    ]
    return pl.all_horizontal(tests).fill_null(value=False)
