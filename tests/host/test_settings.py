"""What a project was compiled with, and what the environment of a run adds."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from memkit.runtime.host.endpoints import endpoint_of
from memkit.runtime.host.rooms import open_rooms
from memkit.runtime.host.sessions import AgentError
from memkit.runtime.host.settings import Project, load_settings

if TYPE_CHECKING:
    from conftest import Host


def only_error(code: int, envelopes: tuple[object, ...], expected: int = 3) -> str:
    """Return the one message of a run that failed, because the environment cannot serve if nothing else is said."""
    (envelope,) = envelopes
    assert code == expected and isinstance(envelope, dict) and envelope["data"] is None
    (finding,) = envelope["diagnostics"]
    assert "\n" not in finding["message"]
    return str(finding["message"])


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("MODEL=one", "one"),
        ("export MODEL = one", "one"),
        ("MODEL=one  # the small one", "one"),
        ('MODEL="one # two"  # quoted', "one # two"),
        ("MODEL='one'", "one"),
        ("MODEL=one#two", "one#two"),
        ("\ufeffMODEL=one", "one"),
    ],
)
def test_dotenv_is_read_as_people_write_it(line: str, value: str, project: Project) -> None:
    """With quotes, with comments, and with the mark that some editors put first."""
    Path(".env").write_text(f"{line}\n", encoding="utf-8")

    assert load_settings(project, {}).model == value


def test_the_environment_wins_over_the_file_of_variables(project: Project) -> None:
    """``.env`` is read where the agent starts; what it alone names counts."""
    Path(".env").write_text('MODEL=other\n# MODEL=third\nexport AGENT_USER="ada"\n', encoding="utf-8")

    settings = load_settings(project, {"MODEL": "local"})

    assert (settings.model, settings.environment["AGENT_USER"]) == ("local", "ada")


def test_a_folder_in_the_place_of_the_file_of_variables_holds_none(project: Project) -> None:
    """Some people keep a virtual environment under that name."""
    Path(".env").mkdir()

    assert load_settings(project, {}).model == "small"


def test_requests_and_turns_have_the_bounds_of_the_store(project: Project) -> None:
    """What ``requests.retries`` and ``turn.within`` say; an older project was rendered without them."""
    path = project.compiled / "settings.json"
    values = json.loads(path.read_text(encoding="utf-8"))
    del values["requests"]
    path.write_text(json.dumps(values), encoding="utf-8")
    before = load_settings(project, {"OPENAI_API_KEY": "any"})
    path.write_text(json.dumps({**values, "requests": {"retries": 5}, "turn": {"within": "2m"}}), encoding="utf-8")

    after = load_settings(project, {"OPENAI_API_KEY": "any"})

    assert [endpoint_of(each).retries for each in (before, after)] == [1, 5]
    assert [open_rooms(each, None, "one").config.max_seconds for each in (before, after)] == [None, 120]


def test_memory_lies_in_the_project_unless_another_folder_is_named(project: Project, tmp_path: Path) -> None:
    """Another folder gets the project's ``memkit.yaml`` when something is written, so that it is a store."""
    assert load_settings(project, {}).memory_folder == tmp_path
    settings = load_settings(project, {"MEMORY_DIR": str(tmp_path / "elsewhere")})

    settings.make_store()

    assert (tmp_path / "elsewhere/memkit.yaml").read_bytes() == (tmp_path / "memkit.yaml").read_bytes()


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("AGENT_CONTEXT", "[1]"), ("AGENT_CONTEXT", "{"), ("AGENT_CONTEXT", '{"a": "\udcff"}'), ("MODEL", "m\udcff"),
        ("AGENT_USER", "\udcff"), ("MODEL_TIMEOUT", "soon"), ("CONTEXT_MAX_TOKENS", "-1"),
        ("MEMORY_DIR", "~nobody-of-this-name/m"),
    ],
)  # fmt: skip
def test_a_variable_that_cannot_be_used_is_named(variable: str, value: str, host: Host) -> None:
    """Policies rely on AGENT_CONTEXT, so a broken one is an error and not an empty one."""
    reply = host("Hello!", **{variable: value})

    assert variable in only_error(reply.code, reply.envelopes, 2)


def test_a_file_of_variables_that_is_no_text_is_named(host: Host) -> None:
    """Passed over, it would end in a missing key that is there for everybody to see."""
    Path(".env").write_bytes(b"AGENT_USER=caf\xe9\n")

    reply = host("Hello!")

    assert ".env" in only_error(reply.code, reply.envelopes)


@pytest.mark.parametrize("file", ["policies.json", "domains.json", "settings.json"])
def test_a_compiled_file_of_another_shape_stops_the_run(file: str, host: Host) -> None:
    """An empty object is never taken for a policy set that allows everything."""
    (host.project.compiled / file).write_text("[]" if file == "settings.json" else "{}", encoding="utf-8")

    reply = host("Hello!")

    assert file in only_error(reply.code, reply.envelopes)


def test_a_memory_folder_that_cannot_be_used_is_named(host: Host) -> None:
    """A file in its place, or in the place of a folder above it, is one clear line."""
    Path("file").write_text("not a folder", encoding="utf-8")

    for place in ("file", "file/store"):
        reply = host("Hello!", "--consent", MEMORY_DIR=str(Path(place).absolute()))
        assert "file" in only_error(reply.code, reply.envelopes)


def test_a_package_that_is_not_installed_is_named(host: Host) -> None:
    """A project that was copied but not installed says what to do."""
    host.project = Project("tester", "small", host.project.folder, host.project.compiled, "no_such_target")

    reply = host("Hello!")

    assert "pip install -r requirements.txt" in only_error(reply.code, reply.envelopes)


def test_a_password_in_a_servers_address_is_not_shown(tmp_path: Path) -> None:
    """Neither in the name of a server that fails, nor where the address is none."""
    (tmp_path / "settings.json").write_text("{}")
    for name in ("policies", "domains"):
        (tmp_path / f"{name}.json").write_text("[]")
    settings = load_settings(Project("t", "m", tmp_path, tmp_path), {"OPENAI_API_KEY": "x"})

    def endpoint(url: str) -> str:
        return endpoint_of(replace(settings, environment={"OPENAI_API_KEY": "x", "OPENAI_BASE_URL": url})).name

    assert endpoint("http://ada:pass@127.0.0.1:9/v1?key=pass") == "http://127.0.0.1:9/v1"
    with pytest.raises(AgentError, match="OPENAI_BASE_URL='ftp://host/v1' is not an address"):
        endpoint("ftp://ada:pass@host/v1")
    with pytest.raises(AgentError, match="is not an address"):
        endpoint("http://127.0.0.1/\udcff")
