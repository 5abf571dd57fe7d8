"""A disposable index of the log, and the search in it."""
