"""Decide a tool call by compiled policies."""
