"""What the Messages API, Claude Code and Managed Agents share: their transcripts are made of the same blocks.

`blocks` says what they are, `sightings` makes rows of them. `bodies`, `conversation`, `requests` and `replies` are of
the Messages API, `transcript` of Claude Code, `events` and `sessions` of Managed Agents.
"""
