"""A log that is audited in parts: what has been judged is on the screen while the rest is still under way."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from analyzer import audit
from analyzer.auditing.partition import audit_partition
from analyzer.read import recording
from analyzer.tui.screens.overview import Overview
from tests.batch.nights import log, story
from tests.tui.driver import opened, run


def test_findings_come_while_the_rest_is_audited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recording, "LIMIT", 40)
    folder = tmp_path / "logs"
    for number in range(24):
        log(folder, f"{number:02}.ndjson", story(f"s{number:02}", {"id": number}))
    whole = audit([str(folder)]).findings.height
    held, parts = threading.Event(), 0
    real = audit_partition

    def slowly(*arguments: Any, **named: Any) -> Any:
        nonlocal parts
        parts += 1
        if parts == 2:
            held.wait(30)  # until the first part has been seen
        return real(*arguments, **named)

    monkeypatch.setattr("analyzer.auditing.run.audit_partition", slowly)

    async def tell() -> None:
        async with opened(folder, wait=False) as driver:
            await driver.until(lambda: driver.app.case is not None, 60)
            assert driver.app.case is not None
            some = driver.app.case.findings.height
            assert 0 < some < whole
            await driver.until(lambda: "s0" in driver.text() or "s1" in driver.text() or "s2" in driver.text())
            assert driver.app.loading.startswith("audit"), "and it says that this is not all"
            assert isinstance(driver.app.screen, Overview)
            await driver.strike("j")  # to wait for what follows would be to wait for the rest
            held.set()
            await driver.until(lambda: not driver.app.loading, 60)
            assert driver.app.case.findings.height == whole

    try:
        run(tell())
    finally:
        held.set()
    assert parts > 2
