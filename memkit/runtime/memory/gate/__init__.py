"""Where what wants to be remembered is judged: secrets, hostile text, duplicates, contradictions, whose words it is."""
