"""Search for plans: depth-first decomposition, the strategies around it, and what comes of them."""
