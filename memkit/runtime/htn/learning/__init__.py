"""Learn methods where none applies: gaps, proposals of a model, and the lessons drawn from them."""
