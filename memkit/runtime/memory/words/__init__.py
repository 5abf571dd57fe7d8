"""The content of a text as words: tokens and stems for the index, negations and hedges for the gate, dates for both."""
