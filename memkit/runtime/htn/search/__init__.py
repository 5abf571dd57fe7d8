"""Search for plans: depth-first decomposition, the strategies around it, and their results."""
