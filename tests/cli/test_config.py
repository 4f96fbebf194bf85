"""The configuration: what it gives, and what it refuses, by file and line."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from analyzer import audit
from analyzer.config import Config, Suppression, load
from analyzer.errors import ConfigurationError
from analyzer.trace import Settings

WHOLE = """\
select = ["ARG", "RUN001"]
fail_on = "warning"
contracts = ["tools.json"]
strict = true
retries = 5

[tools.refund_order]
writes = true

[tools."find.article"]
reads = true
free_text = true

[ledger]
amount = "order.amount"

[mappings.inhouse]
call_id = "payload.id"

[[suppressions]]
rule = "ARG001"
tool = "get_order"
reason = "fixed in the next release"
until = 2027-01-31
"""


def write(folder: Path, text: str, name: str = "analyzer.toml") -> Path:
    file = folder / name
    file.write_text(text, encoding="utf-8")
    return file


def test_everything_that_may_be_set_arrives(tmp_path: Path) -> None:
    file = write(tmp_path, WHOLE)
    config = load(str(file))
    assert config == Config(
        file=str(file),
        flags={
            "select": ("ARG", "RUN001"),
            "fail_on": "warning",
            "contracts": (str(tmp_path / "tools.json"),),
            "strict": True,
        },
        settings=Settings(
            writes=frozenset({"refund_order"}),
            reads=frozenset({"find.article"}),
            free_text=frozenset({"find.article"}),
            ledger=(("amount", "order.amount"),),
            retries=5,
        ),
        suppressions=(Suppression("fixed in the next release", date(2027, 1, 31), rule="ARG001", tool="get_order"),),
        mappings={"inhouse": {"call_id": "payload.id"}},
    )


def test_the_nearest_file_at_or_above_the_folder_is_taken(tmp_path: Path) -> None:
    below = tmp_path / "a" / "b"
    below.mkdir(parents=True)
    write(tmp_path, "[tool.analyzer]\nstrict = true\n", "pyproject.toml")
    write(tmp_path / "a", "[project]\nname = 'x'\n", "pyproject.toml")
    assert load(folder=below).flags == {"strict": True}
    write(tmp_path / "a", "strict = false\n")
    assert load(folder=below).flags == {"strict": False}


def test_no_file_gives_the_defaults(tmp_path: Path) -> None:
    assert load(folder=tmp_path) == Config()


@pytest.mark.parametrize(
    ("text", "problem", "line"),
    [
        ("strict = true\nfail-on = 'error'\n", "unknown setting 'fail-on'; did you mean 'fail_on'?", 2),
        ("\n[tools.x]\n\nwrite = true\n", "unknown setting 'write'; did you mean 'writes'?", 4),
        ("nonsense = 1\n", "unknown setting 'nonsense'", 1),
        ("fail_on = 'eror'\n", "'fail_on' must be one of error, warning, info, never; did you mean 'error'?", 1),
        ("select = 'ARG'\n", "'select' must be a list of strings", 1),
        ("strict = 1\n", "'strict' must be true or false", 1),
        ("jobs = 0\n", "'jobs' must be a whole number of at least 1", 1),
        ("retries = 1.5\n", "'retries' must be a whole number of at least 1", 1),
        ("waited = nan\n", "'waited' must be a number of at least 0", 1),
        ("tools = 3\n", "'tools' must be a table", 1),
        ("[tools.x]\nwrites = true\nreads = true\n", "'x' is declared both writing and reading", 1),
        ("[ledger]\namount = 'a['\n", "'amount' is not a JMESPath: ", 2),
        ("[[suppressions]]\nrule='A'\nuntil = 2027-01-31\n", "a suppression needs 'reason': why ", 1),
        ("[[suppressions]]\nrule='A'\nreason='x'\n", "a suppression needs 'until': the day ", 1),
        ("[[suppressions]]\nreason='x'\nuntil=2027-01-31\n", "a suppression must name what it is about", 1),
        (
            "[[suppressions]]\nrule='A'\nreason='x'\nuntil=2027-01-31\n[[suppressions]]\nrule='A'\nreason='x'\nuntil='soon'\n",
            "'soon' is not a date",
            8,
        ),
        ("[[suppressions]]\nrule='A'\nreason=' '\nuntil=2027-01-31\n", "the reason of a suppression must say", 3),
        ("suppressions = 1\n", "'suppressions' must be a list of tables", 1),
        ("strict = true\nstrict = true\n", "not TOML: ", 2),
        ("ledger = {amount = 3}\n", "'amount' must be a string", 1),
    ],
)
def test_what_makes_no_sense_is_refused_with_its_line(tmp_path: Path, text: str, problem: str, line: int) -> None:
    file = write(tmp_path, text)
    with pytest.raises(ConfigurationError) as refused:
        load(str(file))
    assert refused.value.problem.startswith(problem)
    assert (refused.value.file, refused.value.line) == (str(file), line)


def test_lines_are_those_of_pyproject_too(tmp_path: Path) -> None:
    text = "[project]\nname = 'x'\n\n[tool.analyzer]\nselekt = []\n"
    with pytest.raises(ConfigurationError, match=r"pyproject\.toml:5: .*did you mean 'select'\?$"):
        load(str(write(tmp_path, text, "pyproject.toml")))


def test_a_file_that_is_not_there_is_a_mistake_when_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="cannot read the configuration: No such file"):
        load(str(tmp_path / "none.toml"))


def test_the_python_interface_takes_what_was_loaded(tmp_path: Path, root: Path) -> None:
    traces = root / "sample_traces"
    (tmp_path / "analyzer.toml").write_text(
        f'contracts = ["{traces / "contracts.json"}"]\nselect = ["RUN"]\nfail_on = "never"\nassert_formats = true\n'
        '[[suppressions]]\nrule = "RUN001"\nreason = "ticket 17"\nuntil = 2999-01-31\n'
    )
    given = load(str(tmp_path / "analyzer.toml")).arguments
    assert given["settings"].assert_formats
    done = audit(traces / "3-incident.envelopes.ndjson", **given)
    assert {row["suppressed"]["reason"] for row in done.findings.filter(rule="RUN001").to_dicts()} == {"ticket 17"}
    assert all(rule.startswith("RUN") for rule in done.findings["rule"])
    assert done.frames["contracts"].height
