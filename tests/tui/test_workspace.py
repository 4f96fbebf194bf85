"""The workspace by keys alone, on a saved audit."""

from __future__ import annotations

import asyncio
import json
import shutil
from datetime import date
from pathlib import Path

import polars as pl
import pytest

from analyzer.config import Suppression
from analyzer.errors import InputError
from analyzer.rules.catalogue import find_rule
from analyzer.tui import workspace
from analyzer.tui.app import AuditApp
from analyzer.tui.lines import Lines
from analyzer.tui.panes import JsonPane
from analyzer.tui.rows import WINDOW, FrameRows
from analyzer.tui.screens.contracts import Contracts
from analyzer.tui.screens.overview import Overview
from analyzer.tui.screens.raw import Raw
from analyzer.tui.screens.reading import Help, Manual, Reading
from analyzer.tui.screens.repair import Repairing
from analyzer.tui.screens.timeline import LanePane, LaneTable, Timeline
from analyzer.tui.screens.versions import Versions
from analyzer.tui.screens.workspace import Workspace
from tests.tui import saved
from tests.tui.driver import Driver, opened, run


def pane(driver: Driver, name: str) -> JsonPane:
    found = driver.pane(name)
    assert isinstance(found, JsonPane)
    return found


def test_from_the_finding_to_the_repair_and_all_the_way_back(plain_audit: Path) -> None:
    async def story() -> None:
        async with opened(plain_audit) as driver:
            assert isinstance(driver.app.screen, Overview)
            assert "4 sessions · 4,000 events · 4 findings" in driver.text()
            await driver.press("enter")
            assert "ARG001" in driver.chosen("rows")
            await driver.press("enter")  # the event, on the failing member
            assert driver.app.focused is pane(driver, "event")
            assert pane(driver, "event").address == "/item/arguments/path"
            assert "✖" in driver.chosen("event")
            assert "$['item']['arguments']['path']" in driver.text()
            await driver.press("enter")  # the schema, on the failing keyword
            assert driver.app.focused is pane(driver, "schema")
            assert pane(driver, "schema").address == "/$defs/path/type"
            assert "in force since 0" in driver.text()
            await driver.press("enter")  # the repair
            assert isinstance(driver.app.screen, Repairing)
            await driver.until(lambda: "valid against" in driver.text())
            assert "nearest name" in driver.text()
            await driver.press("enter")  # other calls of the tool
            assert "calls of read_file" in driver.text()
            for _ in range(6):
                await driver.press("escape")
            assert isinstance(driver.app.screen, Overview)
            await driver.press("escape", "q")
            assert isinstance(driver.app.screen, Overview)  # the first screen stays

    run(story())


def test_moving_in_one_pane_moves_the_other(plain_audit: Path) -> None:
    async def story() -> None:
        async with opened(plain_audit) as driver:
            await driver.press("enter", "enter", "n")  # the next failure of this event
            assert pane(driver, "event").address == "/item/arguments/limt"
            assert pane(driver, "schema").address == "/additionalProperties"
            await driver.press("N", "s", "g", "n")
            assert pane(driver, "schema").address in ("/$defs/path/type", "/additionalProperties")

    run(story())


def test_json_folds_by_keys(plain_audit: Path) -> None:
    async def story() -> None:
        async with opened(plain_audit) as driver:
            await driver.press("enter", "enter")
            event = pane(driver, "event")
            whole = event.model.height
            await driver.press("minus")
            assert event.model.height < whole
            await driver.press("1", "g", "plus")
            assert event.model.height >= whole
            await driver.press("2")
            assert event.model.height < whole
            await driver.press("g", "l", "J", "J", "J")
            assert event.address == "/item"
            await driver.press("space", "l", "l", "H")
            assert event.address == "/item"
            await driver.press("K", "h")
            assert event.address == ""

    run(story())


def test_refs_are_followed_and_history_goes_back(plain_audit: Path) -> None:
    async def story() -> None:
        async with opened(plain_audit) as driver:
            await driver.press("enter", "enter", "enter", "g", "plus", "slash")
            await driver.type("$ref")
            await driver.press("enter")
            schema = pane(driver, "schema")
            assert schema.address == "/properties/path/$ref"
            await driver.press("ctrl+g")
            assert schema.address == "/$defs/path"
            await driver.press("escape", "escape", "left_square_bracket")
            assert isinstance(driver.app.screen, Workspace)

    run(story())


def test_history_walks_between_places(plain_audit: Path) -> None:
    async def story() -> None:
        async with opened(plain_audit) as driver:
            await driver.press("a", "enter", "escape", "j", "j", "enter")
            here = driver.chosen("rows")
            await driver.press("left_square_bracket", "left_square_bracket")
            assert driver.chosen("rows") != here
            await driver.press("right_square_bracket", "right_square_bracket")
            assert driver.chosen("rows") == here

    run(story())


def test_filters_keep_the_cursor_on_its_row(plain_audit: Path) -> None:
    async def story() -> None:
        async with opened(plain_audit) as driver:
            await driver.press("a", "j", "j")
            row = driver.workspace.row()
            assert row is not None
            await driver.press("f")
            await driver.type("sort:-seq sev=" + row["severity"])
            await driver.press("enter")
            after = driver.workspace.row()
            assert after is not None
            assert after["fingerprint"] == row["fingerprint"]
            assert "filter: sort:-seq" in driver.text()
            await driver.press("f", "ctrl+u")
            await driver.type("sev>=grave")
            await driver.press("enter")
            assert "no such filter" in driver.text()
            assert driver.pane("rows").model.height > 0  # the rows before stay

    run(story())


def test_finding_text_keeps_all_rows(plain_audit: Path) -> None:
    async def story() -> None:
        async with opened(plain_audit) as driver:
            await driver.press("a")
            height = driver.pane("rows").model.height
            await driver.press("slash")
            await driver.type("3000")
            await driver.press("enter")
            assert "3000" in driver.chosen("rows")
            assert driver.pane("rows").model.height == height
            await driver.press("g", "n")
            assert "3000" in driver.chosen("rows")
            await driver.press("slash", "ctrl+u")
            await driver.type("nowhere at all")
            await driver.press("enter")
            assert "nothing found" in driver.text()

    run(story())


def test_events_by_severity_call_and_turn(plain_audit: Path) -> None:
    async def story() -> None:
        async with opened(plain_audit) as driver:
            await driver.press("enter", "a")
            rows = driver.pane("rows")
            assert rows.model.height == 1000
            assert driver.workspace.row() is not None
            await driver.press("right_curly_bracket")
            assert rows.cursor == saved.TURN
            await driver.press("left_curly_bracket", "g")
            assert rows.cursor == 0
            await driver.press("o")
            assert rows.cursor in (1, 5)  # its required action or its result
            await driver.press("O")
            assert rows.cursor == 0
            await driver.press("G", "ctrl+e")
            assert rows.cursor == 0
            await driver.press("w")
            assert "no more warnings" in driver.text()
            await driver.press("a")
            assert "ARG001" in driver.chosen("rows")

    run(story())


def test_the_query_bar_is_live_scoped_and_keeps_the_last_good_result(plain_audit: Path) -> None:
    async def story() -> None:
        async with opened(plain_audit) as driver:
            await driver.press("enter", "colon")
            await driver.type("$..path")
            await driver.until(lambda: "1 match" in driver.text())
            assert "$['item']['arguments']['path']" in driver.chosen("hits")
            await driver.type("[")
            await driver.until(lambda: "^" in driver.text())
            assert "last good result" in driver.text()
            assert driver.pane("hits").model.height == 1
            await driver.press("backspace", "ctrl+s")
            assert "this session" in driver.text()
            await driver.until(lambda: "100 matches" in driver.text())
            await driver.press("enter", "enter")  # to the first hit
            assert pane(driver, "event").address == "/item/arguments/path"
            assert driver.workspace.mode == "events"
            await driver.press("colon", "enter", "f")  # keep the rows to the hits
            await driver.until(lambda: driver.pane("rows").model.height == 100)
            assert "filter: hits" in driver.text()
            await driver.press("escape", "escape")
            await driver.until(lambda: driver.pane("rows").model.height == 1000)

    run(story())


def test_without_a_hit_the_keys_go_on_into_the_expression(plain_audit: Path) -> None:
    async def story() -> None:
        async with opened(plain_audit) as driver:
            await driver.press("enter", "colon")
            await driver.type("$..pth")
            await driver.press("enter")
            await driver.until(lambda: "0 matches" in driver.text())
            assert driver.app.focused is driver.workspace.bar.field
            await driver.type("[")
            await driver.press("enter")
            assert driver.app.focused is driver.workspace.bar.field, "nor with a mistake in it"
            await driver.press("ctrl+u")
            await driver.type("abs(type)")
            await driver.until(lambda: "cannot be run on it" in driver.text())
            assert "invalid type" in driver.text()
            await driver.press("ctrl+u")
            await driver.type("/item/arguments/path")
            await driver.strike("enter")  # before it has run
            await driver.until(lambda: driver.app.focused is driver.pane("hits"))
            assert "$['item']['arguments']['path']" in driver.chosen("hits")

    run(story())


def test_a_query_from_the_cursor_and_completion(plain_audit: Path) -> None:
    async def story() -> None:
        async with opened(plain_audit) as driver:
            await driver.press("enter", "enter", "full_stop")
            await driver.until(lambda: "1 match" in driver.text())
            bar = driver.workspace.bar
            assert bar.field.value == "$['item']['arguments']['path']"
            await driver.press("ctrl+u")
            await driver.type("item.argu")
            await driver.press("tab")
            assert bar.field.value == "item.arguments"
            await driver.press("enter", "escape", "colon", "up")
            assert bar.field.value == "item.arguments"
            await driver.press("escape")
            assert not bar.is_open

    run(story())


def test_the_path_under_the_cursor_as_a_filter(plain_audit: Path) -> None:
    async def story() -> None:
        async with opened(plain_audit) as driver:
            await driver.press("a", "enter", "F")
            assert "pointer:/item/arguments" in driver.text()
            assert driver.pane("rows").model.height >= 1

    run(story())


def test_contracts_versions_and_calls(plain_audit: Path) -> None:
    async def story() -> None:
        async with opened(plain_audit) as driver:
            await driver.press("enter", "c")
            assert isinstance(driver.app.screen, Contracts)
            assert "withdrawn" in driver.text()
            await driver.press("j", "j")
            assert "search" in driver.chosen("contracts")
            await driver.press("enter")
            assert isinstance(driver.app.screen, Versions)
            await driver.until(lambda: "added" in driver.text())
            assert "/required/1" in driver.text()
            assert "the right one is narrower; callers break" in driver.text()
            await driver.press("s")
            await driver.until(lambda: "the right one is wider; callers are safe" in driver.text())
            assert "removed" in driver.text()
            await driver.press("comma")
            await driver.until(lambda: "v2 of 2" not in driver.text())
            await driver.press("full_stop")
            await driver.until(lambda: "v2 of 2" in driver.text())
            await driver.press("escape", "u")
            assert "calls of search" in driver.text()
            await driver.press("enter")
            assert isinstance(driver.app.screen, Workspace)
            assert pane(driver, "event").address.startswith("/item/arguments")

    run(story())


def test_lanes_zoom_pan_and_open(plain_audit: Path) -> None:
    async def story() -> None:
        async with opened(plain_audit) as driver:
            await driver.press("enter", "t")
            assert isinstance(driver.app.screen, Timeline)
            lanes = driver.app.screen.query_one(LanePane)
            model = lanes.lanes
            assert model is not None
            whole = model.until - model.since
            await driver.press("plus", "plus")
            assert model.until - model.since < whole / 3
            await driver.press("l", "L", "H", "h", "equals_sign", "0")
            assert model.until - model.since == whole
            await driver.press("G", "g", "e", "T")
            assert isinstance(driver.app.screen, LaneTable)
            assert "longest gap" in driver.text()
            await driver.press("escape", "enter")
            assert isinstance(driver.app.screen, Workspace)
            assert driver.workspace.mode == "events"

    run(story())


def test_raw_bytes_can_be_cited(plain_audit: Path) -> None:
    async def story() -> None:
        async with opened(plain_audit) as driver:
            await driver.press("enter", "i")
            assert isinstance(driver.app.screen, Raw)
            await driver.until(lambda: "the log is the one that was audited" in driver.text())
            assert "bytes 0 to" in driver.text()
            await driver.press("s")
            assert "7b 22 69 64 22" in driver.text()
            await driver.press("escape", "Y")
            assert "sha256:" in driver.app.clipboard
            assert driver.app.clipboard.endswith("/item/arguments/path")

    run(story())


@pytest.mark.parametrize(
    ("key", "copied"),
    [
        ("y", "0"),
        ("p", "$['item']['arguments']['path']"),
        ("j", "/item/arguments/path"),
        ("q", ".item.arguments|fromjson|.path"),
        ("k", "path"),
    ],
)
def test_what_is_copied(key: str, copied: str, plain_audit: Path) -> None:
    async def story() -> None:
        async with opened(plain_audit) as driver:
            await driver.press("enter", "enter", "y", key)
            assert driver.app.clipboard == copied

    run(story())


def test_marks_are_kept_beside_the_audit_and_found_again(tmp_path: Path, plain_audit: Path) -> None:
    own = tmp_path / "audit"
    shutil.copytree(plain_audit, own)
    before = {file.name: file.read_bytes() for file in own.iterdir()}

    async def first() -> None:
        async with opened(own) as driver:
            await driver.press("enter", "m")
            await driver.type("look: here")
            await driver.press("enter")
            assert "★" in driver.chosen("rows")
            await driver.press("a", "j", "m", "enter")

    async def second() -> None:
        async with opened(own) as driver:
            await driver.press("enter", "apostrophe")
            assert "look: here" in driver.text()
            await driver.press("enter")
            assert isinstance(driver.app.screen, Workspace)
            assert "ARG001" in driver.chosen("rows")
            await driver.press("apostrophe", "j", "delete")
            assert driver.pane("marks").model.height == 1
            await driver.press("m")
            await driver.type("!")
            await driver.press("enter")
            assert "look: here!" in driver.text()

    run(first())
    run(second())
    kept = json.loads((own / "marks.json").read_text(encoding="utf-8"))["marks"]
    assert [(mark["rule"], mark["note"]) for mark in kept] == [("ARG001", "look: here!")]
    assert {file.name: file.read_bytes() for file in own.iterdir() if file.name in before} == before


@pytest.mark.parametrize("kind", ["json", "jsonl", "csv", "parquet", "txt", "svg"])
def test_what_is_shown_is_exported(kind: str, tmp_path: Path, plain_audit: Path) -> None:
    target = tmp_path / f"out.{kind}"

    async def story() -> None:
        async with opened(plain_audit) as driver:
            await driver.press("a", "f")
            await driver.type("sev=error")
            await driver.press("enter", "x")
            await driver.type(str(target))
            await driver.press("enter")
            assert "written" in driver.text()
            await driver.press("x")
            await driver.type(str(target))
            await driver.press("enter")
            assert "nothing was written" in driver.text()  # never over a file that is there

    run(story())
    raw = target.read_bytes()
    if kind == "json":
        assert [row["rule"] for row in json.loads(raw)["rows"]] == ["ARG001"] * len(json.loads(raw)["rows"])
    elif kind == "parquet":
        assert set(pl.read_parquet(target)["severity"]) == {"error"}
    else:
        assert b"ARG001" in raw


def test_an_event_is_exported_as_evidence_and_as_bytes(tmp_path: Path, plain_audit: Path) -> None:
    async def story() -> None:
        async with opened(plain_audit) as driver:
            await driver.press("enter", "enter")
            for name in ("one.json", "one.bin", "one.nothing"):
                await driver.press("x")
                await driver.type(str(tmp_path / name))
                await driver.press("enter")
            assert "has to end in" in driver.text()

    run(story())
    evidence = json.loads((tmp_path / "one.json").read_text(encoding="utf-8"))["evidence"]
    log = plain_audit.parent / "log.ndjson"
    assert evidence["file"] == str(log)
    assert evidence["pointer"] == "/item/arguments/path"
    assert (tmp_path / "one.bin").read_bytes() == log.read_bytes()[: evidence["length"]]
    assert evidence["record"].encode() == (tmp_path / "one.bin").read_bytes()


def test_a_log_that_changed_shows_its_findings_and_says_so(tmp_path: Path) -> None:
    audit = saved.write(tmp_path, 800, sessions=1)
    log = tmp_path / "log.ndjson"
    log.write_bytes(log.read_bytes().replace(b"evt_1", b"evt_X"))

    async def story() -> None:
        async with opened(audit) as driver:
            assert "ARG001" in driver.chosen("rows")
            await driver.until(lambda: "evidence unavailable: the log has changed" in driver.text())
            assert "additionalProperties" in driver.text()  # the schema is in the audit
            await driver.press("enter", "i", "d", "u", "x", "escape")

    run(story())


def test_a_log_that_has_gone(tmp_path: Path) -> None:
    audit = saved.write(tmp_path, 800, sessions=1)
    (tmp_path / "log.ndjson").unlink()

    async def story() -> None:
        async with opened(audit) as driver:
            assert "evidence unavailable" in driver.text()
            await driver.press("enter", "i", "escape")

    run(story())


def test_a_log_that_grew_is_still_evidence(tmp_path: Path) -> None:
    audit = saved.write(tmp_path, 800, sessions=1)
    with (tmp_path / "log.ndjson").open("ab") as log:
        log.write(b'{"more": true}\n')

    async def story() -> None:
        async with opened(audit) as driver:
            assert "evidence unavailable" not in driver.text()

    run(story())


def test_help_names_the_keys_of_the_place_first(plain_audit: Path) -> None:
    async def story() -> None:
        async with opened(plain_audit) as driver:
            await driver.press("enter", "enter", "question_mark")
            assert isinstance(driver.app.screen, Help)
            lines = [line.strip("│▌ ") for line in driver.text().split("\n")]
            assert lines[2].startswith("esc, q")
            assert lines[4] == "event beside its schema"
            await driver.press("q", "escape", "r")
            assert isinstance(driver.app.screen, Manual)
            assert "ARG001 args-schema-mismatch" in driver.text()

    run(story())


def test_the_palette_runs_actions_by_name(plain_audit: Path) -> None:
    async def story() -> None:
        async with opened(plain_audit) as driver:
            await driver.press("enter", "ctrl+p")
            await driver.type("lanes: agents")
            await driver.pilot.pause(0.5)
            await driver.press("down", "enter")
            await driver.until(lambda: isinstance(driver.app.screen, Timeline))

    run(story())


def test_other_keys(plain_audit: Path, tmp_path: Path) -> None:
    keymap = tmp_path / "keys.toml"
    keymap.write_text('down = "ctrl+n"\nlanes = "T"\n', encoding="utf-8")

    async def story() -> None:
        async with opened(plain_audit, keymap=str(keymap)) as driver:
            await driver.press("ctrl+n")
            assert driver.pane("sessions").cursor == 1
            await driver.press("j")
            assert driver.pane("sessions").cursor == 1
            await driver.press("enter", "T")
            assert isinstance(driver.app.screen, Timeline)

    run(story())


def test_zoom_and_panes_at_80_by_24(plain_audit: Path) -> None:
    async def story() -> None:
        async with opened(plain_audit, size=(80, 24)) as driver:
            await driver.press("enter")
            event, schema = driver.pane("event"), driver.pane("schema")
            assert (event.size.width > 70, schema.size.width) == (True, 0)
            await driver.press("enter", "s")
            assert (event.size.width, schema.size.width > 70) == (0, True)
            await driver.press("z")
            assert schema.size.height >= 18
            await driver.press("z", "escape", "escape")
            assert driver.app.focused is driver.pane("rows")
            assert "out" in driver.text().split("\n")[-1]
            assert "help" in driver.text().split("\n")[-1]

    run(story())


def test_only_a_window_of_rows_is_ever_made(plain_audit: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    cells = FrameRows.cells

    def counting(self: FrameRows, start: int, stop: int) -> list[tuple[object, ...]]:
        asked.append(stop - start)
        return cells(self, start, stop)

    monkeypatch.setattr(FrameRows, "cells", counting)

    async def story() -> None:
        async with opened(plain_audit) as driver:
            await driver.press("a", "a", "G", "g", "pagedown", "G", "pageup")
            assert driver.pane("rows").model.height == 4_000

    run(story())
    assert max(asked) <= WINDOW


def test_a_long_value_opens_in_full(tmp_path: Path) -> None:
    audit = saved.write(tmp_path, 400, sessions=1, big=3)
    log = tmp_path / "log.ndjson"
    assert log.exists()

    async def story() -> None:
        async with opened(audit, size=(60, 24)) as driver:
            await driver.press("enter", "2", "g", "slash")
            await driver.type("arguments")
            await driver.press("enter")
            if pane(driver, "event").line is not None and isinstance(driver.app.screen, Workspace):
                await driver.press("enter")
            assert isinstance(driver.app.screen, (Workspace, Reading))

    run(story())


def test_a_record_over_the_gate_is_shown_when_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    audit = saved.write(tmp_path, 400, sessions=1)
    from analyzer.tui import evidence

    monkeypatch.setattr(evidence, "_GATE", 50)

    async def story() -> None:
        async with opened(audit) as driver:
            assert "enter shows it all the same" in driver.text()
            await driver.press("enter", "enter")
            assert pane(driver, "event").address == "/item/arguments/path"

    run(story())


def test_leaving_works_while_it_is_still_reading(plain_audit: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import threading

    from analyzer.tui import opening
    from analyzer.tui.case import Case

    gate = threading.Event()
    really = opening.open_saved

    def slow(path: str) -> Case:
        gate.wait(20)
        return really(path)

    monkeypatch.setattr(opening, "open_saved", slow)

    async def story() -> None:
        async with opened(plain_audit, wait=False) as driver:
            await driver.pilot.pause()
            assert "opening" in driver.text()
            for key in (
                "j",
                "enter",
                "f",
                "escape",
                "a",
                "t",
                "c",
                "question_mark",
                "escape",
                "x",
                "escape",
                "apostrophe",
            ):
                await driver.strike(key)
                await driver.pilot.pause()  # until a prompt is there to be left
            assert driver.app.busy == 1
            await driver.strike("Q")
            await driver.until(lambda: driver.app._exit)
            driver.app.busy = 0
        gate.set()

    run(story())


def test_a_folder_that_holds_no_audit_is_told(tmp_path: Path) -> None:
    (tmp_path / "audit.json").write_text("{", encoding="utf-8")

    async def story() -> None:
        async with opened(tmp_path, wait=False) as driver:
            await driver.until(lambda: driver.app.failed is not None)
            assert "not a saved audit" in str(driver.app.failed)

    run(story())


def test_panes_send_only_what_changed(plain_audit: Path) -> None:
    async def story() -> None:
        async with opened(plain_audit) as driver:
            await driver.press("a", "a")
            rows = driver.pane("rows")
            drawn: list[int] = []
            really = rows._draw

            def counting(y: int) -> object:
                drawn.append(y)
                return really(y)

            rows._draw = counting  # type: ignore[method-assign, assignment]
            await driver.pilot.press("j")
            await driver.pilot.pause()
            assert len(set(drawn)) <= 3
            assert isinstance(rows, Lines)

    run(story())


def test_a_prompt_leaves_what_it_asks_about_on_the_screen(plain_audit: Path) -> None:
    async def story() -> None:
        async with opened(plain_audit) as driver:
            await driver.press("f")
            assert "sessions" in driver.text()
            assert "filter sessions" in driver.text()
            await driver.press("escape", "enter")
            questions = (("f", "filter: word"), ("x", "export what"), ("m", "mark this row"), ("y", "copy:"))
            for key, asked in questions:
                await driver.press(key)
                assert "ARG001" in driver.text()
                assert asked in "\n".join(driver.text().splitlines()[-3:])
                await driver.press("escape")

    run(story())


def test_a_session_opens_where_to_look_first_and_its_message_can_be_read_across() -> None:
    samples = Path(__file__).parents[2] / "sample_traces"

    async def story() -> None:
        incident = samples / "3-incident.envelopes.ndjson"
        async with opened(incident, size=(80, 24), asked={"contracts": [str(samples / "contracts.json")]}) as driver:
            assert "RUN001" in driver.chosen("rows"), "it is third in the session, and first in the report"
            assert "/order_id is" not in driver.text().split("╰")[0]
            await driver.press(*["l"] * 12)
            assert "/order_id is" in driver.text().split("╰")[0]

    run(story())


def test_what_is_suppressed_is_marked_and_does_not_count() -> None:
    incident = Path(__file__).parents[2] / "sample_traces" / "3-incident.envelopes.ndjson"
    known = Suppression(rule="ARG001", reason="ticket 17", until=date(2099, 1, 1))
    asked = {"suppressions": [known], "select": ["ARG001", "RUN001"]}

    async def story() -> None:
        async with opened(incident, size=(120, 40), asked=asked) as driver:
            assert "RUN001" in driver.chosen("rows")
            rows = driver.text().split("╰")[1]
            assert (rows.count("(error)"), rows.count("✖ error")) == (3, 2)
            await driver.press("g")
            assert "suppressed: ticket 17" in driver.text()
            await driver.press("e")
            assert "RUN001" in driver.chosen("rows"), "what is suppressed is no error to go to"
            await driver.press("escape")
            assert "2 findings · 3 suppressed" in driver.text()
            assert driver.pane("rules").model.height == 2
            assert "3 suppressed" in driver.text()
            assert driver.pane("sessions").model.record(0)["errors"] == 2  # type: ignore[attr-defined]

    run(story())


def test_what_was_said_does_not_cover_a_question(plain_audit: Path) -> None:
    async def story() -> None:
        async with opened(plain_audit) as driver:
            await driver.press("enter", "escape", "escape")
            assert "this is the first screen" in driver.text()
            await driver.press("f")
            await driver.type("err>0")
            assert "err>0" in driver.text()
            assert "this is the first screen" not in driver.text()
            await driver.press("escape", "escape", "escape")
            assert "this is the first screen" in driver.text()
            await driver.press("enter")
            assert "this is the first screen" not in driver.text()

    run(story())


def test_the_manual_is_wrapped_between_words(plain_audit: Path) -> None:
    async def story() -> None:
        async with opened(plain_audit, size=(90, 30)) as driver:
            await driver.press("enter", "r")
            lines = [
                "".join(text for text, _ in driver.pane("text").model.spans(row, 80))
                for row in range(driver.pane("text").model.height)
            ]
            assert max(map(len, lines)) <= 85
            manual = find_rule("ARG001").manual  # type: ignore[union-attr]
            assert "".join("".join(lines[2:]).split()) == "".join(manual.split())
            words = set(manual.split())
            assert {word for line in lines[4:8] for word in line.split()} <= words, "no word of a paragraph is cut"
            assert '    call c1 get_order {"id":"ord_204418 and all open","refund":true}' in lines

    run(story())


def test_escape_takes_a_filter_off_before_it_leaves(plain_audit: Path) -> None:
    async def story() -> None:
        async with opened(plain_audit) as driver:
            await driver.press("f", *"s002", "enter")
            assert driver.pane("sessions").model.height == 1
            await driver.press("escape")
            assert driver.pane("sessions").model.height == 4
            await driver.press("enter", "f", *"nowhere", "enter")
            assert driver.pane("rows").model.height == 0
            await driver.press("escape")
            assert driver.pane("rows").model.height == 1
            await driver.press("escape", "tab", "enter")  # the findings of a rule: this filter is the place itself
            assert "rule=" in driver.text()
            await driver.press("escape")
            assert isinstance(driver.app.screen, Overview)

    run(story())


def test_a_query_on_the_first_screen_asks_all_sessions(plain_audit: Path) -> None:
    async def story() -> None:
        async with opened(plain_audit) as driver:
            await driver.press("colon", *"$.item.name")
            await driver.until(lambda: "matches" in driver.text())
            assert "[all rows]" in driver.text()
            await driver.press("escape", "escape")
            assert isinstance(driver.app.screen, Overview)

    run(story())


def test_hits_in_one_event_say_where_that_is(plain_audit: Path, tmp_path: Path) -> None:
    async def story() -> None:
        async with opened(plain_audit) as driver:
            await driver.press("enter", "colon", *"$..arguments", "enter")
            await driver.press("x")
            await driver.type(str(tmp_path / "hits.csv"))
            await driver.press("enter")
        found = pl.read_csv(tmp_path / "hits.csv")
        assert found["session"].to_list() == ["s000"]
        assert found["seq"].null_count() == 0

    run(story())


def test_the_worst_session_stands_first(tmp_path: Path) -> None:
    log = tmp_path / "log.ndjson"
    rows = []
    for session, order in (("s_good", '{"id":"a"}'), ("s_bad", '{"id":')):
        item = {
            "type": "function_call",
            "id": "fc",
            "call_id": "c",
            "name": "get",
            "arguments": order,
            "status": "done",
        }
        for n, kind in enumerate(("agent.session.turn.item.added", "agent.session.turn.item.done")):
            rows.append(
                {"type": kind, "event_id": f"{session}{n}", "session_id": session, "turn_id": "t", "item": item}
            )
    log.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")

    async def story() -> None:
        async with opened(log) as driver:
            await driver.until(lambda: "s_bad" in driver.chosen("sessions"))

    run(story())


def test_what_is_not_there_is_told_and_not_opened(tmp_path: Path) -> None:
    async def story() -> AuditApp:
        app = workspace([str(tmp_path / "nope.json")])
        async with app.run_test() as pilot:
            await pilot.pause(0.1)
            await app.settled()
        return app

    failed = asyncio.run(story()).failed
    assert isinstance(failed, InputError)
    assert "nope.json" in str(failed)
