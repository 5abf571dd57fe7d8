"""Where what was remembered is found: a disposable index of the log, and the search in it."""
