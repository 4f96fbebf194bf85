"""Two schemas beside each other: what differs, in which direction, and values that tell them apart."""
