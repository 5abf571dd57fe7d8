"""Learn methods where none applies: gaps, proposals of a model, and methods made from valid proposals."""
