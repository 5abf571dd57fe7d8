"""The command line: each command reads its arguments, calls one use case and prints the result."""
