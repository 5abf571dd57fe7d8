"""Check plans by plain evaluation, apart from the code that searches for them."""
