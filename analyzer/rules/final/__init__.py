"""The final object and the ledger."""
