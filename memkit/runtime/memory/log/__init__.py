"""The log: lines appended to shards, and the faults that these may have."""
