"""Search by meaning: a model from a local path, and an index of its vectors."""
