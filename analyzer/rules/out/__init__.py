"""Outputs: the way back."""
