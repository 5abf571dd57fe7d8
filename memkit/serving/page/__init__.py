"""The page: memory and what surrounds it, to look at and to decide about in a browser."""
