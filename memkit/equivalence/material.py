"""The store that the transcript runs on: the starters, a tool that fails, and policies that deny, ask and warn."""

from __future__ import annotations

import json
from pathlib import Path

from memkit.use_cases.make_store import starter_files

NAME = "equivalence"
CONTEXT_TOKENS = 1200
"""Small, so that a short conversation is paged out."""

_MANIFEST = f"""
context: {{max_tokens: {CONTEXT_TOKENS}}}
"""
_TOOL = """\
  - name: flaky
    description: Fail.
    parameters: {type: object, properties: {}}
    run: [sh, -c, "echo out of order >&2; exit 3"]
"""


def _policy(name: str, effect: str, glob: str, enforcement: str = "hard") -> str:
    rule = {
        "name": name,
        "description": f"{effect.capitalize()} messages like {glob}",
        "rule": f"Messages like {glob}: {effect}.",
        "enforcement": enforcement,
        "rationale": "The transcript needs it.",
        "effect": effect,
        "match": {"tool": "outbox", "args.message": glob},
        "exceptions": [{"text": "In tests.", "match": {"context.env": "test"}}],
    }
    return json.dumps(rule, indent=1)


def write_store(root: Path) -> Path:
    """Write the store into the folder ``root``, which is made, and return it; the same files on every machine."""
    files = {path: content.decode() for path, content in starter_files(NAME).items()}
    files["memkit.yaml"] = files["memkit.yaml"].rstrip() + "\n" + _TOOL + _MANIFEST
    files["policies/no_danger.yaml"] = _policy("no_danger", "deny", "*danger*")
    files["policies/no_shouting.yaml"] = _policy("no_shouting", "ask", "*LOUD*")
    files["policies/no_slang.yaml"] = _policy("no_slang", "deny", "*gonna*", enforcement="soft")
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")
    return root
