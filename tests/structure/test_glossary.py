"""The glossary names what exists where it exists, and a name stands for one class."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MEMKIT = ROOT / "memkit"
GLOSSARY = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")

HANDED_IN = "a protocol of the loop, by which alone it knows the room whose class bears the name"
WIRE = "a word of the scripted model's script, in a room that meets the other in no module"
PROMISED = "a group of promises that every project's tests inherit, named after what is promised"
SHARED = {
    "Advice": HANDED_IN,
    "Guard": HANDED_IN,
    "MainContext": HANDED_IN,
    "MemoryTools": HANDED_IN,
    "Verdict": HANDED_IN,
    "Answer": WIRE,
    "Call": WIRE,
    "Message": WIRE,
    "Consent": PROMISED,
    "Terminal": PROMISED,
    "Event": "of a turn, told to whoever listens; of a record, kept. Neither room imports the other",
    "Reason": "of a verdict of the write gate; of a plan that was not found: rooms that do not import each other",
}
"""Names that more than one public class has, and why."""


def classes() -> dict[str, list[str]]:
    """Return the files of each public class of memkit."""
    found = defaultdict(list)
    for path in sorted(MEMKIT.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found[node.name].append(str(path.relative_to(MEMKIT)))
    return found


def defined(tree: ast.Module) -> set[str]:
    """Return what a module defines at its top."""
    targets = (node.targets if isinstance(node, ast.Assign) else [node] for node in tree.body)
    return {name for group in targets for node in group if (name := getattr(node, "name", getattr(node, "id", None)))}


def test_a_public_class_has_a_name_of_its_own() -> None:
    """A name that two classes share has a reason, and a reason two classes; no third one hides behind it."""
    shared = {name: files for name, files in classes().items() if len(files) > 1}

    assert set(shared) == set(SHARED)
    assert {name: files for name, files in shared.items() if len(files) > 2} == {}


def test_every_class_of_the_glossary_is_where_it_says() -> None:
    """`Name` in `file.py` is there; a name alone is a class, a function or a value somewhere in memkit."""
    everything = {
        str(path.relative_to(MEMKIT)): defined(ast.parse(path.read_text(encoding="utf-8")))
        for path in MEMKIT.rglob("*.py")
    }
    anywhere = set().union(*everything.values())
    lost = []
    for row in re.findall(r"^\| .+ \|$", GLOSSARY, re.M):
        for names, file in re.findall(r"((?:`\w+`(?:, )?)+) in `([\w/]+\.py)`", row):
            here = everything.get(file) or everything.get(f"runtime/{file}") or set()
            lost += [f"{name} in {file}" for name in re.findall(r"\w+", names) if name not in here]
        lost += [name for name in re.findall(r"`([A-Z][a-z]\w*)`", row) if name not in anywhere]

    assert re.findall(r" in `[\w/]+\.py`", GLOSSARY)
    assert lost == []
