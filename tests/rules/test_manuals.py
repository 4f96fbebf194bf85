"""Every rule's manual is whole, and what it calls bad is found and what it calls good is not."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from analyzer import audit
from analyzer.rules.catalogue import RULES, Rule
from analyzer.trace import Settings
from tests.rules.story import Story, tell

SECTIONS = ("What it says:", "Why it matters:", "Bad:", "Good:", "Blind spots:")
FRAMES = Path(__file__).parent / "frames"
every_rule = pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
runnable = pytest.mark.parametrize(
    "rule", [rule for rule in RULES if "\nWire: " not in rule.manual], ids=lambda rule: rule.code
)


def block(rule: Rule, name: str) -> list[str]:
    """The lines under one heading of a manual."""
    found = re.search(rf"^{name}:\n((?:[ \t]+.*\n|\n)+)", rule.manual + "\n", re.MULTILINE)
    assert found is not None, f"{rule.code} has no block {name}"
    return [line.strip() for line in found[1].splitlines() if line.strip()]


def slugs_found(story: Story, folder: Path, *select: str) -> set[str]:
    """What an audit of the story finds."""
    log = folder / "story.ndjson"
    log.write_bytes(story.log)
    contracts = folder / "contracts.json"
    contracts.write_text(json.dumps(story.contracts), encoding="utf-8")
    settings = Settings(writes=story.hints.get("writes", frozenset()), reads=story.hints.get("reads", frozenset()))
    found = audit([str(log)], contracts=[str(contracts)] if story.contracts else [], settings=settings, select=select)
    assert found.crashed == []
    return set(found.findings["slug"].to_list())


def test_the_catalogue_is_in_order_and_says_nothing_twice() -> None:
    assert [rule.code for rule in RULES] == sorted({rule.code for rule in RULES})
    assert len({rule.slug for rule in RULES}) == len(RULES)


def test_every_module_of_a_family_is_in_the_catalogue(root: Path) -> None:
    folder = root / "analyzer" / "rules"
    modules = {path for path in folder.glob("*/*.py") if not path.name.startswith("_")}
    modules = {path for path in modules if re.search(r"^def check\(", path.read_text(encoding="utf-8"), re.MULTILINE)}
    listed = {root / (rule.module.replace(".", "/") + ".py") for rule in RULES}
    assert listed == modules


@every_rule
def test_a_manual_says_everything(rule: Rule) -> None:
    assert re.fullmatch(r"[A-Z].*\.", rule.title)
    places = [rule.manual.find(f"\n{section}") for section in SECTIONS]
    assert -1 not in places
    assert places == sorted(places)


@every_rule
def test_a_manual_that_cannot_run_has_tests_on_frames(rule: Rule) -> None:
    if "\nWire: " in rule.manual:
        wanted = f"def test_{rule.slug.replace('-', '_')}_"
        assert any(wanted in path.read_text(encoding="utf-8") for path in FRAMES.glob("*.py")), wanted


@runnable
@pytest.mark.parametrize("name", ["Bad", "Good"])
def test_records_can_be_read_where_this_is_not_the_matter(rule: Rule, name: str) -> None:
    """What cannot be read is not looked at, and nothing is found in it."""
    for line in tell(block(rule, name)).log.splitlines() if rule.code not in ("LOG001", "LOG002") else ():
        json.loads(line)


@runnable
def test_bad_is_found(rule: Rule, tmp_path: Path) -> None:
    assert rule.slug in slugs_found(tell(block(rule, "Bad")), tmp_path)


@runnable
def test_good_is_not_found(rule: Rule, tmp_path: Path) -> None:
    assert rule.slug not in slugs_found(tell(block(rule, "Good")), tmp_path, rule.slug)
