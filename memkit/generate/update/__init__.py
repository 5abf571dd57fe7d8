"""Bring a generated project to other templates or another store's content, and lose nothing that its owner did."""
