"""A progress bar on standard error, where that is a terminal and the work takes long enough to wonder."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic

_PATIENCE = 0.7  # seconds before a bar appears


@contextmanager
def progress() -> Iterator[Callable[[str, int, int], None] | None]:
    """Give what `audit(progress=...)` calls with stage, done and total; None where nobody watches."""
    if not sys.stderr.isatty():
        yield None
        return
    bar = _Bar()
    try:
        yield bar.step
    finally:
        bar.close()


class _Bar:
    def __init__(self) -> None:
        self._since = monotonic()
        self._close: Callable[[], None] = lambda: None
        self._show: Callable[[str, int, int], None] | None = None

    def step(self, stage: str, done: int, total: int) -> None:
        """Move the bar; a new stage begins a new one."""
        if self._show is None:
            if monotonic() - self._since < _PATIENCE:
                return
            self._open()
        if self._show is not None:
            self._show(stage, done, total)

    def _open(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        columns = (TextColumn("{task.description}", markup=False), BarColumn(), TimeElapsedColumn())
        bars = Progress(*columns, console=Console(stderr=True), transient=True)
        task = bars.add_task("", total=None)
        bars.start()
        self._show = lambda stage, done, total: bars.update(
            task, description=stage, completed=done, total=total or None
        )
        self._close = bars.stop

    def close(self) -> None:
        """Take the bar away."""
        self._close()
