"""Arguments: the gate before execution."""
