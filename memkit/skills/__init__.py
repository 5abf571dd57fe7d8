"""Skills: procedural memory as files that say how something is done."""
