"""The version that reports name."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as installed


def version() -> str:
    """The version of the installed distribution; `0` where it runs uninstalled."""
    try:
        return installed("session-trace-analyzer")
    except PackageNotFoundError:
        return "0"
