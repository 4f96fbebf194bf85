"""One segment: some inputs read and audited together, and the answers kept. A pure function of the bytes of its inputs.

Inputs that share a session belong into one segment; whoever cuts the night into segments sees to it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from analyzer.auditing import Answer as PartAnswer
from analyzer.auditing import audit_large, audit_partition, chosen
from analyzer.contracts.files import Contracts
from analyzer.findings.kept import SAME, Kept
from analyzer.findings.naming import together
from analyzer.frame_masking import masked_frame
from analyzer.full_disk import write_parquet
from analyzer.masking import masked
from analyzer.read import Crew, read
from analyzer.read.mapped import adapters_of
from analyzer.read.recording import Loadable, Recording
from analyzer.read.sources.files import Evidence, Source
from analyzer.read.spilled.spill import Large
from analyzer.redaction import HIDDEN, Redaction, redacting
from analyzer.replay.final import FinalSchema
from analyzer.trace import Settings

SHUFFLED = 1_000_000
"""Events of a partition that a crew audits: some 1.5 GB."""

_FORM = 6  # of the answers: what a store keeps in another one is audited anew


@dataclass(frozen=True)
class Terms:
    """What the answers depend on beside the inputs."""

    contracts: Contracts = field(default_factory=Contracts)
    final: FinalSchema | None = None
    settings: Settings = field(default_factory=Settings)
    select: Sequence[str] = ()
    ignore: Sequence[str] = ()
    input_format: str | None = None
    mappings: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    version: str = ""
    redaction: Redaction = HIDDEN

    def digest(self) -> str:
        """Equal where the same inputs give the same answers."""
        contracts = [
            (each.tool, each.server, each.role, each.schema_id, each.dialect, each.file, each.line, each.channel)
            for each in self.contracts.entries
        ]
        settings = {
            name: sorted(value) if isinstance(value, frozenset) else value
            for name, value in vars(self.settings).items()
        }
        rules = [rule.code for rule in chosen(self.select, self.ignore)]
        final = None if self.final is None else list(self.final)
        mappings = {name: dict(fields) for name, fields in self.mappings.items()}
        key = None if self.redaction.key is None else hashlib.sha256(b"of a key " + self.redaction.key).hexdigest()
        hidden = [self.redaction.on, key]
        whole = [_FORM, self.version, contracts, final, settings, rules, self.input_format, mappings, hidden]
        return hashlib.sha256(json.dumps(whole, sort_keys=True).encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Answer:
    """What came of a segment; its frames are in the folder."""

    sources: list[dict[str, Any]]
    problems: list[tuple[str, str | None]]
    """What could not be read: text, and the file."""
    crashed: list[tuple[str, str]]
    sessions: frozenset[str]
    adrift: frozenset[str]
    """Turns of events that name no session: another input may know whose they are."""
    turns: frozenset[str]


def audit_segment(sources: Sequence[Source], terms: Terms, folder: Path, *, crew: Crew | None = None) -> Answer:
    """Audit inputs and write the answers into a folder, a Parquet file per frame, credentials hidden.

    A crew reads the inputs and audits them by session, in partitions of about SHUFFLED events; what goes from one
    process to another does so through the folder, which all of them see.
    """
    with redacting(terms.redaction):  # another process knows nothing of it
        return _audited(sources, terms, folder, crew)


def _recording(folder: Path, crew: Crew | None) -> Recording:
    if crew is None:
        return Recording()
    spilled = folder / "spilled"
    spilled.mkdir()
    return Recording(limit=SHUFFLED, at_least=crew.jobs, folder=spilled)


class _Part(NamedTuple):
    """The answer to one partition, and the turns that are in it."""

    answer: PartAnswer
    turns: list[str]


def audit_lot(lot: Loadable, sources: Sequence[Source], inputs: pl.DataFrame, terms: Terms) -> _Part:
    """Audit one partition, wherever that is."""
    given: dict[str, Any] = {
        "contracts": terms.contracts,
        "settings": terms.settings,
        "rules": [rule for rule in chosen(terms.select, terms.ignore) if rule.scope != "fleet"],
        "final": terms.final,
        "keep_frames": False,
        "details": True,
        "redaction": terms.redaction,
    }
    with closing(Evidence(sources)) as evidence:
        if isinstance(lot, Large):
            answer = audit_large(lot, inputs, fetch=evidence.fetch, **given)
            turns = [rows["turn"].unique() for _, rows in lot.frames("events")]
        else:
            recorded = lot.load()
            turns = [recorded["events"]["turn"].unique()]
            answer = audit_partition({**recorded, "sources": inputs}, fetch=evidence.fetch, **given)
    return _Part(answer, pl.concat(turns).drop_nulls().unique().to_list())


def _answers(
    lots: Sequence[Loadable], sources: Sequence[Source], inputs: pl.DataFrame, terms: Terms, crew: Crew | None
) -> Iterator[_Part]:
    if crew is None:
        yield from (audit_lot(lot, sources, inputs, terms) for lot in lots)
        return
    futures = [crew.pool.submit(audit_lot, lot, sources, inputs, terms) for lot in lots]
    yield from (future.result() for future in futures)


def _together(name: str, parts: list[pl.DataFrame]) -> pl.DataFrame:
    whole = pl.concat(parts)
    return whole.unique(maintain_order=True) if name in SAME else whole


def _audited(sources: Sequence[Source], terms: Terms, folder: Path, crew: Crew | None) -> Answer:
    recording = _recording(folder, crew)
    crashed: set[tuple[str, str]] = set()
    turns: set[str] = set()
    # Of a lake, which is one segment, there may be thousands: of their calls only those stay that repeat one in it.
    with closing(Kept(terms.settings.max_findings, every=crew is not None)) as answers:
        try:
            read(
                list(sources),
                input_format=terms.input_format,
                recording=recording,
                adapters=adapters_of(terms.mappings),
                crew=crew,
            )
            for part in _answers(recording.lots(), sources, recording.source_frame(), terms, crew):
                answers.add(part.answer.frames, part.answer.found, part.answer.more)
                turns.update(part.turns)
                crashed.update(part.answer.crashed)
                del part  # while the next one is judged
        finally:
            recording.close()
        (parts, found), details = answers.end(), answers.details()
    kept = {name: _together(name, [part[name] for part in parts]) for name in parts[0]} | details
    kept["found"] = together(found).unpack()
    # Masked first: a later run knows no other names.
    kept = {name: masked_frame(frame) for name, frame in kept.items()}
    answer = Answer(
        recording.sources,
        [(str(problem), problem.file) for problem in recording.problems],
        sorted(crashed),
        frozenset(kept["spans"]["session"]),
        frozenset(recording.adrift),
        frozenset(turns),
    )
    keys = pl.DataFrame(
        {"turn": sorted(answer.turns), "adrift": [turn in answer.adrift for turn in sorted(answer.turns)]}
    )
    kept["turns"] = masked_frame(keys.cast({"turn": pl.String, "adrift": pl.Boolean}))
    for name, frame in kept.items():
        write_parquet(frame, folder / f"{name}.parquet")
    frames = {name: frame.columns for name, frame in kept.items()}
    told = masked({"problems": answer.problems, "crashed": answer.crashed, "frames": frames})
    (folder / "told.json").write_text(json.dumps(told), encoding="utf-8")
    return answer
