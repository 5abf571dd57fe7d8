"""Search programs by evolution over their syntax tree."""
