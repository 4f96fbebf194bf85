"""Every command over hostile inputs, in this process, and what its output must never hold."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import re
import signal
import sys
from collections.abc import Iterator, Sequence
from html.parser import HTMLParser
from typing import NamedTuple
from unittest import mock
from xml.etree import ElementTree as ET

import click

from analyzer.cli import main
from tests.hostile.payloads import MARK

#: What documented commands end with; 4 is a fault of the analyzer, and 130 an interrupt.
STATUSES = {0, 1, 2, 3}

# Control characters but the newline; formats, separators, surrogates, private use and what draws nothing.
_FOREIGN = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u2800\u3164\ufeff\uffa0\ufff0-\ufffb\ue000-\uf8ff\U000e0000-\U000e0fff]"
)
#: Formats of pages, in which markup of a log must be text.
_LIVE = re.compile(r"<(?:script|img|svg|details|b|title|PWNED)\b", re.IGNORECASE)


class Output(NamedTuple):
    """What a command wrote and ended with."""

    status: int
    out: bytes
    err: bytes


class TooLongError(Exception):
    """A command ran beyond its limit."""


def run(*arguments: str, limit: float = 60) -> Output:
    """Run the command line in this process; raises TooLongError after `limit` seconds of CPU."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2))

    def late(*_: object) -> None:
        raise TooLongError(f"{' '.join(arguments)[:200]} took more than {limit} s of CPU")

    before = signal.signal(signal.SIGPROF, late)
    signal.setitimer(signal.ITIMER_PROF, limit)
    try:
        with mock.patch.object(sys, "stdout", out), mock.patch.object(sys, "stderr", err):
            status = main(list(arguments))
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
    out.flush()
    err.flush()
    return Output(status, out.buffer.getvalue(), err.buffer.getvalue())


def report_formats() -> Sequence[str]:
    """The output formats that `audit` has."""
    from analyzer.cli.audit import command

    option = next(each for each in command.params if each.name == "output_format")
    assert isinstance(option.type, click.Choice)
    return tuple(option.type.choices)


def faults(done: Output, *, form: str = "text", secrets: Sequence[str] = ()) -> Iterator[str]:
    """What is wrong with an output, in words."""
    if done.status not in STATUSES:
        yield f"ended with {done.status}: {done.err[-600:].decode(errors='replace')}"
    for name, data in (("stdout", done.out), ("stderr", done.err)):
        try:
            text = data.decode()
        except UnicodeDecodeError as error:
            yield f"{name} is not UTF-8: {error}"
            continue
        if found := _FOREIGN.search(text):
            yield f"{name} holds {found[0]!r} in {text[max(0, found.start() - 60) : found.end() + 40]!r}"
        yield from (f"{name} {leak}" for leak in leaks(text, secrets))
    yield from _FORMS.get(form, _no_form)(done.out)


def leaks(text: str, secrets: Sequence[str]) -> Iterator[str]:
    """Which of the credentials stand in a text, whole or, of long ones, in the most part, whatever is escaped."""
    flat = text.replace("\\n", "").replace("\\", "").replace("\n", "")
    for secret in secrets:
        bare = secret.replace("\\n", "").replace("\\", "").replace("\n", "")
        part = bare[: max(20, len(bare) * 2 // 3)] if len(bare) < 200 else bare[len(bare) // 2 :][:40]
        at = flat.find(part)
        if at >= 0:
            yield f"holds the secret {secret[:60]!r} in {flat[max(0, at - 80) : at + len(part) + 20]!r}"


def _no_form(_: bytes) -> Iterator[str]:
    yield from ()


def _json(out: bytes) -> Iterator[str]:
    try:
        if out:
            json.loads(out)
    except ValueError as error:
        yield f"not JSON: {error}"


def _json_lines(out: bytes) -> Iterator[str]:
    for line in out.splitlines():
        yield from _json(line)


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.live: list[str] = []
        self._data = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._data = tag == "script" and dict(attrs).get("type") == "application/json"
        for name, value in attrs:
            if name.startswith("on") or (name in {"href", "src", "style"} and value and MARK in value):
                self.live.append(f"<{tag} {name}={value!r}>")
        if tag in {"img", "svg", "iframe", "object", "embed", "base", "link", MARK.lower()}:
            self.live.append(f"<{tag} {attrs!r}>")

    def handle_data(self, data: str) -> None:
        if self.cdata_elem and MARK in data and not self._data:
            self.live.append(f"in <{self.cdata_elem}>: {data[max(0, data.find(MARK) - 60) :][:120]!r}")


def _html(out: bytes) -> Iterator[str]:
    tags = _Tags()
    tags.feed(out.decode(errors="replace"))
    yield from (f"live markup: {each}" for each in tags.live)


def _xml(out: bytes) -> Iterator[str]:
    try:
        root = ET.fromstring(out)
    except ET.ParseError as error:
        yield f"no XML: {error}"
        return
    yield from (
        f"live element <{each.tag}>" for each in root.iter() if MARK in each.tag or each.tag in {"script", "img"}
    )


def _markdown(out: bytes) -> Iterator[str]:
    text = re.sub(r"(`+)(?:(?!\1).)*\1", "", out.decode(errors="replace"), flags=re.DOTALL)
    for pattern in (_LIVE, re.compile(r"(?<!\\)\]\((?:javascript:|http://PWNED)"), re.compile(r"(?<!\\)<http://PWNED")):
        if found := pattern.search(text):
            yield f"live markup: {text[max(0, found.start() - 60) : found.end() + 60]!r}"


def _csv(out: bytes) -> Iterator[str]:
    for row in csv.reader(io.StringIO(out.decode(errors="replace"))):
        yield from (f"a formula: {cell[:60]!r}" for cell in row if cell[:1] in "=+@\t\r" and len(cell) > 1)


_FORMS = {
    "json": _json,
    "sarif": _json,
    "gitlab": _json,
    "jsonl": _json_lines,
    "html": _html,
    "junit": _xml,
    "xml": _xml,
    "markdown": _markdown,
    "csv": _csv,
}


@contextlib.contextmanager
def no_sockets() -> Iterator[None]:
    """Every way to a socket, to another program and to code is closed."""
    import os
    import socket
    import subprocess

    def refuse(*arguments: object, **_: object) -> None:
        raise AssertionError(f"asked for {arguments!r}"[:300])

    with contextlib.ExitStack() as stack:
        for place, name in (
            (socket, "socket"),
            (socket, "create_connection"),
            (socket, "getaddrinfo"),
            (subprocess, "Popen"),
            (os, "system"),
            (os, "posix_spawn"),
            (os, "fork"),
        ):
            stack.enter_context(mock.patch.object(place, name, refuse))
        yield
