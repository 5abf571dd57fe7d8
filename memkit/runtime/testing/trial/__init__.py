"""A generated project under test: its own agent, a scripted model, a scratch store, and the common promises.

``fixtures`` and ``promises`` need pytest, which is in a project's ``test`` extra; nothing else in the runtime does.
"""
