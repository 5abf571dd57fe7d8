"""Check skills, policies, domains and the archive, and say what to change and where."""
