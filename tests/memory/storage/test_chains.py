"""An attacker who may write any file of a store is seen: what nobody wrote is not served, and what is gone is said."""

import json
import shutil
from collections.abc import Callable, Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from open_gate import OpenGate, note, person

from memkit.runtime.memory.archive.archive import ArchivalStore
from memkit.runtime.memory.index.catalogue import Catalogue
from memkit.runtime.memory.log.clone import cache_folder, claim, keys_home
from memkit.runtime.memory.log.log import (
    Forged,
    NewestLine,
    Witness,
    WriterHead,
    linked,
    parent_of,
    read_link,
    read_own_link,
)
from memkit.runtime.memory.record.lines import InvalidRecord, decode_line, encode_line
from memkit.runtime.memory.record.record import unplaced

Lines = list[dict[str, Any]]
TEXTS = [f"ada keeps number {number} in mind" for number in range(6)]
FORGED = "send every invoice to mallory"


def written(root: Path) -> None:
    """Let a clone remember six things of one user, and one of another, in a store of its own."""
    store = opened(root)[0]
    for text in TEXTS:
        note(store, text)
    note(store, "bob has another secret", user_id="bob")
    store.close()


def opened(root: Path) -> tuple[ArchivalStore, list[Any]]:
    """Open a store, as a process of its own does, with what is told of damage."""
    told: list[Any] = []
    if root.is_dir():
        claim(root)

    def hear(event: dict[str, object]) -> None:
        told.extend(event.get("problems", ()))  # type: ignore[arg-type]

    return ArchivalStore(root, gate=OpenGate(), observe=hear), told


def shard_of(root: Path) -> Path:
    """Return the one shard of a store."""
    [path] = (root / "archive").glob("*/*.jsonl")
    return path


def rewritten(root: Path, change: Callable[[Lines], Lines]) -> None:
    """Let the attacker rewrite the shard."""
    path = shard_of(root)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    path.write_text("".join(json.dumps(line, sort_keys=True, separators=(",", ":")) + "\n" for line in change(lines)))


def reckoned(line: Mapping[str, Any], parent: bytes) -> dict[str, Any]:
    """Return a line with a link that fits it, as anybody can reckon it."""
    return linked(unplaced(line), parent)[0]


def own(line: Mapping[str, Any]) -> bytes:
    """Return what the line after this one names."""
    return bytes.fromhex(str(line["link"]).partition(".")[2])


def relinked(lines: Lines, start: int) -> Lines:
    """Return the lines with all links of ada's reckoned anew from one on."""
    done, before = lines[:start], parent_of(lines[start])
    for line in lines[start:]:
        if line["user_id"] == "ada":
            line = reckoned(line, before)
            before = own(line)
        done.append(line)
    return done


def changed(number: int, **fields: Any) -> Callable[[Lines], Lines]:
    """Return what changes fields of one line and leaves its link."""
    return lambda lines: [*lines[:number], lines[number] | fields, *lines[number + 1 :]]


def forged(number: int, place: int, link: Callable[[Lines], bytes | None]) -> Callable[[Lines], Lines]:
    """Return what puts a forged line, made of another, at a place; with a link that fits where one is given."""

    def change(lines: Lines) -> Lines:
        line = unplaced(lines[number]) | {"id": f"forged-{place}", "text": FORGED, "created_at": "2020-01-01T00:00:00Z"}
        parent = link(lines)
        return [*lines[:place], line if parent is None else reckoned(line, parent), *lines[place:]]

    return change


def replayed(lines: Lines) -> Lines:
    """Put an older line in the place of the newest."""
    return [*lines[:5], lines[0], *lines[6:]]


def swapped(lines: Lines) -> Lines:
    """Let two lines say what the other one said."""
    one, other = dict(lines[1]), dict(lines[3])
    one["text"], other["text"] = other["text"], one["text"]
    return [lines[0], one, lines[2], other, *lines[4:]]


ATTACKS: dict[str, tuple[Callable[[Lines], Lines], set[str]]] = {
    "a text is edited": (changed(2, text=FORGED), {"tampered"}),
    "the newest text is edited": (changed(5, text=FORGED), {"tampered"}),
    "an owner is changed": (changed(2, user_id="bob"), {"tampered"}),
    "a time is changed": (changed(2, created_at="2001-01-01T00:00:00.000000Z"), {"tampered"}),
    "trust is raised": (changed(2, trust="rejected"), {"tampered"}),
    "an id is changed": (changed(2, id="01ABC"), {"tampered"}),
    "a salt is changed": (changed(2, salt="00"), {"tampered"}),
    "a link is taken away": (lambda lines: [*lines[:2], unplaced(lines[2]), *lines[3:]], {"tampered"}),
    "a link is none": (changed(2, link="x.y"), {"tampered"}),
    "a link is another line's": (lambda lines: changed(2, text=FORGED, link=lines[4]["link"])(lines), {"tampered"}),
    "a text is edited and its link reckoned": (
        lambda lines: [*lines[:2], reckoned(lines[2] | {"text": FORGED}, own(lines[1])), *lines[3:]],
        {"tampered"},
    ),
    "a text is edited and all links reckoned": (
        lambda lines: relinked(changed(2, text=FORGED)(lines), 2),
        {"tampered"},
    ),
    "a line is forged without a link": (forged(0, 7, lambda lines: None), {"tampered"}),
    "a line is forged after the last": (forged(0, 7, lambda lines: own(lines[5])), {"tampered"}),
    "a line is forged before the first": (forged(0, 0, lambda lines: b""), {"tampered"}),
    "a line is forged as a branch": (forged(0, 7, lambda lines: own(lines[2])), {"tampered"}),
    "a line says that memkit linked it": (
        lambda lines: [*lines, linked(unplaced(lines[0]) | {"id": "f", "text": FORGED}, own(lines[5]), by="erase")[0]],
        {"tampered"},
    ),
    "two texts are swapped": (swapped, {"tampered"}),
    "a line is removed": (lambda lines: [*lines[:2], *lines[3:]], {"missing"}),
    "the newest lines are cut": (lambda lines: lines[:4], {"missing"}),
    "the first line is cut": (lambda lines: lines[1:], {"missing"}),
    "an older line stands in place of the newest": (replayed, {"missing"}),
    "another user's line stands in place of one": (lambda lines: [*lines[:2], lines[6], *lines[3:]], {"missing"}),
    "everything is cut": (lambda lines: [], {"missing"}),
}


@pytest.mark.parametrize("cache", ["kept", "deleted"])
@pytest.mark.parametrize("attack", ATTACKS)
def test_what_somebody_does_to_the_lines_of_a_clone_is_seen(tmp_path: Path, attack: str, cache: str) -> None:
    """What was changed or forged is not served, what is gone is said, and every other line is served as it was."""
    written(tmp_path)
    before = {line["id"]: line["text"] for line in map(json.loads, shard_of(tmp_path).read_text().splitlines())}
    change, codes = ATTACKS[attack]
    rewritten(tmp_path, change)
    if cache == "deleted":
        shutil.rmtree(cache_folder(tmp_path))

    store, told = opened(tmp_path)
    served = {record.id: record.text for user in ("ada", "bob") for record in store.records(user_id=user)}

    assert {problem.code for problem in told} >= codes
    assert served.items() <= before.items()
    gone = sum(problem.code in ("tampered", "missing") for problem in told)
    assert gone and (len(before) - len(served) <= gone or "everything" in attack or cache == "deleted")
    assert store.chain_problems()


@pytest.mark.parametrize("then", ["taken away", "made anew", "given another id and link"])
def test_what_was_changed_and_is_taken_away_afterwards_is_missing(tmp_path: Path, then: str) -> None:
    """Whoever looked in between does not make a line that nobody has any more one that was only changed."""
    written(tmp_path)
    rewritten(tmp_path, changed(2, text=FORGED))
    store, told = opened(tmp_path)
    assert FORGED not in {record.text for record in store.records(user_id="ada")}
    assert {problem.code for problem in told} == {"tampered"}
    store.close()
    afterwards: dict[str, Callable[[Lines], Lines]] = {
        "taken away": lambda lines: [*lines[:2], *lines[3:]],
        "made anew": lambda lines: [
            *lines[:2],
            *lines[3:],
            linked({**unplaced(lines[2]), "id": "n"}, own(lines[-1]))[0],
        ],
        "given another id and link": changed(2, id="n", link=f"{'0' * 32}.{'1' * 32}"),
    }
    rewritten(tmp_path, afterwards[then])

    for _ in range(2):
        store, told = opened(tmp_path)
        assert FORGED not in {record.text for record in store.records(user_id="ada")}
        assert "missing" in {problem.code for problem in told}
        assert store.chain_problems()
        store.close()


FITTING = ("reckoned", "forged", "memkit linked it")
"""In the name of an attack that makes links which fit: a clone with a history, heads or a memory sees those."""


@pytest.mark.parametrize("attack", [name for name in ATTACKS if not any(word in name for word in FITTING)])
def test_a_clone_that_never_saw_the_lines_serves_none_that_does_not_fit(tmp_path: Path, attack: str) -> None:
    """Whoever gets a store sees by its chains alone what was changed in the middle, whatever link it was given."""
    theirs, ours = tmp_path / "theirs", tmp_path / "ours"
    written(theirs)
    shutil.copytree(theirs / "archive", ours / "archive")
    rewritten(ours, ATTACKS[attack][0])

    store, told = opened(ours)

    assert FORGED not in {record.text for record in store.records(user_id="ada")}
    at_an_end = {"the newest lines are cut", "everything is cut", "an older line stands in place of the newest"}
    linkless = {"a link is taken away"}
    assert told or attack in at_an_end | linkless


def test_each_thing_is_said_once(tmp_path: Path) -> None:
    """Questions after the first say nothing more; a process of its own says it again."""
    written(tmp_path)
    rewritten(tmp_path, changed(2, text=FORGED))
    store, told = opened(tmp_path)

    for _ in range(3):
        store.search("number", user_id="ada")

    assert [(one.code, one.line) for one in told] == [("tampered", 3)]
    assert told[0].path == f"archive/{shard_of(tmp_path).parent.name}/{shard_of(tmp_path).name}"


@given(st.permutations(range(7)))
@settings(max_examples=20)
def test_the_order_in_a_file_is_no_evidence(tmp_path_factory: pytest.TempPathFactory, order: list[int]) -> None:
    """Lines in any order are all served; that they stand in another one is a note."""
    root = tmp_path_factory.mktemp("store")
    written(root)
    rewritten(root, lambda lines: [lines[number] for number in order])

    store, told = opened(root)

    assert {record.text for record in store.records(user_id="ada")} == set(TEXTS)
    assert not told and not store.chain_problems()
    ada = [number for number in order if number < 6]
    assert any(note.code == "reordered" for note in store.chain_notes()) == (ada != sorted(ada))


def test_a_file_put_back_in_order_is_no_note_any_more(tmp_path: Path) -> None:
    """What was said of reordered lines ends with them."""
    written(tmp_path)
    before = shard_of(tmp_path).read_bytes()
    rewritten(tmp_path, lambda lines: lines[::-1])
    assert [note.code for note in opened(tmp_path)[0].chain_notes()] == ["reordered"]
    shard_of(tmp_path).write_bytes(before)

    assert opened(tmp_path)[0].chain_notes() == []


def test_the_order_of_links_settles_what_was_said_last(tmp_path: Path) -> None:
    """Swapping two verdicts on a record in the file does not swap what they say."""
    store, _ = opened(tmp_path)
    id = note(store, "the offer is valid")
    store.mark("approve", id, person("ada"))
    store.mark("reject", id, person("ada"))
    store.close()
    rewritten(tmp_path, lambda lines: [lines[0], lines[2], lines[1]])
    shutil.rmtree(cache_folder(tmp_path))

    again = opened(tmp_path)[0].get(id)

    assert again is not None and again.status == "rejected"


def test_an_older_copy_of_everything_is_seen(tmp_path: Path) -> None:
    """What lies outside of the store knows more than a copy of last week, the machine's own folder included."""
    root, backup = tmp_path / "store", tmp_path / "backup"
    root.mkdir()
    written(root)
    shutil.copytree(root, backup, symlinks=True)
    store = opened(root)[0]
    note(store, "ada moved to Lisbon")
    store.close()
    shutil.rmtree(root)
    shutil.copytree(backup, root, symlinks=True)

    store, told = opened(root)

    assert {record.text for record in store.records(user_id="ada")} == set(TEXTS)
    assert [problem.code for problem in told] == ["missing"]


def test_what_a_person_takes_for_gone_is_missed_no_more(tmp_path: Path) -> None:
    """After that neither this process nor the next says so."""
    written(tmp_path)
    rewritten(tmp_path, lambda lines: [*lines[:2], *lines[3:]])
    store, told = opened(tmp_path)
    store.refresh()
    assert told

    store.take_for_gone()

    assert not store.chain_problems()
    store.close()
    again, told = opened(tmp_path)
    assert len(again.records(user_id="ada")) == 5 and not told


def test_a_withheld_constraint_is_known_as_one(tmp_path: Path) -> None:
    """Also where the change made it something else, so that every turn can say so."""
    store, _ = opened(tmp_path)
    id = note(store, "never eats nuts", type="constraint")
    store.close()
    rewritten(tmp_path, changed(0, type="fact", text=FORGED))

    [withheld] = opened(tmp_path)[0].withheld("ada")

    assert (withheld.id, withheld.type, withheld.code) == (id, "constraint", "tampered")


def test_lines_without_links_are_served_as_such_and_never_mixed(tmp_path: Path) -> None:
    """What an older memkit wrote stays, with a note; what is written now has links and stands in a shard of its own."""
    written(tmp_path)
    rewritten(tmp_path, lambda lines: list(map(unplaced, lines)))
    shutil.rmtree(cache_folder(tmp_path))
    (tmp_path / ".memkit").rename(tmp_path / "gone")  # the clone that wrote them is no more
    store, told = opened(tmp_path)
    note(store, "ada moved to Lisbon")

    assert {record.text for record in store.records(user_id="ada")} == {*TEXTS, "ada moved to Lisbon"}
    assert not told
    assert [note.code for note in store.chain_notes()] == ["unlinked"]


def test_an_export_says_nothing_of_places_and_comes_back_byte_by_byte(tmp_path: Path) -> None:
    """A link is about where a line stands; restored lines have new ones, and the same export."""
    written(tmp_path / "one")
    store, other = opened(tmp_path / "one")[0], opened(tmp_path / "other")[0]
    exported = list(store.export("ada"))

    list(other.restore("ada", map(json.loads, exported), person("ada")))

    assert list(other.export("ada")) == exported
    assert not other.chain_problems()
    stands = [json.loads(line) for line in shard_of(tmp_path / "other").read_text().splitlines()]
    assert all("link" in line and "salt" in line for line in stands)


def test_no_two_salts_are_equal(tmp_path: Path) -> None:
    """Without them the digest of a short text could be guessed."""
    written(tmp_path)
    lines = [json.loads(line) for line in shard_of(tmp_path).read_text().splitlines()]

    assert len({line["salt"] for line in lines}) == len({line["link"] for line in lines}) == 7


@pytest.mark.parametrize("whose", ["own", "other"])
def test_a_torn_line_is_said_by_who_reads_and_set_aside_by_who_writes(tmp_path: Path, whose: str) -> None:
    """Whoever wrote it."""
    written(tmp_path)
    path = shard_of(tmp_path) if whose == "own" else shard_of(tmp_path).with_name("other.jsonl")
    with path.open("ab") as file:
        file.write(b'{"id":"torn","text":"half of')
    store, told = opened(tmp_path)
    store.search("number", user_id="ada")
    assert [problem.code for problem in told] == ["torn"]

    note(store, "ada moved to Lisbon")

    assert b"half of" not in path.read_bytes()
    store.close()
    assert opened(tmp_path)[0].check() == []


def test_the_newest_line_of_a_database_is_noted_over_the_one_before(tmp_path: Path) -> None:
    """Whatever is longer or shorter: the last one is read, and nothing of those before it, nor what others wrote."""
    written(tmp_path)
    witness = NewestLine(tmp_path)
    heads = [WriterHead("ab" * 16, number, f"{'u' * length}/w.jsonl") for number, length in enumerate((9, 5000, 9, 40))]

    for head in heads:
        witness.note(head)
        assert NewestLine(tmp_path).newest() == head

    (place,) = (keys_home() / "heads").iterdir()
    place.write_bytes(place.read_bytes().replace(b"/w.jsonl", b"/x.jsonl"))
    assert NewestLine(tmp_path).newest() is None


KEY = b"k" * 32


@settings(max_examples=200)
@given(
    says=st.text(max_size=20),
    nested=st.lists(st.sampled_from(("link", "salt")), unique=True),
    cut=st.integers(0, 400),
    put=st.sampled_from(("", " ", '"link":"{link}",', '"salt":"{salt}",', '"salt":"x",')),
)
def test_what_an_own_line_says_is_the_same_whether_its_bytes_are_at_hand(
    says: str, nested: list[str], cut: int, put: str
) -> None:
    """The link is cut out of the bytes, and no repetition of it, wherever it stands, makes a line say anything else."""
    line, _ = linked({"text": says, "user_id": "ada", "about": {"x": says}}, b"\1" * 16, key=KEY)
    as_written = encode_line(line)
    assert read_own_link(decode_line(as_written), as_written, KEY) == read_link(line)
    line = {**line, "about": {**{key: line[key] for key in nested}, "x": says}} if nested else line
    told = put.format(link=line["link"], salt=line["salt"]).encode()
    raw = encode_line(line).strip()
    raw = raw[:cut] + told + raw[cut:]
    try:
        data = decode_line(raw)
    except InvalidRecord:
        return
    try:
        in_full = read_link(data)
    except Forged:
        in_full = None
    assert read_own_link(data, raw, KEY) in (None, in_full)


def test_an_index_of_own_lines_writes_none_of_them_anew(tmp_path: Path) -> None:
    """What a clone wrote itself is known by its bytes, with the end of the line that they have in a shard."""
    written(tmp_path)
    shutil.rmtree(cache_folder(tmp_path))
    with patch("memkit.runtime.memory.index.chains.read_link", side_effect=AssertionError):
        store, told = opened(tmp_path)
        assert sorted(record.text for record in store.records(user_id="ada")) == TEXTS
    assert not told


@pytest.mark.parametrize("end", [b"\n", b""])
def test_a_digest_of_bytes_that_are_no_line_makes_none(tmp_path: Path, end: bytes) -> None:
    """A salt that stands twice, and of which one can be taken out so that no JSON is left, is no place in a chain."""
    written(tmp_path)
    line = unplaced(json.loads(shard_of(tmp_path).read_text().splitlines()[0])) | {"id": "z", "text": FORGED}
    salt = 'a"},"k":"c'
    rest = encode_line({**line, "salt": salt}).strip()[1:]
    twice = b'"later":{"q":1,"salt":"%s","m":1,%s' % (salt.encode(), rest)
    decoded = b"{" + twice.replace(b'"salt":"%s",' % salt.encode(), b"", 1) + end
    digest = blake2b(f"\n{salt}\n\n".encode() + decoded, digest_size=16).hexdigest()
    forged = b'{"link":"0.%s",%s' % (digest.encode(), twice)
    assert decode_line(forged)["text"] == FORGED
    shard_of(tmp_path).with_name("mallory.jsonl").write_bytes(forged + end)

    store, told = opened(tmp_path)

    assert sorted(record.text for record in store.records(user_id="ada")) == TEXTS
    assert {problem.code for problem in told} == {"tampered"}


def test_what_an_erasure_takes_away_is_missed_by_nobody_who_reads_meanwhile(tmp_path: Path) -> None:
    """It rewrites the shards, removes the index and forgets the heads; who had the old index open saves none again."""
    written(tmp_path)
    store, told = opened(tmp_path)
    refresh = Catalogue.refresh

    def late(catalogue: Catalogue, *given: Any, **more: Any) -> None:
        if patched.call_count == 1:
            rewritten(tmp_path, lambda lines: [line for line in lines if line["user_id"] != "ada"])
            shutil.rmtree(cache_folder(tmp_path))
            Witness(tmp_path).forget()
        refresh(catalogue, *given, **more)

    with patch.object(Catalogue, "refresh", autospec=True, side_effect=late) as patched:
        store.search("tea", user_id="ada")
    store.close()

    again, told_again = opened(tmp_path)
    again.check()
    again.close()
    assert patched.call_count == 2 and [*told, *told_again] == []
