"""The pytest plugin: collects the tests of a store's policies, ``policies/*.yaml`` and the tables beside them.

Every run of pytest in an environment with memkit loads this module, so it imports nothing until a file of a store comes
along. Where it should not collect, the ini option ``memkit_policies = false`` turns it off.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

_MANIFEST = "memkit.yaml"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the switch."""
    parser.addini("memkit_policies", "Collect the tests of a memkit store's policies.", type="bool", default=True)


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Return the collector of a policy or a table of a store; ``None`` for every other file."""
    root = _store_of(file_path)
    if root is None or not parent.config.getini("memkit_policies"):
        return None
    from memkit.pytest_plugin.items import PolicyTests, TableTests

    kind = PolicyTests if file_path.parent.name == "policies" else TableTests
    collector: pytest.Collector = kind.from_parent(parent, path=file_path)
    return collector


def _store_of(path: Path) -> Path | None:
    """Return the store a file holds policy tests of."""
    folder = path.parent
    if path.suffix == ".yaml" and folder.name == "policies":
        root = folder.parent
    elif path.suffix in (".yaml", ".csv") and folder.name == "tests" and folder.parent.name == "policies":
        root = folder.parent.parent
    else:
        return None
    return root if (root / _MANIFEST).is_file() else None
