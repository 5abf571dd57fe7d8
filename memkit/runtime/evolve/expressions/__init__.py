"""Expressions over parameters, constants and listed operations: trees, parsing, variation, sums of terms."""
