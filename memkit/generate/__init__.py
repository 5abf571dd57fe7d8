"""Render an agent into a project: targets, composition, quoting and putting it in place."""
