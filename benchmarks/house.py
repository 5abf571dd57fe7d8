"""Measure the code base itself: how much there is to read, and how much of it one command makes its reader open.

Files and lines, files that a command enters, modules that only pass calls on, parameters, import cycles, and the size
of a generated project. Each row is one case: ``{case, ours, peer, ratio}``; the peer is the goal, for the start of a
chat a bare click application. The items behind a figure are listed below the table, and in JSON under ``named``.

A file is loaded if a command imports it, and entered if more of it runs than its own statements: a class body or
a function. Called counts functions alone.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from startup import ENVIRONMENT, PEER
from table import print_rows

from memkit.cli.main import COMMANDS
from memkit.generate.targets import load_targets

Row = dict[str, Any]
ROOT = Path(__file__).resolve().parents[1]
SHORT, MANY = 100, 8
"""The lines below which a module with one importer counts as only passing on; the most parameters of one call."""
MIRRORS_A_FILE = {
    "memkit.runtime.htn.language.operators.Operator.__init__": "the keys of an operator in a domain's file",
}
"""Callables whose parameters are prescribed by others, and why; they are not counted."""
REMARK = ("chat", "-p", "My cat is called Max", "--user", "ada")
ENTERED = {
    "memory add": (("memory", "add", "Ada drinks tea", "--user", "ada"), 30),
    "memory search": (("memory", "search", "What does Ada drink?", "--user", "ada"), 25),
    "one remark in chat": (REMARK, 90),
    "policy check": (("policy", "check", "--tool", "shell", "--arg", "cmd=ls"), 25),
}
"""What is measured → its command line, and the most files that it may enter."""
TRACE = """
import json, sys, threading

package, out, *arguments = sys.argv[1:]
entered, called = set(), set()

def note(frame, event, _):
    code = frame.f_code
    if event == "call" and code.co_name != "<module>":
        entered.add(code.co_filename)
        # The body of a class is no function, and neither is what a comprehension is compiled to.
        if code.co_flags & 1 and (code.co_name[0] != "<" or code.co_name == "<lambda>"):
            called.add(code.co_filename)

from memkit.cli.main import run
threading.setprofile(note)
sys.setprofile(note)
code = run(arguments)
sys.setprofile(None)
loaded = {getattr(module, "__file__", None) or "" for module in list(sys.modules.values())}
ours = [sorted(path for path in paths if path.startswith(package)) for paths in (entered, called, loaded)]
with open(out, "w") as file:
    json.dump([code, *ours], file)
"""


@dataclass(frozen=True)
class Module:
    """One file of the package, parsed."""

    name: str
    path: Path

    @cached_property
    def text(self) -> str:
        """The content of the file."""
        return self.path.read_text(encoding="utf-8")

    @cached_property
    def tree(self) -> ast.Module:
        """Its syntax."""
        return ast.parse(self.text)

    @property
    def lines(self) -> int:
        """Its number of lines."""
        return len(self.text.splitlines())

    @property
    def package(self) -> str:
        """The package that its relative imports start from."""
        return self.name if self.path.name == "__init__.py" else self.name.rpartition(".")[0]


def modules_of(package: Path) -> dict[str, Module]:
    """Return every module of a package by its full name."""
    found = {}
    for path in sorted(package.rglob("*.py")):
        parts = path.relative_to(package.parent).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        found[name] = Module(name, path)
    return found


def imports(module: Module, modules: Mapping[str, Module]) -> Iterator[str]:
    """Yield the modules of the same package that an import statement of ``module`` names, wherever it is."""
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in modules)
        elif isinstance(node, ast.ImportFrom):
            start = module.package.split(".")[: 1 - node.level or None] if node.level else []
            base = ".".join([*start, *([node.module] if node.module else [])])
            for alias in node.names:
                inner = f"{base}.{alias.name}"
                yield from (name for name in (inner if inner in modules else base,) if name in modules)


def import_graph(modules: Mapping[str, Module]) -> dict[str, set[str]]:
    """Return module → the others that it imports."""
    return {name: {other for other in imports(module, modules) if other != name} for name, module in modules.items()}


def handing_on(modules: Mapping[str, Module], graph: Mapping[str, set[str]]) -> list[str]:
    """Return the short modules that exactly one other imports."""
    importers = defaultdict(set)
    for name, others in graph.items():
        for other in others:
            importers[other].add(name)
    return [
        name
        for name, module in modules.items()
        if module.path.name != "__init__.py" and module.lines < SHORT and len(importers[name]) == 1
    ]


def sibling_cycles(modules: Mapping[str, Module], graph: Mapping[str, set[str]]) -> list[str]:
    """Return the cycles of imports between files of one folder, each as ``a <-> b <-> …``."""
    beside = {
        name: {other for other in others if modules[other].path.parent == modules[name].path.parent}
        for name, others in graph.items()
    }
    reached = {name: _reached(name, beside) for name in beside}
    circles = {frozenset(o for o in reached[name] if name in reached[o]) for name in beside if name in reached[name]}
    return sorted(" <-> ".join(sorted(circle)) for circle in circles)


def _reached(start: str, graph: Mapping[str, set[str]]) -> set[str]:
    found: set[str] = set()
    waiting = list(graph[start])
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += graph[name]
    return found


def callables(modules: Mapping[str, Module]) -> Iterator[tuple[int, str]]:
    """Yield each public callable's number of parameters and its name; a command naturally has one per option."""
    for module in modules.values():
        if not any(part.startswith("_") for part in module.name.split(".")):
            yield from _callables(module.tree, module.name)


def _callables(parent: ast.Module | ast.ClassDef, place: str) -> Iterator[tuple[int, str]]:
    for node in parent.body:
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            yield from _callables(node, f"{place}.{node.name}")
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and _is_called(node):
            yield _parameters(node, isinstance(parent, ast.ClassDef)), f"{place}.{node.name}"


def _is_called(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    is_command = any("command(" in ast.unparse(decorator) for decorator in node.decorator_list)
    return not is_command and (node.name == "__init__" or not node.name.startswith("_"))


def _parameters(node: ast.FunctionDef | ast.AsyncFunctionDef, in_class: bool) -> int:
    given, names = node.args, {ast.unparse(decorator) for decorator in node.decorator_list}
    count = len([*given.posonlyargs, *given.args, *given.kwonlyargs, *filter(None, (given.vararg, given.kwarg))])
    return count - (in_class and "staticmethod" not in names)


def by_reading() -> Iterator[Row]:
    """Yield the figures from the sources alone."""
    modules = modules_of(ROOT / "memkit")
    graph = import_graph(modules)
    yield _row("files of memkit/", len(modules), 550)
    yield _row("lines of memkit/", sum(module.lines for module in modules.values()), 80_000)
    short = handing_on(modules, graph)
    yield _row(f"modules under {SHORT} lines with one importer, %", round(100 * len(short) / len(modules), 1), 5, short)
    counted = (one for one in callables(modules) if one[1] not in MIRRORS_A_FILE)
    taken = sorted(counted, key=lambda one: (-one[0], one[1]))
    above = [f"{count} {name}" for count, name in taken if count > MANY]
    yield _row(f"most parameters of a public callable: {taken[0][1].split('.', 1)[1]}", taken[0][0], MANY, above)
    yield _row(f"public callables of more than {MANY} parameters", len(above), 0)
    cycles = sibling_cycles(modules, graph)
    yield _row("cycles of imports between files of one folder", len(cycles), 0, cycles)
    tracked = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    files = [name for name in tracked.split("\0") if name and not name.startswith("tests/") and (ROOT / name).is_file()]
    yield _row("tracked lines of the repository without its tests", _lines(ROOT, files), 150_000)
    yield _row("tracked lines of outputs/", _lines(ROOT, [n for n in files if n.startswith("outputs/")]), 15_000)


def _lines(folder: Path, names: Sequence[str]) -> int:
    return sum((folder / name).read_bytes().count(b"\n") for name in names)


def by_running(folder: Path, runs: int) -> Iterator[Row]:
    """Yield the figures from a store and commands in it."""
    store = folder / "store"
    _memkit("init", str(store))
    _memkit("consent", "grant", "--user", "ada", "--store", str(store))
    for case, (arguments, most) in ENTERED.items():
        entered, called, loaded = traced(arguments, store)
        yield _row(f"files entered by {case}", len(entered), most, entered)
        yield _row(f"files called by {case}, of those loaded", len(called), len(loaded))
    peer = folder / "peer.py"
    peer.write_text(PEER.format(names=list(COMMANDS)), encoding="utf-8")
    hello = [sys.executable, "-m", "memkit", "chat", "-p", "hi", "--user", "ada", "--store", str(store)]
    bare = [sys.executable, str(peer), "--help"]
    pairs = [(_milliseconds(hello), _milliseconds(bare)) for _ in range(runs + 1)][1:]
    ours, theirs = (statistics.median(column) for column in zip(*pairs, strict=True))
    yield _row("chat -p hi against bare click, ms of the processor", round(ours, 1), round(theirs, 1))


def traced(arguments: Sequence[str], store: Path) -> list[list[str]]:
    """Run a command in a separate process; return the files of memkit that it entered, called and loaded."""
    package, out = ROOT / "memkit", store.parent / "trace.json"
    command = [sys.executable, "-c", TRACE, f"{package}{os.sep}", str(out), *arguments, "--store", str(store)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=ENVIRONMENT)
    code, *paths = json.loads(out.read_text(encoding="utf-8"))
    if code not in (0, 1):
        sys.exit(f"'memkit {' '.join(arguments)}' ended with {code}")
    return [[str(Path(path).relative_to(package)) for path in found] for found in paths]


def of_projects(folder: Path) -> Iterator[Row]:
    """Yield the size of a generated project, of the largest target."""
    projects = {}
    for target in load_targets():
        projects[target] = folder / target
        _memkit("gen", "--target", target, "--store", str(folder / "store"), "--out", str(projects[target]))
    files = {target: [path for path in place.rglob("*") if path.is_file()] for target, place in projects.items()}
    python = {
        target: sum(len(path.read_bytes().splitlines()) for path in paths if path.suffix == ".py")
        for target, paths in files.items()
    }
    named = [f"{target}: {len(files[target])} files, {python[target]} lines of Python" for target in files]
    yield _row("files of a generated project, most", max(map(len, files.values())), 40, named)
    yield _row("lines of Python of a generated project, most", max(python.values()), 2_500)


def _memkit(*arguments: str) -> None:
    subprocess.run([sys.executable, "-m", "memkit", *arguments], check=True, stdout=subprocess.DEVNULL, env=ENVIRONMENT)


def _milliseconds(command: Sequence[str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=ENVIRONMENT)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return 1e3 * (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def _row(case: str, ours: float, peer: float | None, named: Sequence[str] = ()) -> Row:
    ratio = round(ours / peer, 2) if peer else None
    row: Row = {"case": case, "ours": ours, "peer": peer, "ratio": ratio}
    return {**row, "named": list(named)} if named else row


def main() -> None:
    """Print the rows as a table, or with --json as JSON."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--runs", type=int, default=11, help="starts of which a median is taken (11)")
    parser.add_argument("--named", action="store_true", help="say below the table what the figures are made of")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        rows = [*by_reading(), *by_running(folder, options.runs), *of_projects(folder)]
    print_rows(rows, as_json=options.json)
    for row in rows if options.named and not options.json else ():
        if "named" in row:
            print(f"\n{row['case']}:", *row["named"], sep="\n  ")


if __name__ == "__main__":
    main()
