"""``memkit policy``: one family of commands a file."""
