"""Start a new planning domain, with the first problem that tests it."""

from __future__ import annotations

from pathlib import Path

from memkit.domains.files import FOLDER, PROBLEMS
from memkit.errors import UsageError
from memkit.store.change import change_files
from memkit.store.layout import checked_name
from memkit.store.schema_files import schema_comment

_DOMAIN = """\
name: {name}
description: Say in one sentence what can be planned with this domain.

# What there is. 'object' is above every type.
types: {{place: object, thing: object}}
predicates:
  at: [thing, place]      # a thing is at a place
  closed: [place]

# Steps that are carried out as they are: what must hold before, and what is true and false after.
operators:
  - name: open
    parameters: "?p - place"
    preconditions: ["closed ?p"]
    remove: ["closed ?p"]
  - name: move
    parameters: "?t - thing ?from ?to - place"
    preconditions: ["at ?t ?from", "not = ?from ?to", "not closed ?to"]
    add: ["at ?t ?to"]
    remove: ["at ?t ?from"]
    # tool: bash          # the agent's tool that carries the step out

# What holds once a task is done. A method that a model proposes must bring it about.
tasks:
  bring: {{parameters: "?t - thing ?to - place", effects: ["at ?t ?to"]}}

# Ways to do a task, tried in this order. What is not an argument of the task is bound by the conditions.
methods:
  - name: is_there
    task: "bring ?t - thing ?to - place"
    preconditions: ["at ?t ?to"]
    subtasks: []
  - name: move_there
    task: "bring ?t - thing ?to - place"
    preconditions: ["at ?t ?from"]
    subtasks: ["enter ?to", "move ?t ?from ?to"]
  - {{name: door_is_open, task: "enter ?p - place", preconditions: ["not closed ?p"], subtasks: []}}
  - {{name: open_door, task: "enter ?p - place", preconditions: ["closed ?p"], subtasks: ["open ?p"]}}
"""
_PROBLEM = """\
# A problem that 'memkit domain test {name}' solves. Without 'expect', any plan will do.
domain: {name}
objects: {{box: thing, hall: place, attic: place}}
state: ["at box hall", "closed attic"]
tasks: ["bring box attic"]
expect:
  plan: ["open attic", "move box hall attic"]
  holds: ["at box attic", "not at box hall"]
"""


def draft_domain(root: Path, name: str) -> tuple[Path, Path]:
    """Write ``domains/<name>.yaml`` and its first problem as one commit, and return both paths; never overwrites.

    Raises:
        UsageError: The name is none, or one of the files is there.
        EnvironmentFault: Git cannot commit now; then nothing changed.
    """
    domain = f"{FOLDER}/{checked_name(name, 'domain')}.yaml"
    problem = f"{PROBLEMS}/{name}/first.yaml"
    for path in (domain, f"{FOLDER}/{name}.hddl", problem):
        if (root / path).exists() or (root / path).is_symlink():
            raise UsageError(f"{path} exists already. Edit it, or choose another name.")
    texts = {domain: schema_comment(root, "domain") + _DOMAIN.format(name=name), problem: _PROBLEM.format(name=name)}
    change_files(root, texts, f"Add the domain {name}, with a first problem")
    return root / domain, root / problem
