"""What several commands share: the logs and contracts to read, the audit of them, and what is said of the unread."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click

from analyzer.cli import console, holding, own_reports, targets
from analyzer.cli.given import Given
from analyzer.errors import UsageError
from analyzer.redaction import current, read_key, redacting

if TYPE_CHECKING:
    from analyzer.auditing import Audit
    from analyzer.auditing.on_disk import OnDisk
    from analyzer.config import Config

F = TypeVar("F", bound=Callable[..., Any])


def _configured(ctx: click.Context, _: click.Parameter, file: str | None) -> Config:
    """Load the configuration before the other options are read, so that its settings are their defaults."""
    from analyzer.config import load

    config = load(file)
    ctx.default_map = dict(config.flags)
    return config


def _redact(ctx: click.Context, _: click.Parameter, wanted: bool) -> bool:  # noqa: FBT001 - click calls it so
    ctx.with_resource(redacting(current()._replace(on=wanted)))
    return wanted


def _keyed(ctx: click.Context, _: click.Parameter, file: str | None) -> str | None:
    if file is not None:
        ctx.with_resource(redacting(current()._replace(key=read_key(file))))
    return file


session = click.option("--session", metavar="ID", help="This session only.")
_OPTIONS: dict[str, Callable[[Any], Any]] = {
    "paths": click.argument("paths", metavar="PATH...", nargs=-1),
    "contracts": click.option(
        "--contracts",
        multiple=True,
        metavar="FILE-OR-DIR",
        help="Contracts of the tools as they are executed: a map of tool names to schemas, a provider's tool table, "
        "or a folder of TOOL.arguments.json and TOOL.output.json. Repeatable.",
    ),
    "executed": click.option(
        "--executed",
        multiple=True,
        metavar="MODULE:NAME",
        help="The tools as Python has them: a function, a model, a map of tool names to these, or a list. It is "
        "imported, and so run. Repeatable.",
    ),
    "final_schema": click.option("--final-schema", metavar="FILE", help="Schema of the final answer's object."),
    "input_format": click.option(
        "--input-format",
        metavar="NAME",
        help="Ask this format first, whatever a file looks like; `analyzer formats` lists them.",
    ),
    "session": session,
    "assert_formats": click.option(
        "--assert-formats", is_flag=True, help="Judge `format` as a constraint, not as a note."
    ),
    "redact": click.option(
        "--redact/--no-redact",
        default=True,
        expose_value=False,
        callback=_redact,
        help="Hide credentials in all that is written, or not; hidden unless this is asked for.",
    ),
    "redact_key": click.option(
        "--redact-key",
        metavar="FILE",
        expose_value=False,
        callback=_keyed,
        help="A file of at least 16 bytes: hidden credentials carry a hash keyed with it, so that equal ones are seen.",
    ),
    "config": click.option(
        "--config",
        metavar="FILE",
        is_eager=True,
        callback=_configured,
        help="Settings; else the nearest analyzer.toml, or pyproject.toml with [tool.analyzer].",
    ),
}

no_color = click.option("--no-color", is_flag=True, help="No colour, even on a terminal; NO_COLOR does the same.")
output = click.option("-o", "output", metavar="FILE", help="Write here, whole or not at all.")


#: What a parameter of Given is in a command that does not offer it.
_LEFT_OUT: dict[str, Any] = {"contracts": (), "executed": (), "final_schema": None, "assert_formats": False}


def reading(*without: str, own: Callable[[Any], Any] = session) -> Callable[[F], F]:
    """Add the parameters of Given to a command; `own` is what it means by --session.

    `without` are those that change nothing about its answer: an option that does nothing is not offered.
    """
    left_out = {name: _LEFT_OUT[name] for name in without}

    def add(command: F) -> F:
        @wraps(command)
        def given_all(**given: Any) -> Any:
            return command(**given, **left_out)

        for name, option in reversed(_OPTIONS.items()):
            if name not in left_out:
                given_all = (own if name == "session" else option)(given_all)
        return cast("F", given_all)

    return add


def audited(
    given: Given,
    *,
    select: Sequence[str] = (),
    ignore: Sequence[str] = (),
    jobs: int = 1,
    keep_frames: bool = True,
    on_disk: OnDisk | None = None,
    details: bool = False,
    baseline: str | None = None,
    each: Callable[[Audit], None] | None = None,
) -> Audit:
    """The audit of what is given, with a progress bar; whatever could not be read is said on standard error."""
    asked = arguments(given)
    from analyzer.auditing import audit
    from analyzer.cli.progress import progress

    if keep_frames and given["session"] is None:
        command = click.get_current_context(silent=True)
        told = holding.warning(f"`{command.info_name if command else 'audit'}`", given["paths"])
        if told:
            console.complain(told)
    with progress() as step:
        done = audit(
            given["paths"],
            select=select,
            ignore=ignore,
            jobs=jobs,
            keep_frames=keep_frames,
            on_disk=on_disk,
            details=details,
            baseline=baseline,
            lenient=True,
            progress=step,
            each=each,
            **asked,
        )
    done = own_reports.left_out(done, given["paths"])
    complaints(done, given)
    session = given["session"]
    if session is not None and not done.summary["sessions"] and any(each["format"] for each in done.inputs):
        raise UsageError(f"no session {session!r} in the log; `analyzer show` without --session lists them")
    return done


_TOLD = 20  # of what could not be read: the rest of a large folder is counted
_ALL = "`analyzer audit` lists them"
WHICH = "`analyzer audit` says which (LOG001, LOG002)"
_READ = "`analyzer formats` lists what is read"
_MAPPED = f"{_READ}, a mapping reads a log of one's own, and `analyzer formats --try FILE` shows what it finds"
_HEAD = 1 << 16


def _is_json(each: dict[str, Any]) -> bool:
    return bool(each["records"]) and each["unreadable"] < each["records"]


def _unrecognised(each: dict[str, Any]) -> str:
    """Why an input without a format has none, as far as a look at it tells."""
    if not each["bytes"]:
        return "empty"
    what = "not recognised as any format"
    if _is_json(each):
        return what
    try:
        with Path(each["path"]).open("rb") as file:
            head = file.read(_HEAD)
    except OSError:  # a part of an archive
        head = b""
    holds = b'{"' in head
    if not holds and b"{'" in head:
        return f"{what}; its lines are values as Python shows them, and no JSON: write them with `json.dumps`"
    return f"{what}; its lines are no JSON" + (
        ", though they hold some: a mapping reads lines that are JSON" if holds else ""
    )


def in_part(each: dict[str, Any]) -> str:
    """How much of an input could not be read, in words."""
    return f"{each['unreadable']} of {each['records']} records cannot be read"


def complaints(done: Audit, given: Given, none: str | None = None) -> None:
    """Say on standard error what could not be read, recognised or suppressed; `none`: why there is no log at all."""
    for note in done.notes:
        console.complain(note)
    told = [(str(problem), console.advice(problem)) for problem in done.problems]
    told += [
        (f"{each['path']}: {_unrecognised(each)}", _MAPPED if _is_json(each) else _READ)
        for each in done.inputs
        if not each["format"]
    ]
    told += [
        (f"{each['path']}: {in_part(each)}", WHICH) for each in done.inputs if each["format"] and each["unreadable"]
    ]
    for problem, advice in told[:_TOLD]:
        console.complain(problem, advice)
    if len(told) > _TOLD:
        console.complain(f"and {len(told) - _TOLD} more that could not be read or recognised", _ALL)
    if not done.inputs and not done.problems:
        saved = any((Path(path) / "audit.json").is_file() for path in given["paths"])
        hint = "`analyzer tui` opens a saved audit" if saved else _READ
        console.complain(f"{', '.join(given['paths'])}: {none or 'no log found'}", None if none else hint)


def arguments(given: Given) -> dict[str, Any]:
    """What is given, as `analyzer.audit` takes it. Raises UsageError for what no audit can be made of."""
    check(given)
    return {
        "contracts": given["contracts"],
        "executed": given["executed"],
        "final_schema": given["final_schema"],
        "settings": replace(given["config"].settings, assert_formats=given["assert_formats"]),
        "input_format": given["input_format"],
        "mappings": given["config"].mappings,
        "session": given["session"],
        "suppressions": given["config"].suppressions,
    }


def check(given: Given) -> None:
    """Refuse a command without a path, and a format that does not exist, before anything heavy is loaded."""
    if not given["paths"]:
        raise UsageError("no PATH given: name a log, a folder of logs, or - for standard input")
    context = click.get_current_context(silent=True)
    if context is not None:
        final = given["final_schema"]
        targets.check(context.params, [*given["paths"], *given["contracts"], *([final] if final else [])])
    name = given["input_format"]
    if name is not None:
        from analyzer.cli.formats import formats

        names = [*(each.name for each in formats()), *given["config"].mappings]
        if name not in names:
            raise UsageError(f"no format {name!r}{console.meant(name, names) or '; `analyzer formats` lists them'}")
    for each in given["config"].suppressions:
        if each.rule is not None:
            _check_rule(each.rule, each.place)


def _check_rule(name: str, place: str | None) -> None:
    """Refuse a rule that does not exist: it would suppress nothing, and be taken for one that has done its work."""
    from analyzer.rules.catalogue import find_rule, nearest

    if find_rule(name) is None:
        near = nearest(name)
        wrong = f"no rule {name!r}" + (f"; did you mean {near!r}?" if near else "; `analyzer rules` lists them")
        raise UsageError(f"{place}: {wrong}" if place else wrong)
