"""What was found, on paper: one file per output format. Nothing here decides anything."""
