"""The agent of this project: its rooms put together, and the way a model reaches them."""

PROJECT = "example"
"""What people call this project."""
DEFAULT_MODEL = "claude-sonnet-5-5"
"""The model to ask where the environment names none."""
