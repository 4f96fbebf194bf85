"""What the adapter of MCP is made of."""
