"""The domain commands, one file each."""
