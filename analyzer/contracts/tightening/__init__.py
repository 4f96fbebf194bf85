"""A tighter schema, proposed from the good calls that a tool had."""
