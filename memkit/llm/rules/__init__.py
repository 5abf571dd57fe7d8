"""The reference model: rules instead of a network."""
