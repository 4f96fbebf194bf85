"""The names of the package, as editors and type checkers see them."""

from __future__ import annotations

from pathlib import Path

import pytest

import analyzer


def test_completion_offers_what_is_public() -> None:
    assert {"audit", "open_audit", "Audit"} <= set(dir(analyzer))
    assert all(getattr(analyzer, name) for name in analyzer.__all__)


def test_a_mistyped_name_is_a_mistake() -> None:
    with pytest.raises(AttributeError, match="adit"):
        analyzer.adit  # type: ignore[attr-defined]  # noqa: B018 - an unused ignore would fail the check of types
    assert (Path(analyzer.__file__).parent / "py.typed").exists()
