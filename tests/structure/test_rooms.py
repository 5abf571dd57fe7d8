"""The travelling rooms can be copied into any project: they import nothing but the standard library and themselves."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import memkit

PACKAGE = Path(memkit.__file__).parent / "runtime"
ROOMS = ("embeddings", "evolve", "guard", "htn", "loop", "memory")
OPTIONAL = {
    "embeddings": {"model2vec", "numpy", "onnxruntime", "tokenizers"},
    "evolve": {"numpy"},
    "memory": {"rank_bm25", "tiktoken"},
}


def imported(path: Path) -> Iterator[tuple[int, str]]:
    """Yield (level, module) of every import statement of a file."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((0, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.level, node.module or ""


@pytest.mark.parametrize(
    "path",
    [p for room in ROOMS for p in sorted((PACKAGE / room).rglob("*.py"))],
    ids=lambda p: f"{p.parent.name}/{p.name}",
)
def test_a_travelling_room_imports_only_the_standard_library_and_itself(path: Path) -> None:
    """Every import is relative within the room, of the standard library, or one of the few optional libraries."""
    room = path.relative_to(PACKAGE).parts[0]
    depth = len(path.relative_to(PACKAGE).parts) - 1

    for level, module in imported(path):
        if level:
            assert level <= depth, f"{path} reaches out of its room with {'.' * level}{module}"
        else:
            top = module.partition(".")[0]
            assert top in sys.stdlib_module_names or top in OPTIONAL.get(room, set()), f"{path} imports {module}"


@pytest.mark.parametrize("room", ROOMS)
def test_a_travelling_room_works_as_a_top_level_package(room: str, tmp_path: Path) -> None:
    """Copied to the root of a project, without memkit on the path, every file of the room imports."""
    import shutil

    shutil.copytree(PACKAGE / room, tmp_path / room, ignore=shutil.ignore_patterns("__pycache__"))
    files = (path.relative_to(tmp_path).with_suffix("") for path in (tmp_path / room).rglob("*.py"))
    modules = [".".join(path.parts) for path in files if path.stem != "__init__"]
    program = (
        f"import importlib, sys; sys.path.insert(0, {str(tmp_path)!r})\n"
        f"for name in {modules!r}: importlib.import_module(name)"
    )

    done = subprocess.run([sys.executable, "-I", "-S", "-c", program], capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr


def test_every_error_that_ends_a_command_carries_a_code() -> None:
    """A program tells errors of the rooms apart by ``code``."""
    rooms = [pkgutil.walk_packages([str(PACKAGE / room)], f"memkit.runtime.{room}.") for room in ROOMS]
    loaded = [importlib.import_module(module.name) for modules in rooms for module in modules]
    classes = {value for module in loaded for value in vars(module).values() if isinstance(value, type)}
    ending = [each for each in classes if issubclass(each, Exception) and hasattr(each, "exit_code")]

    assert {error.__name__ for error in ending} >= {"PolicySetError", "DomainError", "EvolveError", "ModelFault"}
    assert [error.__name__ for error in ending if not isinstance(getattr(error, "code", None), str)] == []


def test_the_project_never_asks_for_the_unrelated_distribution() -> None:
    """No file tells anybody to install the memory-hacking library that owns the short name."""
    root = PACKAGE.parent
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=root, capture_output=True, text=True, check=False).stdout
    wrong = "pip install " + "memkit"

    for name in filter(None, listed.split("\0")):
        text = (root / name).read_bytes().decode("utf-8", "replace") if (root / name).is_file() else ""
        assert wrong not in text.replace(wrong + "-agent", ""), name
