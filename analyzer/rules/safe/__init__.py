"""Safety: what should never stand in a log."""
