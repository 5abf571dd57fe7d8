"""Generated projects whose store names servers: two instances of one share memory and sessions."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from memkit.runtime.testing import FakeServer
from tests.backends.servers import redis_client, running_redis
from tests.generate.projects import project, unpacked_runtime, write_store

NEEDS = {"langgraph": ("langgraph", "langchain", "langchain_openai"), "react": ("openai",)}


class Instance(NamedTuple):
    """A project on one machine."""

    project: Path
    runtime: Path
    memory: Path
    servers: dict[str, str]

    def says(self, text: str, *script: Any, session: str = "s", user: str = "ann") -> tuple[int, Any, str, str]:
        """Say something; return exit code, envelope, what was said on the side, and what the model was asked."""
        with FakeServer("chat", list(script)) as model:
            known = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
            words = ["-m", "agent", "-p", text, "--user", user, "--session", session, "--consent", "--json"]
            environment = {
                **known, **model.environment, **self.servers, "PYTHONPATH": str(self.runtime),
                "MEMORY_DIR": str(self.memory),
            }  # fmt: skip
            done = subprocess.run(
                [sys.executable, *words], cwd=self.project, env=environment, capture_output=True, text=True, check=False
            )
            asked = json.dumps([request.body for request in model.requests if request.body])
        return done.returncode, json.loads(done.stdout) if done.stdout else {}, done.stderr, asked


@pytest.fixture(params=list(NEEDS))
def instances(request: pytest.FixtureRequest, tmp_path: Path, url: str) -> Iterator[tuple[Instance, Instance]]:
    """Return two instances of a project, whose store names variables for its servers."""
    for package in NEEDS[request.param]:
        pytest.importorskip(package)
    store = write_store(tmp_path / "store")
    manifest = store / "memkit.yaml"
    places = "backends: {archive: $MEMORY_URL, working: $SESSIONS_URL}\n"
    manifest.write_text(manifest.read_text(encoding="utf-8") + places, encoding="utf-8")
    rendered, runtime = project(store, request.param, tmp_path / "project"), unpacked_runtime(tmp_path / "runtime")
    with running_redis(tmp_path) as redis:
        servers = {"MEMORY_URL": url, "SESSIONS_URL": redis}
        yield (
            Instance(rendered, runtime, tmp_path / "one", servers),
            Instance(rendered, runtime, tmp_path / "two", servers),
        )


@pytest.mark.timeout(600)
def test_what_one_instance_of_a_project_heard_another_one_knows(
    instances: tuple[Instance, Instance], owner: str
) -> None:
    """Memory by the database, with the same gate and for its user alone; the session by Redis."""
    one, two = instances
    store = {"tool": "archival_memory_insert", "args": {"text": "Ann prefers espresso over latte"}}

    code, _, err, _ = one.says("I prefer espresso over latte, remember that", store, "Noted.")
    assert (code, err) == (0, "")
    code, answer, err, asked = two.says("Which coffee do I prefer over latte?", "Espresso.")

    assert (code, err) == (0, "")
    assert "espresso over latte" in asked and answer["data"]["message"] == "Espresso."
    assert "espresso" not in two.says("Which coffee do I prefer over latte?", "I do not know.", user="bob")[3]
    import psycopg

    with psycopg.connect(owner) as connection:
        lines = [json.loads(row[0]) for row in connection.execute("SELECT line FROM memkit.lines").fetchall()]
    assert [line["text"] for line in lines if "text" in line] == ["Ann prefers espresso over latte"]
    assert not list(one.memory.rglob("archive/*/*.jsonl"))


@pytest.mark.timeout(600)
def test_a_project_names_what_its_servers_take(instances: tuple[Instance, Instance]) -> None:
    """It requires the libraries and names the variables, and its own tests need no server."""
    one, _ = instances
    known = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}

    words = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", "compiled_from_the_store", "tests"]
    tried = subprocess.run(
        [sys.executable, *words], cwd=one.project, env={**known, "PYTHONPATH": str(one.runtime)}, capture_output=True,
        text=True, check=False,
    )  # fmt: skip

    assert tried.returncode == 0, tried.stdout
    required = tomllib.loads((one.project / "pyproject.toml").read_text(encoding="utf-8"))["project"]["dependencies"]
    assert {"psycopg", "redis"} <= {re.split(r"\W", one)[0] for one in required}
    for name in one.servers:
        assert f"\n{name}=\n" in (one.project / ".env.example").read_text(encoding="utf-8")
        assert f"`{name}`" in (one.project / "README.md").read_text(encoding="utf-8")


@pytest.mark.timeout(600)
def test_without_its_servers_a_project_says_so(instances: tuple[Instance, Instance]) -> None:
    """Sessions go on alone when Redis is gone; without the database or its variable the answer is 3 in one line."""
    one, _ = instances
    assert one.says("Hello", "Hello.")[0] == 0
    redis_client(one.servers["SESSIONS_URL"]).shutdown(nosave=True)

    code, _, err, asked = one.says("What did I say?", "Hello.")

    assert (code, err.count("is not available")) == (0, 1)
    assert asked.count("Hello") >= 2, "what this machine knows of the session is still there"
    away = one._replace(servers={**one.servers, "MEMORY_URL": "postgresql://app:hunter2@127.0.0.1:1/x"})
    unset = one._replace(servers={"SESSIONS_URL": one.servers["SESSIONS_URL"]})
    for broken in (away, unset):
        code, answer, err, _ = broken.says("Hello", "Hello.")
        assert code == 3 and "hunter2" not in err + json.dumps(answer)
        assert "\n" not in answer["diagnostics"][0]["message"]
