"""The agent runtime, used by memkit and by every generated project: standard library only, in a wheel of its own."""
