"""Proofs about a set of policies before any call is made."""
