"""Memory tiers: records, the append-only archive, its index, the write gate and the fences around what is recalled."""
