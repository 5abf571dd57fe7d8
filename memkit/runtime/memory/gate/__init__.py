"""Judges what may be remembered: secrets, hostile text, duplicates, contradictions, and whose words they are."""
