"""The agent of this project: the rooms of memkit_runtime, wired to ReAct (no framework)."""

NAME = "example"
"""What people call this project."""
MODEL = "gpt-5.4-mini"
"""The model to ask where the environment names none."""
