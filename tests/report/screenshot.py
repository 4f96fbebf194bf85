"""Draws the picture of the HTML report that the README shows: `python -m tests.report.screenshot`."""

from __future__ import annotations

import tempfile
from pathlib import Path

from analyzer.auditing import audit
from analyzer.report import html
from tests.conftest import ROOT
from tests.report.browser import browser

PICTURE = Path(__file__).with_name("html-report.png")
_WORST = "openFinding(FINDINGS.find(each => each.rule === 'ARG001' && each.tool === 'get_order').at)"


def main() -> None:
    """Write it."""
    samples = ROOT / "sample_traces"
    logs = [path for path in samples.iterdir() if path.name[0].isdigit()]
    done = audit(sorted(logs), contracts=[str(samples / "contracts.json")])
    with tempfile.TemporaryDirectory() as folder, browser() as page:
        file = Path(folder) / "report.html"
        file.write_bytes(b"".join(html.pieces(done)))
        page.open(file)
        page.run(_WORST)
        page.until("return document.querySelector('.detail li.guilty')")
        page.driver.save_screenshot(str(PICTURE))


if __name__ == "__main__":
    main()
