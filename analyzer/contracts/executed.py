"""The executed side in Python: functions and models as contracts.

`package.module:name` is a function, a model (dataclass, TypedDict, msgspec Struct, pydantic model), a map of tool names
to these, or a list of them. The module is imported, and so run, only because the caller has named it; nothing in a log
ever leads here.
"""

from __future__ import annotations

import contextlib
import importlib
import inspect
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Annotated, Any, NamedTuple, get_args, get_origin, get_type_hints, is_typeddict

import msgspec

from analyzer.contracts.dialects import DEFAULT
from analyzer.contracts.files import ARGUMENTS, OUTPUT, Contract, Contracts
from analyzer.contracts.schemas import schema_id
from analyzer.contracts.verdicts.engine import Judge
from analyzer.errors import UsageError

__all__ = ["is_executed", "load_executed"]

CHANNEL = "code"
_SPELLING = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*:[^\W\d]\w*(?:\.[^\W\d]\w*)*")
#: What only pydantic understands: its own types and constraints, and those it shares with others.
_PYDANTIC = ("pydantic", "pydantic_core", "annotated_types")
_WANTED = "give a function, a model, a map of tool names to these or a list of them"


def is_executed(text: str) -> bool:
    """Whether a text spells `package.module:name` and no file has that name."""
    return _SPELLING.fullmatch(text) is not None and not Path(text).exists()


def load_executed(names: Sequence[str]) -> Contracts:
    """Import each `package.module:name` and derive the schemas of its tools, in the order of their definition.

    A function's arguments are its parameters, its output what it returns where that is a model; a model stands for
    arguments. Raises UsageError that names the object where one cannot be imported or described.
    """
    entries: dict[tuple[str, str | None, str], Contract] = {}
    for spelled in names:
        for entry in _tools(_load(spelled), spelled):
            key = (entry.tool, entry.server, entry.role)
            known = entries.setdefault(key, entry)
            if known.schema_id != entry.schema_id:
                raise UsageError(f"{spelled}: `{entry.tool}` is given twice, and the {entry.role} differ")
    return Contracts(tuple(entries.values()))


def _load(spelled: str) -> Any:
    if _SPELLING.fullmatch(spelled) is None:
        raise UsageError(
            f"{spelled!r} is not spelled package.module:name", advice="`analyzer audit --help` says what it takes"
        )
    module, _, path = spelled.partition(":")
    if "" not in sys.path and (here := str(Path.cwd())) not in sys.path:
        sys.path.insert(0, here)  # as `python -m` has it, whatever started the program
    try:
        # What the module prints is no part of a report.
        with contextlib.redirect_stdout(sys.stderr):
            found: Any = importlib.import_module(module)
    except (Exception, SystemExit) as error:
        raise UsageError(
            f"{spelled} cannot be imported: {type(error).__name__}: {error}",
            advice="run the analyzer where the tools are installed",
        ) from error
    for part in path.split("."):
        try:
            found = getattr(found, part)
        except AttributeError:
            raise UsageError(f"{spelled}: {module} has no {path!r}") from None
    return found


def _tools(found: Any, spelled: str) -> Iterator[Contract]:
    if isinstance(found, Mapping):
        named = list(found.items())
        if not all(isinstance(name, str) and name for name, _ in named):
            raise UsageError(f"{spelled} is a map whose keys are not names of tools")
    elif isinstance(found, list | tuple):
        named = [(_name(each, f"{spelled}[{place}]"), each) for place, each in enumerate(found)]
    else:
        named = [(_name(found, spelled), found)]
    if not named:
        raise UsageError(f"{spelled} is empty: {_WANTED}")
    for name, each in named:
        at = spelled if each is found else f"{spelled}[{name!r}]"
        for role, schema in _schemas(each, at):
            yield _contract(name, role, schema, found=each, at=at)


def _name(found: Any, at: str) -> str:
    if not callable(found):
        raise UsageError(f"{at} is of type {type(found).__name__}: {_WANTED}")
    name = getattr(found, "__name__", "")
    if not isinstance(name, str) or not name.isidentifier():
        raise UsageError(f"{at} has no name of its own: give a map of tool names")
    return name


def _contract(name: str, role: str, schema: Any, *, found: Any, at: str) -> Contract:
    server, _, tool = name.rpartition("/")
    judge = Judge(schema, dialect=DEFAULT)
    if judge.problem is not None:
        raise UsageError(f"{at}: the {role} cannot be judged by the schema made of them: {judge.problem_detail}")
    file, line = _place(found, at)
    return Contract(
        tool=tool, server=server or None, role=role, schema=schema, schema_id=schema_id(schema), dialect=DEFAULT,
        file=file, line=line, pointer="", judge=judge, channel=CHANNEL,
    )  # fmt: skip


def _place(found: Any, at: str) -> tuple[str, int]:
    """The file and line of a definition, as short as they lead there from here."""
    try:
        found = inspect.unwrap(found)
        file = Path(inspect.getsourcefile(found) or "")
        line = inspect.getsourcelines(found)[1]
    except (OSError, TypeError, ValueError):
        return at, 1
    return str(file.relative_to(Path.cwd()) if file.is_relative_to(Path.cwd()) else file), max(line, 1)


def _schemas(found: Any, at: str) -> Iterator[tuple[str, Any]]:
    if _is_model(found):
        yield ARGUMENTS, _schema(found, at, mode="validation")
        return
    if not callable(found) or isinstance(found, type):
        kind = f"the class {found.__name__}, no model" if isinstance(found, type) else f"of type {type(found).__name__}"
        raise UsageError(f"{at} is {kind}: {_WANTED}")
    try:
        signature = inspect.signature(found)
        hints = get_type_hints(inspect.unwrap(found), include_extras=True)
    except Exception as error:  # an annotation is code, and may break with anything
        raise UsageError(f"{at}: its signature cannot be read: {type(error).__name__}: {error}") from error
    yield ARGUMENTS, _arguments(signature, hints, at)
    returned = hints.get("return")
    if any(_is_model(each) for each in _parts(returned)):
        yield OUTPUT, _schema(returned, f"what {at} returns", mode="serialization")


def _arguments(signature: inspect.Signature, hints: Mapping[str, Any], at: str) -> dict[str, Any]:
    """The object that can be passed as keyword arguments: without `**`, nothing else is taken."""
    properties: list[_Described] = []
    required, more = [], None
    for name, parameter in signature.parameters.items():
        if parameter.kind is parameter.VAR_POSITIONAL:
            continue
        hint = hints.get(name, Any)
        default = parameter.default
        if _of_pydantic(default):  # `= Field(...)`: bounds, and perhaps no default
            hint = Annotated[hint, default]
            needed = default.is_required() if callable(getattr(default, "is_required", None)) else False
        else:
            needed = default is parameter.empty
            hint = hint | None if default is None else hint
        schema = _described(hint, f"`{name}` of {at}", mode="validation")
        if parameter.kind is parameter.VAR_KEYWORD:
            more = schema
            continue
        properties.append(schema._replace(name=name))
        if needed:
            required.append(name)
    every = [*properties, *([more] if more else [])]
    definitions = {name: schema for each in every for name, schema in each.definitions.items()}
    return {
        "type": "object",
        "properties": {each.name: each.schema for each in properties},
        **({"required": required} if required else {}),
        "additionalProperties": False if more is None else more.schema,
        **({"$defs": definitions} if definitions else {}),
    }


class _Described(NamedTuple):
    """A schema, and what its references lead to."""

    name: str
    schema: Any
    definitions: dict[str, Any]


def _schema(hint: Any, at: str, *, mode: str) -> Any:
    described = _described(hint, at, mode=mode)
    return {**described.schema, **({"$defs": described.definitions} if described.definitions else {})}


def _described(hint: Any, at: str, *, mode: str) -> _Described:
    """A type as JSON Schema: by pydantic where anything in it is pydantic's, else by msgspec."""
    make = _by_pydantic if any(_of_pydantic(each) for each in _parts(hint)) else _by_msgspec
    try:
        schema = make(hint, mode)
        plain = msgspec.json.decode(msgspec.json.encode(schema))
    except ImportError as error:
        raise UsageError(f"{at} needs pydantic to be described, and it cannot be imported: {error}") from error
    except Exception as error:  # either library breaks with its own
        raise UsageError(f"{at} cannot be described as JSON Schema: {' '.join(str(error).split())}") from error
    return _Described("", plain, plain.pop("$defs", {}))


def _by_msgspec(hint: Any, mode: str) -> Any:
    del mode
    (schema,), definitions = msgspec.json.schema_components([hint], ref_template="#/$defs/{name}")
    return {**schema, "$defs": definitions}


def _by_pydantic(hint: Any, mode: Any) -> Any:
    make: Callable[..., Any] = importlib.import_module("pydantic").TypeAdapter
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # defaults that are not JSON: they decide nothing
        return make(hint).json_schema(mode=mode)


def _is_model(found: Any) -> bool:
    if not isinstance(found, type):
        return False
    struct = issubclass(found, msgspec.Struct)
    return struct or is_dataclass(found) or is_typeddict(found) or hasattr(found, "__pydantic_core_schema__")


def _of_pydantic(found: Any) -> bool:
    if isinstance(found, type) and hasattr(found, "__pydantic_core_schema__"):
        return True
    maker = found if isinstance(found, type) else type(found)
    return (maker.__module__ or "").partition(".")[0] in _PYDANTIC


def _parts(hint: Any) -> Iterator[Any]:
    """A type, everything it is made of, and what constrains it; the members of models included."""
    waiting: list[Any] = [hint]
    seen: list[Any] = []
    while waiting:
        each = waiting.pop()
        if any(each is other for other in seen):
            continue
        seen.append(each)
        yield each
        if get_origin(each) is Annotated:
            waiting += [each.__origin__, *each.__metadata__]
        elif get_origin(each) is not None or get_args(each):
            waiting += get_args(each)
        elif _is_model(each) and not _of_pydantic(each):
            with contextlib.suppress(Exception):  # whatever is wrong with a hint, the library says it better
                waiting += get_type_hints(each, include_extras=True).values()
            waiting += [member.default for member in fields(each)] if is_dataclass(each) else []
