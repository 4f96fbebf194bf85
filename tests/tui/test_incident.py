"""The post-mortem of the sample incident, by keys alone: from the command to the exported evidence."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from time import monotonic

import pytest

from analyzer.tui.panes import JsonPane
from analyzer.tui.screens.overview import Overview
from analyzer.tui.screens.repair import Repairing
from analyzer.tui.screens.workspace import Workspace
from tests.tui.driver import opened, run


@pytest.fixture
def sample(root: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, str]:
    """Give the sample logs and their contracts, named as a reader of the README names them."""
    monkeypatch.chdir(root)
    return "sample_traces", "sample_traces/contracts.json"


def test_why_the_shop_paid(sample: tuple[str, str], tmp_path: Path) -> None:
    folder, contracts = sample

    async def story() -> None:
        async with opened(folder, asked={"contracts": [contracts]}) as driver:
            await driver.until(lambda: " sessions · " in driver.text())
            assert isinstance(driver.app.screen, Overview)
            # which sessions of the desk have errors, the worst first?
            await driver.press("f")
            await driver.type("sess_1117 err>0 sort:-errors")
            await driver.press("enter", "g")
            assert "1042" in driver.chosen("sessions")
            await driver.press("enter")
            assert isinstance(driver.app.screen, Workspace)
            # the first error: an address where a number belongs
            await driver.press("g")
            if "error" not in driver.chosen("rows"):
                await driver.press("e")
            assert "ARG001" in driver.chosen("rows")
            # the payment: find it, and see what broke
            await driver.press("slash")
            await driver.type("refund_order")
            await driver.press("enter")
            assert "refund_order" in driver.chosen("rows")
            await driver.press("enter")
            event = driver.pane("event")
            assert isinstance(event, JsonPane)
            assert event.address == "/event/item/arguments/refund"
            # the schema it was judged by, and its origin
            await driver.press("enter")
            schema = driver.pane("schema")
            assert isinstance(schema, JsonPane)
            assert schema.address == "/additionalProperties"
            assert "in force since" in driver.text()
            # what would have passed
            await driver.press("enter")
            assert isinstance(driver.app.screen, Repairing)
            await driver.until(lambda: "valid against" in driver.text())
            assert "refund" in driver.text()
            await driver.press("escape")
            # the raw record, with the digest of the log
            await driver.press("escape", "escape", "i")
            await driver.until(lambda: "the log is the one that was audited" in driver.text())
            await driver.press("escape")
            # a note for the report, and the evidence in a file
            await driver.press("m")
            await driver.type("paid on this call")
            await driver.press("enter", "enter", "x")
            await driver.type(str(tmp_path / "evidence.json"))
            await driver.press("enter")
            assert "written" in driver.text()
            # other calls of the tool, other versions of its contract
            await driver.press("u")
            assert "calls of refund_order" in driver.text()
            await driver.press("escape", "c")
            assert "refund_order" in driver.text()
            await driver.press("escape", "escape", "escape")
            assert isinstance(driver.app.screen, Overview)

    run(story())
    whole = json.loads((tmp_path / "evidence.json").read_text(encoding="utf-8"))
    evidence = whole["evidence"]
    assert evidence["file"] == "sample_traces/3-incident.envelopes.ndjson"
    assert evidence["pointer"] == "/event/item/arguments/refund"
    assert evidence["path"] == "$['event']['item']['arguments']['refund']"
    assert "call_1042_06" in evidence["record"]
    assert [mark["note"] for mark in whole["marks"]] == ["paid on this call"]


def test_the_table_that_changed_under_a_session(sample: tuple[str, str]) -> None:
    folder, contracts = sample

    async def story() -> None:
        async with opened(folder, asked={"contracts": [contracts]}, session="sess_1117_1130") as driver:
            await driver.until(lambda: isinstance(driver.app.screen, Workspace))
            await driver.press("c")
            await driver.until(lambda: "refund_order" in driver.text())
            await driver.press("slash")
            await driver.type("refund_order")
            await driver.press("enter", "enter")
            await driver.until(lambda: "approval_ref" in driver.text())
            assert "v2 of 2" in driver.text()
            assert "added" in driver.text()

    run(story())


def test_a_growing_log_is_followed(tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from analyzer.tui import app

    monkeypatch.setattr(app, "_FOLLOWED", 0.05)
    whole = (root / "sample_traces" / "1-morning.ndjson").read_bytes().splitlines(keepends=True)
    log = tmp_path / "log.ndjson"
    log.write_bytes(b"".join(whole[:30]))

    async def story() -> None:
        async with opened(log, follow=True) as driver:
            await driver.until(lambda: isinstance(driver.app.screen, Workspace))
            await driver.press("a")
            height = driver.pane("rows").model.height
            await driver.press("G")
            row = driver.workspace.row()
            with log.open("ab") as file:
                file.write(b"".join(whole[30:]))
            await driver.until(lambda: driver.pane("rows").model.height > height)
            after = driver.workspace.row()
            assert row is not None
            assert after is not None
            assert after["seq"] == row["seq"]  # the cursor stays where it was
            driver.app._rests_until = monotonic() + 60  # as after a minute of reading
            with log.open("ab") as file:
                file.write(whole[0])
            await asyncio.sleep(0.2)
            await driver.rest()
            assert not driver.app.loading, "a log that grows all the time is not read all the time"

    run(story())


def test_the_findings_that_are_shown_as_sarif_and_as_a_ticket(sample: tuple[str, str], tmp_path: Path) -> None:
    folder, contracts = sample

    async def story() -> None:
        async with opened(folder, asked={"contracts": [contracts]}, session="sess_1117_1042") as driver:
            await driver.until(lambda: isinstance(driver.app.screen, Workspace))
            assert "findings" in driver.text()
            for name in ("shown.sarif", "shown.md"):
                await driver.press("x")
                await driver.type(str(tmp_path / name))
                await driver.press("enter")
                await driver.until((tmp_path / name).exists)

    run(story())
    [held] = json.loads((tmp_path / "shown.sarif").read_bytes())["runs"]
    assert {each["properties"]["session"] for each in held["results"]} == {"sess_1117_1042"}
    assert held["properties"]["summary"]["findings"]["error"] == len(held["results"])
    assert "refund_order" in (tmp_path / "shown.md").read_text()
