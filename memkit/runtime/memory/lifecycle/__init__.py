"""What happens to records over time: forgetting, consolidation, replacement, revocation."""
