"""What tools promise: schemas, their dialects, the verdicts under them, and what can be said of a schema alone."""
