"""Find what a hostile skill tells an agent to do, and what it hides from the person who reviews it.

Detection is advice and structure is the defence: skills are changed by people, and policies decide every call. The
rules look at what a text orders; a text that warns of an attack, or tells how one looks, is ordinary.
"""
