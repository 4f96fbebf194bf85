"""The places of the workspace: one file each, all built of the same pane."""
