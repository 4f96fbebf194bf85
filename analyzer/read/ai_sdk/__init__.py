"""What the AI SDK hands to its callers, beside its streams."""
