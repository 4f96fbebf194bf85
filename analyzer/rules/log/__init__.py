"""The record itself."""
