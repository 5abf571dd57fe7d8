"""The parts of memory an agent sees: core sections, messages, recall, the fence around shown text, and the tools."""
