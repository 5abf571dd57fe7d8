"""Learn methods where none applies: gaps, proposals of a model, and the methods made of those that held up."""
