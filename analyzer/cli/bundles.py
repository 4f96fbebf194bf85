"""`analyzer show --bundle` and `--verify`: evidence to hand on, and whether the log still says the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

from analyzer.cli import chosen, console, exits, logs
from analyzer.errors import UsageError
from analyzer.redaction import current, redacting
from analyzer.visible import visible

if TYPE_CHECKING:
    from polars import DataFrame

    from analyzer.auditing import Audit
    from analyzer.cli.given import Given
    from analyzer.report.bundle_check import Bundle

_MOST_NAMED = 8


def made(done: Audit, session: str | None, turn: str | None, call_id: str | None) -> bytes:
    """The bundle about a call, a turn, a session or the whole log."""
    from analyzer.report.bundle import bundle

    return bundle(done, _chosen(done, session, turn, call_id), session, turn, call_id)


def verified(file: str, given: Given, output: str | None) -> int:
    """Say whether a bundle is whole and the log still says what it says."""
    from analyzer.report.bundle import members
    from analyzer.report.bundle_check import Bundle

    held = Bundle(file)
    logs.check(given)  # without a log to look into, nothing is known of one
    how = current()
    if held.keyed and how.key is None:
        raise UsageError("the bundle was made with a key: give the same --redact-key", file=file)
    with redacting(how._replace(on=held.redacted, key=how.key if held.keyed else None)):
        given["session"] = held.session
        try:
            done = logs.audited(given)
            missing, besides, changed = held.other_contracts(done)
            calls = _chosen(done, held.session, held.turn, held.call_id)
            now = members(done, calls, whole=held.call_id is None, session=held.session, turn=held.turn)
        except UsageError as error:
            missing, besides = [], []
            found, status = [f"what the bundle is about cannot be found: {error}"], exits.FINDINGS
        else:
            found = [f"{name} says other contracts than when the bundle was made" for name in changed]
            found, status = [*found, *held.differing(done, now)], exits.decide(done, fail_on="never")
    if missing or besides:
        return _asked(held, missing, besides, output)
    found = [*held.torn(), *found]
    said = found or [f"{len(held.members)} members are whole, and the log says the same"]
    console.deliver((f"{visible(line, limit=1000)}\n".encode() for line in said), output)
    return exits.FINDINGS if found else status


def _asked(held: Bundle, missing: list[str], besides: list[str], output: str | None) -> int:
    """Ask for the contracts that the bundle was made with: by others nothing can be said of the log."""
    words = []
    if missing:
        words.append(
            f"the bundle was made with the contracts {_names(missing)}: give the same (--contracts, --executed)"
        )
    if besides:
        words.append(f"the bundle was made without {_names(besides)}: leave {'them' if besides[1:] else 'it'} out")
    if torn := held.torn():
        console.deliver((f"{visible(line, limit=1000)}\n".encode() for line in [*torn, *words]), output)
        return exits.FINDINGS
    raise UsageError("; ".join(words), file=held.file)


def _names(files: list[str]) -> str:
    more = len(files) - _MOST_NAMED
    return ", ".join(visible(file, limit=100) for file in files[:_MOST_NAMED]) + (
        f" and {more} more" if more > 0 else ""
    )


def _chosen(done: Audit, session: str | None, turn: str | None, call_id: str | None) -> DataFrame:
    from polars import col

    if call_id is not None:
        return chosen.calls_named(done, call_id, turn)
    calls = done.frames["calls"]
    for column, value in (("session", session), ("turn", turn)):
        if value is not None and value not in done.frames["events"][column]:
            raise UsageError(f"no {column} {value!r} in the log")
        calls = calls if value is None else calls.filter(col(column) == value)
    return calls
