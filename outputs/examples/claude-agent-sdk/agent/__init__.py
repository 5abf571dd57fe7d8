"""The agent of this project: the rooms of memkit_runtime, wired to Claude Agent SDK."""

NAME = "example"
"""What people call this project."""
MODEL = "claude-sonnet-5-5"
"""The model to ask where the environment names none."""
