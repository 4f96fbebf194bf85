"""The terminal workspace: an incident, its evidence, one key from each to the next. Only the command line opens it."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from analyzer.errors import UsageError

if TYPE_CHECKING:
    from analyzer.auditing import Audit
    from analyzer.tui.app import AuditApp
    from analyzer.tui.case import Case

__all__ = ["run", "workspace"]


def run(
    paths: Sequence[str],
    *,
    asked: Mapping[str, Any] | None = None,
    session: str | None = None,
    ascii_only: bool = False,
    theme: str | None = None,
    keymap: str | None = None,
    follow: bool = False,
    warning: str = "",
) -> Case | None:
    """Open the workspace on logs, folders or one saved audit, and return what it showed when it is left.

    None where it was left before anything was read.

    `asked` are further arguments of `analyzer.audit`: contracts, settings, suppressions and so on. `warning` is said
    while the logs are read.
    Raises UsageError, ConfigurationError or InputError for what cannot be opened.
    """
    os.environ.setdefault("TEXTUAL_ANIMATIONS", "none")
    app = workspace(
        paths, asked=asked, session=session, ascii_only=ascii_only, theme=theme, keymap=keymap, follow=follow
    )
    app.warning = warning
    app.run()
    if app.failed is not None:
        raise app.failed
    if app.fault is not None:
        raise app.fault
    return app.case


def workspace(
    paths: Sequence[str],
    *,
    asked: Mapping[str, Any] | None = None,
    session: str | None = None,
    ascii_only: bool = False,
    theme: str | None = None,
    keymap: str | None = None,
    follow: bool = False,
) -> AuditApp:
    """The application that `run` runs. It reads nothing but the keymap yet."""
    if "-" in paths:
        raise UsageError("the workspace takes its keys from standard input; save the log to a file")
    saved = [path for path in paths if (Path(path) / "audit.json").is_file()]
    if saved and len(paths) > 1:
        raise UsageError("a saved audit is opened alone")
    from analyzer.tui.app import AuditApp
    from analyzer.tui.keys import read_keymap

    keys = read_keymap(Path(keymap)) if keymap is not None else {}
    title = paths[0].rstrip("/").rpartition("/")[2] or paths[0]
    name = title if len(paths) == 1 else f"{title} and {len(paths) - 1} more"

    def open_case(progress: Callable[[str, int, int], None], so_far: Callable[[Case], None]) -> Case:
        from analyzer.tui.opening import of_audit, open_saved

        if saved:
            return open_saved(paths[0])
        from analyzer.auditing import audit

        def some(done: Audit) -> None:
            so_far(of_audit(name, done))

        done = audit(paths, lenient=True, progress=progress, so_far=some, **(asked or {}))
        if done.problems and not done.inputs:  # there is nothing to look at
            raise done.problems[0]
        return of_audit(name, done)

    return AuditApp(
        name,
        open_case,
        ascii_only=ascii_only,
        theme=theme,
        keys=keys,
        session=session,
        follow=() if saved or not follow else paths,
    )
