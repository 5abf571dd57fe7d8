"""The page: memory and its surroundings, to view and to decide about in a browser."""
