"""Settings come from flags, the environment, memkit.yaml and defaults, in this order, and say so."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from memkit.errors import StoreFault, UsageError
from memkit.runtime.memory.interface import CHOICES, MemorySettings, WriteSettings
from memkit.runtime.memory.log.clone import cache_folder
from memkit.store.config import DEFAULTS, load_settings
from memkit.store.schema import load_schema
from memkit.workspace import Workspace


def write(root: Path, text: str) -> Path:
    """Write memkit.yaml and return the root."""
    (root / "memkit.yaml").write_text(text, encoding="utf-8")
    return root


def test_the_documented_defaults_are_the_rooms_defaults() -> None:
    """The table that config shows and the values that the memory room uses are the same."""
    sections = {name: DEFAULTS[name] for name in MemorySettings._fields if name != "privacy"}

    assert MemorySettings.from_mapping(sections) == MemorySettings()


def test_every_section_of_the_room_is_handed_to_it(tmp_path: Path) -> None:
    """What memkit.yaml says of conversations and heartbeats reaches the room like the rest."""
    root = write(tmp_path, "name: x\nformat: 1\nconversation: {max_messages: 7}\nheartbeat: {most: 2, within: 5s}\n")

    settings = Workspace(root).memory_settings

    assert settings.conversation.max_messages == 7
    assert settings.heartbeat == (2, 5.0)


def test_the_schema_knows_the_words_of_the_room() -> None:
    """memkit.yaml may say exactly what the memory room understands, and every write setting is in both."""
    known = load_schema("memkit")["properties"]["write"]["properties"]
    words = {name: tuple(rule["enum"]) for name, rule in known.items() if "enum" in rule}

    assert set(known) == set(DEFAULTS["write"])
    assert words == {name: CHOICES[name] for name in set(CHOICES) & set(WriteSettings._fields)}


def test_each_value_knows_where_it_came_from(tmp_path: Path) -> None:
    """The environment wins over the file, the file over the default."""
    root = write(tmp_path, "name: x\nformat: 1\nuser: ada\ncontext: {max_tokens: 100}\n")

    settings = load_settings(root, {"MEMKIT_USER": "grace"})

    assert (settings.values["user"].value, settings.values["user"].origin) == ("grace", "MEMKIT_USER")
    assert (settings["context.max_tokens"], settings.values["context.max_tokens"].origin) == (100, "memkit.yaml")
    assert settings.values["context.keep_recent"].origin == "default"


def test_a_changed_file_is_read_again(tmp_path: Path) -> None:
    """The cached form holds only while size and time of the file stay the same."""
    root = write(tmp_path, "name: x\nformat: 1\nuser: ada\n")
    assert load_settings(root, {})["user"] == "ada"

    write(root, "name: x\nformat: 1\nuser: bob\n")
    os.utime(root / "memkit.yaml", ns=(1, 1))

    assert load_settings(root, {})["user"] == "bob"


def test_a_broken_cache_is_only_a_cache(tmp_path: Path) -> None:
    """Rubbish under .memkit/cache is passed over."""
    root = write(tmp_path, "name: x\nformat: 1\n")
    cache_folder(root).mkdir(parents=True)
    (cache_folder(root) / "manifest.json").write_text("{")

    assert load_settings(root, {})["name"] == "x"


def test_a_newer_store_asks_for_a_newer_memkit(tmp_path: Path) -> None:
    """A format from the future is exit 3, not a guess."""
    with pytest.raises(StoreFault, match="Upgrade"):
        load_settings(write(tmp_path, "name: x\nformat: 99\n"), {})


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("name: [", "memkit.yaml:"),
        ("name: x\nformat: 1\nusr: ada\n", "user"),
        ("name: x\nname: y\n", "2:1"),
        ("- a\n", "memkit.yaml:1"),
    ],
)
def test_a_wrong_file_names_the_place(text: str, complaint: str, tmp_path: Path) -> None:
    """Broken YAML, an unknown key and a duplicate key each name line, column and what was meant."""
    with pytest.raises(UsageError) as caught:
        load_settings(write(tmp_path, text), {})

    assert complaint in str(caught.value)
    assert caught.value.line is not None


def test_a_wrong_variable_is_named(tmp_path: Path) -> None:
    """A number that is none names the variable."""
    with pytest.raises(UsageError, match="MEMKIT_CONTEXT_MAX_TOKENS"):
        load_settings(write(tmp_path, "name: x\nformat: 1\n"), {"MEMKIT_CONTEXT_MAX_TOKENS": "many"})


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("MEMKIT_GIT_COMMIT", "eech"),
        ("MEMKIT_PRIVACY_CONSENT", "alwys"),
        ("MEMKIT_CONTEXT_MAX_TOKENS", "-5"),
        ("MEMKIT_WRITE_MIN_CONFIDENCE", "nan"),
        ("MEMKIT_WRITE_MIN_CONFIDENCE", "7"),
        ("MEMKIT_WORKING_TTL", "abc"),
    ],
)
def test_a_variable_keeps_to_what_the_file_may_say(variable: str, value: str, tmp_path: Path) -> None:
    """What memkit.yaml could not say, the environment cannot say either, and the variable is named."""
    with pytest.raises(UsageError, match=variable):
        load_settings(write(tmp_path, "name: x\nformat: 1\n"), {variable: value})
