"""The configuration: `[tool.analyzer]` in pyproject.toml, or analyzer.toml. Checked whole before anything runs.

Settings carry the names of the flags, and a flag given on the command line replaces its setting. Beside them stand what
has no flag: hints about tools, ledger fields, mappings of in-house logs, suppressions. Paths are relative to the file.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NoReturn

from analyzer.errors import ConfigurationError
from analyzer.toml_lines import line_of
from analyzer.trace import Settings

FILES = ("analyzer.toml", "pyproject.toml")

FIELDS: dict[str, str] = {
    "when": "true where a record is of this log; without it, every record in which another field finds something",
    "session": "the session; records without one belong to the session around them",
    "turn": "the turn",
    "time": "a text or a number of seconds, milliseconds or microseconds since 1970",
    "number": "a sequence number",
    "type": "what the record is called",
    "call_id": "the call, or the call that a result answers; without it results answer in order",
    "name": "the tool",
    "server": "the MCP server or namespace of the tool",
    "arguments": "the arguments, as a value or as JSON text",
    "status": "the state of the call",
    "output": "the output of the tool",
    "success": "whether the tool succeeded",
    "error": "why it did not",
    "role": "who says `text`",
    "text": "a message",
    "tools": "a tool table in any provider's shape",
    "model": "the model",
    "agent": "the agent",
}
"""What a mapping may say: where in a record of an in-house log each of these stands."""

_HINTS = ("writes", "reads", "free_text", "shell")
_ARGUMENTS = ("baseline", "contracts", "final_schema", "ignore", "input_format", "jobs", "select")
_SUPPRESSES = ("rule", "tool", "session", "group", "fingerprint")


@dataclass(frozen=True)
class Suppression:
    """Findings that are known and borne: those of all that is named, for a reason, up to and including a day."""

    reason: str
    until: date
    rule: str | None = None
    tool: str | None = None
    session: str | None = None
    group: str | None = None
    fingerprint: str | None = None
    place: str | None = field(default=None, compare=False)
    """FILE:LINE where it stands, for what is said of it."""


@dataclass(frozen=True)
class Config:
    """A checked configuration. `flags` holds settings by the names of the command line's parameters."""

    file: str | None = None
    flags: Mapping[str, Any] = field(default_factory=dict)
    settings: Settings = field(default_factory=Settings)
    suppressions: tuple[Suppression, ...] = ()
    mappings: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Of in-house logs: name of the mapping to field to JMESPath."""

    @property
    def arguments(self) -> dict[str, Any]:
        """The same as `analyzer.audit` takes it; what tells the command line how to report and end is left out."""
        asserted = self.flags.get("assert_formats", self.settings.assert_formats)
        return {
            **{name: self.flags[name] for name in _ARGUMENTS if name in self.flags},
            "settings": replace(self.settings, assert_formats=asserted),
            "suppressions": self.suppressions,
            "mappings": self.mappings,
        }


def load(file: str | None = None, *, folder: Path | None = None) -> Config:
    """The configuration in `file`, else in the nearest one at or above `folder`, else the defaults.

    Raises ConfigurationError for a file that cannot be read, an unknown key and a value that makes no sense.
    """
    path = Path(file) if file is not None else _nearest(folder or Path.cwd())
    if path is None:
        return Config()
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"cannot read the configuration: {_why(error)}", file=str(path)) from error
    return _File(path, text).config()


def _why(error: OSError | UnicodeDecodeError) -> str:
    return (error.strerror or str(error)) if isinstance(error, OSError) else "it is not UTF-8"


def _nearest(folder: Path) -> Path | None:
    for place in (folder, *folder.parents):
        for name in FILES:
            path = place / name
            if path.is_file() and (name == "analyzer.toml" or _has_section(path)):
                return path
    return None


def _has_section(path: Path) -> bool:
    try:
        text = path.read_text(encoding="utf-8")
        return "analyzer" in text and "analyzer" in tomllib.loads(text).get("tool", {})
    except (OSError, ValueError):  # a project's file that is broken is not for us to complain about
        return False


class _File:
    """One file on its way to a Config; every complaint names the line."""

    def __init__(self, path: Path, text: str) -> None:
        self._path, self._text = path, text
        try:
            document = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            line = re.search(r"\(at line (\d+), column \d+\)$", str(error))
            problem = re.sub(r" \(at .*\)$", "", str(error))
            at = int(line[1]) if line else text.rstrip().count("\n") + 1  # "at end of document"
            raise ConfigurationError(f"not TOML: {problem}", file=str(path), line=at) from error
        self._root: tuple[str, ...] = ()
        if path.name == "pyproject.toml":
            self._root = ("tool", "analyzer")
            document = document.get("tool", {}).get("analyzer", {})
        self._top: dict[str, Any] = document

    def config(self) -> Config:
        """The whole file, checked."""
        self._known((), self._top, (*_FLAGS, *_NUMBERS, *_TABLES))
        flags: dict[str, Any] = {}
        for name, check in _FLAGS.items():
            if name in self._top:
                flags[name] = check(self, (name,), self._top[name])
        numbers: dict[str, Any] = {
            name: check(self, (name,), self._top[name]) for name, check in _NUMBERS.items() if name in self._top
        }
        settings = replace(Settings(), ledger=self._ledger(), **self._hints(), **numbers)
        return Config(str(self._path), flags, settings, self._suppressions(), self._mappings())

    def fail(self, key: tuple[str | int, ...], problem: str) -> NoReturn:
        """Complain about the value of a key."""
        raise ConfigurationError(problem, file=str(self._path), line=line_of(self._text, (*self._root, *key)))

    def _known(self, at: tuple[str | int, ...], table: Mapping[str, Any], names: tuple[str, ...]) -> None:
        for name in table:
            if name in _COMMAND_LINE_ONLY and not at:
                self.fail((name,), f"{name!r} is for the command line only, as it imports code")
            if name not in names:
                near = get_close_matches(name.replace("-", "_"), names, n=1, cutoff=0.5)
                self.fail((*at, name), f"unknown setting {name!r}" + (f"; did you mean {near[0]!r}?" if near else ""))

    def _table(self, *key: str | int, value: Any) -> dict[str, Any]:
        if not isinstance(value, dict):
            self.fail(key, f"{key[-1]!r} must be a table")
        return value

    def _hints(self) -> dict[str, Any]:
        tools = self._table("tools", value=self._top.get("tools", {}))
        hinted: dict[str, set[str]] = {hint: set() for hint in _HINTS}
        for tool, table in tools.items():
            self._known(("tools", tool), self._table("tools", tool, value=table), _HINTS)
            for hint, value in table.items():
                if _flag(self, ("tools", tool, hint), value):
                    hinted[hint].add(tool)
            if tool in hinted["writes"] & hinted["reads"]:
                self.fail(("tools", tool), f"{tool!r} is declared both writing and reading")
        return {hint: frozenset(names) for hint, names in hinted.items()}

    def _ledger(self) -> tuple[tuple[str, str], ...]:
        fields = self._table("ledger", value=self._top.get("ledger", {}))
        return tuple((name, self._expression(("ledger", name), value)) for name, value in sorted(fields.items()))

    def _mappings(self) -> dict[str, dict[str, str]]:
        mappings = self._table("mappings", value=self._top.get("mappings", {}))
        return {
            name: {
                member: self._expression(("mappings", name, member), value)
                for member, value in self._mapping(name, table).items()
            }
            for name, table in mappings.items()
        }

    def _mapping(self, name: str, value: Any) -> dict[str, Any]:
        table = self._table("mappings", name, value=value)
        self._known(("mappings", name), table, tuple(FIELDS))
        return table

    def _expression(self, key: tuple[str, ...], value: Any) -> str:
        import jmespath

        text = _text(self, key, value)
        try:
            jmespath.compile(text)
        except ValueError as error:
            self.fail(key, f"{key[-1]!r} is not a JMESPath: {str(error).splitlines()[0]}")
        return text

    def _suppressions(self) -> tuple[Suppression, ...]:
        listed = self._top.get("suppressions", [])
        if not isinstance(listed, list):
            self.fail(("suppressions",), "'suppressions' must be a list of tables: [[suppressions]]")
        return tuple(self._suppression(number, value) for number, value in enumerate(listed))

    def _suppression(self, number: int, value: Any) -> Suppression:
        at = ("suppressions", number)
        table = self._table(*at, value=value)
        self._known(at, table, ("reason", "until", *_SUPPRESSES))
        for needed in ("reason", "until"):
            if needed not in table:
                self.fail(at, f"a suppression needs {needed!r}: " + _NEEDED[needed])
        if not str(_text(self, (*at, "reason"), table["reason"])).strip():
            self.fail((*at, "reason"), "the reason of a suppression must say something")
        until = table["until"]
        if isinstance(until, str):
            try:
                until = date.fromisoformat(until)
            except ValueError:
                self.fail((*at, "until"), f"{until!r} is not a date: write 2027-01-31")
        if type(until) is not date:  # a datetime is a date too, and would never compare
            self.fail((*at, "until"), "'until' must be a date: write 2027-01-31")
        named = {name: _text(self, (*at, name), table[name]) for name in _SUPPRESSES if name in table}
        if not named:
            self.fail(at, f"a suppression must name what it is about: one of {', '.join(_SUPPRESSES)}")
        line = line_of(self._text, (*self._root, *at))
        place = f"{self._path}:{line}" if line else str(self._path)
        return Suppression(table["reason"], until, **named, place=place)

    def beside(self, path: str) -> str:
        """A path of the file, relative to it."""
        return str(self._path.parent / path)


_NEEDED = {"reason": "why the findings are borne", "until": "the day after which they count again"}
_Checker = Callable[[_File, tuple[str | int, ...], Any], Any]


def _text(file: _File, key: tuple[str | int, ...], value: Any) -> str:
    if not isinstance(value, str):
        file.fail(key, f"{key[-1]!r} must be a string")
    return value


def _flag(file: _File, key: tuple[str | int, ...], value: Any) -> bool:
    if not isinstance(value, bool):
        file.fail(key, f"{key[-1]!r} must be true or false")
    return value


def _texts(file: _File, key: tuple[str | int, ...], value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        file.fail(key, f"{key[-1]!r} must be a list of strings")
    return tuple(value)


def _path(file: _File, key: tuple[str | int, ...], value: Any) -> str:
    return file.beside(_text(file, key, value))


def _paths(file: _File, key: tuple[str | int, ...], value: Any) -> tuple[str, ...]:
    return tuple(file.beside(each) for each in _texts(file, key, value))


def _one_of(*choices: str) -> _Checker:
    def check(file: _File, key: tuple[str | int, ...], value: Any) -> str:
        if value not in choices:
            near = get_close_matches(str(value), choices, n=1, cutoff=0.5)
            listed = ", ".join(choices)
            file.fail(key, f"{key[-1]!r} must be one of {listed}" + (f"; did you mean {near[0]!r}?" if near else ""))
        return str(value)

    return check


def _number(kind: type[int | float], least: float) -> _Checker:
    def check(file: _File, key: tuple[str | int, ...], value: Any) -> int | float:
        if isinstance(value, bool) or not isinstance(value, int if kind is int else int | float) or not value >= least:
            file.fail(
                key, f"{key[-1]!r} must be {'a whole number' if kind is int else 'a number'} of at least {least:g}"
            )
        return kind(value)

    return check


_FLAGS: dict[str, _Checker] = {
    "assert_formats": _flag,
    "baseline": _path,
    "contracts": _paths,
    "fail_on": _one_of("error", "warning", "info", "never"),
    "final_schema": _path,
    "ignore": _texts,
    "input_format": _text,
    "jobs": _number(int, 1),
    "min_confidence": _one_of("certain", "likely", "hint"),
    "min_severity": _one_of("error", "warning", "info"),
    "output_format": _text,
    "redact_key": _path,
    "select": _texts,
    "strict": _flag,
}
_NUMBERS: dict[str, _Checker] = {
    "clock_skew": _number(float, 0),
    "max_findings": _number(int, 1),
    "retries": _number(int, 1),
    "waited": _number(float, 0),
}
_COMMAND_LINE_ONLY = ("executed",)
_TABLES = ("tools", "ledger", "mappings", "suppressions")
