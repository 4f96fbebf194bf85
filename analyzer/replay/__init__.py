"""Recorded frames to concluded ones: order, distinct calls and results, pairs, the schema in force, verdicts."""
