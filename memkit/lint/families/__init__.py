"""The rules, one file per family: each with its text, its example, and the check that finds it."""
