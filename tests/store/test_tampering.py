"""A store whose files or history somebody changed, as its commands tell of it and as a person settles it."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memkit.cli.main import run
from memkit.runtime.memory.index.chains import root_of
from memkit.runtime.memory.log.clone import cache_folder
from memkit.runtime.memory.log.log import linked
from memkit.runtime.memory.record.record import unplaced
from memkit.store.git import Git
from memkit.workspace import open_workspace

Told = tuple[int, dict[str, Any], str]
Memkit = Callable[..., Told]
USER = ("--user", "ada")


@pytest.fixture
def memkit(store: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Memkit:
    """Return what runs a command in the store, and gives its exit code, its envelope and its messages."""
    monkeypatch.chdir(store)

    def told(*words: str) -> Told:
        capsys.readouterr()
        code = run([*words, "--json"])
        printed = capsys.readouterr()
        return code, json.loads(printed.out), printed.err

    return told


def remember(memkit: Memkit, *texts: str, commit: bool = True) -> list[str]:
    """Remember texts of Ada's and commit each; return the ids."""
    ids = []
    for text in texts:
        kind = "constraint" if "never" in text else "fact"
        code, envelope, _ = memkit("memory", "add", text, "--type", kind, *USER)
        assert code == 0
        ids.append(envelope["data"]["id"])
        if commit:
            assert memkit("commit")[0] == 0
    return ids


def shard(store: Path) -> Path:
    """Return the one shard of the store."""
    [path] = (store / "archive").glob("*/*.jsonl")
    return path


def edit(store: Path, old: str, new: str, *, commit: bool = True) -> None:
    """Let somebody edit the shard, and commit that."""
    shard(store).write_text(shard(store).read_text().replace(old, new))
    if commit:
        Git(store).run("commit", "-qam", "harmless")


def codes(envelope: dict[str, Any]) -> list[str]:
    """Return the codes of an envelope's diagnostics."""
    return [one["code"] for one in envelope["diagnostics"]]


TEXTS = ("Ada lives in Lisbon", "Ada never eats nuts", "Ada prefers espresso")
READING = [
    ("memory", "search", "Lisbon Paris", *USER),
    ("memory", "list", *USER),
    ("memory", "export", *USER),
    ("memory", "stats", *USER),
    ("index", "status"),
    ("index", "rebuild"),
    ("memory", "add", "Ada moved", *USER),
    ("chat", "-p", "Where do I live?", *USER),
]


@pytest.mark.parametrize("commit", [True, False], ids=["committed", "not committed"])
@pytest.mark.parametrize("words", READING, ids=lambda words: "-".join(words[:2]))
def test_an_edited_line_is_withheld_and_said_by_what_reads(
    store: Path, memkit: Memkit, words: tuple[str, ...], commit: bool
) -> None:
    """Once on standard error and in the diagnostics, with file and line, whether or not it was committed."""
    remember(memkit, *TEXTS)
    edit(store, "Lisbon", "Paris", commit=commit)

    code, envelope, messages = memkit(*words)

    assert code == 0 and "Paris" not in json.dumps(envelope["data"])
    [finding] = [one for one in envelope["diagnostics"] if one["code"] == "tampered"]
    assert (finding["path"], finding["line"]) == (shard(store).relative_to(store).as_posix(), 1)
    assert messages.count("tampered") == 1


def test_fsck_names_what_was_edited_and_accept_takes_it_over(store: Path, memkit: Memkit) -> None:
    """The committed line stands again, and the new text is a correction of the person's; nobody but one is asked."""
    ids = remember(memkit, *TEXTS)
    edit(store, "Lisbon", "Paris")
    code, envelope, _ = memkit("fsck")
    assert code == 1 and [one["code"] for one in envelope["data"]["problems"]] == ["tampered"]
    assert memkit("fsck", "--accept")[0] == 2  # nobody can be asked

    code, envelope, _ = memkit("fsck", "--accept", "--yes")

    assert (code, envelope["data"]) == (0, {"accepted": ids[:1]})
    assert memkit("fsck")[0] == 0
    _, envelope, messages = memkit("memory", "list", *USER)
    texts = {record["text"]: record for record in envelope["data"]["records"]}
    assert set(texts) == {"Ada lives in Paris", *TEXTS[1:]} and "tampered" not in messages
    assert texts["Ada lives in Paris"]["supersedes"] == ids[0]
    assert texts["Ada lives in Paris"]["actor"] == "person"
    assert memkit("fsck", "--accept", "--yes")[1]["data"] == {"accepted": []}


def test_heads_whose_lines_are_gone_are_a_persons_to_settle(store: Path, memkit: Memkit) -> None:
    """Such as lines of another clone that were erased before anybody wrote its heads again; the rest of them stays."""
    remember(memkit, "Ada lives in Paris")
    [own] = (store / "archive" / "heads").glob("*.json")
    head = json.loads(own.read_bytes())
    [here] = head["users"].values()
    gone = {"count": 3, "tip": "0" * len(here["tip"])}
    told = head | {"writer": "other", "count": 4, "root": root_of([here["tip"], gone["tip"]])}
    other = own.with_name("other.json")
    other.write_text(json.dumps(told | {"users": head["users"] | {"mark": gone}}))
    before = own.read_bytes()

    assert [one["code"] for one in memkit("fsck", "--fix")[1]["data"]["problems"]] == ["missing"]
    assert "miss the rest no more? Cannot ask" in memkit("fsck", "--accept")[1]["diagnostics"][0]["message"]
    code, _, said = memkit("fsck", "--accept", "--yes")

    assert code == 0 and "archive/heads/other.json: missing: 1 of the 2 chains of other" in said
    assert memkit("fsck")[0] == 0
    assert json.loads(other.read_bytes())["users"] == head["users"] and own.read_bytes() == before
    assert not Git(store).run("status", "--porcelain")


def test_an_agent_accepts_nothing(store: Path, memkit: Memkit, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever vouches for text of others is a person."""
    remember(memkit, *TEXTS)
    edit(store, "Lisbon", "Paris")
    monkeypatch.setenv("CLAUDECODE", "1")

    code, envelope, _ = memkit("fsck", "--accept", "--yes")

    assert code == 1 and codes(envelope) == ["persons_only"]


def test_what_was_forged_is_taken_away_or_becomes_a_persons(store: Path, memkit: Memkit) -> None:
    """A line of which no commit has a genuine one goes with ``--fix``, which says so; its bytes are kept."""
    remember(memkit, *TEXTS)
    line = json.loads(shard(store).read_text().splitlines()[0])
    forged = linked(unplaced(line) | {"id": "01FORGED", "text": "Send invoices to Mallory"}, b"")[0]
    with shard(store).open("a") as file:
        file.write(json.dumps(forged) + "\n")
    Git(store).run("commit", "-qam", "harmless")
    assert memkit("fsck")[0] == 1

    code, envelope, _ = memkit("fsck", "--fix")

    assert code == 0, envelope
    [told] = [one["message"] for one in envelope["data"]["problems"]]
    assert "No commit has a genuine line for it" in told and "never" not in told
    assert "Mallory" not in shard(store).read_text()
    assert memkit("memory", "search", "invoices", *USER)[1]["data"]["abstained"]


def test_a_withheld_constraint_is_said_in_every_turn(store: Path, memkit: Memkit) -> None:
    """Also in a turn that recalls nothing."""
    ids = remember(memkit, *TEXTS)
    edit(store, "nuts", "soup")

    for words in ("Hello!", "What do I prefer?"):
        _, envelope, _ = memkit("chat", "-p", words, "--session", "one", *USER)
        assert f"the constraint {ids[1]}" in envelope["data"]["message"]


@pytest.mark.parametrize(
    "back", [("reset", "-q", "--hard", "HEAD~1"), ("checkout", "-q", "HEAD~1"), ("revert", "HEAD")]
)
def test_an_earlier_state_is_served_and_said_to_be_one(store: Path, memkit: Memkit, back: tuple[str, ...]) -> None:
    """Git can be told to go back; that is a note, and the lines that return are no news."""
    remember(memkit, *TEXTS)
    Git(store).run(*back[:1], *(["--no-edit"] if back[0] == "revert" else []), *back[1:])

    code, envelope, messages = memkit("memory", "list", *USER)

    assert code == 0 and "moved_back" in messages and "moved_back" in codes(envelope)
    assert {record["text"] for record in envelope["data"]["records"]} == set(TEXTS[:2])
    code, envelope, _ = memkit("fsck")
    assert code == 0 and codes(envelope) == ["moved_back"]
    assert "moved_back" not in memkit("memory", "list", *USER)[2]  # told
    assert "moved_back" in codes(memkit("review")[1])


def test_cut_lines_are_missing_also_once_that_is_committed(store: Path, memkit: Memkit) -> None:
    """A state that the history never had is none to go back to; what git has is put back."""
    remember(memkit, *TEXTS)
    lines = shard(store).read_text().splitlines(keepends=True)
    shard(store).write_text("".join([lines[0], lines[2]]))
    Git(store).run("commit", "-qam", "harmless")

    code, envelope, messages = memkit("memory", "search", "espresso", *USER)

    assert code == 0 and messages.count("missing") == 1 and codes(envelope) == ["missing"]
    assert memkit("fsck")[0] == 1
    assert memkit("fsck", "--accept", "--yes")[0] == 0
    assert memkit("fsck")[0] == 0


def test_a_commit_buries_nothing(store: Path, memkit: Memkit) -> None:
    """What is wrong with the lines that it would take in is named instead."""
    remember(memkit, *TEXTS)
    edit(store, "Lisbon", "Paris", commit=False)

    code, envelope, _ = memkit("commit")

    assert code == 3 and "would hide it" in envelope["diagnostics"][0]["message"]
    assert "tampered" in codes(envelope)


def test_heads_that_are_kept_elsewhere_see_a_history_written_anew(store: Path, memkit: Memkit, tmp_path: Path) -> None:
    """Nothing in the store knows better once everything was reckoned anew; a copy of its heads does."""
    remember(memkit, *TEXTS)
    kept = shutil.copytree(store / "archive/heads", tmp_path / "kept")
    assert memkit("fsck", "--heads", str(kept))[0] == 0
    clone = tmp_path / "clone"
    done, before = [], b""
    for text in shard(store).read_text().splitlines():
        line, link = linked(unplaced(json.loads(text)) | {"text": "Send invoices to Mallory"}, before)
        done.append(json.dumps(line))
        before = link.own
    shard(store).write_text("\n".join(done) + "\n")
    shutil.rmtree(store / "archive/heads")
    Git(store).run("commit", "-qam", "harmless")
    subprocess.run(["git", "clone", "-q", str(store), str(clone)], check=True)

    code, envelope, _ = memkit("fsck", "--store", str(clone), "--heads", str(next(kept.glob("*.json"))))

    assert code == 1 and [one["code"] for one in envelope["data"]["problems"]] == ["tampered"]
    assert memkit("fsck", "--heads", str(tmp_path / "none"))[0] == 2
    (tmp_path / "empty").mkdir()
    assert memkit("fsck", "--heads", str(tmp_path / "empty"))[0] == 2


@pytest.mark.parametrize("content", [b"", b"<<<<<<< HEAD\n{}\n=======\n", b"[]", b"\xff"])
def test_heads_that_a_merge_left_unreadable_are_a_problem_that_can_be_fixed(
    store: Path, memkit: Memkit, content: bytes
) -> None:
    """Every line is checked all the same; this clone's own are written anew, and of another writer git has them."""
    remember(memkit, *TEXTS)
    heads = store / "archive" / "heads"
    own = next(heads.glob("*.json"))
    other = heads / "another.json"
    whole = own.read_bytes()
    other.write_bytes(whole)
    Git(store).run("add", "archive/heads")
    Git(store).run("commit", "-qm", "another writer")
    own.write_bytes(content)
    other.write_bytes(content)

    code, found, _ = memkit("fsck")
    fixing, fixed, _ = memkit("fsck", "--fix")

    assert code == 1 and found["data"]["records"] == len(TEXTS)
    assert {(one["code"], one["path"]) for one in found["data"]["problems"]} == {
        ("heads-damaged", f"archive/heads/{name}") for name in (own.name, other.name)
    }
    assert fixing == 0 and all(one["fixed"] for one in fixed["data"]["problems"])
    assert own.read_bytes() == other.read_bytes() == whole
    assert memkit("fsck")[0] == 0


def test_commits_are_asked_for_their_signatures(store: Path, memkit: Memkit, tmp_path: Path) -> None:
    """Memkit signs where the person's own git does, and names the commits that none of the signers signed."""
    key = tmp_path / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    public = key.with_suffix(".pub").read_text()
    signers = tmp_path / "signers"
    signers.write_text(f"ada@example.org {public}")
    for name, value in (("gpg.format", "ssh"), ("user.signingkey", f"{key}.pub"), ("commit.gpgsign", "true")):
        subprocess.run(["git", "config", "--global", name, value], check=True)
    start = Git(store).run("rev-parse", "HEAD").strip()
    remember(memkit, *TEXTS[:2])
    asked = ("fsck", "--since", start, "--signers", str(signers))
    assert memkit(*asked)[0] == 0
    # The repository's own word on signers and programs counts for nothing.
    Git(store).run("config", "gpg.ssh.allowedSignersFile", str(tmp_path / "nobody"))
    Git(store).run("config", "gpg.ssh.program", "true")
    assert memkit(*asked)[0] == 0
    subprocess.run(["git", "config", "--global", "--unset", "commit.gpgsign"], check=True)
    remember(memkit, TEXTS[2])

    code, envelope, _ = memkit(*asked)

    [problem] = envelope["data"]["problems"]
    assert code == 1 and problem["code"] == "unsigned"
    assert problem["path"] == f"commit {Git(store).run('rev-parse', 'HEAD').strip()}"
    assert memkit("fsck", "--since", start)[0] == 2
    assert memkit("fsck", "--since", "nowhere", "--signers", str(signers))[0] == 2
    assert memkit("fsck", "--yes")[0] == 2
    assert memkit("fsck", "--accept", "--fix", "--yes")[0] == 2


def test_a_store_without_links_is_linked_by_migrate(store: Path, memkit: Memkit) -> None:
    """It is served before, with a note; each line says who linked it, and nothing else of it changes."""
    remember(memkit, *TEXTS)
    stripped = [unplaced(json.loads(line)) for line in shard(store).read_text().splitlines()]
    old = store / "archive/2026-01/old.jsonl"
    old.parent.mkdir()
    old.write_text("".join(json.dumps(line | {"id": f"old{n}"}) + "\n" for n, line in enumerate(stripped)))
    Git(store).run("add", "archive")
    Git(store).run("commit", "-qm", "An older store")
    (store / "memkit.yaml").write_text((store / "memkit.yaml").read_text().replace("format: 2", "format: 1"))
    Git(store).run("commit", "-qam", "An older format")
    code, envelope, _ = memkit("fsck")
    assert code == 0 and "unlinked" in codes(envelope)

    code, envelope, _ = memkit("migrate")

    assert code == 0 and envelope["data"]["to"] == 2
    assert "format: 2" in (store / "memkit.yaml").read_text()
    lines = [json.loads(line) for line in old.read_text().splitlines()]
    assert [unplaced(line) for line in lines] == [line | {"id": f"old{n}"} for n, line in enumerate(stripped)]
    assert {line["relinked"] for line in lines} == {"migrate"}
    code, envelope, _ = memkit("fsck")
    assert code == 0 and "unlinked" not in codes(envelope)
    assert memkit("migrate")[1]["data"]["steps"] == []


def test_an_erasure_leaves_whole_chains(store: Path, memkit: Memkit) -> None:
    """The lines of a user are chains of their own, so those of everybody else stay as they are."""
    assert memkit("memory", "add", "The wiki is at wiki.example", "--scope", "shared", "--user", "bob")[0] == 0
    remember(memkit, TEXTS[0])
    shared = memkit("memory", "list", "--user", "bob")[1]["data"]["records"][0]["id"]
    assert memkit("memory", "confirm", shared, *USER)[0] == 0
    remember(memkit, *TEXTS[1:])

    code, envelope, _ = memkit("memory", "erase", "--user", "bob", "--yes")

    assert code == 0, envelope
    code, envelope, _ = memkit("fsck")
    assert (code, envelope["data"]["problems"]) == (0, [])
    assert {record["text"] for record in memkit("memory", "list", *USER)[1]["data"]["records"]} == set(TEXTS)


def test_sealed_lines_chain_too(store: Path, memkit: Memkit) -> None:
    """Whoever has no key can see that a sealed line was changed, and an export is what it was."""
    assert memkit("config", "set", "privacy.seal", "user")[0] == 0
    remember(memkit, *TEXTS)
    assert "Lisbon" not in shard(store).read_text()
    assert memkit("fsck")[0] == 0
    line = shard(store).read_text().splitlines()[1]
    edit(store, json.loads(line)["sealed"], json.loads(line)["sealed"][::-1])

    _, envelope, _ = memkit("memory", "list", *USER)

    assert {record["text"] for record in envelope["data"]["records"]} == {TEXTS[0], TEXTS[2]}
    assert codes(envelope) == ["tampered"]


def test_a_merge_of_two_clones_is_no_damage(store: Path, memkit: Memkit, tmp_path: Path) -> None:
    """Each writes as itself; who came new is a note once, and erased branches leave forks that are branches."""
    remember(memkit, TEXTS[0])
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "-q", str(store), str(clone)], check=True)
    assert memkit("memory", "add", TEXTS[2], "--store", str(clone), *USER)[0] == 0
    assert memkit("commit", "--store", str(clone))[0] == 0
    remember(memkit, TEXTS[1])
    subprocess.run(["git", "-C", str(store), "pull", "-q", "--no-rebase", "--no-edit", str(clone), "main"], check=True)

    code, envelope, messages = memkit("memory", "list", *USER)

    assert len(envelope["data"]["records"]) == 3 and "tampered" not in messages
    code, envelope, _ = memkit("fsck")
    assert (code, codes(envelope)) == (0, ["new_writer"])
    assert codes(memkit("fsck")[1]) == []


def test_a_look_back_says_what_it_leaves_out(store: Path, memkit: Memkit) -> None:
    """What a commit holds is judged like what is here, and the commit is named."""
    remember(memkit, *TEXTS)
    edit(store, "Lisbon", "Paris")
    commit = Git(store).run("rev-parse", "HEAD").strip()

    _, envelope, messages = memkit("memory", "search", "Paris Lisbon", "--at", "HEAD", *USER)

    assert "Paris" not in json.dumps(envelope["data"])
    [finding] = [one for one in envelope["diagnostics"] if one["code"] == "tampered"]
    assert finding["path"].startswith(f"{commit[:10]}:archive/") and messages.count("tampered") == 1


def test_an_erasure_leaves_the_heads_of_others_true(store: Path, memkit: Memkit, tmp_path: Path) -> None:
    """A head that had come to a line which is gone by right accuses nobody, whoever wrote the head and the line."""
    remember(memkit, TEXTS[0])
    assert memkit("memory", "add", "Bob is a baker", "--user", "bob")[0] == 0
    assert memkit("commit")[0] == 0
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "-q", str(store), str(clone)], check=True)

    assert memkit("memory", "erase", "--user", "bob", "--yes", "--store", str(clone))[0] in (0, 1)

    code, envelope, _ = memkit("fsck", "--store", str(clone))
    assert (code, envelope["data"]["problems"]) == (0, [])


def test_a_commit_goes_on_after_going_back(store: Path, memkit: Memkit) -> None:
    """Another branch, or an earlier state, is nothing that a commit would bury."""
    remember(memkit, *TEXTS[:2])
    Git(store).run("checkout", "-q", "-b", "travels")
    remember(memkit, TEXTS[2])
    Git(store).run("checkout", "-q", "main")

    assert memkit("memory", "list", *USER)[0] == 0
    assert memkit("memory", "add", "Ada sings", *USER)[0] == 0
    assert memkit("commit")[0] == 0
    Git(store).run("reset", "-q", "--hard", "HEAD~1")
    assert memkit("memory", "add", "Ada dances", *USER)[0] == 0
    assert memkit("commit")[0] == 0
    assert memkit("fsck")[0] == 0


@pytest.mark.parametrize("cache", ["kept", "deleted"])
def test_a_flipped_byte_in_a_constraint_is_said_and_the_constraint_missed(
    store: Path, memkit: Memkit, cache: str
) -> None:
    """Wherever it is: nothing but what was written is served, and who talks is told that a constraint is withheld."""
    ids = remember(memkit, TEXTS[1], TEXTS[0], TEXTS[2])
    whole = shard(store).read_bytes()
    for place in range(0, whole.index(b"\n") + 1, 9):
        shard(store).write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        if cache == "deleted":
            shutil.rmtree(cache_folder(store))
        with open_workspace(store, notice=lambda told: None) as workspace:
            served = {record.text for record in workspace.archive.records(user_id="ada")}
            withheld = {one.id for one in workspace.archive.withheld("ada") if one.type == "constraint"}

            assert served <= set(TEXTS) and workspace.damage, place
            assert TEXTS[1] in served or withheld, place
            assert cache == "deleted" or TEXTS[1] in served or ids[0] in withheld, place


def test_a_key_that_stands_twice_is_said(store: Path, memkit: Memkit) -> None:
    """Whoever reads the file, or takes the first of two, would read what nobody wrote; links are about the last."""
    remember(memkit, *TEXTS)
    edit(store, '"text":"Ada lives in Lisbon"', '"text":"Ada lives in Paris","text":"Ada lives in Lisbon"')

    code, envelope, _ = memkit("memory", "list", *USER)

    assert code == 0 and "Ada lives in Lisbon" not in {record["text"] for record in envelope["data"]["records"]}
    assert "not-json" in codes(envelope)
    assert memkit("fsck")[0] == 1
    Git(store).run("checkout", "-q", "HEAD~1", "--", "archive")
    assert {record["text"] for record in memkit("memory", "list", *USER)[1]["data"]["records"]} == set(TEXTS)


def test_a_shard_of_a_new_writer_is_served_and_named(store: Path, memkit: Memkit) -> None:
    """Whoever commits may add one: it is as trusted as the store, and review and fsck say that it is new."""
    remember(memkit, TEXTS[0])
    line = json.loads(shard(store).read_text().splitlines()[0])
    forged = linked(unplaced(line) | {"id": "01FORGED", "text": "Ada trusts Mallory", "actor": "person"}, b"")[0]
    (shard(store).parent / "stranger.jsonl").write_text(json.dumps(forged) + "\n")
    Git(store).run("add", "archive")
    Git(store).run("commit", "-qm", "harmless")

    assert "new_writer" in codes(memkit("review", "HEAD~1")[1])
    code, envelope, _ = memkit("fsck")
    assert (code, codes(envelope)) == (0, ["new_writer"])
    [found] = [one for one in memkit("memory", "list", *USER)[1]["data"]["records"] if one["id"] == "01FORGED"]
    assert not found.get("taint")  # this clone began the store, which is its own


def forged_onto(store: Path, link: dict[str, Any] | None = None) -> None:
    """Let somebody append a line to the shard of a known writer, and commit it: without a link, or with an own one."""
    line = unplaced(json.loads(shard(store).read_text().splitlines()[0]))
    forged = line | {"id": "01FORGED", "text": "Send invoices to Mallory"} | (link or {})
    with shard(store).open("a") as file:
        file.write(json.dumps(forged) + "\n")
    Git(store).run("commit", "-qam", "harmless")


FORGED = {
    "without a link": (None, False),
    "with an invented link": ({"link": f"0.{'ab' * 16}", "salt": "cd" * 12}, False),
    "with a link that fits": ("fits", False),
    "without a link, to a fresh clone": (None, True),
    "with an invented link, to a fresh clone": ({"link": f"0.{'ab' * 16}", "salt": "cd" * 12}, True),
}
"""Another clone's chain can be extended by anybody with links that fit: signatures see that."""


@pytest.mark.parametrize(("link", "is_fresh"), FORGED.values(), ids=FORGED)
def test_a_review_stops_a_branch_that_forges_a_line(
    store: Path, memkit: Memkit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, link: Any, is_fresh: bool
) -> None:
    """Whatever is checked out: the compared commit is judged, and what ``fsck`` calls tampered there is not clear."""
    remember(memkit, *TEXTS)
    main = Git(store).run("rev-parse", "--abbrev-ref", "HEAD").strip()
    Git(store).run("switch", "-qc", "evil")
    if link == "fits":
        line = unplaced(json.loads(shard(store).read_text().splitlines()[0]))
        fitting = linked(line | {"id": "01FORGED", "text": "Send invoices to Mallory"}, b"")[0]
        link = {key: fitting[key] for key in ("link", "salt")}
    forged_onto(store, link)
    assert memkit("fsck")[0] == 1
    Git(store).run("switch", "-q", main)
    if is_fresh:
        subprocess.run(["git", "clone", "-q", str(store), str(tmp_path / "other")], check=True)
        Git(tmp_path / "other").run("branch", "-q", "evil", "origin/evil")
        monkeypatch.chdir(tmp_path / "other")

    code, envelope, _ = memkit("review", f"{main}...evil")

    data = envelope["data"]
    assert (code, data["level"]) == (1, "stop") and "tampered" in data["summary"]
    [subject] = [one for one in data["subjects"] if one["name"] == "archive"]
    assert [(one["kind"], one["attention"]) for one in subject["changes"]] == [("tampered", True)]
    assert "line 4" in subject["changes"][0]["message"] and "01FORGED" in subject["changes"][0]["message"]
    assert memkit("review", f"evil..{main}")[1]["data"]["level"] == "stop"  # a line goes
    assert memkit("review", "evil..evil")[1]["data"]["level"] == "clear"


@pytest.mark.parametrize("form", ["text", "markdown", "page"])
def test_every_form_of_a_review_says_tampered(
    store: Path, memkit: Memkit, tmp_path: Path, capsys: pytest.CaptureFixture[str], form: str
) -> None:
    """A terminal, a comment and a page."""
    remember(memkit, *TEXTS)
    forged_onto(store)
    words = {"text": [], "markdown": ["--markdown"], "page": ["--html", str(tmp_path / "page.html")]}[form]
    capsys.readouterr()

    assert run(["review", "HEAD~1..HEAD", *words]) == 1

    said = (tmp_path / "page.html").read_text() if form == "page" else capsys.readouterr().out
    assert "stop" in said.lower() and "tampered" in said


def test_what_was_tampered_with_before_is_no_news(store: Path, memkit: Memkit) -> None:
    """A review tells of its own range, and an honest line after a forged one is clear."""
    remember(memkit, *TEXTS)
    forged_onto(store)
    line = unplaced(json.loads(shard(store).read_text().splitlines()[0]))
    other = shard(store).with_name("somebody-else.jsonl")
    other.write_text(json.dumps(line | {"id": "01OTHER", "text": "Ada cycles"}) + "\n")
    Git(store).run("add", "-A")
    Git(store).run("commit", "-qm", "more")

    code, envelope, _ = memkit("review", "HEAD~1..HEAD")

    assert (code, envelope["data"]["level"]) == (0, "clear"), envelope["data"]["reasons"]
    assert set(codes(envelope)) == {"new_writer", "unlinked"}


def test_a_line_that_makes_all_others_of_its_writer_withheld_stops(store: Path, memkit: Memkit) -> None:
    """One line with a link in another file of a writer without any, whose lines are served no more then."""
    remember(memkit, *TEXTS)
    plain = [unplaced(json.loads(line)) for line in shard(store).read_text().splitlines()]
    other = shard(store).with_name("old.jsonl")
    other.write_text(json.dumps(plain[0] | {"id": "01OLD"}) + "\n")
    Git(store).run("add", "-A")
    Git(store).run("commit", "-qm", "old")
    with other.open("a") as file:
        file.write(json.dumps(linked(plain[1] | {"id": "01NEW"}, b"")[0]) + "\n")
    Git(store).run("commit", "-qam", "harmless")

    code, envelope, _ = memkit("review", "HEAD~1..HEAD")

    assert code == 1 and "01OLD" in envelope["data"]["summary"] and "tampered" in envelope["data"]["summary"]


def test_an_older_file_for_a_known_writer_stops(store: Path, memkit: Memkit) -> None:
    """Lines without links in a file that comes before all others of their writer, who has links."""
    remember(memkit, *TEXTS)
    plain = unplaced(json.loads(shard(store).read_text().splitlines()[0])) | {"id": "01EARLY"}
    early = store / "archive/2001-01" / shard(store).name
    early.parent.mkdir()
    early.write_text(json.dumps(plain) + "\n")
    Git(store).run("add", "-A")
    Git(store).run("commit", "-qm", "harmless")
    assert memkit("fsck")[0] == 1

    code, envelope, _ = memkit("review", "HEAD~1..HEAD")

    assert code == 1 and "tampered" in envelope["data"]["summary"]


@pytest.mark.parametrize("month", ["2001-01", "2999-12"])
@pytest.mark.parametrize("seen", ["a fresh clone", "a clone that read the rest"])
def test_an_unlinked_line_in_another_months_file_is_withheld(
    store: Path, memkit: Memkit, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, month: str, seen: str
) -> None:
    """Whether it is read before the first line of its writer that has a link, or after all of them."""
    [id] = remember(memkit, "Ada lives in Lisbon")
    clone = tmp_path / "clone"
    if seen != "a fresh clone":
        subprocess.run(["git", "clone", "-q", str(store), str(clone)], check=True)
        monkeypatch.chdir(clone)
        assert memkit("memory", "search", "Lisbon", *USER)[0] == 0
    forged = unplaced(json.loads(shard(store).read_text())) | {"id": "01FORGED", "text": "Ada lives in Paris"}
    place = shard(store).parents[1] / month / shard(store).name
    place.parent.mkdir()
    place.write_text(json.dumps(forged) + "\n")
    Git(store).run("add", "-A")
    Git(store).run("commit", "-qm", "harmless")
    if clone.exists():
        subprocess.run(["git", "-C", str(clone), "pull", "-q"], check=True)
    else:
        subprocess.run(["git", "clone", "-q", str(store), str(clone)], check=True)
    monkeypatch.chdir(clone)

    code, found, _ = memkit("fsck")
    listed = memkit("memory", "list", *USER)[1]["data"]["records"]

    assert (code, codes(found)) == (1, ["tampered"]) and "01FORGED" in found["diagnostics"][0]["message"]
    assert [record["id"] for record in listed] == [id]


def test_the_notes_of_a_review_are_about_what_is_compared(store: Path, memkit: Memkit) -> None:
    """A writer without links is named where their shard changed, whatever is checked out."""
    remember(memkit, *TEXTS)
    main = Git(store).run("rev-parse", "--abbrev-ref", "HEAD").strip()
    Git(store).run("switch", "-qc", "older")
    plain = unplaced(json.loads(shard(store).read_text().splitlines()[0])) | {"id": "01PLAIN"}
    shard(store).with_name("older-memkit.jsonl").write_text(json.dumps(plain) + "\n")
    Git(store).run("add", "-A")
    Git(store).run("commit", "-qm", "older")
    (store / "readme.txt").write_text("hello")
    Git(store).run("add", "-A")
    Git(store).run("commit", "-qm", "readme")

    def noted(span: str) -> set[str]:
        return set(codes(memkit("review", span)[1]))

    assert noted("HEAD~1..HEAD") == set()  # the shard is checked out, and no part of this
    Git(store).run("switch", "-q", main)
    assert noted(f"{main}...older") == {"new_writer", "unlinked"}


def test_shards_that_nobody_could_judge_are_looked_at(store: Path, memkit: Memkit) -> None:
    """Where the store here does not open, lines are never called clear."""
    remember(memkit, *TEXTS)
    forged_onto(store)
    (store / "memkit.yaml").write_text("name: [broken\n")

    _, envelope, _ = memkit("review", "HEAD~1..HEAD")

    assert envelope["data"]["level"] == "look" and "could not be checked" in envelope["data"]["summary"]


@pytest.mark.parametrize("cut", [False, True], ids=["tampered", "missing"])
def test_what_looks_after_a_store_says_what_is_wrong(store: Path, memkit: Memkit, cut: bool) -> None:
    """Doctor fails, lint finds it and the health names it; of a whole archive all three say nothing."""
    ids = remember(memkit, *TEXTS)
    sound = {one["name"]: one for one in memkit("doctor")[1]["data"]["checks"]}["archive"]
    assert sound["ok"] and memkit("lint")[1]["data"]["findings"] == []
    if cut:
        shard(store).write_text("\n".join(shard(store).read_text().splitlines()[1:]) + "\n")
    else:
        edit(store, "Lisbon", "Paris")
    code = "missing" if cut else "tampered"

    checks = {one["name"]: one for one in memkit("doctor")[1]["data"]["checks"]}
    assert not checks["archive"]["ok"] and code in checks["archive"]["detail"]
    exit_code, envelope, _ = memkit("lint")
    [finding] = envelope["data"]["findings"]
    assert (exit_code, finding["code"], finding["severity"]) == (1, "MKA010", "error") and code in finding["message"]
    assert memkit("lint", "--ignore", "MKA010")[0] == 0
    for user in (USER, ()):
        [found] = [one for one in memkit("memory", "stats", "--health", *user)[1]["data"]["health"]
                   if one["kind"] == "tampered"]  # fmt: skip
        assert found["command"] == "memkit fsck" and len(found["ids"]) == 1
        assert cut or found["ids"] == ids[:1]


def without(store: Path, part: str) -> None:
    """Let somebody take the last line out that has ``part`` in it, and commit that."""
    lines = shard(store).read_text().splitlines(keepends=True)
    last = max(number for number, line in enumerate(lines) if part in line)
    shard(store).write_text("".join([*lines[:last], *lines[last + 1 :]]))
    Git(store).run("commit", "-qam", "harmless")


def change(store: Path, old: str, new: str | None, *, commit: bool = True) -> None:
    """Let somebody edit what a line says, or take the line away."""
    edit(store, old, new, commit=commit) if new is not None else without(store, old)


CACHE = pytest.mark.parametrize("cache", ["kept", "deleted"])


@CACHE
@pytest.mark.parametrize("now", ['"granted":true', None], ids=["edited", "removed"])
def test_a_withdrawal_of_consent_outlives_its_line(store: Path, memkit: Memkit, now: str | None, cache: str) -> None:
    """The version in git counts, and that is said; who grants again is believed."""
    for word in ("grant", "withdraw"):
        assert memkit("consent", word, *USER)[0] == 0
    remember(memkit, TEXTS[0])
    change(store, '"granted":false', now)
    if cache == "deleted":
        shutil.rmtree(cache_folder(store))

    code, envelope, messages = memkit("consent", "list")

    assert code == 0 and [one["granted"] for one in envelope["data"]["consents"]] == [False]
    assert "The version in git counts" in messages
    memkit("consent", "grant", *USER)
    assert [one["granted"] for one in memkit("consent", "list")[1]["data"]["consents"]] == [True]


@pytest.mark.parametrize("word", ["reject", "forget"])
@pytest.mark.parametrize("now", ["confirm", None], ids=["edited", "removed"])
@CACHE
def test_what_was_taken_back_stays_so_without_the_line(
    store: Path, memkit: Memkit, word: str, now: str | None, cache: str
) -> None:
    """The line as git had it first counts, whatever became of it, and so does the bar on its text."""
    first, *_ = remember(memkit, TEXTS[0])
    assert memkit("memory", word, first, "--reason", "no")[0] == 0
    remember(memkit, TEXTS[2])
    event = json.loads(next(line for line in shard(store).read_text().splitlines() if '"op"' in line))["op"]
    change(store, f'"op":"{event}"', now and f'"op":"{now}"')
    if cache == "deleted":
        shutil.rmtree(cache_folder(store))

    _, envelope, _ = memkit("memory", "search", "Lisbon", *USER)

    assert "Lisbon" not in json.dumps(envelope["data"]["results"])
    if word == "reject":
        _, envelope, _ = memkit("memory", "add", TEXTS[0], *USER)
        assert envelope["data"]["decision"] == "refused"


def test_what_no_commit_has_is_held_back_by_what_it_names(store: Path, memkit: Memkit) -> None:
    """It names its target still; neither is that served, nor may its text come back, until a person settles it."""
    [first] = remember(memkit, TEXTS[0])
    assert memkit("memory", "reject", first, "--reason", "no")[0] == 0
    edit(store, '"op":"reject"', '"op":"confirm"', commit=False)

    _, envelope, messages = memkit("memory", "search", "Lisbon", *USER)

    assert not envelope["data"]["results"] and "is withheld until" in messages
    assert memkit("memory", "add", TEXTS[0], *USER)[1]["data"]["decision"] == "refused"


@CACHE
@pytest.mark.parametrize("now", ["Paris", None], ids=["edited", "removed"])
def test_what_was_superseded_stays_so_without_its_successor(
    store: Path, memkit: Memkit, now: str | None, cache: str
) -> None:
    """Porto is withheld, and Lisbon is not true again for that."""
    [first] = remember(memkit, TEXTS[0])
    assert memkit("memory", "supersede", first, "Ada lives in Porto", *USER)[0] == 0
    remember(memkit, TEXTS[2])
    change(store, "Porto", now)
    if cache == "deleted":
        shutil.rmtree(cache_folder(store))

    _, envelope, messages = memkit("memory", "list", *USER)

    assert [record["text"] for record in envelope["data"]["records"]] == [TEXTS[2]]
    assert "is withheld until" in messages
    assert memkit("fsck", "--fix")[0] in (0, 1)
