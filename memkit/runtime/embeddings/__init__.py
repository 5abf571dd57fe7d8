"""Texts as vectors, by a model in a folder of this machine, and the index that finds the nearest of them."""
