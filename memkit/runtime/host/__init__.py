"""Code shared by every generated project: command line, settings, sessions, journal and access to a model's server."""
