"""The same questions put to memkit and to other memories, by one command, without a model as judge.

``python -m closure`` asks; ``closure/README.md`` says how to repeat one answer, and how to add a system or a question.
"""
