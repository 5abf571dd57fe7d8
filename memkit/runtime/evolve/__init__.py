"""Evolve programs by variation of their syntax tree."""
