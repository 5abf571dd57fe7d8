"""Local servers that speak the protocols of model vendors, for tests without a key."""
