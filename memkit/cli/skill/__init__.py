"""``memkit skill``: procedural memory, one family of commands a file."""
