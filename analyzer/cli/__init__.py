"""The command line: one module per command, loaded when its command is named, so that `--help` answers at once."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module

import click

from analyzer.cli import console, exits
from analyzer.cli.stopping import clearing_up
from analyzer.errors import AnalyzerError
from analyzer.full_disk import MAKE_ROOM, no_room
from analyzer.redaction import HIDDEN, redacting

COMMANDS = {
    "audit": "Find what broke its contract in recorded sessions, where, and by which schema.",
    "tui": "Open the terminal workspace on a log, a folder or a saved audit.",
    "show": "Print one session, turn or call: events in order, the call beside its schema.",
    "gate": "Print one gate record per call, as JSON Lines.",
    "replay": "Judge recorded calls and results by other contracts: which verdicts flip.",
    "diff": "Compare a failing call with the nearest passing one, two calls, or two sessions.",
    "contracts": "Pin, list, compare, check and tighten the contracts of tools.",
    "query": "Ask events, calls, results or findings with JSONPath or JMESPath.",
    "batch": "Audit what is new every night, keep the history, and tell what changed.",
    "rules": "List the rules, or print the manual of one.",
    "formats": "List what is read, how it is recognised, and what it cannot prove.",
}


class _Lazy(click.Group):
    """Knows its commands by name, and imports the module of the one that runs."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        del ctx
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        del ctx
        if cmd_name not in COMMANDS:
            return None
        if cmd_name != "tui" and "polars" not in sys.modules:
            # An audit is many small queries: waking threads costs more than it saves. --jobs is for cores.
            os.environ.setdefault("POLARS_MAX_THREADS", "1")
            # Polars' allocator gives memory back after half a second, only to ask for it again at the next query. Ten
            # seconds would save more, and hold 0.2 GB more of a large session.
            os.environ.setdefault("_RJEM_MALLOC_CONF", "dirty_decay_ms:2000")
        command: click.Command = import_module(f"analyzer.cli.{cmd_name}").command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            raise click.UsageError(f"no command {args[0]!r}{console.meant(args[0], COMMANDS)}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


def _version(ctx: click.Context, _: click.Parameter, asked: bool) -> None:  # noqa: FBT001 - click calls it so
    if asked:
        from analyzer.report.version import version

        console.write(f"analyzer {version()}\n")
        ctx.exit()


@click.group(
    cls=_Lazy,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=console.examples(
        "analyzer audit sample_traces",
        "analyzer rules ARG001",
        "analyzer COMMAND --help",
    ),
)
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_version, help="Print the version."
)
def group() -> None:
    """Audit recorded agent sessions: which tool calls and results broke the contract in force.

    A PATH is a file, a folder that is searched for logs, or - for standard input; plain or packed.

    Exit status: 0 nothing decides; 1 a finding at or above --fail-on; 3 no finding decides, but something could not be
    read, recognised or (with --strict) judged; 2 usage or configuration; 4 a fault of the analyzer itself.
    """


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and give its exit status; a mistake of the caller is one line on standard error."""
    try:
        with clearing_up(), redacting(HIDDEN):  # each run begins with the default, whatever an option set before
            status = group.main(
                args=None if arguments is None else list(arguments), prog_name="analyzer", standalone_mode=False
            )
    except click.exceptions.NoArgsIsHelpError as error:
        console.complain_raw(error.format_message())
        return exits.USAGE
    except click.UsageError as error:
        command = error.ctx.command_path if error.ctx else "analyzer"
        console.complain(error.format_message().rstrip("."), f"try '{command} --help'")
        return exits.USAGE
    except click.ClickException as error:
        console.complain(error.format_message().rstrip("."))
        return exits.USAGE
    except AnalyzerError as error:
        console.complain(str(error), console.advice(error))
        return exits.USAGE
    except (click.Abort, KeyboardInterrupt):
        return exits.INTERRUPTED
    except BrokenPipeError:
        console.silence()
        return exits.CLEAN
    except Exception as error:  # noqa: BLE001 - the last resort: say whose fault it is, and show no log's text raw
        full = no_room(error)
        if full is None:
            console.confess(error)
            return exits.FAULT
        console.complain(f"cannot write: {full}", MAKE_ROOM)
        return exits.USAGE
    return status if isinstance(status, int) else exits.CLEAN
