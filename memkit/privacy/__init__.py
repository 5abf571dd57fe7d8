"""Privacy: the keys of a store, and what they seal. The only room that knows cryptography."""
