"""What an agent has of its memory: core sections, messages, recall, the fence around what is shown, the tools."""
