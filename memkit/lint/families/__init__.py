"""The rules, a file for what belongs together: each with its text, its example, and the check that finds it."""
