"""What is read, waiting on disk by session: memory is bounded by a partition and not by the log."""
