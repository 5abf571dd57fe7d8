"""Privacy: the keys of a store, what they seal, and erasing a user with a proof. Only it knows cryptography."""
