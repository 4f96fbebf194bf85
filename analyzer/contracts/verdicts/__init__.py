"""Does a payload keep a schema, and if not, what fails where; with work that is bounded before it starts."""
