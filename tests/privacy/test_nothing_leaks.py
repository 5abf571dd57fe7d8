"""No byte of a secret reaches a file of the store, or the screen, whichever way it is offered."""

import json
import re
from collections.abc import Callable, Sequence
from itertools import count
from pathlib import Path

import pytest
from git import Repo

from memkit.cli.main import run
from memkit.runtime.memory.main import ArchivalStore, Draft, Origin
from memkit.runtime.memory.record.lines import ArchiveError
from tests.memory.gate.test_secrets import TOKENS

ADA = Origin(actor="person", user_id="ada")
LOUD = (
    TOKENS["aws_access_key"],
    TOKENS["card_number"],
    TOKENS["github_token"],
    "password is Kestrel-Umbrella-77",
    f"-----BEGIN RSA PRIVATE KEY-----\n{TOKENS['npm_token'][4:]}\n-----END RSA PRIVATE KEY-----",
)
"""One of each way in which a secret is found."""
PAGES = count(1)


def traces(root: Path, secret: str) -> list[str]:
    """Return the files under ``root`` whose name or bytes hold a telling piece of ``secret``, git's objects opened."""
    words = [word for word in secret.replace("\n", " ").split(" ") if len(word) > 6 and re.search(r"\d", word)]
    pieces = [word.encode() for word in words or [secret]]
    found = [
        str(path.relative_to(root))
        for path in root.rglob("*")
        if any(piece in str(path.relative_to(root)).encode() for piece in pieces)
        or (path.is_file() and any(piece in path.read_bytes() for piece in pieces))
    ]
    if (root / ".git").is_dir():
        shown = Repo(root).git.cat_file("--batch-all-objects", "--batch", stdout_as_string=False)
        found += [".git objects"] * any(piece in shown for piece in pieces)
    return found


Offer = Callable[[ArchivalStore, str, str], object]
OFFERS: dict[str, Offer] = {
    "a text": lambda archive, known, secret: archive.offer(Draft(text=f"note {secret} well"), ADA),
    "a tag": lambda archive, known, secret: archive.offer(Draft(text="Ada has a boat", tags=("boat", secret)), ADA),
    "an address": lambda archive, known, secret: archive.offer(
        Draft(text="Ada has a boat", source_url=f"https://example.org/?k={secret}"), ADA
    ),
    "a repeated text's address": lambda archive, known, secret: archive.offer(
        Draft(text="Ada likes tea", source_url=f"https://example.org/?k={secret}"), ADA
    ),
    "an unknown field": lambda archive, known, secret: archive.offer(
        Draft(text="Ada has a boat", extra={"note": {"deep": [secret]}}), ADA
    ),
    "an unknown field's name": lambda archive, known, secret: archive.offer(
        Draft(text="Ada has a boat", extra={"note": {secret: 1}}), ADA
    ),
    "a type": lambda archive, known, secret: archive.offer(Draft(text="Ada has a boat", type=secret), ADA),
    "a session": lambda archive, known, secret: archive.offer(
        Draft(text="Ada has a boat"), ADA._replace(session_id=secret)
    ),
    "a user": lambda archive, known, secret: archive.offer(Draft(text="A boat"), ADA._replace(user_id=secret)),
    "what it supersedes": lambda archive, known, secret: archive.offer(
        Draft(text="Ada has a boat", supersedes=secret), ADA
    ),
    "a correction": lambda archive, known, secret: archive.supersede(known, f"Ada says {secret}", ADA),
    "a correction's reason": lambda archive, known, secret: archive.supersede(
        next(iter(archive.records(user_id="ada"))).id, f"Ada has read {next(PAGES)} pages", ADA, reason=secret
    ),
    "an import": lambda archive, known, secret: list(
        archive.import_many([(Draft(text=f"imported {secret}"), ADA._replace(actor="import"))])
    ),
    "a mark's reason": lambda archive, known, secret: archive.mark("confirm", known, ADA, reason=f"saw {secret}"),
    "a mark's session": lambda archive, known, secret: archive.mark("confirm", known, ADA._replace(session_id=secret)),
    "a new tag": lambda archive, known, secret: archive.mark("update", known, ADA, tags=["boat", secret]),
    "an id": lambda archive, known, secret: archive.mark("confirm", secret, ADA),
    "core text": lambda archive, known, secret: archive.edit_core("ada", "human", f"Name: Ada\n{secret}", ADA),
    "a core section": lambda archive, known, secret: archive.edit_core("ada", secret, "Name: Ada", ADA),
    "an emptied core section": lambda archive, known, secret: archive.edit_core("ada", secret, "", ADA),
    "a core edit's reason": lambda archive, known, secret: archive.edit_core(
        "ada", "human", "Name: Ada", ADA, reason=secret
    ),
    "consent": lambda archive, known, secret: archive.set_consent(secret, True, ADA),
    "an allowed value": lambda archive, known, secret: archive.allow(secret, ADA, reason=secret),
}


@pytest.mark.parametrize("policy", ["refuse", "mask"])
@pytest.mark.parametrize("way", OFFERS)
def test_no_known_shape_reaches_the_disk(way: str, policy: str, tmp_path: Path) -> None:
    """Each shape, offered each way, leaves no trace in shards, index or account, nor in what is raised."""
    from memkit.runtime.memory.interface import MemorySettings, WriteSettings

    settings = MemorySettings(write=WriteSettings(secrets=policy, personal=policy))
    told: list[dict[str, object]] = []
    shown: list[str] = []
    with ArchivalStore(tmp_path, settings=settings, observe=told.append) as archive:
        known = str(archive.offer(Draft(text="Ada likes tea"), ADA).id)
        for secret in (*TOKENS.values(), *LOUD):
            try:
                shown.append(repr(OFFERS[way](archive, known, secret)))
            except ArchiveError as error:
                shown.append(f"{error} {error!r}" if way != "an id" else "")
    account = json.dumps([*told, *shown])

    for secret in (*TOKENS.values(), *LOUD):
        assert traces(tmp_path, secret) == []
        assert json.dumps(secret)[1:-1] not in account


COMMANDS: tuple[Sequence[str], ...] = (
    ("memory", "add", "note {} well"),
    ("memory", "add", "Ada has a boat", "--tag", "{}"),
    ("memory", "add", "Ada has a boat", "--source-url", "https://example.org/?k={}"),
    ("memory", "add", "Ada has a boat", "--session", "{}"),
    ("memory", "supersede", "KNOWN", "Ada says {}"),
    ("memory", "supersede", "KNOWN", "Ada likes green tea", "--reason", "{}"),
    ("memory", "confirm", "KNOWN", "--reason", "{}"),
    ("memory", "update", "KNOWN", "--tag", "{}"),
    ("memory", "confirm", "{}"),
    ("memory", "get", "{}"),
    ("memory", "allow", "{}", "--reason", "{}"),
    ("memory", "search", "what is {}"),
    ("core", "set", "human", "Name: Ada. {}"),
    ("core", "set", "human", "Name: Ada", "--reason", "{}"),
    ("consent", "grant", "--reason", "{}"),
    ("core", "rollback", "human", "1", "--reason", "{}"),
    ("memory", "contradict", "KNOWN", "--reason", "{}"),
    ("memory", "refine", "KNOWN", "say: Ada says {}", "--yes"),
    ("memory", "refine", "KNOWN", "say: Ada likes white tea", "--yes", "--reason", "{}"),
    ("memory", "merge", "KNOWN", "OTHER", "--text", "Ada says {}"),
    ("memory", "merge", "KNOWN", "OTHER", "--text", "Ada likes tea and boats", "--reason", "{}"),
    ("memory", "revoke", "--session", "{}", "--yes"),
    ("memory", "revoke", "--source-url", "https://example.org/?k={}", "--yes", "--reason", "{}"),
    ("memory", "import", "NOTES", "--format", "markdown"),
    ("memory", "import", "LINES", "--format", "memkit"),
    ("memory", "import", "MEM0", "--format", "mem0"),
    ("memory", "why", "{}"),
    ("memory", "forget", "KNOWN", "--reason", "{}"),
    ("memory", "restore", "KNOWN", "--reason", "{}"),
    ("chat", "--session", "{}", "-p", "hello"),
    ("chat", "--session", "s1", "-p", "Remember that my note says {}."),
    ("chat", "--session", "s1", "-p", "{}"),
    ("chat", "--session", "s1", "-p", "What did I say about {}?"),
    ("chat", "--session", "s1", "-p", "/search {}"),
)


def _files(folder: Path, secret: str) -> dict[str, str]:
    """Write files to import, with the secret in every place, and return their names."""
    line = {"text": f"note {secret}", "user_id": "ada"}
    lines = [
        line,
        {**line, "text": "Ada has a kite", "tags": [secret]},
        {**line, "text": "Ada has a kite", "session_id": secret},
        {**line, "text": "Ada has a kite", "source_url": f"https://example.org/?k={secret}"},
        {**line, "text": "Ada has a kite", "note": {secret: secret}},
        {**line, "text": "Ada has a kite", "user_id": secret},
        {**line, "text": "Ada has a kite", "id": secret},
    ]
    contents = {
        "NOTES": f"# {secret}\n\n- note {secret}\n",
        "LINES": "".join(json.dumps(line) + "\n" for line in lines),
        "MEM0": json.dumps({"results": [{"id": "1", "memory": f"note {secret}", "user_id": "ada"}]}),
    }
    for name, content in contents.items():
        (folder / name).write_text(content, encoding="utf-8")
    return {name: str(folder / name) for name in contents}


@pytest.mark.parametrize("secret", LOUD)
def test_no_command_writes_or_shows_a_secret(
    secret: str, store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever argument it stands in, it is in no file of the store, no git object, and no line of the answer."""
    monkeypatch.setenv("MEMKIT_STORE", str(store))
    monkeypatch.setenv("MEMKIT_USER", "ada")
    run(["consent", "grant", "--json"])
    run(["memory", "add", "Ada likes tea", "--json"])
    run(["memory", "add", "Ada owns a boat", "--json"])
    known, other = [json.loads(line)["data"]["id"] for line in capsys.readouterr().out.splitlines()[-2:]]
    words = {"KNOWN": known, "OTHER": other, **_files(tmp_path, secret)}

    for command in COMMANDS:
        run([*(words.get(word, word).replace("{}", secret) for word in command), "--json"])
        printed = capsys.readouterr()
        assert secret not in printed.err + printed.out, command
    run(["memory", "add", f"note {secret}", "--debug"])
    run(["memory", "confirm", secret, "--debug"])
    run(["commit"])

    printed = capsys.readouterr()
    assert secret not in printed.err + printed.out
    assert traces(store, secret) == []


@pytest.mark.parametrize("secret", LOUD)
def test_a_models_own_calls_leave_no_secret(
    secret: str, store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A model that puts a secret into every memory tool, and repeats it to the user, leaves none of it on the disk."""
    script = tmp_path / "answers.yaml"
    calls = [
        ("archival_memory_insert", {"text": f"Ada says {secret}"}),
        ("archival_memory_insert", {"text": "Ada has a boat", "tags": [secret]}),
        ("archival_memory_search", {"query": secret}),
        ("conversation_search", {"query": secret}),
        ("core_memory_append", {"section": "human", "text": secret}),
        ("core_memory_append", {"section": secret, "text": "Ada"}),
        ("core_memory_replace", {"section": "human", "old": secret, "new": f"{secret}!"}),
        ("no_such_tool", {"value": secret}),
    ]
    answers = [{"tool": tool, "args": args} for tool, args in calls] + [{"text": f"You said {secret}."}]
    script.write_text(json.dumps(answers), encoding="utf-8")
    monkeypatch.setenv("MEMKIT_STORE", str(store))

    chat = ["chat", "--user", "ada", "--consent", "--session", "s1", "--provider", f"scripted:{script}"]
    code = run([*chat, "-p", f"I tell you {secret}", "--json"])

    assert code == 0
    assert traces(store, secret) == []
    told = json.loads(capsys.readouterr().out)["data"]
    assert secret not in json.dumps([told["tool_calls"], told["memory_operations"]])


def test_the_search_for_traces_finds_what_is_there(store: Path) -> None:
    """Planted in a file, a file's name, or only in git's objects, a secret is found: the tests above can fail."""
    secret = LOUD[0]
    repository = Repo(store)
    planted = store / "planted.txt"
    planted.write_text(f"here: {secret}\n")
    assert traces(store, secret) == ["planted.txt"]
    repository.index.add(["planted.txt"])
    repository.index.commit("Plant")
    planted.unlink()
    assert traces(store, secret) == [".git objects"]
    (store / f"{secret}.txt").touch()
    assert f"{secret}.txt" in traces(store, secret)
