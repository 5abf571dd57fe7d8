"""``deploy/``: its files are what their validators expect, fit together, and what they start does what they say."""

from __future__ import annotations

import hashlib
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import psycopg
import pytest
import yaml

from memkit.cli.main import run
from memkit.runtime.backends.interface import BackendUnfit
from memkit.runtime.backends.schema import migrate
from memkit.runtime.memory.record.lines import utc_now
from memkit.runtime.memory.record.record import Draft, Origin
from memkit.store.tokens import ServerTokens
from tests.backends.servers import ROLE, PostgresOfOurs, running_redis
from tests.serving.clients import call, environment

DEPLOY = Path(__file__).parents[2] / "deploy"
SECRETS = {
    "memkit-database": {"owner", "app"},
    "memkit-addresses": {"owner", "memory", "sessions"},
    "memkit-tokens": set[str](),
}
"""What the head of the manifest tells people to make."""


def compose() -> dict[str, Any]:
    """Return the file for one machine, its anchors resolved."""
    return dict(yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8")))


def manifests() -> list[dict[str, Any]]:
    """Return what the manifest holds."""
    return list(yaml.safe_load_all((DEPLOY / "kubernetes.yaml").read_text(encoding="utf-8")))


def named(kind: str, name: str) -> dict[str, Any]:
    """Return one thing of the manifest."""
    (found,) = [one for one in manifests() if (one["kind"], one["metadata"]["name"]) == (kind, name)]
    return found


def pods() -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Yield everything that starts pods, with what its pods are."""
    for one in manifests():
        if "template" in one.get("spec", {}):
            yield one, one["spec"]["template"]


def containers(pod: dict[str, Any]) -> list[dict[str, Any]]:
    """Return every container of a pod, those that prepare it too."""
    return [*pod["spec"]["containers"], *pod["spec"].get("initContainers", ())]


# ---------------------------------------------------------------- what validators say


def test_the_compose_file_is_one() -> None:
    """By the schema of the Compose Specification."""
    builtin = pytest.importorskip("check_jsonschema.builtin_schemas")
    jsonschema = pytest.importorskip("jsonschema")
    schema = builtin.get_builtin_schema("vendor.compose-spec")

    faults = jsonschema.validators.validator_for(schema)(schema).iter_errors(compose())

    assert [f"{list(fault.path)}: {fault.message}" for fault in faults] == []


@pytest.mark.parametrize("version", ["1.30", "1.34", None])
def test_the_manifest_is_one(version: str | None) -> None:
    """By the schemas of Kubernetes itself, of versions in use and the newest, with no field that they do not know."""
    kubernetes_validate = pytest.importorskip("kubernetes_validate")

    for one in manifests():
        kubernetes_validate.validate(one, version or kubernetes_validate.latest_version(), strict=True)


# ---------------------------------------------------------------- what fits together


def test_selectors_ports_and_secrets_of_the_manifest_meet() -> None:
    """What is named by one thing is there in the other, and no secret is in clear."""
    labels = [template["metadata"]["labels"] for _, template in pods()]
    ports = {
        (template["metadata"]["labels"]["app"], port["name"])
        for _, template in pods() for one in containers(template) for port in one.get("ports", ())
    }  # fmt: skip
    for one in manifests():
        spec = one.get("spec", {})
        selector = spec.get("selector", {})
        wanted = selector.get("matchLabels", selector)
        if one["kind"] in ("Service", "Deployment", "StatefulSet", "PodDisruptionBudget"):
            assert wanted in labels, one["metadata"]
        if one["kind"] == "Service":
            assert all((wanted["app"], port["targetPort"]) in ports for port in spec["ports"])
        assert one["metadata"]["namespace"] == "memkit"
    used: set[tuple[str, str]] = set()
    for _, template in pods():
        kept = {volume["name"] for volume in template["spec"].get("volumes", ())} | {"data"}
        for one in containers(template):
            assert {mount["name"] for mount in one.get("volumeMounts", ())} <= kept
            references = [
                variable["valueFrom"]["secretKeyRef"] for variable in one.get("env", ()) if "valueFrom" in variable
            ]
            used |= {(reference["name"], reference["key"]) for reference in references}
            assert not [v for v in one.get("env", ()) if "PASSWORD" in v["name"] and "value" in v]
    assert used == {(name, key) for name, keys in SECRETS.items() for key in keys}
    text = (DEPLOY / "kubernetes.yaml").read_text(encoding="utf-8")
    assert all(f"create secret generic {name}" in text for name in SECRETS)
    assert not re.search(r"://\w+:[^…@\s]+@", text), "an address with a password"


def test_every_container_is_bounded_probed_and_alone() -> None:
    """Memory has a limit, nothing runs as root or gains rights, images have tags, and what serves is probed."""
    for owner, template in pods():
        assert template["spec"]["securityContext"]["runAsNonRoot"]
        assert template["spec"]["automountServiceAccountToken"] is False
        for one in containers(template):
            assert one["resources"]["limits"]["memory"] and one["resources"]["requests"]["cpu"]
            assert one["securityContext"]["capabilities"] == {"drop": ["ALL"]}
            assert one["securityContext"]["allowPrivilegeEscalation"] is False
            assert re.search(r":[\w.-]+$", one["image"]) and not one["image"].endswith(":latest")
        if owner["kind"] != "Job":
            assert {"readinessProbe", "livenessProbe"} <= set(template["spec"]["containers"][0])
    served = named("Deployment", "memkit")["spec"]
    assert served["replicas"] == 2 and served["strategy"]["rollingUpdate"]["maxUnavailable"] == 0
    assert sum("memkit serve" in str(one.get("command")) for one in compose()["services"].values()) == 2


def test_tokens_lie_where_the_server_of_that_store_looks() -> None:
    """The folder is named by the path of the store, which is the same in every instance."""
    container = named("Deployment", "memkit")["spec"]["template"]["spec"]["containers"][0]
    variables = {one["name"]: one.get("value") for one in container["env"]}
    (place,) = [one["mountPath"] for one in container["volumeMounts"] if one["name"] == "tokens"]

    folder = hashlib.sha256(os.fsencode(variables["MEMKIT_STORE"])).hexdigest()[:32]

    assert place == f"{variables['MEMKIT_KEYS']}/tokens/{folder}"


# ---------------------------------------------------------------- what it starts


@contextmanager
def pod(
    folder: Path, store: Path, addresses: dict[str, str]
) -> Iterator[tuple[subprocess.Popen[str], int, dict[str, str]]]:
    """Start what the manifest starts for one instance, on a free port; give its process, port and tokens by user."""
    container = named("Deployment", "memkit")["spec"]["template"]["spec"]["containers"][0]
    clone, keys = folder / "clone", folder / "keys"
    subprocess.run(["git", "clone", "--quiet", store, clone], check=True)
    known = {"MEMKIT_STORE": str(clone), "MEMKIT_KEYS": str(keys)}
    for one in container["env"]:
        value = addresses[one["valueFrom"]["secretKeyRef"]["key"]] if "valueFrom" in one else one["value"]
        known.setdefault(one["name"], value)
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("MEMKIT_KEYS", str(keys))
        tokens = {user: ServerTokens(clone).new(user, "write", utc_now())[0] for user in ("ann", "bob")}
    words = [word.replace("0.0.0.0:8321", "0.0.0.0:0") for word in container["args"]]
    process = subprocess.Popen(
        [sys.executable, "-m", "memkit", *words],
        cwd=folder,
        env=environment(**known),
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    try:
        ready = process.stderr.readline()
        assert ready.startswith("ready http://0.0.0.0:"), ready + process.stderr.read()
        yield process, int(ready.split(":")[-1].partition("/")[0]), tokens
    finally:
        process.kill()
        process.wait()
        process.stderr.close()


def status(port: int, path: str, host: str = "") -> int:
    """Return what a probe, or somebody who names another host, is answered."""
    connection = HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        connection.request("GET", path, headers={"Host": host} if host else {})
        return connection.getresponse().status
    finally:
        connection.close()


@pytest.mark.timeout(600)
def test_two_instances_as_the_manifest_starts_them_serve_one_memory(
    store: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Probes, names and tokens hold; what one was told the other finds; without the database neither is ready."""
    with tempfile.TemporaryDirectory(prefix="mk", dir="/tmp", ignore_cleanup_errors=True) as name:
        server = PostgresOfOurs(Path(name))
        try:
            with psycopg.connect(server.owner, autocommit=True) as connection:
                migrate(connection, ROLE)
            with running_redis(tmp_path) as redis:
                addresses = {"memory": server.url, "sessions": redis}
                for one in ("one", "two"):
                    (tmp_path / one).mkdir()
                with (
                    pod(tmp_path / "one", store, addresses) as (first, port, tokens),
                    pod(tmp_path / "two", store, addresses) as (_, other, others),
                ):
                    for place in (port, other):
                        assert [status(place, path) for path in ("/healthz", "/readyz", "/metrics")] == [200] * 3
                    assert [status(port, "/healthz", host) for host in ("memkit", "memkit:8321", "10.0.0.7:8321")] == [
                        200
                    ] * 3
                    assert status(port, "/healthz", "evil.example") == 421
                    text = "Ann prefers espresso"
                    monkeypatch.setenv("MEMKIT_BACKENDS_ARCHIVE", server.url)
                    assert run(["consent", "grant", "--user", "ann", "--store", str(store)]) == 0
                    assert run(["memory", "add", text, "--user", "ann", "--store", str(store)]) == 0
                    (added,) = call(
                        f"http://127.0.0.1:{port}/mcp", tokens["ann"], [("memory_add", {"text": text})], "auto"
                    )
                    search = [("memory_search", {"query": text, "k": 3})]
                    (found,) = call(f"http://127.0.0.1:{other}/mcp", others["ann"], search, "auto")
                    (nothing,) = call(f"http://127.0.0.1:{other}/mcp", others["bob"], search, "auto")
                    assert added.structured_content["decision"] == "merged"  # with what a person added there
                    assert [hit["text"] for hit in found.structured_content["results"]] == [text]
                    assert nothing.structured_content["results"] == []
                    server.kill()
                    assert [status(port, path) for path in ("/healthz", "/readyz")] == [200, 503]
                    server.start()
                    assert status(port, "/readyz") == 200
                    first.send_signal(signal.SIGTERM)
                    assert first.wait(20) == 0
        finally:
            server.end()


@pytest.mark.parametrize(
    "words", [["--known-as", "memory.example.org"], ["--http", "127.0.0.1:0", "--known-as", "not/a name"]]
)
def test_a_name_without_a_server_or_that_is_none_is_bad_usage(
    store: Path, capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    """One line each."""
    assert run(["serve", "--user", "ann", *words, "--store", str(store)]) == 2
    err = capsys.readouterr().err
    assert "--known-as" in err and err.count("\n") <= 2


def test_an_instance_of_the_version_before_goes_on_with_the_connection_that_it_has(
    open_at: Callable[..., Any], owner: str
) -> None:
    """While the new version is rolled out; whoever opens a connection then is told."""
    before = open_at("before")
    assert before.offer(Draft("Ann prefers espresso"), Origin("person", "ann")).decision == "admitted"
    with psycopg.connect(owner, autocommit=True) as connection:
        connection.execute("UPDATE memkit.store SET version = version + 1")

    assert before.offer(Draft("Ann has a cat"), Origin("person", "ann")).decision == "admitted"
    assert [hit.text for hit in before.search("cat", user_id="ann").hits] == ["Ann has a cat"]
    before.close()  # archives of one process share their connections
    with pytest.raises(BackendUnfit):
        open_at("late").search("cat", user_id="ann")
