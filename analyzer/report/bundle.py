"""The evidence of an audit as one zip file: calls, schemas, findings, raw records, digests of the inputs, the version.

Credentials are hidden unless --no-redact is given. The same log, command and version give the same bytes: members are
stored, in order, without times. Files are named without their folders. `bundle_check` holds a bundle to a log.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

import msgspec
import polars as pl

from analyzer import pointer as pointers
from analyzer import redaction
from analyzer.errors import AnalyzerError, UsageError
from analyzer.masking import mask, mask_json, masked
from analyzer.report.evidence import json_of
from analyzer.report.json import encoded, records
from analyzer.report.version import version

if TYPE_CHECKING:
    from analyzer.auditing import Audit

SCHEMA = "analyzer.bundle/v1"
MANIFEST = "manifest.json"
_MOST_BYTES = 1 << 30
_EPOCH = (1980, 1, 1, 0, 0, 0)  # the first time that a zip file can tell


def bundle(audit: Audit, calls: pl.DataFrame, session: str | None, turn: str | None, call_id: str | None) -> bytes:
    """The zip file about these rows of CALLS. Raises UsageError where it would be larger than a gigabyte."""
    chosen = {"session": session, "turn": turn, "call": call_id}
    made = members(audit, calls, whole=call_id is None, session=session, turn=turn)
    how = redaction.current()
    manifest = {
        "schema": SCHEMA,
        "version": version(),
        "redacted": how.on,
        "keyed": how.on and how.key is not None,
        "chosen": masked(chosen),
        "contracts": contracts_of(audit),
        "inputs": [
            {**masked(each), "path": named(each["path"])}
            for each in _inputs(audit, calls, made, chosen=[session, turn, call_id])
        ],
        "members": [
            {"name": name, "sha256": sha256(data).hexdigest(), "bytes": len(data)} for name, data in made.items()
        ],
    }
    return _zipped({MANIFEST: _pretty(manifest), **made})


def contracts_of(audit: Audit) -> list[dict[str, str]]:
    """The files, or the code, whose contracts an audit was made with: name and digest of the schemas of each."""
    files: dict[str, list[str]] = {}
    columns = ("file", "server", "name", "role", "version", "schema_id")
    for file, *entry in audit.frames["contracts"].select(columns).iter_rows():
        files.setdefault(named(file) or "", []).append(json.dumps(entry))
    return [
        {"path": mask(file), "sha256": sha256("\n".join(sorted(entries)).encode()).hexdigest()}
        for file, entries in sorted(files.items())
    ]


def _inputs(
    audit: Audit, calls: pl.DataFrame, made: Mapping[str, bytes], *, chosen: list[str | None]
) -> list[dict[str, Any]]:
    """The inputs that the evidence stands in: all of them where nothing was chosen."""
    if not any(chosen):
        return audit.inputs
    _, turn, call_id = chosen
    events = _chosen_events(audit, calls, whole=call_id is None, session=chosen[0], turn=turn)
    paths = set(audit.frames["sources"].filter(pl.col("source").is_in(events["source"].implode()))["path"])
    places = [
        place["file"]
        for row in map(msgspec.json.decode, made["findings.jsonl"].splitlines())
        for place in (row["location"], *(each["location"] for each in row["related"]))
        if place is not None
    ]
    return [each for each in audit.inputs if each["path"] in paths or mask(named(each["path"]) or "") in places]


def members(
    audit: Audit, calls: pl.DataFrame, *, whole: bool, session: str | None = None, turn: str | None = None
) -> dict[str, bytes]:
    """The members by name, without the manifest; `whole` takes all events of the session or turn, not only of calls."""
    frames = audit.frames
    results, verdicts = _judged(frames, calls)
    out: dict[str, bytes] = {
        "calls.jsonl": _lines(_calls(calls, results, verdicts, frames["violations"])),
        "findings.jsonl": _lines(_findings(audit, calls, whole=whole, session=session, turn=turn)),
    }
    judging = frames["schemas"].filter(pl.col("schema_id").is_in(verdicts["schema_id"].drop_nulls().implode()))
    for identity, text in judging.sort("schema_id").select("schema_id", "text").iter_rows():
        out[f"schemas/{identity}.json"] = mask_json(text).encode("utf-8", "backslashreplace") + b"\n"
    events = _chosen_events(audit, calls, whole=whole, session=session, turn=turn)
    out["records.jsonl"] = _lines(_records(audit, events))
    if sum(map(len, out.values())) > _MOST_BYTES:
        raise UsageError(f"the bundle would have more than {_MOST_BYTES} bytes: choose a session, turn or call")
    return out


def _judged(frames: Mapping[str, pl.DataFrame], calls: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The results of the calls, and the verdicts on both."""
    numbers = calls["call"].implode()
    results = frames["results"].filter(pl.col("call").is_in(numbers))
    verdicts = frames["verdicts"].filter(
        pl.col("call").is_in(numbers) | pl.col("result").is_in(results["result"].implode())
    )
    return results, verdicts


def _chosen_events(
    audit: Audit, calls: pl.DataFrame, *, whole: bool, session: str | None, turn: str | None
) -> pl.DataFrame:
    """The rows of EVENTS whose records are kept: of the session or turn, or those that show calls and their schemas."""
    frames = audit.frames
    if whole:
        events = frames["events"]
        for column, value in (("session", session), ("turn", turn)):
            events = events if value is None else events.filter(pl.col(column) == value)
        return events
    results, verdicts = _judged(frames, calls)
    shown = frames["sightings"]
    mine = ((pl.col("what") == "call") & pl.col("id").is_in(calls["call"].implode())) | (
        (pl.col("what") == "result") & pl.col("id").is_in(results["result"].implode())
    )
    seen = pl.concat([shown.filter(mine)["event"], verdicts["offer_event"].drop_nulls()])
    return frames["events"].filter(pl.col("event").is_in(seen.implode()))


def named(path: str | None) -> str | None:
    """A path without the folders that say where somebody works; members of archives keep their names in these."""
    if path is None:
        return None
    file, mark, member = path.partition("!")
    return PurePath(file).name + mark + member


def _calls(
    calls: pl.DataFrame, results: pl.DataFrame, verdicts: pl.DataFrame, violations: pl.DataFrame
) -> Iterator[Mapping[str, Any]]:
    """Each call with its verdicts and results, and the verdicts on these."""
    failed = violations.filter(pl.col("verdict").is_in(verdicts["verdict"].implode())).sort("verdict", "position")
    failures: dict[int, list[dict[str, Any]]] = {}
    for row in failed.iter_rows(named=True):
        failures.setdefault(row["verdict"], []).append({name: row[name] for name in _OF_FAILURES})
    of_call: dict[int, list[dict[str, Any]]] = {}
    of_result: dict[int, list[dict[str, Any]]] = {}
    for row in verdicts.sort("verdict").iter_rows(named=True):
        said = {**{name: row[name] for name in _OF_VERDICTS}, "failures": failures.get(row["verdict"], [])}
        if row["result"] is not None:
            of_result.setdefault(row["result"], []).append(said)
        else:
            of_call.setdefault(row["call"], []).append(said)
    answers: dict[int, list[dict[str, Any]]] = {}
    for row in results.sort("call", "rank", "result").iter_rows(named=True):
        held = {**{name: row[name] for name in _OF_RESULTS}, "verdicts": of_result.get(row["result"], [])}
        answers.setdefault(row["call"], []).append(held)
    for row in calls.sort("event", "call").iter_rows(named=True):
        yield {
            **{name: row[name] for name in _OF_CALLS},
            "verdicts": of_call.get(row["call"], []),
            "results": answers.get(row["call"], []),
        }


_OF_CALLS = ("session", "turn", "agent", "call_id", "item_id", "tool", "kind", "status", "outcome", "seq", "text")
_OF_RESULTS = ("call_id", "success", "status", "error", "seq", "rank", "text", "structured")
_OF_VERDICTS = ("role", "side", "schema_id", "channel", "verdict_is", "reason", "window", "passes")
_OF_FAILURES = ("instance_pointer", "schema_pointer", "keyword", "expected", "actual", "member")


def _findings(
    audit: Audit, calls: pl.DataFrame, *, whole: bool, session: str | None, turn: str | None
) -> Iterator[Mapping[str, Any]]:
    found = audit.findings
    if not whole:
        mine = calls.select("session", "call_id").unique()
        found = found.join(mine, on=["session", "call_id"], how="semi", nulls_equal=True, maintain_order="left")
    for column, value in (("session", session), ("turn", turn)):
        found = found if value is None else found.filter(pl.col(column) == value)
    for row in records(found):
        for place in (row["location"], row["contract"], *(each["location"] for each in row["related"])):
            if place is not None and place["file"] is not None:
                place["file"] = named(place["file"])
        yield row


def _records(audit: Audit, events: pl.DataFrame) -> Iterator[Mapping[str, Any]]:
    """Each event with its place and its bytes as text; of a document the element, written anew."""
    paths = {number: named(path) for number, path in audit.frames["sources"].select("source", "path").iter_rows()}
    held: tuple[int, int] | None = None
    raw, value = b"", None
    with audit.evidence() as evidence:
        for row in events.sort("event").iter_rows(named=True):
            here = row["source"], row["offset"]
            if here != held:
                held, value = here, None
                try:
                    raw = evidence.fetch(row["source"], row["offset"], row["length"])
                    value = _value(raw) if row["pointer"] else None
                except (AnalyzerError, OSError):
                    raw = b""
            yield {
                **{name: row[name] for name in ("session", "seq", "line", "offset", "length", "pointer", "type")},
                "file": paths.get(row["source"]),
                "raw": mask_json(_element(value, row["pointer"]) if row["pointer"] else _text(raw)),
            }


def _value(raw: bytes) -> Any:
    try:
        return msgspec.json.decode(json_of(raw))
    except (ValueError, RecursionError):
        return None


def _element(value: Any, pointer: str) -> str:
    """The JSON text of an element; empty where the record is not JSON, or holds no such element."""
    try:
        return msgspec.json.encode(pointers.resolve(value, pointer)).decode()
    except (LookupError, ValueError, RecursionError):
        return ""


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "backslashreplace")


def _lines(rows: Iterable[Mapping[str, Any]]) -> bytes:
    # Texts of payloads and records were recorded as JSON: escapes there hide nothing.
    return b"".join(encoded(masked({name: _plain(value) for name, value in row.items()})) + b"\n" for row in rows)


def _plain(value: Any) -> Any:
    return mask_json(value) if isinstance(value, str) else value


def _pretty(value: object) -> bytes:
    return json.dumps(value, indent=1).encode() + b"\n"


def _zipped(made: Mapping[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as archive:
        for name, data in made.items():
            entry = zipfile.ZipInfo(name, _EPOCH)
            entry.create_system, entry.external_attr = 3, 0o644 << 16  # the same wherever it is made
            archive.writestr(entry, data)
    return out.getvalue()
