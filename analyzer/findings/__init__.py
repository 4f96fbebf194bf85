"""Hits to findings: precedence, evidence, names that last."""
