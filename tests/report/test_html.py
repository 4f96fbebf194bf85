"""The HTML report as a file: one script and one style by their digests, and data that cannot end their block."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from hashlib import sha256
from html.parser import HTMLParser
from typing import Any

import pytest

from analyzer.auditing import audit as audited
from analyzer.findings import details
from analyzer.report import html
from tests.conftest import ROOT
from tests.ground.tokens import crc
from tests.report import hostile
from tests.report.made import audit, finding


class _Read(HTMLParser):
    """The document as a browser splits it: scripts and styles by their text, and every attribute."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.inside = False
        self.raw: list[tuple[str, dict[str, str | None], str]] = []
        self.attributes: list[tuple[str, str, str | None]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.attributes += [(tag, name, value) for name, value in attrs]
        if tag in ("script", "style"):
            self.raw.append((tag, dict(attrs), ""))
            self.inside = True

    def handle_endtag(self, tag: str) -> None:
        del tag
        self.inside = False

    def handle_data(self, data: str) -> None:
        if self.inside:
            tag, attrs, text = self.raw[-1]
            self.raw[-1] = (tag, attrs, text + data)


def read(made: Any) -> tuple[_Read, dict[str, Any]]:
    page = _Read(b"".join(html.pieces(made, next_command="analyzer show run.ndjson")).decode())
    data = {str(attrs["id"]): json.loads(text) for tag, attrs, text in page.raw if attrs.get("type")}
    return page, data


def digest(text: str) -> str:
    return "sha256-" + b64encode(sha256(text.encode()).digest()).decode()


def test_the_policy_allows_the_one_script_and_the_one_style_and_nothing_else() -> None:
    page, _ = read(audit(finding()))
    policy = next(str(value) for tag, name, value in page.attributes if (tag, name) == ("meta", "content"))
    told = dict(part.split(" ", 1) for part in policy.split("; "))
    [style] = [text for tag, _, text in page.raw if tag == "style"]
    [script] = [text for tag, attrs, text in page.raw if tag == "script" and not attrs]
    assert told == {
        "default-src": "'none'",
        "script-src": f"'{digest(script)}'",
        "style-src": f"'{digest(style)}'",
        "base-uri": "'none'",
        "form-action": "'none'",
        "require-trusted-types-for": "'script'",
        "trusted-types": "'none'",
    }


def test_nothing_is_fetched_and_no_markup_is_made_of_text() -> None:
    page, _ = read(audit(finding()))
    assert not [name for _, name, _ in page.attributes if name in ("src", "href", "srcset") or name.startswith("on")]
    [script] = [text for tag, attrs, text in page.raw if tag == "script" and not attrs]
    assert not re.search(
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function|fetch\(", script
    )


@pytest.mark.parametrize("text", hostile.PAYLOADS)
def test_what_a_log_says_cannot_end_its_block(text: str) -> None:
    plain, _ = read(audit(finding()))
    page, data = read(audit(hostile.row(text)))
    assert [(tag, attrs) for tag, attrs, _ in page.raw] == [(tag, attrs) for tag, attrs, _ in plain.raw]
    assert page.attributes[1:] == plain.attributes[1:]
    assert not [block for tag, attrs, block in page.raw if attrs.get("type") and ("<" in block or "&" in block)]
    assert data["findings"]["pool"]


def test_the_sample_traces_bring_their_calls_schemas_timelines_and_contracts() -> None:
    done = audited([str(ROOT / "sample_traces")], contracts=[str(ROOT / "sample_traces" / "contracts.json")])
    _, data = read(done)
    columns, rows, pool = (data["findings"][name] for name in ("columns", "rows", "pool"))
    found = [dict(zip(columns, row, strict=True)) | {"rule": pool[row[0]]} for row in rows]
    assert len(rows) == done.findings.height
    judged = [each for each in found if each["rule"] == "ARG001"]
    assert judged
    assert all(each["call_at"] is not None and each["session_at"] is not None for each in judged)
    assert len(data["sessions"]["rows"]) == done.summary["sessions"]
    assert all(data["sessions"]["timelines"][str(each["session_at"])]["calls"] for each in judged)
    refund = next(each for each in data["contracts"] if (each["tool"], each["role"]) == ("refund_order", "arguments"))
    assert [version["number"] for version in refund["versions"]] == [1, 2]
    assert refund["versions"][1]["breaks"] == "breaking"
    assert [change[:2] for change in refund["versions"][1]["changes"]][:2] == [
        ["property added", "/properties/approval_ref"],
        ["required added", "/properties/approval_ref"],
    ]
    assert refund["versions"][1]["changes"][0][2].startswith("nothing → "), "what was added is no side of its own"
    assert refund["versions"][0]["schema"] in data["schemas"]


def test_a_secret_is_masked_wherever_it_stands() -> None:
    body = "aB3dE6gH9j" * 3
    token = f"ghp_{body}{crc(body)}"
    failure = finding()["failures"][0] | {"actual": json.dumps({"token": token})}
    written = b"".join(html.pieces(audit(finding(call_id=token, session=token, failures=[failure])))).decode()
    assert token not in written


def test_the_same_audit_gives_the_same_bytes_and_beyond_the_most_the_rest_is_stated(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = audit(finding(), finding(fingerprint="f2"), finding(fingerprint="f3", severity="info"))
    assert list(html.pieces(made)) == list(html.pieces(made))
    monkeypatch.setattr("analyzer.report.html.findings.MOST", 2)
    _, data = read(made)
    assert (len(data["findings"]["rows"]), data["findings"]["left_out"]) == (2, 1)


@pytest.mark.parametrize("few", [True, pytest.param(False, marks=pytest.mark.long)])
def test_what_a_page_shows_is_the_same_however_the_log_is_split(monkeypatch: pytest.MonkeyPatch, *, few: bool) -> None:
    for name, most in {"MOST_CALLS": 3, "MOST_DRAWN": 5, "MOST_MARKS": 4, "MOST_TEXT": 40}.items() if few else ():
        monkeypatch.setattr(f"analyzer.findings.details.{name}", most)
    monkeypatch.setattr("analyzer.report.html.calls.MOST_TEXT", details.MOST_TEXT)
    logs = [str(path) for path in sorted((ROOT / "sample_traces").iterdir()) if path.name[0].isdigit()]
    contracts = [str(ROOT / "sample_traces" / "contracts.json")]
    whole = audited(logs, contracts=contracts)
    pages = {
        b"".join(html.pieces(audited(logs, contracts=contracts, partitions=parts, keep_frames=False, details=True)))
        for parts in (1, 3, 7)
    }
    assert pages == {b"".join(html.pieces(whole))}
    _, data = read(whole)
    assert (len(data["calls"]), len(data["sessions"]["timelines"])) == ((3, 5) if few else (9, 8))
