"""What the Messages API, Claude Code and Managed Agents share: their transcripts are made of the same blocks."""
