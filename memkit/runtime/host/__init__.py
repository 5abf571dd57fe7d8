"""What every generated project shares: command line, settings, sessions, journal and the way to a model's server."""
