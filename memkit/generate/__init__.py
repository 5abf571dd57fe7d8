"""Render the travelling rooms and a template into a project that belongs to its owner."""
