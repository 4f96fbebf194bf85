"""The command line as people meet it: help, catalogue, formats, mistakes, and where output goes."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from analyzer.cli import COMMANDS, console, main
from analyzer.cli.formats import formats
from analyzer.read import ADAPTERS
from analyzer.rules import catalogue

Caught = pytest.CaptureFixture[str]


def run(caught: Caught, *arguments: str) -> tuple[int, str, str]:
    status = main(arguments)
    out, err = caught.readouterr()
    return status, out, err


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_explains_itself_with_examples(capsys: Caught, name: str) -> None:
    status, out, _ = run(capsys, name, "--help")
    assert status == 0
    assert "Examples:" in out


def test_help_lists_the_commands(capsys: Caught) -> None:
    status, out, _ = run(capsys, "--help")
    assert status == 0
    assert [name for name in COMMANDS if f"\n  {name} " not in out] == []


def test_without_a_command_help_and_status_2(capsys: Caught) -> None:
    status, out, err = run(capsys)
    assert (status, out) == (2, "")
    assert err.startswith("Usage: analyzer")


def test_version(capsys: Caught) -> None:
    status, out, _ = run(capsys, "--version")
    assert status == 0
    assert out.startswith("analyzer ")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("audti",), "no command 'audti'; did you mean 'audit'?"),
        (("audit", "--otput", "x"), "--otput"),
        (("audit",), "no PATH given"),
        (("audit", "--fail-on", "all", "x"), "Invalid value for '--fail-on'"),
        (("audit", "--select", "ARG9999", "x"), "no rule 'ARG9999'"),
        (("audit", "--input-format", "openai-agents", "x"), "did you mean 'openai-agents-api'?"),
        (("audit", "--statistics", "--output-format", "json", "x"), "--statistics goes with the text report only"),
        (
            ("audit", "--config", "none.toml", "x"),
            "cannot read the configuration: No such file",
        ),
        (("rules", "no-such-rule-at-all"), "no rule 'no-such-rule-at-all'"),
        (("formats", "openai-agent-api"), "did you mean 'openai-agents-api'?"),
        (("formats", "\x1b[2J"), "no format '\\x1b[2J'"),
    ],
)
def test_a_mistake_of_the_caller_is_one_line_and_status_2(
    capsys: Caught, arguments: tuple[str, ...], said: str
) -> None:
    status, out, err = run(capsys, *arguments)
    assert (status, out) == (2, "")
    assert err.startswith("analyzer: ")
    assert said in err
    assert err.count("\n") == 1


def test_the_catalogue_is_listed_whole(capsys: Caught) -> None:
    status, out, _ = run(capsys, "rules")
    assert status == 0
    assert [
        rule.code
        for rule in catalogue.RULES
        if f"{rule.code} {rule.slug} {rule.severity} {rule.confidence} {rule.title}" not in " ".join(out.split())
    ] == []


def test_a_family_of_rules_is_listed(capsys: Caught) -> None:
    status, out, _ = run(capsys, "rules", "final")
    assert status == 0
    family = [rule.code for rule in catalogue.RULES if rule.code.startswith("FINAL")]
    assert re.findall(r"^[A-Z]+\d+", out, re.MULTILINE) == family


def test_a_rule_tells_its_manual_by_code_and_by_slug(capsys: Caught) -> None:
    rule = catalogue.RULES[0]
    _, by_code, _ = run(capsys, "rules", rule.code.lower())
    _, by_slug, _ = run(capsys, "rules", rule.slug)
    assert by_code == by_slug
    assert by_code.startswith(f"{rule.code} {rule.slug}")
    assert rule.title in by_code


def test_the_catalogue_as_data(capsys: Caught) -> None:
    _, out, _ = run(capsys, "rules", "--output-format", "json")
    assert [each["code"] for each in json.loads(out)] == [rule.code for rule in catalogue.RULES]


def test_a_near_miss_of_a_rule_is_answered_with_the_rule(capsys: Caught) -> None:
    status, _, err = run(capsys, "rules", catalogue.RULES[0].slug + "s")
    assert status == 2
    assert f"did you mean {catalogue.RULES[0].slug!r}?" in err


def test_formats_say_what_the_adapters_say(capsys: Caught) -> None:
    told = [(each.name, each.title, each.known_by, each.loses) for each in formats()]
    assert told == [(each.name, each.title, each.known_by, each.loses) for each in ADAPTERS]
    status, out, _ = run(capsys, "formats")
    assert status == 0
    assert all(each.name in out for each in ADAPTERS)
    _, out, _ = run(capsys, "formats", "--output-format", "json")
    assert [each["name"] for each in json.loads(out)] == [each.name for each in ADAPTERS]


def test_a_file_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    file = tmp_path / "report"
    file.write_bytes(b"before")

    def broken() -> list[bytes]:
        raise RuntimeError("in the middle")

    with pytest.raises(RuntimeError):
        console.deliver((piece for pieces in ([b"half"], broken()) for piece in pieces), str(file))
    assert file.read_bytes() == b"before"
    assert [path.name for path in tmp_path.iterdir()] == ["report"]
    console.deliver([b"aft", b"er"], str(file))
    assert file.read_bytes() == b"after"


def test_what_cannot_be_written_is_a_mistake_of_the_caller(tmp_path: Path) -> None:
    from analyzer.errors import UsageError

    with pytest.raises(UsageError, match=r"none/report: cannot write: No such file or directory$"):
        console.deliver([b"x"], str(tmp_path / "none" / "report"))


def test_a_fault_of_our_own_is_status_4_and_shows_no_raw_text(capsys: Caught, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> None:
        raise ValueError("\x1b[2J")

    monkeypatch.setattr("analyzer.cli.formats.formats", broken)
    status, out, err = run(capsys, "formats")
    assert (status, out) == (4, "")
    assert err.startswith("analyzer: a fault of the analyzer itself: ValueError: \\x1b[2J")


@pytest.mark.parametrize("what", [("audit", "--save"), ("batch", "--store")])
def test_a_disk_without_room_is_no_fault_of_ours(tmp_path: Path, what: tuple[str, str]) -> None:
    sample = Path(__file__).parents[2] / "sample_traces" / "3-incident.envelopes.ndjson"
    # A file may not grow beyond 2 kB here: what a full disk does, without one.
    program = "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (2048, 2048)); "
    program += "from analyzer.cli import main; sys.exit(main(sys.argv[1:]))"
    command = [sys.executable, "-c", program, *what, str(tmp_path / "kept"), str(sample)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert re.search(": cannot (?:write|keep a store): File too large; make room where", done.stderr)


def test_a_reader_that_goes_away_is_no_failure() -> None:
    program = f"{sys.executable} -m analyzer rules | head -n 0"
    done = subprocess.run(["bash", "-o", "pipefail", "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("terminal", "environment", "wanted", "shown"),
    [
        (True, {}, True, True),
        (False, {}, True, False),
        (True, {"NO_COLOR": "1"}, True, False),
        (True, {"NO_COLOR": ""}, True, True),
        (True, {"TERM": "dumb"}, True, False),
        (True, {}, False, False),
    ],
)
def test_colour_is_for_terminals_that_want_it(
    monkeypatch: pytest.MonkeyPatch, terminal: bool, environment: dict[str, str], wanted: bool, shown: bool
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: terminal)
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert console.colour(wanted=wanted) is shown
