"""Writes a saved audit of any size, with its log beside it, built to the schemas of `analyzer.frames`.

    python -m tests.tui.saved FOLDER [EVENTS]

The log is `FOLDER/log.ndjson`, the audit `FOLDER/audit/`: Parquet frames and `audit.json`. Same numbers, same bytes.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl

from analyzer import frames, pointer

START = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
TOOLS = ("read_file", "write_file", "search", "run_shell")
SCHEMA = {
    "type": "object",
    "properties": {"path": {"$ref": "#/$defs/path"}, "limit": {"type": "integer"}, "note": {"type": "string"}},
    "required": ["path"],
    "additionalProperties": False,
    "$defs": {"path": {"type": "string", "pattern": "^src/"}},
}
NARROW = {**SCHEMA, "required": ["path", "limit"]}
TURN, CALLED = 40, 10  # events of a turn; every tenth event is a call, the fifth after it its result


def schema_id(schema: dict[str, Any]) -> str:
    text = json.dumps(schema, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def arguments(n: int, tool: str) -> dict[str, Any]:
    return {"path": f"src/{tool}/{n}.py", "limit": n % 7}


def record(n: int, session: str) -> dict[str, Any]:
    """The event `n` of the log as the wire had it."""
    head = {"id": f"evt_{n}", "session": session}
    tool = TOOLS[n // CALLED % len(TOOLS)]
    if n % CALLED == 0:
        call = {
            "type": "function_call",
            "call_id": f"call_{n}",
            "name": tool,
            "arguments": json.dumps(arguments(n, tool)),
        }
        return {**head, "type": "item.added", "item": call}
    if n % CALLED == 5:
        output = json.dumps({"ok": True, "lines": [n, n + 1]})
        return {**head, "type": "input.tool_result", "item": {"call_id": f"call_{n - 5}", "output": output}}
    return {**head, "type": "item.delta", "delta": f"part {n}"}


def write(
    folder: Path, events: int, *, sessions: int = 0, strange: Sequence[str] = ("",), big: int = 0, faults: int = 1000
) -> Path:
    """Write log and audit, and give the audit's folder.

    Every foreign text of session n that people see holds `strange[n]`; unless that is empty, the first event of the
    session is deep and huge too. `big` leaves stand in the first event; every `faults`-th event breaks its contract.
    """
    sessions = sessions or max(1, min(50, events // 400))
    each = events // sessions
    odd = [strange[n % len(strange)] for n in range(sessions)]
    names = [f"s{n:03d}{odd[n]}" for n in range(sessions)]
    log, audit = folder / "log.ndjson", folder / "audit"
    audit.mkdir(parents=True)
    offsets, lengths, digest, at = [], [], hashlib.sha256(), 0
    with log.open("wb") as file:
        for n in range(events):
            at_session = min(n // each, sessions - 1)
            line, mark = record(n, names[at_session]), odd[at_session]
            if n % faults == 0 and "item" in line:
                line["item"]["arguments"] = json.dumps({"path": n, "limt": 3})
            if mark:
                line["note"], line[f"key{mark}"] = mark, [mark]
                if "name" in line.get("item", {}):
                    line["item"]["name"] += mark
            if big and n == 0:
                line["leaves"] = {f"k{k}": {"name": f"n{k}", "at": k, "on": True} for k in range(big // 3)}
            raw = json.dumps(line, ensure_ascii=False).encode("utf-8", "surrogatepass")
            if mark and n % each == 0:
                deep, huge = b"[" * 3_000 + b"]" * 3_000, b"x" * 200_000
                raw = raw[:-1] + b', "deep": ' + deep + b', "huge": "' + huge + b'"}'
            offsets.append(at)
            lengths.append(len(raw))
            file.write(raw + b"\n")
            digest.update(raw + b"\n")
            at += len(raw) + 1
    number: Any = pl.int_range(events, eager=True)
    session = pl.Series("session", names)[(number // each).clip(upper_bound=sessions - 1)]
    seq = number - (number // each).clip(upper_bound=sessions - 1) * each
    table = pl.DataFrame(
        {
            "event": number * (1 << frames.PART_BITS),
            "session": session,
            "source": pl.repeat(0, events, dtype=pl.Int64, eager=True),
            "offset": offsets,
            "length": lengths,
            "line": number + 1,
            "pointer": pl.repeat("", events, eager=True),
            "time": pl.select(pl.lit(START).cast(frames.TIME) + pl.duration(milliseconds=number * 250)).to_series(),
            "number": number,
            "type": pl.select(
                pl.when(number % CALLED == 0)
                .then(pl.lit("item.added"))
                .when(number % CALLED == 5)
                .then(pl.lit("input.tool_result"))
                .otherwise(pl.lit("item.delta"))
            ).to_series(),
            "kind": pl.select(
                pl.when(number % CALLED == 0)
                .then(pl.lit("item"))
                .when(number % CALLED == 5)
                .then(pl.lit("input"))
                .otherwise(pl.lit("delta"))
            ).to_series(),
            "turn": pl.select(pl.format("turn_{}", number // TURN)).to_series(),
            "event_id": pl.select(pl.format("evt_{}", number)).to_series(),
        },
        schema=frames.EVENTS,
    ).with_columns(seq=seq.cast(pl.Int64), copy=pl.lit(None, pl.String))
    out: dict[str, pl.DataFrame] = {name: schema.to_frame() for name, schema in frames.SAVED.items()}
    out["events"] = table
    out["sources"] = _frame(
        frames.SOURCES,
        [
            {
                "source": 0,
                "path": str(log),
                "format": "sample",
                "sha256": digest.hexdigest(),
                "bytes": at,
                "records": events,
                "unreadable": 0,
            }
        ],
    )
    starts = [min(i * each, events) for i in range(sessions)] + [events]
    out["sessions"] = _frame(
        frames.SESSIONS,
        [
            {
                "session": name,
                "first_event": starts[i] << frames.PART_BITS,
                "events": starts[i + 1] - starts[i],
                "order": "file",
                "agent": "main",
                "agent_name": "Main",
                "model": "model-1",
                "last_status": "idle",
                "wires": "sample",
                "from_start": True,
            }
            for i, name in enumerate(names)
        ],
    )
    turns: list[dict[str, Any]] = []
    for i, name in enumerate(names):
        for ordinal, first in enumerate(range(starts[i] - starts[i] % TURN, starts[i + 1], TURN)):
            since = max(first, starts[i]) - starts[i]
            until = min(first + TURN, starts[i + 1]) - 1 - starts[i]
            helper = f"helper-{ordinal % 3}{odd[i]}" if ordinal % 3 else None
            turns.append(
                {
                    "session": name,
                    "turn": f"turn_{first // TURN}",
                    "ordinal": ordinal,
                    "agent": "main",
                    "subagent": helper,
                    "since": since,
                    "until": until,
                    "status": "completed",
                }
            )
    out["turns"] = _frame(frames.TURNS, turns)
    wide, narrow = schema_id(SCHEMA), schema_id(NARROW)
    out["schemas"] = _frame(
        frames.SCHEMAS,
        [
            {"schema_id": key, "dialect": "2020-12", "text": json.dumps(text)}
            for key, text in sorted([(wide, SCHEMA), (narrow, NARROW)])
        ],
    )
    offers: list[dict[str, Any]] = []
    for i, name in enumerate(names):
        for tool in TOOLS:
            common = {
                "session": name,
                "tool": f"function::{tool}{odd[i]}",
                "role": "arguments",
                "exact": True,
                "channel": "session",
                "pointer": "",
            }
            offers.append(
                {**common, "since": 0, "state": "offered", "schema_id": wide, "event": starts[i] << frames.PART_BITS}
            )
            half = (starts[i + 1] - starts[i]) // 2
            if half and tool == "search":
                offers.append(
                    {
                        **common,
                        "since": half,
                        "after": half - 1,
                        "state": "offered",
                        "schema_id": narrow,
                        "event": (starts[i] + half) << frames.PART_BITS,
                    }
                )
            if half and tool == "run_shell":
                offers.append(
                    {
                        **common,
                        "since": half,
                        "after": half - 1,
                        "state": "withdrawn",
                        "event": (starts[i] + half) << frames.PART_BITS,
                    }
                )
    out["offers"] = _frame(frames.OFFERS, offers)
    calls, results, verdicts, violations, findings = [], [], [], [], []
    for number, k in enumerate(range(0, events, CALLED)):
        i = min(k // each, sessions - 1)
        tool = TOOLS[number % len(TOOLS)] + odd[i]
        line = record(k, names[i])
        where = "/item/arguments"
        bad = k % faults == 0
        common = {
            "session": names[i],
            "turn": f"turn_{k // TURN}",
            "wire": "sample",
            "call_id": f"call_{k}{odd[i]}",
            "pair_id": f"call_{k}",
            "tool": f"function::{tool}",
        }
        calls.append(
            {
                **common,
                "call": number,
                "agent": "main",
                "kind": "function",
                "name": tool,
                "text": line["item"]["arguments"],
                "container": "text",
                "owed_by": "client",
                "seq": k - starts[i],
                "event": k << frames.PART_BITS,
                "pointer": where,
                "action_seq": k - starts[i] + 1,
                "last_seq": k - starts[i] + 5,
                "sightings": 1,
                "reply": number,
                "ordinal": 0,
                "copies": 1,
                "result": number if k + 5 < events else None,
                "outcome": "ok" if k + 5 < events else "none",
            }
        )
        if k + 5 < events:
            results.append(
                {
                    **common,
                    "result": number,
                    "name": tool,
                    "success": True,
                    "text": "{}",
                    "container": "text",
                    "seq": k + 5 - starts[i],
                    "event": (k + 5) << frames.PART_BITS,
                    "pointer": "/item/output",
                    "stage": "post",
                    "call": number,
                    "rank": 0,
                    "other_turn": False,
                }
            )
        verdicts.append(
            {
                "verdict": number,
                "call": number,
                "session": names[i],
                "tool": f"function::{tool}",
                "role": "arguments",
                "side": "advertised",
                "schema_id": wide,
                "channel": "session",
                "offer_event": starts[i] << frames.PART_BITS,
                "offer_pointer": "",
                "verdict_is": "invalid" if bad else "valid",
                "window": "exact",
            }
        )
        if not bad:
            continue
        failures = [
            {
                "pointer": "/path",
                "path": "$['path']",
                "keyword": "type",
                "schema_pointer": "/$defs/path/type",
                "expected": f"string{odd[i]}",
                "actual": str(k),
            },
            {
                "pointer": "/limt",
                "path": "$['limt']",
                "keyword": "additionalProperties",
                "schema_pointer": "/additionalProperties",
                "expected": "no further member",
                "actual": "3",
            },
        ]
        violations += [
            {
                "verdict": number,
                "position": p,
                "instance_pointer": f["pointer"],
                "schema_pointer": f["schema_pointer"],
                "keyword": f["keyword"],
                "expected": f["expected"],
                "actual": f["actual"],
                "member": None,
            }
            for p, f in enumerate(failures)
        ]
        spot = {
            "file": str(log),
            "line": k + 1,
            "offset": offsets[k],
            "length": lengths[k],
            "pointer": where,
            "path": pointer.path(where),
        }
        severity, rule, slug = (
            ("error", "ARG001", "args-schema-mismatch"),
            ("warning", "CALL008", "result-late"),
            ("info", "LOG003", "event-unknown"),
        )[number // (faults // CALLED) % 3]
        findings.append(
            {
                "rule": rule,
                "slug": slug,
                "severity": severity,
                "confidence": "certain",
                "message": f"{k} is not of type 'string'{odd[i]}",
                **{key: common[key] for key in ("session", "turn", "call_id")},
                "agent": "main",
                "tool": tool,
                "seq": k - starts[i],
                "location": spot,
                "contract": {
                    "schema_id": wide,
                    "channel": "session",
                    "file": str(log),
                    "line": starts[i] + 1,
                    "pointer": "",
                    "passes": None,
                },
                "failures": failures if rule == "ARG001" else [],
                "hint": "send a path",
                "related": [
                    {
                        "location": {
                            **spot,
                            "line": min(k + 6, events),
                            "offset": offsets[min(k + 5, events - 1)],
                            "length": lengths[min(k + 5, events - 1)],
                            "pointer": "/item/output",
                        },
                        "call_id": f"call_{k}",
                        "role": "result",
                    }
                ],
                "group": f"g{k % 7}",
                "fingerprint": f"f{k}",
                "suppressed": None,
            }
        )
    for name, rows in (
        ("calls", calls),
        ("results", results),
        ("verdicts", verdicts),
        ("violations", violations),
        ("findings", findings),
    ):
        out[name] = _frame(frames.SAVED[name], rows)
    for name, frame in out.items():
        frame.write_parquet(audit / f"{name}.parquet")
    severities = [finding["severity"] for finding in findings]
    summary = {
        "sessions": sessions,
        "events": events,
        "calls": len(calls),
        "results": len(results),
        "coverage": 1.0,
        "verdicts": {
            "valid": len(calls) - len(findings),
            "invalid": len(findings),
            "unverifiable": {},
            "not_applicable": 0,
        },
        "bracketed": 0,
        "rules_not_run": [{"rule": "OUT004", "reason": "no output contract recorded"}],
        "findings": {**{word: severities.count(word) for word in ("error", "warning", "info")}, "suppressed": 0},
    }
    inputs = [
        {
            "path": str(log),
            "format": "sample",
            "sha256": digest.hexdigest(),
            "bytes": at,
            "records": events,
            "unreadable": 0,
        }
    ]
    (audit / "audit.json").write_text(json.dumps({"summary": summary, "inputs": inputs}), encoding="utf-8")
    return audit


def _frame(schema: pl.Schema, rows: list[dict[str, Any]]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=schema, infer_schema_length=None) if rows else schema.to_frame()


if __name__ == "__main__":
    sys.stdout.write(str(write(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 10_000)) + "\n")
