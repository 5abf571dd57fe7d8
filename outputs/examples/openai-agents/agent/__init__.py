"""The agent of this project: the rooms of memkit_runtime, wired to OpenAI Agents SDK."""

NAME = "example"
"""The display name of this project."""
MODEL = "gpt-5.4-mini"
"""The model to use if the environment names none."""
