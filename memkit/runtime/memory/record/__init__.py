"""A remembered thing: its fields, the line it is written as, and what is said about it later."""
