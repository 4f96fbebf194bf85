"""The manual of a rule: as Markdown for viewers that show it beside a finding, and as paragraphs to be wrapped."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby

_HEADING = re.compile(r"(What it says|Why it matters|Bad|Good|Blind spots):\s*")


def markdown(manual: str) -> str:
    """The manual with its headings in bold and its examples as blocks."""
    return "\n\n".join(_blocks(manual))


def summary(manual: str) -> str:
    """What the rule says, in one paragraph; the title where the manual does not tell."""
    for block in _blocks(manual):
        if block.startswith("**What it says:**"):
            return block.removeprefix("**What it says:**").strip()
    return manual.partition("\n")[0]


def paragraphs(manual: str) -> list[str]:
    """The manual's paragraphs and headings, one a line however long; the lines of examples stay as they are."""
    out: list[str] = []
    flowing = False  # the last line can be gone on with
    for line in manual.splitlines():
        if flowing and line and not line.startswith("    ") and not _HEADING.match(line):
            out[-1] += f" {line}"
        else:
            out.append(line)
            flowing = bool(line) and not line.startswith("    ")
    return out


def _blocks(manual: str) -> Iterator[str]:
    title, _, rest = manual.partition("\n")
    yield title
    for indented, lines in groupby(rest.splitlines(), key=lambda line: line.startswith("    ")):
        if indented:
            yield "```\n" + "\n".join(line.removeprefix("    ") for line in lines) + "\n```"
        else:
            yield from _paragraphs(list(lines))


def _paragraphs(lines: list[str]) -> Iterator[str]:
    words: list[str] = []
    for line in lines:
        heading = _HEADING.match(line)
        if (heading or not line) and words:
            yield " ".join(words)
            words = []
        if heading:
            words.append(f"**{heading[1]}:**")
            line = line[heading.end() :]  # noqa: PLW2901 - what is behind the heading
        if line:
            words.append(line)
    if words:
        yield " ".join(words)
