"""Language models behind one protocol: the rule-based reference model and scripted ones."""
