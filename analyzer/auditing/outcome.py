"""What an audit comes to: findings, frames and what could not be seen; saved, and opened again."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import polars as pl

from analyzer import frames
from analyzer.auditing.on_disk import OnDisk
from analyzer.errors import AnalyzerError, InputError, UsageError
from analyzer.frame_masking import masked_frame
from analyzer.frames import Frames
from analyzer.full_disk import write_parquet
from analyzer.masking import masked
from analyzer.read.sources.files import Evidence, Source


@dataclass(frozen=True, repr=False)
class Audit:
    """What an audit found, and what it could not see."""

    findings: pl.DataFrame
    """FINDINGS, sorted by session first seen, place in it, rule, pointer and fingerprint."""
    frames: Frames = field(default_factory=dict)
    """Frames by the names of `frames.SAVED`; without `keep_frames` those that reports need, and of
    events those that show contracts."""
    summary: dict[str, Any] = field(default_factory=dict)
    inputs: list[dict[str, Any]] = field(default_factory=list)
    hops: list[dict[str, Any]] = field(default_factory=list)
    problems: list[AnalyzerError] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    """What is wrong with the suppressions (expired, or nothing left to suppress), and what the baseline has to say."""
    ran: list[str] = field(default_factory=list)
    """Codes of the rules that had something to look at."""
    lost: list[str] = field(default_factory=list)
    """What the baseline, or the last night, had judged and this audit has not; it is among the notes too."""
    unrecognised: list[str] = field(default_factory=list)
    crashed: list[tuple[str, str]] = field(default_factory=list)
    sources: tuple[Source, ...] = field(default=(), compare=False, repr=False)
    """The inputs as they were opened: standard input is kept nowhere else. Empty in a saved audit."""
    on_disk: OnDisk | None = field(default=None, compare=False, repr=False)
    """The frames that are not in memory."""

    def __repr__(self) -> str:
        """In one line, what was found in how much, and how much is missing: frames are long, and may hold anything."""
        found = self.summary.get("findings") or {}
        told = [f"{found.get(severity, 0)} {severity}" for severity in ("error", "warning", "info", "suppressed")]
        told += [f"{self.summary.get(name, 0)} {name}" for name in ("sessions", "calls", "results")]
        told.append(f"coverage {self.summary.get('coverage')}")
        odd = sum(not each["format"] for each in self.inputs)
        missing = ((odd, "not recognised"), (len(self.problems), "problems"), (len(self.crashed), "crashed rules"))
        return f"<Audit: {', '.join([*told, *(f'{count} {what}' for count, what in missing if count)])}>"

    def evidence(self) -> Evidence:
        """Raw bytes of the records; raises EvidenceUnavailable where a log has moved or changed since."""
        if self.sources:
            return Evidence(self.sources)
        sources = self.frames["sources"]
        return Evidence([Source(number, path) for number, path in sources.select("source", "path").iter_rows()])

    def save(self, folder: str | PathLike[str]) -> None:
        """Write the frames as Parquet and the rest as `audit.json`, credentials hidden. Raises OSError."""
        name, target = fspath(folder), Path(folder)
        try:
            name.encode()
        except UnicodeEncodeError as error:  # Polars opens no other
            raise UsageError("cannot save under a name that is no UTF-8", file=name) from error
        target.mkdir(parents=True, exist_ok=True)
        for name, frame in {**self.frames, "findings": self.findings}.items():
            write_parquet(masked_frame(frame), target / f"{name}.parquet")
        if self.on_disk is not None:
            self.on_disk.write(target)
        rest = masked(
            {
                "schema": "analyzer.saved/v1",
                "summary": self.summary,
                "inputs": self.inputs,
                "hops": self.hops,
                "problems": [str(problem) for problem in self.problems],
                "notes": self.notes,
                "ran": self.ran,
                "lost": self.lost,
                "unrecognised": self.unrecognised,
                "crashed": self.crashed,
            }
        )
        (target / "audit.json").write_text(json.dumps(rest, indent=1), encoding="utf-8")


def open_audit(folder: str | PathLike[str]) -> Audit:
    """A saved audit. Raises InputError where the folder holds none, or one that is damaged."""
    name, source = fspath(folder), Path(folder)
    try:
        rest = json.loads((source / "audit.json").read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"not a saved audit: {error.strerror or error}", file=name) from error
    except ValueError as error:
        raise InputError("not a saved audit: audit.json is not JSON", file=name) from error
    try:
        held = {file.stem: pl.read_parquet(file, glob=False) for file in sorted(source.glob("*.parquet"))}
    except (OSError, pl.exceptions.PolarsError) as error:
        told = str(error).splitlines()[0]
        raise InputError(f"the saved audit is damaged: {told}", file=name, advice="save it anew") from error
    findings = held.pop("findings", frames.FINDINGS.to_frame())
    return Audit(
        findings,
        held,
        summary=rest["summary"],
        inputs=rest["inputs"],
        hops=rest["hops"],
        problems=[InputError(text) for text in rest["problems"]],
        notes=rest["notes"],
        ran=rest.get("ran", []),
        lost=rest.get("lost", []),
        unrecognised=rest["unrecognised"],
        crashed=[(rule, error) for rule, error in rest["crashed"]],
    )
