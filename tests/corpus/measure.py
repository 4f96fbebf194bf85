"""Plants faults and counts what the rules find: `python -m tests.corpus.measure`, run in the repository.

Writes `analyzer/rules/measured.json`, which `analyzer rules --output-format json` carries, and prints the table of the
README. With `--faults N` fewer are planted, with `--only CODE` of one rule; then nothing is written.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.corpus import in_arguments, in_calls, in_outputs, in_record, in_runs, in_tools
from tests.corpus.clean import FINAL, clean
from tests.corpus.log import Fault, Log

ROOT = Path(__file__).resolve().parents[2]
TARGET = ROOT / "analyzer" / "rules" / "measured.json"
MUTATIONS = tuple(
    mutation
    for family in (in_arguments, in_calls, in_record, in_outputs, in_runs, in_tools)
    for mutation in family.MUTATIONS
)
FAULTS, CLEAN, SEED = 24, 120, 20261117
OTHER_WIRE = "another wire than the Agents API"
OUT_OF_REACH = {
    **dict.fromkeys(("CALL009", "CALL010", "CALL011", "CALL012", "CALL014", "CALL015", "CALL016"), OTHER_WIRE),
    **dict.fromkeys(("DRIFT003", "OUT008", "OUT011", "RUN006", "RUN013", "TOOL002"), OTHER_WIRE),
    **dict.fromkeys(("DRIFT007", "RUN002"), "records of a host's own gate"),
    "RUN004": "several sessions at once",
    "RUN011": "a session for which no output or final schema is given",
    "FINAL004": "ledger fields in the configuration",
}


@dataclass
class Measured:
    """What was planted and what was found; `misses` and `strays` say which, for whoever looks into it."""

    faults: Counter[str] = field(default_factory=Counter)
    found: Counter[str] = field(default_factory=Counter)
    false: Counter[str] = field(default_factory=Counter)
    errors_on_clean: int = 0
    clean: int = 0
    misses: list[str] = field(default_factory=list)
    strays: list[str] = field(default_factory=list)

    def recall(self, rule: str) -> float:
        return self.found[rule] / self.faults[rule]

    @property
    def overall(self) -> float:
        return self.found.total() / self.faults.total()


def measure(folder: Path, *, faults: int, clean_sessions: int, seed: int = SEED, only: str | None = None) -> Measured:
    """Write the corpus into a folder, audit it once, and compare."""
    planted: dict[str, Fault | None] = {}
    contracts: dict[str, Any] = {}
    pins: dict[str, Any] = {}
    writes: list[str] = []
    number = 0
    logs = folder / "logs"
    logs.mkdir()
    plan = [None] * clean_sessions + [mutation for mutation in MUTATIONS for _ in range(faults)]
    for mutation in plan:
        number += 1
        rng = random.Random(f"{seed}:{mutation.__name__ if mutation else 'clean'}:{number}")
        session = clean(number, rng)
        log = Log(session, rng)
        fault = mutation(log) if mutation else None
        if only is not None and fault is not None and fault.rule != only:
            continue
        file = logs / f"{number:05d}.ndjson"
        file.write_bytes(log.bytes())
        planted[str(file)] = fault
        contracts |= log.contracts
        pins |= log.pins
        writes += session.writes
    beside = folder / "beside"
    beside.mkdir()
    (beside / "contracts.json").write_text(json.dumps(contracts), encoding="utf-8")
    (beside / "pins").mkdir()
    (beside / "pins" / "tools.json").write_text(json.dumps(pins or {"none": {"arguments": {}}}), encoding="utf-8")
    (beside / "final.json").write_text(json.dumps(FINAL), encoding="utf-8")
    return _compared(planted, _audited(logs, beside, writes))


def _audited(logs: Path, beside: Path, writes: list[str]) -> list[dict[str, Any]]:
    from analyzer import Settings, audit

    done = audit(
        [str(logs)],
        contracts=[str(beside / "contracts.json"), str(beside / "pins")],
        final_schema=str(beside / "final.json"),
        settings=Settings(writes=frozenset(writes)),
        keep_frames=False,
    )
    if done.crashed:
        raise RuntimeError(f"rules crashed: {done.crashed}")
    return done.findings.to_dicts()


def _compared(planted: dict[str, Fault | None], findings: list[dict[str, Any]]) -> Measured:
    told = Measured(clean=sum(fault is None for fault in planted.values()))
    by_file: dict[str, list[dict[str, Any]]] = {}
    for finding in findings:
        by_file.setdefault((finding["location"] or {}).get("file") or "", []).append(finding)
    for file, fault in planted.items():
        mine = by_file.pop(file, [])
        if fault is not None:
            told.faults[fault.rule] += 1
            hit = any(each["rule"] == fault.rule and fault.call_id in (None, each["call_id"]) for each in mine)
            told.found[fault.rule] += hit
            if not hit:
                told.misses.append(f"{fault.rule} {Path(file).name} {fault.call_id}: {[each['rule'] for each in mine]}")
        for each in mine:
            if fault is None:
                told.errors_on_clean += each["severity"] == "error"
            if fault is None or each["rule"] not in (fault.rule, *fault.also):
                told.false[each["rule"]] += 1
                what = fault.rule if fault else "clean"
                told.strays.append(f"{each['rule']} in {what} {Path(file).name}: {each['message'][:150]}")
    for file, left in by_file.items():
        told.strays += [f"{each['rule']} at {file}: {each['message'][:150]}" for each in left]
        told.false.update(each["rule"] for each in left)
    return told


def record(told: Measured, *, seed: int = SEED) -> dict[str, Any]:
    """What is written into the package."""
    rules = {
        rule: {
            "faults": told.faults[rule],
            "found": told.found[rule],
            "recall": round(told.recall(rule), 4),
            "false_positives": told.false[rule],
        }
        for rule in sorted(told.faults)
    }
    return {
        "seed": seed,
        "mutated_sessions": told.faults.total(),
        "clean_sessions": told.clean,
        "errors_on_clean_sessions": told.errors_on_clean,
        "recall": round(told.overall, 4),
        "rules": rules,
        "out_of_reach": dict(sorted(OUT_OF_REACH.items())),
    }


def table(measured: dict[str, Any]) -> str:
    """The README's table: families with their faults, recall and false positives."""
    families: dict[str, list[dict[str, Any]]] = {}
    for rule, figures in measured["rules"].items():
        families.setdefault(rule.rstrip("0123456789"), []).append({"rule": rule, **figures})
    lines = ["| family | rules measured | faults planted | found | lowest recall of a rule | false findings |"]
    lines.append("|---|--:|--:|--:|--:|--:|")
    for family, rows in sorted(families.items()):
        faults, found = sum(row["faults"] for row in rows), sum(row["found"] for row in rows)
        worst, false = min(row["recall"] for row in rows), sum(row["false_positives"] for row in rows)
        lines.append(f"| {family} | {len(rows)} | {faults} | {found} | {worst:.2f} | {false} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--faults", type=int, default=FAULTS)
    parser.add_argument("--clean", type=int, default=CLEAN)
    parser.add_argument("--only")
    parser.add_argument("-v", action="store_true", help="name every miss and every stray finding")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        told = measure(Path(folder), faults=given.faults, clean_sessions=given.clean, only=given.only)
    if given.v:
        sys.stdout.write("".join(f"{line}\n" for line in [*told.misses, *told.strays]))
    measured = record(told)
    if given.faults == FAULTS and given.clean == CLEAN and given.only is None:
        TARGET.write_text(json.dumps(measured, indent=1) + "\n", encoding="utf-8")
    low = [f"{rule} {figures['recall']}" for rule, figures in measured["rules"].items() if figures["recall"] < 0.95]
    sys.stdout.write(f"{table(measured)}\n")
    sys.stdout.write(
        f"overall {measured['recall']}; below 0.95: {low}; errors on clean sessions: {told.errors_on_clean}\n"
    )


if __name__ == "__main__":
    main()
