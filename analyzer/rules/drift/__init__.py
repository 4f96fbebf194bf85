"""Drift: two versions of one contract."""
