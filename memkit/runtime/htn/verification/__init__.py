"""Check plans by plain evaluation, independent of the code that searches for them."""
