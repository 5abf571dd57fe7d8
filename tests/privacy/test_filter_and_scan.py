"""Properties of the filter and the scan, on histories and encodings that nobody thought of."""

from __future__ import annotations

import base64
import contextlib
import gzip
import io
import json
import tempfile
import uuid
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from memkit.cli.main import run
from memkit.privacy import scan
from memkit.privacy.belonging import Belonging, Subject
from memkit.privacy.needles import Census, Needles
from memkit.privacy.scan import Scanner, readings
from memkit.runtime.memory.log.log import claimed_link, link_of, linked, parent_of
from memkit.runtime.memory.record.lines import encode_line
from tests.privacy.traces import TEXT, erase, git, leaking, objects

USERS = ("alice", "bob", "carol")
users = st.sampled_from(USERS)
words = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), min_size=1, max_size=30)
records = st.fixed_dictionaries(
    {"id": st.uuids().map(str), "text": words, "user_id": users, "created_at": st.just("2026-01-01T00:00:00Z")}
)


def _line(data: dict[str, Any]) -> bytes:
    return json.dumps(data, ensure_ascii=False).encode() + b"\n"


@given(st.lists(records))
def test_only_lines_of_the_person_go(found: list[dict[str, Any]]) -> None:
    """What stays are the lines of the others, byte for byte and in their order."""
    content = b"".join(map(_line, found))

    rest = Belonging(Subject("alice")).rest(content, torn=True)

    assert rest == b"".join(_line(data) for data in found if data["user_id"] != "alice")


@given(st.lists(records, min_size=1), st.data())
def test_a_torn_end_of_anybody_goes(found: list[dict[str, Any]], data: st.DataObject) -> None:
    """A line that was cut before it named its owner may be anybody's; whole lines of others are untouched."""
    torn = _line(found[0]).split(b'"user_id"')[0][: data.draw(st.integers(1, 40))]
    others = b"".join(_line(record) for record in found if record["user_id"] != "alice")

    assert Belonging(Subject("alice")).rest(others + torn, torn=True) == others


@given(st.binary(max_size=400))
def test_any_bytes_can_be_filtered_and_scanned(content: bytes) -> None:
    """Nothing that lies in a shard or an object makes either fail; filtering twice changes nothing more."""
    belonging = Belonging(Subject("alice"))
    once = belonging.rest(content, torn=True)

    assert belonging.rest(once, torn=True) == once
    Scanner(Needles("alice", [TEXT])).finds(content)


@pytest.mark.parametrize(
    "hidden",
    [
        str.encode,
        lambda text: text.encode("utf-16-le"),
        lambda text: text.encode("utf-16-be"),
        lambda text: text.encode("utf-16"),
        lambda text: "".join(f"\\u{ord(letter):04x}" for letter in text).encode(),
        lambda text: json.dumps({"x": json.dumps({"y": text})}).encode(),
        lambda text: base64.b64encode(text.encode()),
        lambda text: base64.b64encode(b"x" + text.encode()),
        lambda text: base64.b64encode(b"xy" + text.encode()),
        lambda text: b'"k":"' + base64.urlsafe_b64encode(text.encode()) + b'"',
        lambda text: base64.b64encode(gzip.compress(text.encode())),
        lambda text: text.encode().hex().encode(),
        lambda text: text.encode().hex().upper().encode(),
        lambda text: quote(text).encode(),
        lambda text: quote(text).replace("%20", "+").encode(),
        lambda text: "".join(f"%{byte:02X}" for byte in text.encode()).encode(),
        lambda text: zlib.compress(text.encode()),
        lambda text: b"\x00\x01binary" + gzip.compress(text.encode(), mtime=0) + b"tail",
        lambda text: gzip.compress(text.encode(), mtime=0x0A0A0A0A),
        lambda text: text.upper().encode(),
        lambda text: text.replace(" ", "\r\n  ").encode(),
        lambda text: text.replace(" ", "-").encode(),
        lambda text: text[5:30].encode(),
    ],
)
def test_no_encoding_hides_a_text(hidden: Callable[[str], bytes]) -> None:
    """A text is found however it is written down, with anything around it."""
    scanner = Scanner(Needles("alice", [TEXT, "Ключ лежит под ковриком у двери"]))

    assert scanner.finds(b'{"before": 1}\n\xff noise ' + hidden(TEXT) + b" more")
    if hidden(TEXT) != TEXT[5:30].encode():
        assert scanner.finds(hidden("Ключ лежит под ковриком у двери"))


def test_an_escaped_text_is_found_among_bytes_that_are_none() -> None:
    """A database or a picture may carry JSON or an address between bytes that no text has."""
    scanner = Scanner(Needles("alice", [TEXT]))

    for hidden in (json.dumps("".join(f"\\u{ord(letter):04x}" for letter in TEXT)), quote(TEXT)):
        assert scanner.finds(b"\x00\x01\xfe\x07" + hidden.encode() + b"\x00\xff\x03")


def test_bytes_that_are_no_text_are_read_a_few_times() -> None:
    """A photo holds what looks like an escape by chance; all of it is not read again for that, nor for those within."""
    photo = Random(1).randbytes(100_000)

    assert sum(map(len, readings(photo))) < 6 * len(photo)


@pytest.mark.parametrize("data", [b"", b"The rain in Spain", b"quokka islands", b"0123456789abcdef" * 4, b"A" * 5000])
def test_other_texts_are_no_traces(data: bytes) -> None:
    """Single words, digests and other people's sentences accuse nobody."""
    assert not Scanner(Needles("alice", [TEXT])).finds(data)


def test_what_others_say_as_well_is_no_trace() -> None:
    """A piece that also stands in somebody else's line is left out, the rest of the text is still looked for."""
    needles = Needles("alice", ["The quarterly meeting is in room 5512, bring the purple folder"])

    needles.spare("The quarterly meeting is in room 7000")

    assert not needles.found_in("the quarterly meeting")
    assert needles.found_in("bring the purple folder")


def test_a_replaced_piece_is_made_of_whole_words() -> None:
    """No half of a word is left beside a piece, also where the other half is somebody else's; escapes stay whole."""
    needles = Needles("alice", ["The lighthouse keeper collects barometers"])
    needles.spare("a lightning rod")

    assert needles.redacted("So: the lighthouse keeper collects barometersets.") == "So: [erased]."
    quoted = json.dumps("seen:\nLighthouse keeper collects barometers\n")
    assert json.loads(needles.redacted(quoted)) == "seen:\n[erased]\n"


@settings(max_examples=6, deadline=None, phases=[Phase.generate], suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_any_history_is_cleaned(data: st.DataObject) -> None:
    """Over branches, merges and stashes of any shape nothing of Alice is in any object, and the others lose no line."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "store"
        assert run(["init", str(root)]) == 0
        written = _random_history(root, data)
        commits = int(git(root, "rev-list", "--all", "--count"))
        bobs = _lines_of(root, "alice")

        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            code = run(["memory", "erase", "--user", "alice", "--yes", "--store", str(root)])

        assert code == (0 if written else 1), said.getvalue()
        assert not any(b"zanzibar" in content for _, content in objects(root))
        assert _lines_of(root, "alice") == bobs
        keys_and_tombstones = 2 * bool(written)
        assert int(git(root, "rev-list", "--all", "--count")) == commits + keys_and_tombstones
        assert git(root, "fsck") == ""


def _random_history(root: Path, data: st.DataObject) -> int:
    """Write, branch and merge at random; return how many lines are Alice's."""
    alices = 0
    for step in range(data.draw(st.integers(1, 6))):
        kind = data.draw(st.sampled_from(["write", "branch", "merge", "stash"]))
        branches = git(root, "branch", "--format=%(refname:short)").split()
        if kind == "branch":
            git(root, "checkout", "-q", "-b", f"b{step}")
        elif kind == "merge":
            git(root, "merge", "-q", "--no-edit", "-s", "ours", data.draw(st.sampled_from(branches)))
        user = data.draw(users)
        alices += user == "alice"
        shard = root / f"archive/2026-0{data.draw(st.integers(1, 3))}/w.jsonl"
        shard.parent.mkdir(parents=True, exist_ok=True)
        secret = f"in the zanzibar cupboard {step}" if user == "alice" else f"green tea number {step}"
        line = _line({"id": uuid.uuid4().hex, "text": secret, "user_id": user, "created_at": "2026-01-01T00:00:00Z"})
        shard.write_bytes((shard.read_bytes() if shard.exists() else b"") + line)
        git(root, "add", "archive")
        git(root, *(("stash",) if kind == "stash" else ("commit", "-qm", f"step {step}")))
    return alices


def _lines_of(root: Path, without: str) -> set[bytes]:
    """Return every line of the others in any object."""
    found = (line for _, content in objects(root) for line in content.split(b"\n"))
    return {line for line in found if b'"user_id"' in line and f'"{without}"'.encode() not in line} - _tombstones(root)


def _tombstones(root: Path) -> set[bytes]:
    return {line for _, content in objects(root) for line in content.split(b"\n") if b"tombstone" in line}


def test_a_broken_filter_is_caught_by_the_scan(
    peopled: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The scan does not trust the filter: with one that lets every line pass it finds traces, and exits 1."""
    monkeypatch.setattr(Belonging, "rest", lambda self, content, *, torn: content)

    code, answer = erase(peopled, capsys)

    assert code == 1
    traces = {place["place"]: place["traces"] for place in answer["data"]["scanned"]}
    assert traces["git objects"] > 0 and traces["working tree"] > 0
    assert leaking(peopled)


@pytest.mark.parametrize("text", ["I like tea", "see +49-151-2345", "Team-Server 4711", "am at gym 5 now"])
def test_short_texts_are_looked_for_as_a_whole(text: str) -> None:
    """A text too short for runs is found in other spellings, and its words alone are not."""
    scanner = Scanner(Needles("alice", [text]))

    assert scanner.finds(f"so they said: {text.upper()}!".encode())
    assert scanner.finds(base64.b64encode(f"so they said: {text}".encode()))
    assert not scanner.finds(b"I see you like tea at the gym, on the team server")


def test_labels_and_common_words_accuse_nobody(peopled: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A tag of one word, or half a sentence that everybody uses, may stand in other files."""
    from tests.privacy.traces import remember

    remember(peopled, "Alice wants it in the morning", "alice", "--tag", "infrastructure", "--tag", "preferences")
    (peopled / "README.md").write_text("The infrastructure of our preferences is read in the morning.\n")

    assert erase(peopled, capsys)[0] == 0


def test_a_line_after_one_that_goes_is_linked_anew() -> None:
    """What another said of an erased record goes out of their chain; what they said next follows what stays."""
    own = {"id": "1", "text": "alice likes tea", "user_id": "alice", "created_at": "2026-01-01T00:00:00Z"}
    said = {"op": "confirm", "target": "1", "user_id": "bob", "at": "2026-01-01T00:00:00Z", "id": "3"}
    lines, before = [linked(own, b"")[0]], b""
    for data in ({**own, "id": "2"}, said, said | {"id": "4"}, {**own, "id": "5"}):
        placed, link = linked({**data, "user_id": "bob"}, before)
        lines.append(placed)
        before = link.own
    content = b"".join(map(encode_line, lines))
    census = Census(Subject("alice", lambda line: line))
    census.take(content)

    rest = [json.loads(line) for line in census.close(lambda line: b"k" * 32).rest(content, torn=True).splitlines()]

    assert [line["id"] for line in rest] == ["2", "5"]
    assert "relinked" not in rest[0] and rest[1]["relinked"] == "erase"
    assert parent_of(rest[1]) == claimed_link(rest[0])
    assert link_of(rest[1]) is not None


def test_memkits_own_code_in_a_wheel_is_nobodys_text(tmp_path: Path) -> None:
    """A store's checks may hold memkit as a wheel, whose examples name people; what else lies in an archive is read."""
    own = (Path(scan.__file__).parents[1] / "lint" / "families" / "archive.py").read_bytes()
    with zipfile.ZipFile(tmp_path / "memkit.whl", "w") as archive:
        archive.writestr("memkit/lint/families/archive.py", own)
        archive.writestr("memkit/notes.py", b"# Ada keeps bees\n")

    read = "".join(scan.readings((tmp_path / "memkit.whl").read_bytes()))

    assert b"espresso" in own and "espresso" not in read and "Ada keeps bees" in read


def test_a_wheel_of_an_older_memkit_is_nobodys_text_either(tmp_path: Path) -> None:
    """A store that an older memkit made holds its wheel, in its history for good: what the wheel lists is memkit's."""
    example, notes = b"# Ada lives in Oslo\n", b"# Ada keeps bees\n"
    record = "memkit/example.py,sha256=G7MEt68SUhkCsQBfKjcOGr0sAwPgYDttDNZ9xjCPbPw,20\n"
    for name, is_own in (("memkit_agent-0.0.9", True), ("memkit_runtime-0.0.9+1a2b3c4d", True), ("bees-1.0", False)):
        with zipfile.ZipFile(tmp_path / "other.whl", "w") as archive:
            archive.writestr("memkit/example.py", example)
            archive.writestr("memkit/notes.py", notes)
            archive.writestr(f"{name}.dist-info/RECORD", record)

        read = "".join(scan.readings((tmp_path / "other.whl").read_bytes()))

        assert ("lives in Oslo" not in read) is is_own
        assert "Ada keeps bees" in read
