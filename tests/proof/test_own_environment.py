"""Each project is set up by its own README, in an environment without memkit, and passes its own tests there."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from itertools import cycle
from pathlib import Path

import enclosure
import pytest
from environments import FLOOR, Environments, requirements_of
from own_tests import NEWEST_EDITION, passes_its_tests
from ownership import ENCLOSED, Owned
from packaging.requirements import Requirement
from packaging.version import Version
from rendered import BOTH, Case, cases

from memkit.generate.content import WIRED


@pytest.mark.parametrize("case", cases(BOTH), ids=str)
def test_a_project_passes_its_tests_with_the_oldest_sdk(case: Case, own: Callable[[Case, str], Owned]) -> None:
    """Each lower bound is a version that was run, of the test tools too."""
    passes_its_tests(own(case, FLOOR))


@pytest.mark.parametrize("case", cases(BOTH), ids=str)
def test_each_lower_bound_is_a_version_that_was_run(case: Case, environments: Environments, tmp_path: Path) -> None:
    """Where another package asks for more, the bound has to say so: nobody can get less."""
    project = case.render(tmp_path / "project")

    python = environments.kept(project, FLOOR) / "bin" / "python"

    for requirement in map(Requirement, requirements_of(project)):
        (bound,) = (bound.version for bound in requirement.specifier if bound.operator == ">=")
        asked = f"import importlib.metadata as m; print(m.version({requirement.name!r}))"
        found = subprocess.run([python, "-c", asked], capture_output=True, text=True, check=True).stdout
        assert Version(found) == Version(bound), f"{requirement} was run with {found}"


ALONE = cycle([WIRED] if os.environ.get("MEMKIT_PROVE") else [(skill,) for skill in WIRED])
"""Each target with every skill alone each week; else with one, and every skill with a target."""


@pytest.mark.parametrize(("case", "alone"), list(zip(cases(BOTH), ALONE, strict=False)), ids=str)
def test_a_project_is_clean(case: Case, alone: tuple[str, ...], own: Callable[[Case, str], Owned]) -> None:
    """With both skills or one, linter and type checker find nothing, by the project's own settings and packages."""
    cache = Path(sys.prefix) / "proof" / f"mypy-{case}"
    for skills in (BOTH, *alone):
        owned = own(replace(case, skills=skills), NEWEST_EDITION)
        (wheel,) = (owned.project / "vendor").glob("*.whl")
        owned.run("python", "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", wheel)

        owned.run(sys.executable, "-m", "compileall", "-q", ".")
        owned.run(sys.executable, "-m", "ruff", "check", "--no-cache", ".")
        owned.run(sys.executable, "-m", "ruff", "format", "--no-cache", "--check", ".")
        owned.run(sys.executable, "-m", "mypy", "--python-executable", owned.programs / "python", "--cache-dir", cache)


@pytest.mark.skipif(not ENCLOSED, reason="this kernel does not let its user make a network")
def test_the_enclosure_sees_what_wants_to_leave(tmp_path: Path) -> None:
    """A connection, a datagram and a question for a name are refused and told; this machine can be reached."""
    program = """
import socket
with socket.create_server(("127.0.0.1", 0)) as server:
    socket.create_connection(server.getsockname()).close()
for family, address in ((socket.AF_INET, "192.0.2.1"), (socket.AF_INET6, "2001:db8::1")):
    try:
        socket.socket(family).connect((address, 443))
    except ConnectionRefusedError:
        pass
socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"a datagram", ("192.0.2.2", 514))
question = bytes(12) + b"\\x07example\\x03org\\x00"
socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(question, ("127.0.0.53", 53))
"""
    report = tmp_path / "asked-for.json"

    subprocess.run(enclosure.enclosed([sys.executable, "-c", program], report), check=True, timeout=900)

    assert enclosure.asked_for(report) == [
        "TCP 192.0.2.1 port 443",
        "TCP 2001:db8::1 port 443",
        "UDP 192.0.2.2 port 514",
        "the name example.org",
    ]
