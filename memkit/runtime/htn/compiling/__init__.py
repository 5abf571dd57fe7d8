"""Prepares domains for search: joins, generated functions, and pulled-up preconditions."""
