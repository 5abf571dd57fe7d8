"""Domains made ready for a search: joins, generated functions, and preconditions pulled up."""
