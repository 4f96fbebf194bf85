"""Pins: what was advertised, one canonical file per tool, so that a change shows as a difference of files.

Trust on first use: the first definition that was seen is pinned, and a pin is never replaced unasked. Where it is, it
keeps the names of the versions that it replaced: a log that shows one of them beside the pinned one has not drifted. A
pin is a contract file like any other: `audit --contracts` and `replay --against` read a folder of them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any, Literal, NamedTuple
from urllib.parse import quote

import msgspec
import polars as pl

from analyzer import pointer as pointers
from analyzer.contracts.comparison.compare import Breakage, Comparison, breaking, compare
from analyzer.contracts.comparison.rename import match_renamed
from analyzer.contracts.files import SUPERSEDED
from analyzer.contracts.files import superseded as replaced
from analyzer.contracts.schemas import decode, depth, schema_id
from analyzer.contracts.tables import ANY_TOOL, parse_tool_table
from analyzer.errors import ContractFileError
from analyzer.masking import mask, masked

ROLES: tuple[Literal["arguments", "output"], ...] = ("arguments", "output")
_MOST_NAME = 100
_MOST_DEPTH = 400  # levels that the standard encoder still indents
_REPLACED = "a version that the pin replaced, and not the pinned one"
_NOT_ADVERTISED = "pinned, but not advertised here"


class Shown(NamedTuple):
    """One version of a schema as it was advertised first."""

    schema_id: str
    schema: Any
    session: str | None
    event: int | None
    pointer: str | None


@dataclass(frozen=True)
class Advertised:
    """Everything that was advertised of one tool: its versions in the order in which they were seen first."""

    kind: str
    server: str | None
    name: str
    versions: Mapping[str, tuple[Shown, ...]] = field(default_factory=dict)
    descriptions: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """The name people know it by."""
        return f"{self.server}/{self.name}" if self.server else self.name


@dataclass(frozen=True)
class Pin:
    """The definition of one tool as a pin file holds it; `superseded` names what it replaced."""

    server: str | None
    name: str
    description: str
    schemas: Mapping[str, Any]
    file: str = ""
    superseded: frozenset[str] = frozenset()

    @property
    def label(self) -> str:
        """The name people know it by."""
        return f"{self.server}/{self.name}" if self.server else self.name


@dataclass(frozen=True)
class Drift:
    """How a tool stands to its pin; `what` is same, changed, wording, unpinned, renamed or absent."""

    tool: str
    what: Literal["same", "changed", "wording", "unpinned", "renamed", "absent"]
    role: str = ""
    note: str = ""
    session: str | None = None
    schema_id: str | None = None
    comparison: Comparison | None = None
    breakage: Breakage | None = None

    @property
    def drifted(self) -> bool:
        """Whether `--check` fails for it."""
        return self.what not in ("same", "absent")


def advertised(
    frames: Mapping[str, pl.DataFrame], element: Callable[[int | None, str | None], Any]
) -> tuple[list[Advertised], list[str]]:
    """What was advertised, sorted by server and name, and the names of tools that came without any schema.

    `element(event, pointer)` gives the decoded element of a record: it says which of several descriptions came first.
    """
    texts = dict(frames["schemas"].select("schema_id", "text").iter_rows())
    places = dict(frames["sessions"].select("session", pl.int_range(pl.len(), dtype=pl.Int64)).iter_rows())
    tools: dict[str, tuple[str, str | None, str, set[str]]] = {}
    for tool, kind, server, name, text in (
        frames["tools"].select("tool", "kind", "server", "name", "description").iter_rows()
    ):
        tools.setdefault(tool, (kind, server, name, set()))[3].add(text or "")
    shown: dict[str, dict[str, list[Shown]]] = {}
    offers = frames["offers"].filter((pl.col("state") == "offered") & pl.col("schema_id").is_not_null())
    rows = sorted(
        offers.select("session", "tool", "role", "schema_id", "event", "pointer").iter_rows(),
        key=lambda row: (places.get(row[0], len(places)), row[4], row[1], row[2]),
    )
    for session, tool, role, identity, event, pointer in rows:
        versions = shown.setdefault(tool, {}).setdefault(role, [])
        if all(version.schema_id != identity for version in versions):
            versions.append(Shown(identity, msgspec.json.decode(texts[identity]), session, event, pointer))
    found, bare = [], []
    for tool, (kind, server, name, texts_of) in sorted(tools.items()):
        if tool not in shown:
            if name != ANY_TOOL and kind != "hosted":
                bare.append(f"{server}/{name}" if server else name)
            continue
        described = _in_order(texts_of, next(iter(shown[tool].values()))[0], element)
        versions_of: dict[str, tuple[Shown, ...]] = {
            role: tuple(shown[tool][role]) for role in ROLES if role in shown[tool]
        }
        found.append(_hidden(Advertised(kind, server, name, versions_of, described)))
    return sorted(found, key=lambda each: (each.server or "", each.name, each.kind)), sorted(set(bare))


def _hidden(tool: Advertised) -> Advertised:
    """The same without credentials: what is pinned goes into a repository."""
    versions = {
        role: tuple(version._replace(schema=masked(version.schema)) for version in shown)
        for role, shown in tool.versions.items()
    }
    server = None if tool.server is None else mask(tool.server)
    return Advertised(tool.kind, server, mask(tool.name), versions, tuple(map(mask, tool.descriptions)))


def _in_order(texts: set[str], first: Shown, element: Callable[[int | None, str | None], Any]) -> tuple[str, ...]:
    """The descriptions, the one that stands beside the first schema before the others."""
    if len(texts) > 1 and first.pointer:
        steps = pointers.parts(first.pointer)
        for end in range(len(steps) - 1, max(len(steps) - 4, 0), -1):
            holder = element(first.event, pointers.pointer(steps[:end]))
            if isinstance(holder, dict) and isinstance(holder.get("name"), str):
                said = holder.get("description") or ""
                return (said, *sorted(texts - {said})) if said in texts else tuple(sorted(texts))
    return tuple(sorted(texts))


def pinned(tool: Advertised, *, replacing: Pin | None = None, latest: bool = False) -> Pin:
    """The pin of a tool: its first definition, or with `latest` the newest one, which supersedes all before it."""
    end = -1 if latest else 0
    schemas = {role: versions[end].schema for role, versions in tool.versions.items()}
    description = tool.descriptions[end] if tool.descriptions else ""
    before: set[str] = set()
    if latest:
        before = {each.schema_id for versions in tool.versions.values() for each in versions}
        before |= {_digest(text) for text in tool.descriptions}
        if replacing is not None:
            before |= replacing.superseded | {schema_id(schema) for schema in replacing.schemas.values()}
            before.add(_digest(replacing.description))
        now = {versions[end].schema_id for versions in tool.versions.values()}
        before -= {*now, *map(schema_id, schemas.values()), _digest(description)}
    return Pin(tool.server, tool.name, description, schemas, superseded=frozenset(before))


def _digest(description: str) -> str:
    return "d_" + blake2b(description.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def file_of(server: str | None, name: str) -> str:
    """Where the pin of a tool stands in its folder: a name that is safe on every file system and tells its tool."""
    parts = [server, name] if server else [name]
    return "/".join(_safe(part) for part in parts) + ".json"


def _safe(name: str) -> str:
    text = quote(name, safe="-_", errors="surrogatepass").replace("~", "%7E")
    # A dot in front hides a file or leads out of the folder; these endings mean a bare schema in a contract file.
    if text.startswith(".") or text.endswith((".arguments", ".output")):
        text = text.replace(".", "%2E")
    # Letters of either case are one file on some systems, and a long name is none on most.
    if len(text) > _MOST_NAME or name != name.lower():
        digest = blake2b(name.encode("utf-8", "surrogatepass"), digest_size=4).hexdigest()
        text = f"{text[:_MOST_NAME]}-{digest}"
    return text or "%"


def text_of(pin: Pin) -> str:
    """The file: a tool definition with its members sorted, two blanks a level, ending in a newline."""
    tool: dict[str, Any] = {"description": pin.description, "name": pin.name, "type": "function"}
    if "arguments" in pin.schemas:
        tool["parameters"] = pin.schemas["arguments"]
    if "output" in pin.schemas:
        tool["output_schema"] = pin.schemas["output"]
    if pin.superseded:
        tool[SUPERSEDED] = sorted(pin.superseded)
    definition = {"server_label": pin.server, "tools": [tool], "type": "mcp"} if pin.server else tool
    indent = 2 if depth(definition) < _MOST_DEPTH else None
    text = json.dumps(definition, ensure_ascii=False, sort_keys=True, indent=indent)
    # What a terminal or an editor could act on stands as an escape.
    return "".join(char if char.isprintable() or char == "\n" else _escape(char) for char in text) + "\n"


def _escape(char: str) -> str:
    return json.dumps(char)[1:-1]


def read_pins(folder: Path) -> list[Pin]:
    """The pins of a folder. Raises ContractFileError for a file that holds none."""
    pins = []
    for path in sorted(folder.rglob("*.json")):
        try:
            value = decode(path.read_bytes())
            definitions = parse_tool_table(value)
        except (OSError, ValueError) as error:
            raise ContractFileError(f"not a pin: {error}", file=str(path)) from error
        if not definitions:
            raise ContractFileError("not a pin: it holds no tool definition", file=str(path), line=1)
        for each in definitions:
            schemas = {"arguments": each.arguments, "output": each.output}
            pointed = {"arguments": each.arguments_pointer, "output": each.output_pointer}
            held = {role: schema for role, schema in schemas.items() if pointed[role] is not None}
            superseded = frozenset(replaced(value, each.pointer))
            pins.append(Pin(each.server, each.name, each.description, held, str(path), superseded))
    return pins


def check(tools: Iterable[Advertised], pins: Iterable[Pin], bare: Iterable[str] = ()) -> list[Drift]:
    """How everything advertised stands to the pins, sorted by tool; a new one that looks like a lost one is renamed."""
    by_tool = {(pin.server, pin.name): pin for pin in pins}
    come: dict[str, Any] = {}
    drifts: list[Drift] = []
    seen: set[tuple[str | None, str]] = set()
    for tool in tools:
        key = (tool.server, tool.name)
        seen.add(key)
        if key in by_tool:
            drifts += _against(tool, by_tool[key])
        else:
            come[tool.label] = pinned(tool).schemas.get("arguments", {})
    gone = {pin.label: pin.schemas.get("arguments", {}) for key, pin in by_tool.items() if key not in seen}
    renamed = {rename.new: rename for rename in match_renamed(gone, come)}
    for label in come:
        rename = renamed.get(label)
        note = f"has the shape of the pinned {rename.old}" if rename else "advertised, and not pinned"
        drifts.append(Drift(label, "renamed" if rename else "unpinned", note=note))
    drifts += [
        Drift(label, "unpinned", note="advertised without a schema, pinned with one") for label in bare if label in gone
    ]
    drifts += [Drift(label, "absent", note=_NOT_ADVERTISED) for label in gone if label not in set(bare)]
    return sorted(drifts, key=lambda drift: (drift.tool, drift.role, drift.what, drift.schema_id or ""))


def _still_open(versions: tuple[Shown, ...], pin: Pin, role: str) -> tuple[Shown, ...]:
    """The versions to hold against a pin: where it is shown itself, those that it superseded came before it."""
    left = tuple(each for each in versions if each.schema_id not in pin.superseded)
    if len(left) == len(versions) or role not in pin.schemas:
        return versions
    is_shown = any(compare(pin.schemas[role], each.schema).relation == "equal" for each in left)
    return left if is_shown else versions


def _against(tool: Advertised, pin: Pin) -> Iterator[Drift]:
    some = False
    for role in ROLES:
        versions = _still_open(tool.versions.get(role, ()), pin, role)
        if role in pin.schemas and not versions:
            yield Drift(tool.label, "changed", role, "pinned with a schema, advertised without one")
            some = True
        for version in versions:
            if role not in pin.schemas:
                yield Drift(tool.label, "changed", role, "pinned without a schema", version.session, version.schema_id)
                some = True
                continue
            found = compare(pin.schemas[role], version.schema)
            if found.relation == "equal" and not found.changes:
                continue
            some = True
            what: Literal["wording", "changed"] = "wording" if found.description_only else "changed"
            yield Drift(
                *(tool.label, what, role, _REPLACED if version.schema_id in pin.superseded else ""),
                *(version.session, version.schema_id, found),
                breaking(found, role=role),
            )
    as_pinned = pin.description in tool.descriptions
    for text in tool.descriptions:
        if text != pin.description and not (as_pinned and _digest(text) in pin.superseded):
            some = True
            yield Drift(tool.label, "wording", note="the description of the tool differs from the pinned one")
    if not some:
        yield Drift(tool.label, "same")
