"""The language of planning problems: terms, conditions, operators, methods, domains, and their plain data."""
