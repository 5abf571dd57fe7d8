"""Carrying memory from one system to another: readers of other formats, and of memkit's own."""
