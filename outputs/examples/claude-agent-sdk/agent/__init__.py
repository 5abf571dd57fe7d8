"""The agent of this project: the rooms of memkit_runtime, wired to Claude Agent SDK."""

NAME = "example"
"""The display name of this project."""
MODEL = "claude-sonnet-5-5"
"""The model to use if the environment names none."""
