"""``memkit key`` carries keys between machines under a passphrase, and destroys them only when asked to."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from memkit.cli.main import run
from memkit.privacy import sealer
from memkit.privacy.keys import KeyRing
from memkit.runtime.memory.log.clone import KEY_FILE, cache_folder
from tests.privacy.conftest import Ask

PASSPHRASE = "correct horse battery staple"


@pytest.fixture(autouse=True)
def cheap_passphrases(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stretch passphrases less than in earnest, which is slow on purpose."""
    monkeypatch.setattr(sealer, "COST", {"n": 2**12, "r": 8, "p": 1})
    monkeypatch.setenv("MEMKIT_PASSPHRASE", PASSPHRASE)


@pytest.fixture
def told(sealing: Path, ask: Ask) -> Path:
    """Return a sealing store in which Ada and Bob said something."""
    for user, text in (("ada", "Ada takes lithium"), ("bob", "Bob plays the oboe")):
        assert ask("memory", "add", text, "--user", user)[0] == 0
    return sealing


def moved(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str = "elsewhere") -> None:
    """Go on as on a machine that has no keys."""
    monkeypatch.setenv("MEMKIT_KEYS", str(tmp_path / name))


def test_the_list_names_users_and_never_a_key(told: Path, ask: Ask) -> None:
    """Names come from the archive, because no file has them."""
    code, answer = ask("key", "list")

    assert code == 0
    assert sorted(user["user_id"] for user in answer["data"]["users"]) == ["ada", "bob"]
    assert answer["data"]["store"] is True
    for secret in KeyRing(told).contents().values():
        assert secret.hex() not in json.dumps(answer)


def test_a_store_without_keys_says_so(store: Path, ask: Ask) -> None:
    """Nothing is made by looking."""
    assert ask("key", "list") == (
        0,
        {
            "schema": "memkit.key.list/1",
            "ok": True,
            "data": {"key_id": None, "folder": None, "store": False, "withheld": False, "users": []},
            "diagnostics": [],
        },
    )
    assert ask("key", "export", str(store.parent / "keys.json"))[0] == 1


def test_keys_travel_in_a_file_that_only_the_passphrase_opens(
    told: Path, ask: Ask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On the other machine everything is found again."""
    file = tmp_path / "keys.json"
    code, answer = ask("key", "export", str(file))
    assert (code, answer["data"]) == (0, {"file": str(file), "keys": 3})
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert not any(key.hex().encode() in file.read_bytes() for key in KeyRing(told).contents().values())
    moved(monkeypatch, tmp_path)
    assert ask("memory", "search", "lithium", "--user", "ada")[1]["data"]["abstained"] is True

    code, answer = ask("key", "import", str(file))

    assert (code, answer["data"]["new"], answer["data"]["known"]) == (0, 3, 0)
    assert [hit["text"] for hit in ask("memory", "search", "lithium", "--user", "ada")[1]["data"]["results"]] == [
        "Ada takes lithium"
    ]
    assert ask("key", "import", str(file))[1]["data"]["known"] == 3


def test_the_key_of_one_user_opens_no_other_text(
    told: Path, ask: Ask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``--user`` takes along the store's key, by which files are found, and nobody else's."""
    assert ask("key", "export", str(tmp_path / "ada.json"), "--user", "ada")[1]["data"]["keys"] == 2
    assert ask("key", "export", str(tmp_path / "eve.json"), "--user", "eve")[0] == 1
    assert not (tmp_path / "eve.json").exists()
    moved(monkeypatch, tmp_path)
    ask("key", "import", str(tmp_path / "ada.json"))

    assert ask("memory", "search", "lithium", "--user", "ada")[1]["data"]["abstained"] is False
    assert ask("memory", "search", "oboe", "--user", "bob")[1]["data"]["abstained"] is True


def test_a_wrong_passphrase_and_a_changed_file_import_nothing(
    told: Path, ask: Ask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exit 1 and one line; what is not an export at all is exit 2."""
    file = tmp_path / "keys.json"
    ask("key", "export", str(file))
    content = json.loads(file.read_text())
    moved(monkeypatch, tmp_path)

    changed = tmp_path / "changed.json"
    changed.write_text(json.dumps(content | {"key_id": "b" * 20}))
    assert ask("key", "import", str(changed))[0] == 1
    monkeypatch.setenv("MEMKIT_PASSPHRASE", "guess")
    code, answer = ask("key", "import", str(file))

    assert (code, answer["diagnostics"][0]["code"]) == (1, "negative")
    assert "passphrase is wrong" in answer["diagnostics"][0]["message"]
    assert [path.name for path in (tmp_path / "elsewhere").iterdir()] == [KEY_FILE]


@pytest.mark.parametrize(
    "content",
    [
        "", "[]", "{", "\x00" * 50, '{"format": "memkit-keys"}', '{"format": "memkit-keys", "version": 2}',
        '{"format": "memkit-keys", "version": 1, "key_id": "x", "kdf": {}, "cipher": {}, "keys": ""}',
        '{"format": "memkit-keys", "version": 1, "key_id": "x", "keys": "", "cipher": {"nonce": "AAAAAAAAAAAAAAAA"},'
        ' "kdf": {"n": 1099511627776, "r": 8, "p": 1, "salt": ""}}',
        "[" * 100000,
    ],
)  # fmt: skip
def test_what_is_no_export_is_bad_input(store: Path, ask: Ask, tmp_path: Path, content: str) -> None:
    """Whatever is in the file; a cost that would take all memory is no export either."""
    file = tmp_path / "broken.json"
    file.write_text(content)

    code, answer = ask("key", "import", str(file))

    assert (code, answer["diagnostics"][0]["code"]) == (2, "usage")
    assert ask("key", "import", str(tmp_path / "absent.json"))[0] == 2


def test_another_key_is_never_replaced(told: Path, ask: Ask, tmp_path: Path) -> None:
    """The import says whose key it is and changes nothing at all."""
    ask("key", "export", str(tmp_path / "old.json"))
    ask("key", "destroy", "--user", "ada", "--yes")
    ask("memory", "add", "Ada sleeps well", "--user", "ada")
    before = KeyRing(told).contents()

    code, answer = ask("key", "import", str(tmp_path / "old.json"))

    assert code == 1
    assert "A different key already exists here for ada." in answer["diagnostics"][0]["message"]
    assert KeyRing(told).contents() == before


def test_the_keys_of_another_store_are_refused(
    told: Path, ask: Ask, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A store that has no keys of its own takes the name of those it is given, as a clone from before does."""
    other = tmp_path / "other"
    run(["init", str(other)])
    KeyRing(other).user_key("ada", create=True)
    run(["key", "export", str(tmp_path / "other.json"), "--store", str(other)])
    third = tmp_path / "third"
    run(["init", str(third)])

    assert ask("key", "import", str(tmp_path / "other.json"))[0] == 1
    assert run(["key", "import", str(tmp_path / "other.json"), "--store", str(third)]) == 0
    assert KeyRing(third).key_id == KeyRing(other).key_id


def test_destroying_a_key_asks_first(told: Path, ask: Ask) -> None:
    """Without a terminal it refuses, and without a key there is nothing to destroy."""
    assert ask("key", "destroy", "--user", "ada")[0] == 2
    assert KeyRing(told).user_key("ada") is not None
    assert ask("key", "destroy", "--user", "eve", "--yes")[0] == 1


def test_a_destroyed_key_takes_the_clear_text_of_the_index_along(told: Path, ask: Ask) -> None:
    """No file of the store shows the text any more, and other users' stays."""
    ask("memory", "search", "lithium", "--user", "ada")
    cache = cache_folder(told)
    assert any(b"lithium" in path.read_bytes() for path in cache.rglob("*") if path.is_file())

    code, answer = ask("key", "destroy", "--user", "ada", "--yes")

    assert (code, answer["data"]["sealed_records"], answer["data"]["remotes"]) == (0, 1, [])
    assert not any(b"lithium" in path.read_bytes() for path in cache.rglob("*") if path.is_file())
    assert ask("memory", "search", "oboe", "--user", "bob")[1]["data"]["abstained"] is False


def test_an_export_is_a_new_file(told: Path, ask: Ask, tmp_path: Path) -> None:
    """No file is overwritten, and one inside of the store is warned of."""
    (tmp_path / "there.json").write_text("mine")

    assert ask("key", "export", str(tmp_path / "there.json"))[0] == 2
    assert (tmp_path / "there.json").read_text() == "mine"
    assert ask("key", "export", str(tmp_path / "no" / "folder.json"))[0] == 3
    assert ask("key", "export", str(told / "keys.json"))[1]["diagnostics"][0]["code"] == "in_store"


def test_the_passphrase_comes_from_a_file_the_environment_or_a_person(
    told: Path, ask: Ask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file wins; without any of them the command is badly used."""
    (tmp_path / "pass").write_text("another\nsecond line")
    ask("key", "export", str(tmp_path / "keys.json"), "--passphrase-file", str(tmp_path / "pass"))
    assert ask("key", "import", str(tmp_path / "keys.json"))[0] == 1
    monkeypatch.setenv("MEMKIT_PASSPHRASE", "another")
    assert ask("key", "import", str(tmp_path / "keys.json"))[0] == 0

    monkeypatch.setenv("MEMKIT_PASSPHRASE", "")
    assert ask("key", "import", str(tmp_path / "keys.json"))[0] == 2
    monkeypatch.delenv("MEMKIT_PASSPHRASE")
    assert ask("key", "import", str(tmp_path / "keys.json"))[0] == 2
    assert ask("key", "import", str(tmp_path / "keys.json"), "--passphrase-file", str(tmp_path / "absent"))[0] == 2
