"""The key table: everything is made from it, and nothing in it is dead."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from pathlib import Path

import pytest
from textual.binding import Binding

from analyzer.errors import ConfigurationError
from analyzer.tui.keys import KEYS, PLACES, bindings, help_lines, hints, keymap_file, read_keymap
from analyzer.tui.lines import Lines
from analyzer.tui.panes import EvidencePane, JsonPane
from analyzer.tui.screens.calls import Calls
from analyzer.tui.screens.contracts import Contracts
from analyzer.tui.screens.marks import MarkList
from analyzer.tui.screens.overview import Overview
from analyzer.tui.screens.place import Place
from analyzer.tui.screens.raw import Raw
from analyzer.tui.screens.repair import Repairing
from analyzer.tui.screens.timeline import LanePane
from analyzer.tui.screens.versions import Versions
from analyzer.tui.screens.workspace import Workspace

OWNERS: dict[str, type] = {
    "anywhere": Place,
    "list": Lines,
    "evidence": EvidencePane,
    "json": JsonPane,
    "workspace": Workspace,
    "overview": Overview,
    "contracts": Contracts,
    "versions": Versions,
    "lanes": LanePane,
    "calls": Calls,
    "marks": MarkList,
    "raw": Raw,
    "repair": Repairing,
}


def test_ids_are_unique_and_keys_are_unique_in_their_place() -> None:
    assert Counter(key.id for key in KEYS).most_common(1)[0][1] == 1
    for place in PLACES:
        names = [name for key in KEYS if key.where == place for name in key.keys.split(",")]
        assert len(names) == len(set(names)), place


@pytest.mark.parametrize("key", KEYS, ids=lambda key: key.id)
def test_every_action_is_there(key: object) -> None:
    from analyzer.tui.app import AuditApp
    from analyzer.tui.keys import Key

    assert isinstance(key, Key)
    name = re.match(r"(app\.)?(\w+)", key.action)
    assert name is not None
    owner: type = AuditApp if name[1] else OWNERS[key.where]
    assert hasattr(owner, f"action_{name[2]}"), key  # an action is looked for in its own place only


def test_nothing_vital_is_on_a_multiplexer_key_alone() -> None:
    taken = {"ctrl+a", "ctrl+b"}
    assert all(not set(key.keys.split(",")) <= taken for key in KEYS)


def test_help_begins_with_the_way_out_and_names_every_key() -> None:
    lines = help_lines(["json", "workspace", "list", "anywhere"], {})
    assert lines[0][0] == "esc, q"
    assert lines[2] == ("", PLACES["json"])
    assert {words for _, words in lines} >= {key.help for key in KEYS}


@pytest.mark.parametrize("place", OWNERS)
def test_hints_are_few_and_end_with_the_way_out(place: str) -> None:
    here, always = hints([place, "list", "anywhere"], {})
    assert 2 <= len(here) <= 11
    assert {"x", "/"} <= {key for key, _ in here}
    assert [word for _, word in always] == ["out", "quit", "help", "all"][place == "overview" :]
    assert sum(len(f" {key} {word} ") for key, word in always) < 40


def test_the_keymap_file_is_what_holds_anyway(tmp_path: Path) -> None:
    text = keymap_file()
    found = tomllib.loads(text)
    assert found == {key.id: key.keys for key in KEYS}
    file = tmp_path / "keys.toml"
    file.write_text(text, encoding="utf-8")
    assert read_keymap(file) == found


@pytest.mark.parametrize("text", ["nonsense = 'x'", "quit = 3", "not toml"])
def test_a_keymap_that_makes_no_sense_is_refused(text: str, tmp_path: Path) -> None:
    file = tmp_path / "keys.toml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigurationError, match=r"keys\.toml"):
        read_keymap(file)


def test_bindings_carry_their_ids() -> None:
    assert {binding.id for binding in bindings("list") if isinstance(binding, Binding)} == {
        key.id for key in KEYS if key.where == "list"
    }
