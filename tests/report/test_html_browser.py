"""The HTML report in a real browser: filters, drill-down, keys, paper, and that nothing of a log ever runs."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from analyzer.auditing import audit as audited
from analyzer.report import html
from tests.conftest import ROOT
from tests.report import hostile
from tests.report.browser import Page, browser
from tests.report.made import audit, finding

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser")]


@pytest.fixture(scope="module")
def page() -> Iterator[Page]:
    with browser() as shown:
        yield shown


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    done = audited([str(ROOT / "sample_traces")], contracts=[str(ROOT / "sample_traces" / "contracts.json")])
    return written(tmp_path_factory.mktemp("sample"), done)


def written(folder: Path, made: Any) -> Path:
    file = folder / "report.html"
    file.write_bytes(b"".join(html.pieces(made, next_command="analyzer show run.ndjson")))
    return file


def test_filter_search_and_drill_down(page: Page, sample: Path) -> None:
    page.open(sample)
    assert "Where to look first" in page.text("#view")
    page.click(".faults button")
    page.until("return location.hash === '#findings'")
    assert "executed-despite-mismatch" in page.text(".detail")
    page.run("openFinding(FINDINGS.findIndex(each => each.rule === 'OUT001'))")
    assert page.run(WHOLE)
    page.run("openFinding(FAULTS[0][0])")
    everything = page.text(".shown")
    page.click(".chip[aria-pressed='true']")  # errors off
    page.until("return !document.querySelector('.list .badge.error')")
    assert page.text(".shown") != everything
    page.press("Escape")
    assert page.text(".shown") == everything
    page.press("/")
    page.press(*"get_order order_id", "Enter")
    assert page.run("return document.activeElement.getAttribute('role')") == "listbox"
    page.run(
        "const pick = document.querySelector('select[aria-label=\"every rule\"]'); pick.value = 'ARG001';"
        "pick.dispatchEvent(new Event('change'))"
    )
    assert page.text(".shown") == f"1 of {page.run(FOUND)} findings"
    assert [item.strip() for item in page.run(MARKED)] == [
        '"order_id": "ord_204418 and all open",',
        '"refund": true',
        '"additionalProperties": false,',
        '"pattern": "^ord_[0-9]{6}$",',
    ]
    assert page.complaints() == []


WHOLE = """
const row = document.querySelector('.list [aria-selected=true]').getBoundingClientRect();
const box = document.querySelector('.list').getBoundingClientRect();
return row.top >= box.top && row.bottom <= box.bottom && row.bottom <= innerHeight;
"""
FOUND = "return FINDINGS.length"
MARKED = "return [...document.querySelectorAll('.detail li.guilty')].map(each => each.textContent)"


def test_the_keyboard_alone_goes_everywhere(page: Page, sample: Path) -> None:
    page.open(sample)
    page.press("2")
    page.until("return document.activeElement.matches('.list')")
    first = page.text(".list [aria-selected='true']")
    page.press("Down", "j", "Up")
    assert page.text(".list [aria-selected='true']") != first
    page.press("End")
    assert page.run("return document.querySelector('.list [aria-selected=true]').ariaPosInSet") == str(page.run(FOUND))
    page.press("k", "Enter")
    assert page.run("return document.activeElement.matches('.detail')")
    page.press("Escape")
    assert page.run("return document.activeElement.matches('.list')")
    page.press("3")
    page.until("return document.querySelector('.timeline svg')")
    assert page.run("return document.querySelectorAll('.timeline .s-invalid').length") == 3
    page.press("4")
    page.until("return document.querySelector('.version')")
    page.press("5")
    page.until("return document.querySelector('#view').innerText.includes('Rules that did not run')")
    page.press("?")
    assert page.run("return document.querySelector('dialog').open")
    page.press("Escape")
    dark = "return getComputedStyle(document.body).backgroundColor"
    before = page.run(dark)
    page.press("t")
    assert page.run(dark) != before
    assert page.complaints() == []


def test_from_a_session_to_its_findings_and_back(page: Page, sample: Path) -> None:
    page.open(sample)
    page.press("3")
    page.until("return document.querySelector('.timeline path.mark')")
    page.run("document.querySelector('.timeline path.mark').dispatchEvent(new Event('click'))")
    page.until("return location.hash === '#findings'")
    assert "sess_1117_1042" in page.text(".detail")
    page.press("s")
    page.until("return location.hash === '#sessions'")
    assert "sess_1117_1042" in page.text(".detail")


def test_dark_mode_narrow_screens_and_paper(page: Page, sample: Path) -> None:
    page.open(sample)
    background = "return getComputedStyle(document.body).backgroundColor"
    light = page.run(background)
    try:
        page.driver.execute_cdp_cmd(
            "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": "dark"}]}
        )
        assert page.run(background) != light
        page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
        size = {"width": 400, "height": 800, "deviceScaleFactor": 1, "mobile": True}
        page.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        for key in "12345":
            page.press(key)
            assert page.run("return document.documentElement.scrollWidth") <= 400
        page.press("2")
        page.until("return document.activeElement.matches('.list')")
        page.press("Enter")
        assert page.run("return getComputedStyle(document.querySelector('.side')).display") == "none"
    finally:
        page.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    printed = page.driver.execute_cdp_cmd("Page.printToPDF", {"printBackground": True})
    assert base64.b64decode(printed["data"]).startswith(b"%PDF")
    page.run("dispatchEvent(new Event('beforeprint'))")
    assert page.run("return document.querySelectorAll('#paper article').length") == 60
    assert f"The first 60 of {page.run(FOUND)}" in page.run("return document.querySelector('#paper').textContent")


def test_fifty_thousand_findings_are_fifty_rows(page: Page, tmp_path: Path) -> None:
    rows = [
        finding(
            fingerprint=f"f{number}", group=f"g{number % 400}", session=f"s{number % 900}", call_id=f"call_{number}"
        )
        for number in range(50_000)
    ]
    page.open(written(tmp_path, audit(*rows)))
    page.press("2")
    page.until("return document.activeElement.matches('.list')")
    assert page.text(".shown") == "50,000 of 50,000 findings"
    page.press("End")
    assert page.run("return document.querySelector('.list [aria-selected=true]').ariaPosInSet") == "50000"
    assert page.run("return document.querySelectorAll('.row').length") < 60
    page.press("/", *"call_49999")
    page.until("return document.querySelector('.shown').innerText.startsWith('1 of')")
    assert "call_49999" in page.text(".detail")
    assert page.complaints() == []


@pytest.mark.parametrize("everywhere", [False, True], ids=["findings", "a whole log"])
def test_nothing_that_a_log_says_runs(page: Page, tmp_path: Path, *, everywhere: bool) -> None:
    made = audited([str(_log(tmp_path))]) if everywhere else audit(*map(hostile.row, hostile.PAYLOADS))
    assert made.findings.height >= len(hostile.PAYLOADS)
    file = written(tmp_path, made)
    page.open(file)
    page.run("window.alert = () => { window.ran = true }")
    plain = page.run("return [...document.querySelectorAll('*')].map(each => each.tagName).join()")
    assert not {"IMG", "IFRAME", "OBJECT", "EMBED", "LINK", "BASE"} & set(plain.split(","))
    for key in "2345":
        page.press(key)
        for _ in range(min(made.findings.height, 12)):
            page.press("Down")
            tags = set(page.run("return [...document.querySelectorAll('#view *')].map(each => each.tagName)"))
            assert not {"SCRIPT", "IMG", "IFRAME", "A", "STYLE", "FORM"} & tags
            assert not page.run(
                "return [...document.querySelectorAll('#view *')].some(each => each.getAttributeNames()"
                ".some(name => name.startsWith('on') || name === 'href' || name === 'src'))"
            )
    page.run("dispatchEvent(new Event('beforeprint'))")
    assert not page.run("return document.querySelector('#paper img, #paper script, #paper a')")
    assert page.run("return window.ran === undefined && Object.prototype.polluted === undefined")
    assert page.complaints() == []


def _log(folder: Path) -> Path:
    """Chat exchanges whose every name, text and member is hostile."""
    lines = []
    for number, text in enumerate(hostile.PAYLOADS):
        schema = {
            "type": "object",
            "description": text,
            "properties": {text: {"type": "integer", "description": text}},
            "required": [text],
            "additionalProperties": False,
        }
        tool = {"type": "function", "function": {"name": text, "description": text, "parameters": schema}}
        arguments = json.dumps({text: text, "extra" + text: {text: [text]}})
        call = {"id": text, "type": "function", "function": {"name": text, "arguments": arguments}}
        said = [{"role": "user", "content": text}]
        reply = {"role": "assistant", "content": text, "tool_calls": [call]}
        body = {"model": text, "messages": said, "tools": [tool]}
        answer = {"id": f"r{number}", "object": "chat.completion", "model": text, "created": number}
        choice = {"index": 0, "message": reply, "finish_reason": "tool_calls"}
        lines.append(_exchange(body, answer | {"choices": [choice]}))
        back = [*said, reply, {"role": "tool", "tool_call_id": text, "content": text}]
        done = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
        lines.append(_exchange(body | {"messages": back}, answer | {"id": f"d{number}", "choices": [done]}))
    file = folder / "<img src=x onerror=alert(1)>.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return file


def _exchange(body: dict[str, Any], reply: dict[str, Any]) -> dict[str, Any]:
    return {
        "request": {"method": "POST", "url": "https://x.test/v1/chat/completions", "body": body},
        "response": {"status": 200, "body": reply},
    }
