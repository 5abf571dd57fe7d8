"""Runs on disk: what they were asked, how they stand after each generation, every judged program, and what to tell."""
