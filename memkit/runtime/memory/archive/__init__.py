"""Long-term memory as a whole: reading it, and the one way in."""
