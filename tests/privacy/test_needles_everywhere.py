"""Sixty words of a person, one in every place that a text can reach: each is gone afterwards, or named."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from memkit.cli.main import run
from memkit.runtime.memory.log.clone import cache_folder, state_folder
from tests.privacy.traces import commit, erase, git, leaking, remember

Plant = Callable[[Path, Callable[[], str]], None]
SENTENCE = "Alice stores her {} beside the {} when nobody looks"


def words() -> Iterator[str]:
    """Yield words that nobody else uses, of six letters, so that no run of sixteen has one alone."""
    for first in "bcdfghklmn":
        for second in "aeiou":
            for third in "qxz":
                yield f"{third}{second}{first}{second}{third}o"


def _records(root: Path, word: Callable[[], str]) -> None:
    """The archive: texts, tags, reasons, addresses, core, shared records, what is superseded, a torn line."""
    told = ["memory", "add", "--user", "alice", "--json", "--store", str(root)]
    run([*told, word()])
    run([*told, SENTENCE.format(word(), word()), "--tag", word(), "--source-url", f"https://{word()}.example/{word()}"])
    run([*told, f"Everybody knows {word()}", "--scope", "shared"])
    run([*told, f"Her sister is {word()}", "--type", "constraint"])
    run(["core", "set", "human", f"Name: {word()}\nLikes: {word()}", "--user", "alice", "--store", str(root)])
    commit(root)
    shard = next(root.glob("archive/*/*.jsonl"))
    line = next(line for line in shard.read_text().splitlines() if "sister" in line)
    id = json.loads(line)["id"]
    marked = ["--user", "alice", "--store", str(root)]
    run(["memory", "confirm", id, *marked, "--reason", f"seen by {word()}"])
    run(["memory", "supersede", id, f"Her sister is {word()}", *marked, "--reason", word()])
    remember(root, f"{word()} was forgotten", "alice")
    shard.write_bytes(shard.read_bytes() + f'{{"user_id":"alice","text":"torn {word()}'.encode())
    remember(root, "Bob writes after a crash", "bob")


def _talk(root: Path, word: Callable[[], str]) -> None:
    """Sessions, journals, recall, the audit log, counts, a session's name, working memory, the index."""
    chat = ["chat", "--user", "alice", "--consent", "--store", str(root)]
    for text in (f"My dog is {word()}.", f"Remember that I met {word()}.", f"What of {word()}?"):
        run([*chat, "--session", word(), "-p", text])
    run(["memory", "search", f"{word()} and {word()}", "--user", "alice", "--store", str(root)])
    folder = state_folder(root) / "checkpoints"
    folder.mkdir(exist_ok=True)
    (folder / "other.jsonl").write_text(json.dumps({"user_id": "bob", "seen": f"{word()} of hers"}) + "\n")
    (folder / "old.jsonl").write_text(json.dumps({"user_id": "alice", "step": word()}) + "\n")
    (state_folder(root) / "unknown.bin").write_bytes(b"\1\2" + word().encode())
    (cache_folder(root) / "at").mkdir(parents=True, exist_ok=True)
    (cache_folder(root) / "at" / "x").write_text(word())


def _tools(root: Path, word: Callable[[], str]) -> None:
    """What tools wrote: the outbox, and files that a tool declares, in the store and elsewhere."""
    config = root / "memkit.yaml"
    config.write_text(config.read_text().replace("writes: [outbox.jsonl]", "writes: [outbox.jsonl, logs, ../far.txt]"))
    (root / "outbox.jsonl").write_text(
        json.dumps({"to": "Bob", "message": f"bring {word()}"}) + "\n" + json.dumps({"message": "green tea"}) + "\n"
    )
    (root / "logs").mkdir()
    (root / "logs" / "prose.txt").write_text(f"sent: {word()}\nsent: green tea\n")
    (root / "logs" / "packed.bin").write_bytes(b"\0\1" + word().encode())
    (root.parent / "far.txt").write_text(f"sent {word()}\n")


def _exports(root: Path, word: Callable[[], str]) -> None:
    """Exports that memkit wrote, beside the store's files and elsewhere; a page; a sheet."""
    (root / "outputs").mkdir(exist_ok=True)
    export = ["memory", "export", "--user", "alice", "--store", str(root), "--out"]
    assert run([*export, str(root / "outputs" / "mine.jsonl")]) == 0
    assert run([*export, str(root / "mine.jsonl")]) == 0
    assert run([*export, str(root.parent / "mine.jsonl")]) == 0
    (root / "outputs" / "page.html").write_text(f"<p>{word()}</p>")
    (root / "outputs" / "list.json").write_text(json.dumps([word()]))
    (root / "outputs" / f"{word()}.md").write_text(f"# {word()}\n")


def _history(root: Path, word: Callable[[], str]) -> None:
    """Commit messages, tags and their messages, notes, branches, stash, a hand-made object, left messages."""
    git(root, "commit", "-q", "--allow-empty", "-m", f"About {word()}")
    git(root, "tag", "-a", f"{word()}-tag", "-m", f"for {word()}")
    git(root, "tag", f"light-{word()}")
    git(root, "notes", "add", "-m", f"see {word()}")
    git(root, "branch", f"work/{word()}")
    git(root, "hash-object", "-w", "--stdin", given=json.dumps({"user_id": "alice", "text": word()}).encode())
    git(root, "commit", "-q", "--allow-empty", "-m", word())
    git(root, "commit", "-q", "--amend", "--allow-empty", "-m", "harmless")
    remember(root, f"In the stash {word()}", "alice")
    git(root, "stash", "push", "-q", "-m", f"stash {word()}", "archive")
    (root / ".git" / "MERGE_MSG").write_text(word())


def _projects(root: Path, word: Callable[[], str]) -> None:
    """Projects that were generated inside of the store and elsewhere: archive, state, cache, outbox."""
    for place in (root / "outputs" / "react", root.parent / "elsewhere"):
        assert run(["gen", "--target", "react", "--store", str(root), "--out", str(place)]) == 0
        remember(place, f"Alice has {word()}", "alice")
        remember(place, word(), "alice")
        run(["memory", "search", word(), "--user", "alice", "--store", str(place)])
        (cache_folder(place) / "rest").write_text(word())


def _people(root: Path, word: Callable[[], str]) -> None:
    """What people wrote: notes that git knows and that it does not, a repository inside, an address."""
    (root / "notes.md").write_text(f"about {word()}\n")
    git(root, "add", "notes.md")
    git(root, "commit", "-qm", "notes")
    (root / "loose.txt").write_text(f"about {word()}\n")
    (root / f"{word()}.txt").write_text("nothing")
    (root / "deep" / "down").mkdir(parents=True)
    (root / "deep" / "down" / "lines.jsonl").write_text(json.dumps({"user_id": "alice", "text": word()}) + "\n")
    (root / ".env.local").write_text(f"NAME={word()}\n")
    (root / "deep" / "data.json").write_text(json.dumps({"seen": word()}))


PLANTS: tuple[Plant, ...] = (_records, _talk, _tools, _exports, _history, _projects, _people)


def test_every_word_is_gone_or_named(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A word stays only in a place that the answer names; where memkit wrote, none stays."""
    everything, planted = words(), []

    def word() -> str:
        planted.append(next(everything))
        return planted[-1]

    remember(store, "Bob likes green tea in the morning", "bob")
    for plant in PLANTS:
        plant(store, word)
    for each in planted:  # what was said of her is what is looked for, wherever it came to stand
        run(["memory", "add", each, "--user", "alice", "--store", str(store)])
    assert len(planted) >= 60
    for each in planted:
        assert _places(store, each), f"{each} was planted nowhere"

    code, answer = erase(store, capsys)

    assert answer["data"], answer
    named = json.dumps([answer["diagnostics"], answer["data"]["unprovable"]])
    left = {each: _places(store, each) for each in planted}
    unreported = {each: [place for place in places if _name_of(place) not in named] for each, places in left.items()}
    assert {each: places for each, places in unreported.items() if places} == {}
    own = {each: [place for place in places if not _is_of_people(place)] for each, places in left.items()}
    assert {each: places for each, places in own.items() if places} == {}
    assert code == 1
    assert json.loads((store / "outbox.jsonl").read_text()) == {"message": "green tea"}
    assert (store / "logs" / "prose.txt").read_text() == "sent: [erased]\nsent: green tea\n"


def _places(store: Path, word: str) -> list[str]:
    """Return where a word stands: in the store, in its objects, and beside it."""
    found = leaking(store, (word.encode(),))
    beside = subprocess.run(["grep", "-rlia", word, str(store.parent)], capture_output=True, text=True).stdout
    return found + [path for path in beside.splitlines() if not Path(path).is_relative_to(store)]


def _name_of(place: str) -> str:
    return place.removeprefix("object ")


def _is_of_people(place: str) -> bool:
    """Return whether what stays there is nothing that memkit wrote into the store, or that it can take out."""
    by_hand = ".txt", "notes.md", "packed.bin", ".html", ".json", ".env.local", "other.jsonl", "outputs/qedeqo.md"
    return place.endswith(by_hand) or place.startswith("object") or Path(place).is_absolute()
