"""Policies in the languages of other tools, each with an account of what those cannot say."""
