"""One transcript on the reference agent and on every target: the same memory, citations, verdicts and plans."""
