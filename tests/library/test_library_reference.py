"""The reference of the front door: every public name shows an example in its docstring, and each is run."""

from __future__ import annotations

import inspect
import re
import shutil
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

import memkit
from memkit import open_store


def public() -> Iterator[tuple[str, object]]:
    """Yield every public name and, of each class, what is public in it and no error's own field."""
    for name in memkit.__all__:
        one = getattr(memkit, name)
        yield name, one
        if isinstance(one, type) and not issubclass(one, Exception):
            for inner, value in vars(one).items():
                if not inner.startswith("_") and (callable(value) or isinstance(value, property)):
                    yield f"{name}.{inner}", value


RESULTS = {"Decision", "Hit", "StoredRecord"}
"""What calls give, of the room of memory: their examples run in the doctests."""
INNER = {"Store.open", "Store.note_write", "Store.named_user", "AsyncStore.in_thread", "AsyncStore.agent"}
"""What drop-ins use of the store, and the twin of a call whose example stands with the call."""
NAMES = {
    name: one
    for name, one in public()
    if name not in INNER and name != "AsyncStore.close" and name.partition(".")[0] not in RESULTS
}


@pytest.mark.parametrize("name", NAMES)
def test_an_example_stands_with_the_name_and_holds(
    name: str, store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In order, with every assertion, in a folder with a store; ``store`` is that store where nothing opens one."""
    shutil.move(store, tmp_path / "my-memory")
    monkeypatch.chdir(tmp_path)
    told = inspect.getdoc(NAMES[name]) or ""
    examples = re.findall(r"^( *)```python\n(.*?)^ *```$", told, re.M | re.S)

    assert examples, f"{name} has no example"
    for _, example in examples:
        assert "assert " in example or name.endswith(".close")
        with open_store("my-memory") as opened:
            exec(compile(textwrap.dedent(example), f"the example of {name}", "exec"), {"store": opened})


def test_nothing_public_is_left_out() -> None:
    """What is not shown is named with its reason, and is there."""
    everything = {name: one for name, one in public() if name.partition(".")[0] not in RESULTS}

    assert set(everything) - set(NAMES) == INNER | {"AsyncStore.close"}
    assert {"Store.add", "Store.search", "AsyncStore.add", "StoreAgent.respond", "Refused"} <= set(NAMES)
