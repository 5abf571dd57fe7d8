"""A record: its fields, the line it is written as, and later statements about it."""
