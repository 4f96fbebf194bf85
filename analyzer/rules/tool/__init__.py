"""Tools: what was advertised."""
