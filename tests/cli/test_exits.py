"""Which status an audit ends with."""

from __future__ import annotations

from typing import Any

import pytest

from analyzer.cli import exits
from analyzer.errors import InputError
from tests.report.made import audit, finding, source

ERROR = {"severity": "error"}
WARNING = {"severity": "warning"}
TORN = {"rule": "LOG002", "slug": "record-truncated", "severity": "warning"}
UNREADABLE = {"rule": "LOG001", "slug": "record-unreadable", "severity": "error"}
BORNE = {"suppressed": {"reason": "known", "until": "2027-01-31"}}
GONE = {"problems": [InputError("cannot read", file="x")]}
UNDECIDED = {"verdicts": {"unverifiable": {"schema_unavailable": 1}}}
CRASHED = {"crashed": [("ARG001", "it failed")]}
STRANGE = {"inputs": [source(format="", records=0)]}
LOST = {"lost": ["ARG001 ran in the baseline, and did not now"]}
PARTLY = {"inputs": [source(), source(unreadable=1)]}


@pytest.mark.parametrize(
    ("found", "state", "options", "status"),
    [
        ([], {}, {}, 0),
        ([ERROR], {}, {}, 1),
        ([WARNING], {}, {}, 0),
        ([WARNING], {}, {"fail_on": "warning"}, 1),
        ([ERROR], {}, {"fail_on": "info"}, 1),
        ([{"severity": "info"}], {}, {"fail_on": "warning"}, 0),
        ([{"severity": "info"}], {}, {"fail_on": "info"}, 1),
        ([ERROR], {}, {"fail_on": "never"}, 0),
        ([ERROR | {"confidence": "likely"}], {}, {}, 1),
        ([WARNING | {"confidence": "hint"}], {}, {"fail_on": "info"}, 0),
        ([ERROR | BORNE], {}, {}, 0),
        ([], LOST, {}, 3),
        ([ERROR], LOST, {}, 1),
        ([UNREADABLE], PARTLY, {}, 3),
        ([TORN], PARTLY, {"fail_on": "info"}, 3),
        ([UNREADABLE], {}, {"fail_on": "info"}, 0),
        ([], PARTLY, {}, 3),
        ([ERROR], PARTLY, {}, 1),
        ([ERROR], PARTLY, {"fail_on": "never"}, 3),
        ([], GONE, {}, 3),
        ([ERROR], GONE, {}, 1),
        ([], STRANGE, {}, 3),
        ([], {"inputs": []}, {}, 3),
        ([], UNDECIDED, {}, 0),
        ([], UNDECIDED, {"strict": True}, 3),
        ([ERROR], UNDECIDED, {"strict": True}, 1),
        ([ERROR], UNDECIDED, {"strict": True, "fail_on": "never"}, 3),
        ([], CRASHED, {}, 4),
        ([ERROR], CRASHED | GONE, {"fail_on": "never"}, 4),
    ],
)
def test_the_status_follows_from_what_was_found_and_read(
    found: list[dict[str, Any]], state: dict[str, Any], options: dict[str, Any], status: int
) -> None:
    assert exits.decide(audit(*(finding(**each) for each in found), **state), **options) == status
