"""What is compared: a schema file, a contract file, a folder of pins, or one version of a tool in a log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import polars as pl

from analyzer.contracts.executed import is_executed, load_executed
from analyzer.contracts.files import Contract, Definition, definitions, value_of
from analyzer.contracts.versions import versions
from analyzer.errors import UsageError
from analyzer.frames import GIVEN


@dataclass(frozen=True)
class Operand:
    """One side of a comparison: schemas by tool and role; a schema alone has no tool and no role."""

    label: str
    schemas: Mapping[tuple[str, str], Any]


def is_version(text: str) -> bool:
    """Whether an operand names a version in a log: TOOL@VERSION, unless a file has that name."""
    return "@" in text and not Path(text).exists()


def from_file(text: str) -> Operand:
    """Read a file or a folder, or `package.module:name`. Raises ContractFileError or UsageError."""
    path = Path(text)
    found: Sequence[Definition | Contract]
    found, problems = (load_executed([text]).entries, []) if is_executed(text) else definitions([path])
    if found:
        if problems:
            raise problems[0]
        return Operand(
            text,
            {(f"{each.server}/{each.tool}" if each.server else each.tool, each.role): each.schema for each in found},
        )
    if path.is_dir():
        raise problems[0]
    value = value_of(path)
    if not isinstance(value, dict | bool):
        raise problems[0]
    return Operand(text, {("", ""): value})


def from_log(text: str, frames: Mapping[str, pl.DataFrame]) -> Operand:
    """A version of the arguments: TOOL@NUMBER, TOOL@first, TOOL@last, TOOL@SCHEMA_ID; outputs: TOOL.output@NUMBER."""
    name, _, wanted = text.rpartition("@")
    rows = versions(frames).filter(~pl.col("channel").is_in(list(GIVEN)))
    texts = dict(frames["schemas"].select("schema_id", "text").iter_rows())
    role = "arguments"
    mine = rows.filter((pl.col("role") == role) & _named(name))
    if mine.is_empty() and name.endswith(".output"):
        name, role = name.removesuffix(".output"), "output"
        mine = rows.filter((pl.col("role") == role) & _named(name))
    if mine.is_empty():
        raise UsageError(
            f"no tool {name!r} with a schema in the log", advice="`analyzer contracts list LOGS` names what there is"
        )
    if mine["tool"].n_unique() > 1:
        raise UsageError(f"several tools are named {name!r}: say {' or '.join(sorted(set(mine['tool'])))}")
    found = {row["schema_id"]: str(row["number"]) for row in mine.iter_rows(named=True)}
    chosen = {"first": list(found)[:1], "last": list(found)[-1:]}.get(
        wanted,
        [identity for identity, number in found.items() if wanted == number or identity.startswith(wanted or "?")],
    )
    if len(chosen) != 1:
        listed = ", ".join(f"@{number} ({identity})" for identity, number in found.items())
        raise UsageError(f"no version {wanted!r} of {name!r}: it has {listed}")
    return Operand(text, {(name, role): msgspec.json.decode(texts[chosen[0]])})


def _named(name: str) -> pl.Expr:
    """The tool key itself, SERVER/NAME, or the bare name."""
    server, _, bare = name.rpartition("/")
    parts = pl.col("tool").str.splitn(":", 3).struct
    here = (parts.field("field_2") == bare) & (parts.field("field_1") == server)
    return (pl.col("tool") == name) | here | (parts.field("field_2") == name)


def paired(a: Operand, b: Operand) -> list[tuple[str, str, Any, Any]]:
    """(tool, role, schema of a, schema of b) sorted, `...` where one side has none.

    A schema alone is compared with the only one that the other side has. Raises UsageError where that is not one.
    """
    absent = ...
    if len(a.schemas) == len(b.schemas) == 1 and (("", "") in a.schemas or ("", "") in b.schemas or _versions(a, b)):
        (one, left), (other, right) = next(iter(a.schemas.items())), next(iter(b.schemas.items()))
        tool, role = one if one[0] else other
        return [(tool, role, left, right)]
    for alone, many in ((a, b), (b, a)):
        if ("", "") in alone.schemas:
            raise UsageError(f"{alone.label} is one schema and {many.label} has {len(many.schemas)}: name one of them")
    keys = sorted({*a.schemas, *b.schemas})
    return [(*key, a.schemas.get(key, absent), b.schemas.get(key, absent)) for key in keys]


def _versions(a: Operand, b: Operand) -> bool:
    """Two versions may be of two names: a rename."""
    return is_version(a.label) and is_version(b.label)
