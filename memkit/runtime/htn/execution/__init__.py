"""Carry a plan out step by step: under a gate, with a journal that survives a kill, planning anew where need be."""
