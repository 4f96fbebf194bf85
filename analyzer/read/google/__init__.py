"""What the adapter of Gemini is made of."""
