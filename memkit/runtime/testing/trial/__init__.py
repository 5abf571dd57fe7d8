"""A generated project on trial: its own agent, a scripted model, a scratch store, and what every project promises.

``fixtures`` and ``promises`` need pytest, which a project's ``test`` extra names; nothing else in the runtime does.
"""
