"""The model beside a project's conversation: whichever protocol its vendor speaks, and what it draws."""

from __future__ import annotations

import json
from typing import Any

import pytest

from memkit.runtime.host.endpoints import ANTHROPIC, OPENAI
from memkit.runtime.host.plain_model import plain_model
from memkit.runtime.host.sessions import CannotServe
from memkit.runtime.host.settings import Project, load_settings
from memkit.runtime.testing import FakeServer

ASKED = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Who?"}]


def chosen(project: Project, setting: str) -> None:
    """Let a project's settings name the model beside its conversation."""
    path = project.compiled / "settings.json"
    values = json.loads(path.read_text(encoding="utf-8"))
    values["context"]["summary_model"] = setting
    values["write"]["extract"] = "auto"
    path.write_text(json.dumps(values), encoding="utf-8")


@pytest.mark.parametrize(("protocol", "vendor"), [("chat", OPENAI), ("responses", OPENAI), ("anthropic", ANTHROPIC)])
def test_each_protocol_is_asked_by_the_standard_library_alone(protocol: str, vendor: Any, project: Project) -> None:
    """The text comes back with what it cost, and the server found nothing wrong with the requests it serves."""
    chosen(project, "provider")
    with FakeServer(protocol, ["Ada.", "Ada again."]) as server:
        model = plain_model(load_settings(project, dict(server.environment)), vendor)
        assert model is not None
        said = [model.complete(ASKED) for _ in range(2)]  # type: ignore[arg-type]
        assert [one.text for one in said] == ["Ada.", "Ada again."]
        assert all(one.usage["output"] > 0 for one in said)
        assert "Be brief." in json.dumps([request.body for request in server.requests if request.body])


def test_a_named_model_is_asked_and_what_is_none_refused(project: Project) -> None:
    """A cheaper one of the vendor's; rules for none; one clear line for a provider that a project has not."""
    environment = {"OPENAI_API_KEY": "x", "OPENAI_BASE_URL": "http://127.0.0.1:1/v1"}
    chosen(project, "openai:tiny")
    model = plain_model(load_settings(project, environment), OPENAI)
    assert model is not None and model.endpoint.model == "tiny"
    with pytest.raises(CannotServe, match="cannot be reached"):
        model.complete(ASKED)  # type: ignore[arg-type]
    chosen(project, "reference")
    assert plain_model(load_settings(project, environment), OPENAI) is None
    chosen(project, "gpt")
    with pytest.raises(CannotServe, match="not a provider for projects"):
        plain_model(load_settings(project, environment), OPENAI)


@pytest.mark.parametrize(
    ("setting", "words", "expected"),
    [
        ("off", "I live in Lisbon and work as a nurse.", ["I live in Lisbon", "I work as a nurse"]),
        ("provider", "well the bees on our roof keep me busy", ["Keeps bees on the roof"]),
    ],
)
def test_a_project_keeps_what_lasts_as_its_conversation_ends(
    setting: str, words: str, expected: list[str], host: Any
) -> None:
    """By rules, or by the model beside it, through the same gate, and told."""
    chosen(host.project, setting)
    pieces = json.dumps(
        {"pieces": [{"text": "Keeps bees on the roof", "turns": [1]}, {"text": "A yacht", "turns": [1]}]}
    )
    with FakeServer("chat", [pieces]) as server:
        host(words, "--consent", **server.environment)
        assert len(server.requests) == (setting == "provider")

    from memkit.runtime.memory.archive.archive import ArchivalStore

    with ArchivalStore(host.store) as archive:
        assert [record.text for record in archive.records(user_id="ada")] == expected
