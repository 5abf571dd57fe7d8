"""Expressions over parameters, constants and listed operations: trees, reading, variation, sums of terms."""
