"""Vary programs as text, by their syntax tree: unchanged parts keep their bytes."""
