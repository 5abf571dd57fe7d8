"""Render an agent into a project: targets, composition, quoting and the way into place."""
