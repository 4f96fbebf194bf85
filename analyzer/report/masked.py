"""JSON values for programs, exact but for credentials: what is printed may end in the log of somebody else."""

from __future__ import annotations

from typing import Any

from analyzer import secrets


def masked(value: Any) -> Any:
    """The value with credentials replaced as on paper: by what they look like, and by the name of their member."""
    if isinstance(value, str):
        return secrets.mask(value)
    if isinstance(value, dict):
        return {masked(name): _member(str(name), member) for name, member in value.items()}
    if isinstance(value, list | tuple):
        return [masked(element) for element in value]
    return value


def _member(name: str, value: Any) -> Any:
    if isinstance(value, str) and value and secrets.secret_name(name):
        return secrets.label("secret", value)
    return masked(value)
