"""Carry out a plan step by step: under a gate, with a journal that survives a kill, replanning if necessary."""
