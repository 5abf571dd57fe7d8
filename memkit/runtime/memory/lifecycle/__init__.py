"""What becomes of records with time: forgotten, laid together, replaced, taken back."""
