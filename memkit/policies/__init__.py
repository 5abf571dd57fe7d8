"""Policies as files: read, checked and compiled for the guard."""
