"""History without a person: every object that held something of theirs is made anew, every other stays as it is.

Objects are rewritten one by one and not through ``git fast-export``, which renames nested tags, drops tags of blobs and
unknown commit headers, and knows no notes.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from memkit.errors import EnvironmentFault
from memkit.privacy.belonging import ARCHIVE, SUFFIX
from memkit.privacy.remainder import Remainder
from memkit.store.plumbing import GitObject, tree_entries

TREE, LINK = b"40000", b"160000"
Read = Callable[[str], GitObject | None]
Add = Callable[[str, bytes], str]

_FULL_ID = re.compile(r"\b(?:[0-9a-f]{64}|[0-9a-f]{40})\b")
_SIGNED = re.compile(rb"-----BEGIN (?:PGP|SSH|SIGNED)[ A-Z]*-----.*", re.DOTALL)
_PEOPLE = re.compile(rb"(author|committer|tagger) (.*?) ?<(.*)> (.*)", re.DOTALL)
_DROPPED = (b"gpgsig", b"gpgsig-sha256", b"mergetag")
"""Signatures say that somebody saw these very bytes, which are gone."""


_IN_ARCHIVE, _ELSEWHERE = f"{ARCHIVE}/", "./"
"""Stand for all folders whose files are treated alike."""


class History:
    """Maps old objects to new ones; ``kept`` names those that are copied unchanged."""

    def __init__(self, read: Read, add: Add, remainder: Remainder) -> None:
        self.kept: set[str] = set()
        self.commits: dict[str, str] = {}
        """Old id to new id of every commit."""
        self.signatures = 0
        """Signatures that had to be dropped."""
        self.cleaned = 0
        """Messages, and names of who wrote them, that held something."""
        self._read = read
        self._add = add
        self._remainder = remainder
        self._trees: dict[tuple[str, str], str | None] = {}
        self._blobs: dict[tuple[str, str], str | None] = {}
        self._tags: dict[str, str | None] = {}

    def commit(self, id: str) -> str:
        """Return the new id of a commit whose parents were mapped before."""
        if id not in self.commits:
            self.commits[id] = self._commit(self._object(id))
        return self.commits[id]

    def any(self, id: str) -> str | None:
        """Return the new id of whatever a ref may point at; None when nothing of it stays."""
        found = self._object(id)
        if found.kind == "commit":
            return self.commit(id)
        if found.kind == "tag":
            return self._tag(found)
        if found.kind == "tree":
            known = (place for place in ("", _IN_ARCHIVE) if (id, place) in self._trees)
            return self._tree(id, next(known, _ELSEWHERE))
        in_shards = (id, f"{ARCHIVE}/{SUFFIX}") in self._blobs
        return self.blob(id, f"{ARCHIVE}/{SUFFIX if in_shards else 'file'}")

    def blob(self, id: str, path: str) -> str | None:
        """Return the new id of a file's content; None when the file held only what is gone."""
        if not self._remainder.reads(path):
            self.kept.add(id)  # unread: a file of another kind may be large
            return id
        place = self._remainder.kind(path)  # equal content at places that are treated alike is read once
        if (id, place) not in self._blobs:
            found = self._object(id)
            data = self._remainder.content(found.data, place)
            self._blobs[id, place] = self._same(found, data) if data or not found.data else None
        return self._blobs[id, place]

    def notes(self, id: str) -> str:
        """Return the new id of a commit of notes: each note follows the commit that it is about."""
        if id not in self.commits:
            self.commits[id] = self._commit(self._object(id), notes=True)
        return self.commits[id]

    def _object(self, id: str) -> GitObject:
        found = self._read(id)
        if found is None:
            raise EnvironmentFault(f"The repository is damaged: object {id} is missing. Repair it first (git fsck).")
        return found

    def _same(self, found: GitObject, data: bytes) -> str:
        if data == found.data:
            self.kept.add(found.id)
            return found.id
        return self._add(found.kind, data)

    def _tree(self, id: str, folder: str) -> str | None:
        key = (id, folder)
        if key not in self._trees:
            found = self._object(id)
            entries = []
            for mode, name, entry in tree_entries(found.data, len(id) // 2):
                new = self._entry(mode, name.decode("utf-8", "surrogateescape"), entry, folder)
                if new is not None:
                    entries.append((mode, self._file_name(name), new))
            self._trees[key] = self._same(found, _tree_data(entries)) if entries or not found.data else None
        return self._trees[key]

    def _entry(self, mode: bytes, name: str, id: str, folder: str) -> str | None:
        if mode == LINK:
            return id
        if mode != TREE:
            return self.blob(id, f"{folder}{name}")
        below = f"{folder}{name}/"
        if not any(path.startswith(below) for path in self._remainder.of_tools):  # equal trees are mapped once
            below = _IN_ARCHIVE if ARCHIVE in below.split("/") else _ELSEWHERE
        return self._tree(id, below)

    def _file_name(self, name: bytes) -> bytes:
        return self._remainder.name(name.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")

    def _commit(self, found: GitObject, *, notes: bool = False) -> str:
        head, _, message = found.data.partition(b"\n\n")
        lines, encoding = [], "utf-8"
        for line in self._headers(head):
            key, _, value = line.partition(b" ")
            if key == b"tree":
                tree = self._notes_tree(value.decode()) if notes else self._tree(value.decode(), "")
                line = b"tree " + (tree or self._add("tree", b"")).encode()
            elif key == b"parent":
                parent = self.notes(value.decode()) if notes else self.commit(value.decode())
                line = b"parent " + parent.encode()
            elif key in (b"author", b"committer"):
                line = self._person(line)
            elif key == b"encoding":
                encoding = value.decode("ascii", "replace")
            lines.append(line)
        return self._same(found, b"\n".join(lines) + b"\n\n" + self._message(message, encoding))

    def _tag(self, found: GitObject) -> str | None:
        if found.id not in self._tags:
            head, _, message = found.data.partition(b"\n\n")
            headers = dict(line.partition(b" ")[::2] for line in self._headers(head))
            target = self.any(headers[b"object"].decode())
            if target is None:
                self._tags[found.id] = None
                return None
            headers[b"object"] = target.encode()
            tag = headers.get(b"tag", b"").decode("utf-8", "surrogateescape")
            headers[b"tag"] = self._remainder.name(tag, words=True).encode("utf-8", "surrogateescape")
            if b"tagger" in headers:
                headers[b"tagger"] = self._person(b"tagger " + headers[b"tagger"]).removeprefix(b"tagger ")
            bare = _SIGNED.sub(b"", message)
            self.signatures += bare != message
            data = b"\n".join(key + b" " + value for key, value in headers.items()) + b"\n\n" + self._message(bare)
            self._tags[found.id] = self._same(found, data)
        return self._tags[found.id]

    def _headers(self, head: bytes) -> list[bytes]:
        """Return the header lines, those of a continued one joined, without signatures."""
        lines: list[bytes] = []
        for line in head.split(b"\n"):
            if line.startswith(b" ") and lines:
                lines[-1] += b"\n" + line
            else:
                lines.append(line)
        kept = [line for line in lines if line.partition(b" ")[0] not in _DROPPED]
        self.signatures += len(lines) - len(kept)
        return kept

    def _person(self, line: bytes) -> bytes:
        """Return who wrote something and when, without what is quoted in place of a name; names themselves stay."""
        match = _PEOPLE.fullmatch(line)
        if match is None:
            return line
        role, name, mail, moment = match.groups()
        new_name, new_mail = (
            self._remainder.message(part.decode("utf-8", "surrogateescape"), name=False, words=False).encode(
                "utf-8", "surrogateescape"
            )
            for part in (name, mail)
        )
        if (new_name, new_mail) == (name, mail):
            return line
        self.cleaned += 1
        return b"%s %s <%s> %s" % (role, new_name, new_mail, moment)

    def _message(self, data: bytes, encoding: str = "utf-8") -> bytes:
        """Return a message without the person's texts and name; ids of commits in it become the new ones."""
        try:
            text = data.decode(encoding)
        except (LookupError, UnicodeDecodeError):
            encoding, text = "utf-8", data.decode("utf-8", "surrogateescape")
        clean = self._remainder.message(text)
        self.cleaned += clean != text
        new = _FULL_ID.sub(lambda match: self.commits.get(match[0], match[0]), clean)
        return data if new == text else new.encode(encoding, "surrogateescape")

    def _notes_tree(self, id: str) -> str:
        notes: list[tuple[bytes, bytes, str]] = []
        self._collect_notes(id, b"", notes)
        return self._add("tree", _tree_data(notes))

    def _collect_notes(self, id: str, prefix: bytes, into: list[tuple[bytes, bytes, str]]) -> None:
        """Gather the notes below a tree, whose folders are made of the first digits of the commits' ids."""
        for mode, name, entry in tree_entries(self._object(id).data, len(id) // 2):
            if mode == TREE:
                self._collect_notes(entry, prefix + name, into)
                continue
            about = (prefix + name).decode("utf-8", "replace")
            subject = self.commits.get(about) or (about if about in self.kept else None)
            if subject is not None:
                note = self._object(entry)
                into.append((mode, subject.encode(), self._same(note, self._message(note.data))))


def _tree_data(entries: list[tuple[bytes, bytes, str]]) -> bytes:
    """Return a tree: git sorts a folder as if its name ended in a slash."""
    ordered = sorted(entries, key=lambda entry: entry[1] + b"/" if entry[0] == TREE else entry[1])
    return b"".join(mode + b" " + name + b"\0" + bytes.fromhex(id) for mode, name, id in ordered)
