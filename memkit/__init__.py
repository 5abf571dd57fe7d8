"""Agent memory you can review: skills, policies and long-term memory as plain text in git."""

__version__ = "0.1.0"
