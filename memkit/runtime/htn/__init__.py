"""Plan by hierarchical task networks, with a validated fallback for tasks that no method fits."""
