"""`analyzer formats`: what is read, how it is recognised, and what each format cannot prove.

The facts stand in the adapters, as constants of their classes. They are read from the source text, as the manuals of
rules are: importing an adapter would load the whole frame library to print a few sentences.
"""

from __future__ import annotations

import ast
import json
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path

import click

from analyzer.cli import console, exits
from analyzer.errors import UsageError
from analyzer.report.paper import Paper

_FACTS = ("name", "title", "known_by", "loses")


@dataclass(frozen=True)
class Format:
    """What an adapter says of itself: what it reads, how it recognises it, and what the wire cannot prove."""

    name: str
    title: str
    known_by: str
    loses: tuple[str, ...]
    reads: str


def formats() -> list[Format]:
    """Every format in the order of `analyzer.read.ADAPTERS`."""
    spec = find_spec("analyzer")
    assert spec is not None
    assert spec.submodule_search_locations
    folder = Path(spec.submodule_search_locations[0]) / "read"
    listing = ast.parse((folder / "__init__.py").read_text(encoding="utf-8"))
    modules: dict[str, str] = {}
    names: list[str] = []
    for node in listing.body:
        if isinstance(node, ast.ImportFrom) and node.module:
            modules.update({alias.name: node.module.rpartition(".")[2] for alias in node.names})
        elif isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == "ADAPTERS":
            assert isinstance(node.value, ast.Tuple)
            names = [ast.unparse(element) for element in node.value.elts]
    files = [(folder / f"{modules[name]}.py", folder / modules[name] / "__init__.py", name) for name in names]
    return [_told(file if file.is_file() else package, name) for file, package, name in files]


def _told(file: Path, class_name: str) -> Format:
    module = ast.parse(file.read_text(encoding="utf-8"))
    adapter = next(node for node in module.body if isinstance(node, ast.ClassDef) and node.name == class_name)
    facts = {
        ast.unparse(node.target): ast.literal_eval(node.value)
        for node in adapter.body
        if isinstance(node, ast.AnnAssign) and node.value and ast.unparse(node.target) in _FACTS
    }
    return Format(**facts, reads=ast.get_docstring(module) or "")


@click.command(
    "formats",
    epilog=console.examples(
        "analyzer formats",
        "analyzer formats openai-agents-api",
        "analyzer formats --try odd.jsonl",
    ),
)
@click.argument("name", required=False)
@click.option(
    "--try", "file", metavar="FILE", help="Show what the readers and the mappings make of a log's first records."
)
@click.option("--config", "config_file", metavar="FILE", help="Read this configuration instead of the nearest one.")
@click.option(
    "--output-format", type=click.Choice(("text", "json")), default="text", show_default=True, help="How to print it."
)
@click.option("--no-color", is_flag=True, help="No colour, even on a terminal.")
def command(*, name: str | None, file: str | None, config_file: str | None, output_format: str, no_color: bool) -> int:
    """List the recorded formats that are read, how each is recognised, and what it cannot prove.

    Exit status: 0; with --try 3 where no format knows the records.
    """
    if file is not None:
        known = _try(file, name, config_file, output_format, colour=console.colour(wanted=not no_color))
        return exits.CLEAN if known else exits.UNREAD
    found = formats()
    if name is not None:
        named = [each for each in found if each.name == name.lower()]
        if not named:
            near = console.meant(name, [each.name for each in found])
            raise UsageError(f"no format {name!r}{near or '; `analyzer formats` lists them'}")
        found = named
    if output_format == "json":
        console.write(json.dumps([asdict(each) for each in found], ensure_ascii=False, indent=1), "\n")
        return exits.CLEAN
    paper = Paper(width=console.width(), colour=console.colour(wanted=not no_color))
    for number, each in enumerate(found):
        if number:
            paper.blank()
        _print(paper, each, whole=name is not None)
    if name is None:
        paper.blank()
        paper.wrapped(
            "Every format is read plain or packed (gzip, zstd, bzip2, xz); as one record per line, as server-sent "
            "events or as one document, alone or inside the records of what collects logs. It is told by its content, "
            "never by a file's name; --input-format NAME settles it."
        )
    console.write(paper.text())
    return exits.CLEAN


def _try(file: str, name: str | None, config_file: str | None, output_format: str, *, colour: bool) -> bool:
    """What becomes of the first records of a log, and whether a format knows them."""
    from analyzer import config
    from analyzer.read.mapped import adapters_of
    from analyzer.read.tried import tried

    adapters = adapters_of(config.load(config_file).mappings)
    names = [each.name for each in adapters]
    if name is not None and name not in names:
        raise UsageError(f"no format {name!r}{console.meant(name, names) or '; `analyzer formats` lists them'}")
    found = tried(file, adapters=adapters, input_format=name)
    if output_format == "json":
        from analyzer.report.trial import document

        console.write(document(found), "\n")
        return bool(found.format)
    from analyzer.report.trial import page

    console.write(page(found, file, width=console.width(), colour=colour))
    return bool(found.format)


def _print(paper: Paper, each: Format, *, whole: bool) -> None:
    paper.wrapped((each.name, "name"), f"  {each.title}", hang=2)
    if whole:
        paper.blank()
        for paragraph in each.reads.split("\n\n"):
            paper.wrapped(" ".join(paragraph.split()), indent=2)
        paper.blank()
    paper.wrapped(("recognised by: ", "head"), each.known_by, indent=2)
    paper.line(("cannot prove:", "head"), indent=2)
    for sentence in each.loses:
        paper.wrapped("- " + sentence, indent=4, hang=2)
