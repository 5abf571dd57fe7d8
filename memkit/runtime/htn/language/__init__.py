"""How planning problems are written: terms, conditions, operators, methods, domains, and their plain data."""
