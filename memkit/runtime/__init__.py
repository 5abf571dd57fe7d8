"""What runs an agent, in memkit and in every generated project: standard library only, a wheel of its own."""
