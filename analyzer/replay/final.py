"""The last answer as a gate of its own: which message it is, and whether it keeps the schema given for it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from analyzer.contracts.comparison.normalise import unwrap
from analyzer.contracts.files import value_of
from analyzer.contracts.timeline import SchemaStore
from analyzer.contracts.verdicts.engine import Judge
from analyzer.errors import ContractFileError
from analyzer.frames import CONTRACTS, MOST_TOLD, VERDICTS, VIOLATIONS
from analyzer.masking import mask_json_at
from analyzer.replay.payloads import Payload, read_payload
from analyzer.visible import visible

TOOL = "final answer"


class FinalSchema(NamedTuple):
    """The schema of the final answer's object, and where it was read."""

    schema: Any
    file: str


def load_final_schema(file: str) -> FinalSchema:
    """Read the schema of `--final-schema`: itself, or a response format that carries it.

    Raises ContractFileError where the file cannot be read or nothing can be judged by what it holds.
    """
    schema = unwrap(value_of(Path(file)))
    judge = Judge(schema)
    if judge.problem is not None:
        raise ContractFileError(f"no answer can be judged by this schema: {judge.problem_detail}", file=file, line=1)
    return FinalSchema(schema, file)


def final_answers(messages: pl.DataFrame, turns: pl.DataFrame, sessions: pl.DataFrame) -> pl.LazyFrame:
    """One row per final answer: `session, turn, event, pointer, seq, text, status, number` (from 0 within it, by seq).

    It is the last assistant message with phase final_answer of each completed root turn, without phases the last
    message. A turn without a recorded end counts as completed where its session holds no turn states at all.
    """
    done = turns.lazy().filter(pl.col("status") == "completed", pl.col("subagent").is_null())
    stateless = sessions.lazy().join(turns.lazy().select("session"), on="session", how="anti").select("session")
    said = messages.lazy().filter(pl.col("role") == "assistant", pl.col("text").is_not_null())
    known = pl.concat(
        [
            said.join(done.select("session", "turn"), on=["session", "turn"], how="semi"),
            said.join(stateless, on="session", how="semi"),
        ]
    )
    phased = (pl.col("phase") == "final_answer").fill_null(value=False)
    return (
        known.with_columns(named=phased, any=phased.any().over("session", "turn"))
        .filter(pl.col("named") | ~pl.col("any"))
        .sort("session", "seq", "event", "pointer")
        .unique(["session", "turn"], keep="last", maintain_order=True)
        .with_columns(number=pl.int_range(pl.len()).over("session"))
        .select("session", "turn", "event", "pointer", "seq", "text", "status", "number")
    )


def final_verdicts(
    answers: pl.DataFrame, final: FinalSchema, store: SchemaStore, *, since: int
) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    """VERDICTS of role `final`, one per final answer in its order, their VIOLATIONS, and the schema as CONTRACTS.

    The k-th verdict of a session is that of its k-th answer; `since` is the number of the first one.
    """
    identity = store.add(final.schema)
    judge = store.judge(identity)
    verdicts: list[dict[str, Any]] = []
    violations: list[tuple[Any, ...]] = []
    for number, (session, text) in enumerate(answers.select("session", "text").iter_rows(), since):
        payload = _payload(text, judge)
        if payload.problem is not None:
            found: tuple[str, str | None] = ("unverifiable", payload.problem)
        elif payload.kind == "not_json":
            found = ("invalid", None)
        else:
            found = judge.judge(payload.value)
        if found[0] == "invalid" and payload.kind != "not_json":
            for position, failure in enumerate(judge.violations(payload.value, limit=MOST_TOLD)):
                violations.append(
                    (
                        *(number, position, failure.instance_pointer, failure.schema_pointer, failure.keyword),
                        *(
                            visible(failure.expected),
                            visible(mask_json_at(failure.instance_pointer, failure.actual, payload.value)),
                            failure.branch,
                        ),
                        failure.member,
                    )
                )
        verdicts.append(
            {
                "verdict": number,
                "session": session,
                "tool": TOOL,
                "role": "final",
                "side": "advertised",
                "schema_id": identity,
                "channel": "contract",
                "verdict_is": found[0],
                "reason": found[1],
                "window": "exact",
                "payload": payload.kind,
            }
        )
    contract = {
        "tool": TOOL,
        "name": TOOL,
        "role": "final",
        "schema_id": identity,
        "file": final.file,
        "line": 1,
        "pointer": "",
        "channel": "contract",
    }
    return (
        pl.DataFrame(verdicts, schema=VERDICTS),
        pl.DataFrame(violations, schema=VIOLATIONS, orient="row"),
        pl.DataFrame([contract], schema=CONTRACTS),
    )


def _payload(text: str, judge: Judge) -> Payload:
    payload = read_payload(text)
    if payload.kind in ("not_json", "empty"):
        # A schema that takes a string is kept by a text.
        return Payload("value", text) if judge.judge(text)[0] == "valid" else Payload("not_json", None)
    return payload
