"""What `benchmarks/house.py` counts, on a package that is small enough to count by hand."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType

import pytest

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
FILES = {
    "__init__.py": "",
    "door.py": "from house.rooms import hall\nfrom house.rooms.attic import Box\n",
    "rooms/__init__.py": "",
    "rooms/hall.py": "from .cellar import open_up\n",
    "rooms/cellar.py": "def open_up(a, /, b, *c, d, **e):\n    from house.rooms.hall import door\n",
    "rooms/attic.py": """
class Box:
    def __init__(self, size): ...

    @staticmethod
    def of(one, two): ...

    def _hidden(self, one, two, three): ...

@click.command("open")
def command(one, two, three, four): ...
""",
}


@pytest.fixture
def house(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Import the benchmark from its folder."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module("house")


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """Write the small package."""
    for name, text in FILES.items():
        (tmp_path / "house" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "house" / name).write_text(text, encoding="utf-8")
    return tmp_path / "house"


def test_an_import_counts_wherever_it_stands_and_however_it_is_written(house: ModuleType, package: Path) -> None:
    """Relative, absolute or inside of a function: it leads to the module, or to the file that a name comes from."""
    modules = house.modules_of(package)
    graph = house.import_graph(modules)

    assert graph["house.door"] == {"house.rooms.hall", "house.rooms.attic"}
    assert graph["house.rooms.hall"] == {"house.rooms.cellar"}
    assert house.sibling_cycles(modules, graph) == ["house.rooms.cellar <-> house.rooms.hall"]
    assert house.handing_on(modules, graph) == ["house.rooms.attic", "house.rooms.cellar"]


def test_a_public_callable_is_counted_without_self_and_a_command_not_at_all(house: ModuleType, package: Path) -> None:
    """What its caller writes counts, starred ones once; a command has a parameter for each of its options."""
    found = dict(map(reversed, house.callables(house.modules_of(package))))

    assert found == {
        "house.rooms.attic.Box.__init__": 1,
        "house.rooms.attic.Box.of": 2,
        "house.rooms.cellar.open_up": 5,
    }


def test_no_two_files_of_one_folder_import_each_other_in_a_circle(house: ModuleType) -> None:
    """One of them can be read first; the names in a failure are those of the circle."""
    modules = house.modules_of(house.ROOT / "memkit")

    assert house.sibling_cycles(modules, house.import_graph(modules)) == []


def test_no_public_callable_takes_more_parameters_than_a_reader_holds(house: ModuleType) -> None:
    """What belongs together is one value; those of which a file's keys are the parameters are named, and are there."""
    found = {name: count for count, name in house.callables(house.modules_of(house.ROOT / "memkit"))}

    assert {name: count for name, count in found.items() if count > house.MANY} == {
        name: found[name] for name in house.MIRRORS_A_FILE
    }


def test_a_file_that_is_only_loaded_is_not_entered(house: ModuleType, store: Path) -> None:
    """Entered are those of the loaded ones that more runs of than their own statements, and called fewer still."""
    entered, called, loaded = house.traced(["policy", "list"], store)

    assert set(called) < set(entered) < set(loaded)
    assert "cli/main.py" in called
    assert "__init__.py" in loaded and "__init__.py" not in entered


def test_a_turn_reads_as_one_file(house: ModuleType) -> None:
    """Recall, ask, tools, evaluate, remember: whoever changes a step sees the others in the same 250 lines."""
    turn = house.ROOT / "memkit/runtime/loop/turn.py"

    assert len(turn.read_text(encoding="utf-8").splitlines()) <= 250
