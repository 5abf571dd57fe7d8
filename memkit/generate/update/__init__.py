"""Update a generated project to other templates or another store's content without losing its owner's work."""
