"""The pytest plugin: the tests of a store's policies as items, and scripted models as a fixture.

It collects ``policies/*.yaml`` and the tables beside them; the ini option
``memkit_policies = false`` turns that off. Every run of pytest in an environment with memkit loads this module, so it
imports nothing else of memkit until a file of a store is collected or a test requests the fixture.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from memkit.runtime.testing import FakeServer

_MANIFEST = "memkit.yaml"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the ini option."""
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


@pytest.fixture
def fake_llm(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., FakeServer]]:
    """Return a function that starts a model server, which the vendors' clients find through the test's environment.

    It takes a protocol, a script, and other arguments of ``memkit.runtime.testing.FakeServer``, and ends with the test.
    """
    with ExitStack() as running:

        def start(protocol: str = "chat", script: Any = (), **options: Any) -> FakeServer:
            from memkit.runtime.testing import FakeServer

            server = running.enter_context(FakeServer(protocol, script, **options))
            for name, value in server.environment.items():
                monkeypatch.setenv(name, value)
            return server

        yield start


def _store_of(path: Path) -> Path | None:
    """Return the store that a file contains policy tests of."""
    folder = path.parent
    if path.suffix == ".yaml" and folder.name == "policies":
        root = folder.parent
    elif path.suffix in (".yaml", ".csv") and folder.name == "tests" and folder.parent.name == "policies":
        root = folder.parent.parent
    else:
        return None
    return root if (root / _MANIFEST).is_file() else None
