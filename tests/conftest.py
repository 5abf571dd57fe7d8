"""What every test gets: an identity for git, no inherited settings, and an honest account of what was skipped."""

from __future__ import annotations

import gc
import itertools
import os
import re
import shutil
import signal
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, is_hypothesis_test, settings

# The tests of a room run without the rest of memkit, which is loaded where a fixture needs it.
if TYPE_CHECKING:
    from memkit.runtime.testing import FakeServer
    from memkit.runtime.testing.script import Script

_IDENTITY = {"NAME": "Ada Tester", "EMAIL": "ada@example.org"}
WITHHELD = "this kernel does not let its user"
"""How the reason of a skip begins that no installation could prevent; such a one stays a skip everywhere."""
MEMORY = Path("/dev/shm")
ROOMY = 3 << 30
"""The bytes that a run of all tests writes at most at a time, with a margin.

A commit and a record wait until they are on the disk, which is nothing that a test could see and a third of the time.
"""
_FREE = re.compile(r"^(MemAvailable): +(\d+) kB$", re.MULTILINE)
_SCRUBBED = (
    "MEMKIT_",
    "OPENAI_",
    "ANTHROPIC_",
    "CLAUDE",
    "LANGSMITH_",
    "LANGCHAIN_",
    "GIT_",
    "CODEX_",
    "CURSOR_",
    "GEMINI_",
)
_homes = itertools.count()

PROPERTIES = "MEMKIT_PROPERTIES"
"""The variable that says which examples the tests of properties try: ``fixed``, as everywhere, or ``new`` ones."""
PART, FEWEST = 5, 10
"""A fifth of the examples is tried where they are fixed, but no fewer than ten: what they found they found long ago."""
SAMPLE = "MEMKIT_SAMPLE"
"""The variable that has a third of the tests run, drawn by what it says: another commit draws another third."""
_ANY = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])  # a busy machine may take its time
# The same ones at each run: what is red was broken by the change at hand. New ones are tried by 'make properties'.
settings.register_profile("fixed", _ANY, derandomize=True, database=None)
settings.register_profile("new", _ANY, derandomize=False, print_blob=True)
settings.load_profile(os.environ.get(PROPERTIES) or "fixed")


def pytest_configure() -> None:
    """Keep temporary files in memory, what Python compiles, and notice of interrupts, whatever started the tests."""
    if _room_in_memory() >= ROOMY:
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))
    # A shell lets its background jobs ignore interrupts.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    # Images of containers set this; each of the thousands of processes here would compile all that it imports anew.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.dont_write_bytecode = False


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Try a part of the examples where they are the same each time, and all of them where they are new."""
    if seed := os.environ.get(SAMPLE):
        items[:] = [item for item in items if zlib.crc32(f"{seed} {item.nodeid}".encode()) % 3 == 0]
    if not settings.default.derandomize:
        return
    for test in {getattr(item.obj, "__func__", item.obj) for item in items if isinstance(item, pytest.Function)}:
        if is_hypothesis_test(test):
            # Each test says how many it wants, over which a profile has no say.
            chosen = getattr(test, "_hypothesis_internal_use_settings", None) or settings.default
            part = min(chosen.max_examples, max(FEWEST, chosen.max_examples // PART))
            test._hypothesis_internal_use_settings = settings(chosen, max_examples=part)


def pytest_collection_finish() -> None:
    """Keep the collection of garbage from walking through ten thousand tests again and again: a seventh of the time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 20, 20)


def _room_in_memory() -> int:
    """Return how many bytes may be written to the file system in memory, where one is mounted that runs programs."""
    try:
        state = os.statvfs(MEMORY)
        free = {name: int(kilobytes) << 10 for name, kilobytes in _FREE.findall(Path("/proc/meminfo").read_text())}
    except OSError:
        return 0
    usable = os.access(MEMORY, os.W_OK) and not state.f_flag & (os.ST_NOEXEC | os.ST_RDONLY)
    return min(state.f_bavail * state.f_frsize, free["MemAvailable"] // 2) if usable else 0


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Give every test its own home and git identity and none of the caller's settings."""
    for name in list(os.environ):
        if name.startswith(_SCRUBBED) and name != "MEMKIT_REQUIRE":
            monkeypatch.delenv(name)
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    # A folder of pytest's would be numbered by a look at those of all tests before.
    home = tmp_path_factory.getbasetemp() / "homes" / str(next(_homes))
    home.mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.setenv(
        "MEMKIT_INSTALL", "memkit-agent"
    )  # a wheel of memkit in each of a thousand stores is one too many
    for role in ("AUTHOR", "COMMITTER"):
        for key, value in _IDENTITY.items():
            monkeypatch.setenv(f"GIT_{role}_{key}", value)


@pytest.fixture
def store(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, capsys: pytest.CaptureFixture[str]) -> Path:
    """Return the root of a fresh store with the starters, a copy of one that is made once: a store knows no path."""
    from memkit.cli.main import run

    made = tmp_path_factory.getbasetemp() / "made-store"
    if not made.exists():
        assert run(["init", str(made)]) == 0
        capsys.readouterr()
    return shutil.copytree(made, tmp_path / "store", symlinks=True)


@pytest.fixture
def model_server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., FakeServer]]:
    """Return a function that starts a model server, which the vendors' SDKs find by the environment of the test."""
    from memkit.runtime.testing import FakeServer

    with ExitStack() as running:

        def start(protocol: str, script: Script, **options: Any) -> FakeServer:
            server = running.enter_context(FakeServer(protocol, script, **options))
            for name, value in server.environment.items():
                monkeypatch.setenv(name, value)
            return server

        yield start


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]):  # noqa: ANN201 - pytest's own type
    """Turn a skip into a failure where ``MEMKIT_REQUIRE=all`` says that everything must run that can be installed."""
    outcome = yield
    report = outcome.get_result()
    is_left_out = report.skipped and not hasattr(report, "wasxfail") and WITHHELD not in str(report.longrepr)
    if is_left_out and os.environ.get("MEMKIT_REQUIRE") == "all":
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid} was skipped, and MEMKIT_REQUIRE=all allows no skip: {report.longrepr}"
