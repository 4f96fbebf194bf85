"""Contract files: what the caller says that tools take and give, read in every shape people keep it in.

A file maps tool names to `{"arguments": schema, "output": schema}`, or is a tool table in any provider's shape, or is
one schema and named `TOOL.arguments.json` or `TOOL.output.json`. A folder is all its `.json` files, and a folder
inside it is a server; in a map, `server/tool` says the same.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from analyzer.contracts.dialects import dialect_of, of_server
from analyzer.contracts.schemas import canonical, decode, name_of
from analyzer.contracts.tables import ToolDefinition, is_tool_table, parse_tool_table
from analyzer.contracts.verdicts.engine import Judge, schema_errors
from analyzer.errors import ContractFileError
from analyzer.pointer import join, locate, resolve

__all__ = [
    "Contract",
    "Contracts",
    "Definition",
    "ToolDefinition",
    "definitions",
    "line_of",
    "load_contracts",
    "parse_tool_table",
    "value_of",
]

#: Bytes of one contract file.
MAX_FILE_BYTES = 64 * 1024 * 1024

SUPERSEDED = "x-superseded"
"""The member of a pinned definition that names what it replaced, by digests of schemas and descriptions."""
ARGUMENTS, OUTPUT = "arguments", "output"
_ROLES = (ARGUMENTS, OUTPUT)
# A capture of the tools that a program brought along, by its version: tools_2.1.144.json
_CAPTURE = re.compile(r"tools[_-](\d+(?:\.\d+)+)\.json$")
_UNREAD = "check the path and its permissions"
_SHAPES = (
    "give a map of tool names to arguments and output, a tool table, or one schema in a file named "
    "TOOL.arguments.json or TOOL.output.json"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Contract:
    """One schema of one tool, and where it was read."""

    tool: str
    server: str | None
    role: str  #: `arguments` or `output`
    schema: object
    schema_id: str
    dialect: str
    file: str
    line: int  #: from 1
    pointer: str
    judge: Judge | None = field(default=None, compare=False, repr=False)
    version: str | None = None  #: of the program whose tools these are, where the file's name says it
    channel: str = "contract"  #: `contract`: a file; `code`: Python that was named
    superseded: tuple[str, ...] = ()  #: what it replaced as a pin, by its digests


@dataclass(frozen=True, slots=True)
class Contracts:
    """What could be read, in the order of the files, and what is wrong with the rest: nothing good is lost to it."""

    entries: tuple[Contract, ...] = ()
    problems: tuple[ContractFileError, ...] = ()

    def beside(self, other: Contracts) -> Contracts:
        """These and the other's; where both have one role of one tool, and differ, these are kept and it is said."""
        mine = {(each.tool, each.server, each.role): each for each in self.entries}
        clashes = []
        for entry in other.entries:
            known = mine.setdefault((entry.tool, entry.server, entry.role), entry)
            if known.schema_id != entry.schema_id:
                clashes.append(_clash(known, entry))
        keys = {(each.tool, each.server, each.role) for each in self.entries}
        more = tuple(each for each in other.entries if (each.tool, each.server, each.role) not in keys)
        return Contracts(self.entries + more, self.problems + other.problems + tuple(clashes))

    def find(self, tool: str, role: str, *, server: str | None = None) -> Contract | None:
        """Return the contract of a tool: that of its server, else the one without a server, else the only one."""
        named = [entry for entry in self.entries if entry.tool == tool and entry.role == role]
        for wanted in (server, None):
            for entry in named:
                if entry.server == wanted:
                    return entry
        return named[0] if len(named) == 1 and server is None else None


@dataclass(frozen=True, slots=True)
class Definition:
    """One schema of one tool as a file has it, whether or not anything can be judged by it."""

    tool: str
    server: str | None
    role: str
    schema: object
    file: str
    line: int
    pointer: str


class _Found(NamedTuple):
    tool: str
    server: str | None
    role: str
    schema: object
    pointer: str
    superseded: tuple[str, ...] = ()


def load_contracts(paths: Sequence[Path]) -> Contracts:
    """Read contract files and folders of them.

    Nothing is raised for a bad file: each is a problem with file, line, pointer and what to do about it, beside the
    entries of the good ones.
    """
    entries: dict[tuple[str, str | None, str, str | None], Contract] = {}
    problems: list[ContractFileError] = []
    for path, server in _files(paths, problems):
        try:
            raw = _read(path)
            found = list(_found(_decode(raw, path), path, server))
        except ContractFileError as error:
            problems.append(error)
            continue
        for each in found:
            try:
                entry = _contract(each, raw, path)
            except ContractFileError as error:
                problems.append(error)
                continue
            known = entries.setdefault((entry.tool, entry.server, entry.role, entry.version), entry)
            if known.schema_id != entry.schema_id:
                problems.append(_clash(known, entry))
    return Contracts(tuple(entries.values()), tuple(problems))


def definitions(paths: Sequence[Path]) -> tuple[list[Definition], list[ContractFileError]]:
    """Read contract files and folders of them without judging the schemas; what is no contract is a problem."""
    problems: list[ContractFileError] = []
    found: list[Definition] = []
    for path, server in _files(paths, problems):
        try:
            raw = _read(path)
            for each in _found(_decode(raw, path), path, server):
                line = line_of(raw, each.pointer) or 1
                found.append(Definition(each.tool, each.server, each.role, each.schema, str(path), line, each.pointer))
        except ContractFileError as error:
            problems.append(error)
    return found, problems


def value_of(path: Path) -> object:
    """The JSON value of one file, whatever it is. Raises ContractFileError."""
    return _decode(_read(path), path)


def superseded(value: object, at: str) -> tuple[str, ...]:
    """What the definition at a pointer of a pin file says that it replaced; nothing in a file written by hand."""
    try:
        tool = resolve(value, at)
    except LookupError:
        return ()
    named = tool.get(SUPERSEDED) if isinstance(tool, dict) else None
    return tuple(each for each in named if isinstance(each, str)) if isinstance(named, list) else ()


def _clash(known: Contract, entry: Contract) -> ContractFileError:
    return ContractFileError(
        f"`{entry.tool}` has other {entry.role} at {known.file}:{known.line}: keep one, or name the servers as "
        "`server/tool`",
        file=entry.file,
        line=entry.line,
        pointer=entry.pointer,
    )


def _files(paths: Sequence[Path], problems: list[ContractFileError]) -> Iterator[tuple[Path, str | None]]:
    for path in paths:
        try:
            files = sorted(file for file in path.rglob("*.json") if file.is_file()) if path.is_dir() else [path]
        except OSError as error:
            problems.append(
                ContractFileError(f"cannot be read: {error.strerror or error}", file=str(path), advice=_UNREAD)
            )
            continue
        if not files:
            problems.append(ContractFileError(f"a folder without any .json file: {_SHAPES}", file=str(path)))
        for file in files:
            folder = file.parent.relative_to(path).as_posix() if file != path else "."
            yield file, None if folder == "." else folder


def _read(path: Path) -> bytes:
    try:
        size = path.stat().st_size
        if size > MAX_FILE_BYTES:
            raise ContractFileError(f"{size} bytes, and a contract file has at most {MAX_FILE_BYTES}", file=str(path))
        return path.read_bytes()
    except OSError as error:
        raise ContractFileError(f"cannot be read: {error.strerror or error}", file=str(path), advice=_UNREAD) from None


def _decode(raw: bytes, path: Path) -> object:
    try:
        return decode(raw, most=MAX_FILE_BYTES)
    except ValueError as error:
        problem, line = str(error), None
    if not problem.startswith("not JSON"):
        raise ContractFileError(problem, file=str(path))
    # The standard parser knows the line; it may also accept what is not JSON, and then has nothing to say.
    try:
        json.loads(raw.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        problem, line = "no UTF-8", raw.count(b"\n", 0, error.start) + 1
    except json.JSONDecodeError as error:
        problem, line = f"not JSON: {error.msg}", error.lineno
    except (ValueError, RecursionError):
        pass
    raise ContractFileError(problem, file=str(path), line=line)


def _found(value: object, path: Path, server: str | None) -> Iterator[_Found]:
    tool, _, role = path.name.removesuffix(".json").rpartition(".")
    if tool and role in _ROLES:
        yield _Found(tool, server, role, value, "")
    elif is_tool_table(value):
        yield from _from_table(value, path, server)
    elif isinstance(value, dict) and value and all(isinstance(each, dict) for each in value.values()):
        yield from _from_map(value, path, server)
    else:
        raise ContractFileError(f"not a contract: {_SHAPES}", file=str(path), line=1)


def _from_table(value: object, path: Path, server: str | None) -> Iterator[_Found]:
    some = False
    for tool in parse_tool_table(value):
        at = tool.server if tool.server is not None else server
        for role, schema, pointer in (
            (ARGUMENTS, tool.arguments, tool.arguments_pointer),
            (OUTPUT, tool.output, tool.output_pointer),
        ):
            if pointer is not None:
                some = True
                yield _Found(tool.name, at, role, schema, pointer, superseded(value, tool.pointer))
    if not some:
        raise ContractFileError(f"a tool table without any schema: {_SHAPES}", file=str(path), line=1)


def _from_map(value: dict[str, dict[str, object]], path: Path, server: str | None) -> Iterator[_Found]:
    if not any(role in each for each in value.values() for role in _ROLES):
        raise ContractFileError(f"not a contract: {_SHAPES}", file=str(path), line=1)
    for name, roles in value.items():
        before, slash, after = name.rpartition("/")
        for role, schema in roles.items():
            # A wrong role is told like a wrong schema, so that the tool's other one is kept.
            yield _Found(after if slash else name, before if slash else server, role, schema, join("", name, role))


def _contract(found: _Found, raw: bytes, path: Path) -> Contract:
    line = line_of(raw, found.pointer)
    if found.role not in _ROLES:
        raise ContractFileError(
            f"`{found.tool}` has a member `{found.role}`: a tool has `arguments` and `output`",
            file=str(path),
            line=line,
            pointer=found.pointer,
        )
    text = canonical(found.schema)
    by_server = found.server is not None or found.pointer.endswith(("/inputSchema", "/outputSchema"))
    dialect = of_server(found.schema, text) if by_server else dialect_of(found.schema)
    judge = Judge(found.schema, dialect=dialect, text=text)
    if judge.problem is not None:
        errors = schema_errors(found.schema, dialect) if judge.problem == "schema_invalid" else []
        pointer = found.pointer + (errors[0].instance_pointer if errors else "")
        why = (
            f"`{errors[0].keyword}` wants {errors[0].expected} and finds {errors[0].actual}"
            if errors
            else judge.problem_detail
        )
        raise ContractFileError(
            f"the {found.role} of `{found.tool}` cannot be judged by their schema: {why}",
            file=str(path),
            line=line_of(raw, pointer) or line,
            pointer=pointer,
        )
    return Contract(
        tool=found.tool,
        server=found.server,
        role=found.role,
        schema=found.schema,
        schema_id=name_of(text),
        dialect=dialect,
        file=str(path),
        line=line or 1,
        pointer=found.pointer,
        judge=judge,
        superseded=found.superseded,
        version=captured[1] if (captured := _CAPTURE.match(path.name)) else None,
    )


def line_of(raw: bytes, pointer: str) -> int | None:
    """The line, from 1, where the element at a pointer begins in a file; None for a place that stands in no file."""
    if b"\n" not in raw.rstrip():
        return 1  # written in one line, as large files are: no need to look for the place
    try:
        return raw.count(b"\n", 0, locate(raw, pointer)[0]) + 1
    except (LookupError, ValueError):
        return None  # such as one inside a text or a mapped type
