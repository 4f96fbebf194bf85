"""The store of a nightly batch: what was audited, kept as Parquet, and never half written.

    lock               held by the run that writes
    inputs.parquet     INPUTS: one row per input ever audited, and the segment that holds its audit
    runs.parquet       RUNS: one row per run that came to its end
    segments/NAME/     the answers of `audit_partition` for some inputs, a Parquet file per frame; sessions, contracts
                       and findings are among them
    groups/RUN.parquet, schemas/RUN.parquet    what that run found by group, and which schemas tools had
    places/RUN.parquet  of the last run: PLACES, where each group was when last looked at, and what was there

A segment is written under another name and renamed, and counts from the moment when `inputs.parquet`, replaced at once,
names it: whenever a run is killed, the store opens, and the next run goes on behind the last segment that counts.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import polars as pl

from analyzer.errors import InputError, UsageError
from analyzer.findings.evidence import COUNTED
from analyzer.frame_masking import masked_frame
from analyzer.frames import SOURCES
from analyzer.full_disk import advice, write_parquet

INPUTS = pl.Schema(
    {
        **SOURCES,  # `source` is the number of the input for ever
        "identity": pl.String(),  # size, time and inode, or what an object store says instead
        "segment": pl.String(),
        "options": pl.String(),  # digest of what else the audit depends on
    }
)
RUNS = pl.Schema(
    {
        "run": pl.Int64(),  # from 1
        "started": pl.Datetime("us", "UTC"),
        "ended": pl.Datetime("us", "UTC"),
        "version": pl.String(),
        "options": pl.String(),
        "inputs": pl.Int64(),
        "audited": pl.Int64(),  # of them, in this run
        "sessions": pl.Int64(),
        "calls": pl.Int64(),
        "results": pl.Int64(),
        "coverage": pl.Float64(),
        "error": pl.Int64(),
        "warning": pl.Int64(),
        "info": pl.Int64(),
        "suppressed": pl.Int64(),
        # Of each rule that looked at all it had found before: its findings, and how many of them are suppressed.
        "rules": pl.List(pl.Struct({"rule": pl.String, "slug": pl.String, "found": pl.Int64, "suppressed": pl.Int64})),
    }
)
GROUPS = pl.Schema(
    {
        "group": pl.String(),  # key
        "rule": pl.String(),
        "slug": pl.String(),
        "severity": pl.String(),
        "tool": pl.String(),
        "agent": pl.String(),
        "schema_id": pl.String(),
        "at": pl.String(),  # pointer and keyword of the first failure
        "message": pl.String(),  # of the first
        "count": pl.Int64(),
        "sessions": pl.Int64(),
        "since": pl.Datetime("us", "UTC"),  # the first session's first recorded time
        "until": pl.Datetime("us", "UTC"),  # the last session's last
    }
)
VERSIONS = pl.Schema(
    {"tool": pl.String(), "role": pl.String(), "schema_id": pl.String(), "sessions": pl.Int64()}
)  # key: tool, role, schema_id
MEASURES = ("records", "events", "offers", *COUNTED)
"""What is counted of a place: records that could be read in its input, events of its session, and of its tool there (of
all tools where it has none) what is offered and EVIDENCE."""
PLACES = pl.Schema(
    {
        "group": pl.String(),
        "rule": pl.String(),
        "input": pl.String(),  # path, credentials hidden; null: of no input, but of all of them together
        "session": pl.String(),
        "tool": pl.String(),
        "count": pl.Int64(),  # 0: what the findings of the group point to beside their own places
        **dict.fromkeys(MEASURES, pl.Int64()),  # when it was found
    }
)  # key: group, input, session, tool
_LATER = {"runs.parquet": ("rules",), "places": ("rule", "session", "tool", *MEASURES)}
"""Columns that a store of before does not have: they are null."""


class Told(msgspec.Struct, frozen=True):
    """What is kept of a segment beside its frames."""

    problems: list[tuple[str, str | None]]
    """What could not be read: text, and the file."""
    crashed: list[tuple[str, str]]
    """Rules that broke, and how."""
    frames: dict[str, list[str]]
    """The frames and their columns."""


class Store:
    """A folder that holds the history of one batch."""

    def __init__(self, folder: str) -> None:
        """Open the store, or make it. Raises UsageError where the folder is something else or cannot be written."""
        self.folder = Path(folder)
        try:
            folder.encode()
        except UnicodeEncodeError as error:  # Polars opens no other
            raise UsageError("cannot keep a store under a name that is no UTF-8", file=folder) from error
        try:
            held = {each.name for each in self.folder.iterdir()} if self.folder.exists() else set()
            known = {"lock", "inputs.parquet", "runs.parquet", "segments", "groups", "schemas", "places"}
            if held - known and not held & known:
                raise UsageError("--store names a folder that holds something else", file=folder)
            for name in ("segments", "groups", "schemas", "places"):
                (self.folder / name).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(
                f"cannot keep a store: {error.strerror or error}", file=folder, advice=advice(error)
            ) from error

    @contextmanager
    def alone(self, waiting: Callable[[], None]) -> Iterator[None]:
        """Hold the store against other runs; `waiting` is called where one has it, and then it is waited for."""
        import fcntl  # not on every system, and needed by nothing else

        with (self.folder / "lock").open("a") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                waiting()
                fcntl.flock(lock, fcntl.LOCK_EX)
            self._sweep()
            yield

    def _sweep(self) -> None:
        """Remove what a killed run left: segments that nothing names, and half written files."""
        named = set(self.inputs()["segment"].unique())
        for segment in (self.folder / "segments").iterdir():
            if segment.name not in named:
                shutil.rmtree(segment, ignore_errors=True)
        for part in self.folder.rglob(".new-*"):
            part.unlink(missing_ok=True)

    def inputs(self) -> pl.DataFrame:
        """INPUTS, by source."""
        return self._read_first("inputs.parquet", INPUTS)

    def runs(self) -> pl.DataFrame:
        """RUNS, by run."""
        return self._read_first("runs.parquet", RUNS)

    def groups(self, run: int) -> pl.DataFrame:
        """GROUPS of a run."""
        return self._read(self.folder / "groups" / f"{run}.parquet", GROUPS)

    def schemas(self, run: int) -> pl.DataFrame:
        """VERSIONS of a run."""
        return self._read(self.folder / "schemas" / f"{run}.parquet", VERSIONS)

    def places(self, run: int) -> pl.DataFrame:
        """PLACES as they were after a run; none where a store of before does not have them."""
        return self._read_first(f"places/{run}.parquet", PLACES)

    def segment(self, name: str, frames: Iterable[str] | None = None) -> dict[str, pl.DataFrame]:
        """The frames of a segment, or those that are named. Raises InputError where it is not what was written."""
        folder, written = self.folder / "segments" / name, self.told(name).frames
        names = sorted(written) if frames is None else frames
        try:
            return {
                each: pl.read_parquet(folder / f"{each}.parquet", glob=False).select(written[each]) for each in names
            }
        except (OSError, KeyError, pl.exceptions.PolarsError) as error:
            raise _damaged(folder, error) from error

    def told(self, name: str) -> Told:
        """What is told beside the frames of a segment. Raises InputError where it is not what was written."""
        file = self.folder / "segments" / name / "told.json"
        try:
            return msgspec.json.decode(file.read_bytes(), type=Told)
        except (OSError, msgspec.MsgspecError) as error:
            raise _damaged(file, error) from error

    def draft(self) -> Path:
        """A folder for a segment on its way."""
        folder = self.folder / "segments" / f".draft-{os.getpid()}-{os.urandom(4).hex()}"
        folder.mkdir()
        return folder

    def commit(self, draft: Path, name: str, inputs: pl.DataFrame) -> None:
        """Make a draft a segment, and `inputs` (INPUTS, whole) what is known; both or neither."""
        target = self.folder / "segments" / name
        shutil.rmtree(target, ignore_errors=True)
        draft.rename(target)
        self._write(self.folder / "inputs.parquet", inputs)

    def close_run(
        self, run: dict[str, Any], groups: pl.DataFrame, versions: pl.DataFrame, places: pl.DataFrame
    ) -> None:
        """Write a run that came to its end into the history."""
        self._write(self.folder / "places" / f"{run['run']}.parquet", places)
        self._write(self.folder / "groups" / f"{run['run']}.parquet", groups)
        self._write(self.folder / "schemas" / f"{run['run']}.parquet", versions)
        self._write(self.folder / "runs.parquet", pl.concat([self.runs(), pl.DataFrame([run], schema=RUNS)]))
        for file in (self.folder / "places").glob("[0-9]*.parquet"):
            if file.stem != str(run["run"]):
                file.unlink()

    def _read_first(self, name: str, schema: pl.Schema) -> pl.DataFrame:
        file = self.folder / name
        return self._read(file, schema) if file.exists() else schema.to_frame()

    @staticmethod
    def _read(file: Path, schema: pl.Schema) -> pl.DataFrame:
        try:
            frame = pl.read_parquet(file, glob=False)
            later = {*_LATER.get(file.name, ()), *_LATER.get(file.parent.name, ())} - {*frame.columns}
            return frame.with_columns(pl.lit(None).alias(name) for name in later).select(list(schema)).cast(schema)
        except (OSError, pl.exceptions.PolarsError) as error:
            raise _damaged(file, error) from error

    @staticmethod
    def _write(file: Path, frame: pl.DataFrame) -> None:
        part = file.with_name(f".new-{file.name}")
        write_parquet(masked_frame(frame), part)
        with part.open("rb") as written:
            os.fsync(written.fileno())
        part.replace(file)


def _damaged(file: Path, error: Exception) -> InputError:
    return InputError(f"the store is damaged: {error}", file=str(file), advice="remove the store to begin anew")


def by_segment(inputs: pl.DataFrame) -> dict[str, Sequence[int]]:
    """The numbers of the inputs of each segment."""
    grouped = inputs.group_by("segment", maintain_order=True).agg("source")
    return dict(grouped.iter_rows())
