"""JSON Lines and Parquet hold what the JSON report holds."""

from __future__ import annotations

import io
import json
from importlib.resources import files

import jsonschema
import polars as pl

from analyzer.report import json as whole
from analyzer.report import jsonl, parquet
from tests.report import hostile
from tests.report.made import audit, finding

SCHEMA = json.loads(files("analyzer.report").joinpath("audit-v1.schema.json").read_bytes())


def test_the_lines_together_are_the_json_report() -> None:
    made = audit(*map(hostile.row, hostile.PAYLOADS), finding(suppressed={"reason": "known", "until": "2027-01-31"}))
    head, *rest = b"".join(jsonl.pieces(made)).splitlines()
    first = json.loads(head)
    assert first["schema"] == "analyzer.audit-lines/v1"
    report = first | {"schema": whole.SCHEMA, "findings": list(map(json.loads, rest))}
    jsonschema.Draft202012Validator(SCHEMA).validate(report)
    assert report == json.loads(b"".join(whole.pieces(made)))


def test_parquet_holds_the_findings_nested_and_the_rest_beside_them() -> None:
    made = audit(finding(), finding(fingerprint="f2"))
    written = b"".join(parquet.pieces(made))
    assert pl.read_parquet(io.BytesIO(written)).equals(made.findings)
    head = json.loads(pl.read_parquet_metadata(io.BytesIO(written))[parquet.KEY])
    assert head["summary"] == made.summary
