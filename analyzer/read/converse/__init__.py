"""What the adapter of Bedrock Converse is made of."""
