"""Long-term memory as a whole: reading, and the only way to write."""
