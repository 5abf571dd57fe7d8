"""What a text says, as words: tokens and stems for the index, negations and hedges for the gate, dates for both."""
