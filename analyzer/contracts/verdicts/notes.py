"""Keywords that the engine asserts under old drafts only, while every other engine takes them for notes."""

from __future__ import annotations

from typing import Any


class _Note:
    """A keyword that asserts nothing, as later drafts have it."""

    def __init__(self, *_: object) -> None:
        pass

    def validate(self, instance: object) -> None:
        """Accept everything."""


_NOTES = {"contentEncoding": _Note, "contentMediaType": _Note}


def as_notes(text: bytes) -> dict[str, Any]:
    """The options under which the engine leaves such keywords alone, where the schema's canonical text has any."""
    return {"keywords": _NOTES} if b'"content' in text else {}
