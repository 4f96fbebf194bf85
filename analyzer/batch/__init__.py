"""Audits night after night: what is new is audited, what is known is kept, and what changed since is told."""

from __future__ import annotations

from analyzer.batch.night import Night, Wanted, nightly
from analyzer.batch.segments import Terms
from analyzer.batch.store import Store

__all__ = ["Night", "Store", "Terms", "Wanted", "nightly"]
