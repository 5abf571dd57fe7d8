"""Vary programs as text, by their syntax tree: what is not changed keeps its bytes."""
