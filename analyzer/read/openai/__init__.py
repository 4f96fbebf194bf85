"""What the Responses API, the Agents SDK and Codex share: their transcripts are made of the same items."""
