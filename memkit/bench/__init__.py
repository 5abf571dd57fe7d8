"""Measure retrieval on conversations with known answers."""
