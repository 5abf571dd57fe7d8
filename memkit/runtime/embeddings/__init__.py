"""Texts as vectors, by a model in a local folder, and the index that finds the nearest of them."""
