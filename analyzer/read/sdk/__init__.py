"""What the adapter of the Agents SDK is made of."""
