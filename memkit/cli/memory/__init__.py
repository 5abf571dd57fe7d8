"""``memkit memory``: long-term memory, one command or one family of commands per file."""
