"""Identifiers, pairing, order."""
