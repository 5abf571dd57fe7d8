"""The examples in docstrings are run: they are what a reader believes first. Each public name has one."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path

import pytest

import memkit
from tests.written.site import DOORS, docstring, public_names

PACKAGE = Path(memkit.__file__).parent
ROOMS = {door: door.removesuffix(".core").removesuffix(".main") for door in DOORS if ".runtime." in door}
"""The fronts of the runtime's rooms, whose examples go on from importing all that they offer."""
EXAMPLES = {(door, name): docstring(door, name) for door in DOORS for _, name in public_names(door)}


def offered(module: str) -> dict[str, object]:
    """Return the public names of the room that a module is of."""
    door = next((door for door, room in ROOMS.items() if module.startswith(room + ".")), None)
    front = importlib.import_module(door) if door else None
    return {name: getattr(front, name) for name in getattr(front, "__all__", ())}


def test_every_example_in_a_docstring_is_true() -> None:
    """Of every module of the package that shows one, in this process."""
    sources = (path for path in sorted(PACKAGE.rglob("*.py")) if ">>> " in path.read_text("utf-8"))
    names = [".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts) for path in sources]

    results = {name: doctest.testmod(importlib.import_module(name), extraglobs=offered(name)) for name in names}

    assert sum(result.attempted for result in results.values()) >= 600
    assert [name for name, result in results.items() if result.failed] == []


def test_no_public_name_of_the_reference_is_without_an_example() -> None:
    """Of the front door, the drop-ins and every room, constants too; none of them is skipped."""
    without = [place for place, text in EXAMPLES.items() if not (">>> " in text or "```python" in text)]

    assert len(EXAMPLES) >= 160
    assert without == []
    assert [place for place, text in EXAMPLES.items() if "doctest: +SKIP" in text] == []


@pytest.mark.parametrize("door", ROOMS)
def test_an_example_of_a_room_needs_nothing_but_the_import_that_its_page_names(door: str) -> None:
    """Also those of constants, which have no docstring that Python would keep."""
    names = {name: getattr(importlib.import_module(door), name) for _, name in public_names(door)}
    runner = doctest.DocTestRunner()

    for name in names:
        runner.run(doctest.DocTestParser().get_doctest(docstring(door, name), {**names}, f"{door}.{name}", None, 0))

    assert runner.summarize(verbose=False).failed == 0
