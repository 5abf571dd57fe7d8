"""The three-way merge of one file's content, by git, with conflicts marked."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

from memkit.errors import EnvironmentFault
from memkit.generate.update.formatting import Wording, meaning_of
from memkit.store.plumbing import Plumbing

_LOOKED_AT = 8_000
"""As far as git looks for a zero byte to call a file binary."""
_MOST_CONFLICTS = 127
_OWN_LABEL = "yours"
_TEMPLATE = "template"
_BEGIN, _END = f"<<<<<<< {_OWN_LABEL}".encode(), f">>>>>>> {_TEMPLATE} ".encode()


@dataclass(frozen=True)
class Labels:
    """What the marks of a conflict call the template's sides."""

    base: str
    theirs: str

    @classmethod
    def between(cls, before: str, after: str) -> Labels:
        """Return the labels for an update from one version of the templates to another, or to another content."""
        return cls(f"{_TEMPLATE} {before}", f"{_TEMPLATE} {after}{', rendered anew' if before == after else ''}")


@dataclass(frozen=True)
class MergedText:
    """What became of a content that two sides changed."""

    content: bytes
    marked: bool = False
    """Whether it holds marks of a conflict."""
    unmerged: bool = False
    """Whether it is the owner's side alone, because the two cannot be joined in one text."""


def merge_content(
    git: Plumbing, base: bytes | None, own: bytes, theirs: bytes, labels: Labels, *, python: bool
) -> MergedText:
    """Join what the owner and the template made of ``base``, which is None where both added a file."""
    if own == theirs or theirs == base:
        return MergedText(own)
    if own == base:
        return MergedText(theirs)
    if is_binary(own) or is_binary(theirs):
        return MergedText(own, unmerged=True)
    merged = _merge(git, base, own, theirs, labels, python=python)
    if python and not merged.marked and _broken(merged.content, own, theirs):
        return MergedText(own, unmerged=True)
    return merged


def says_the_same(own: bytes, base: bytes, *, python: bool) -> bool:
    """Return whether the owner changed nothing but how a file is written."""
    return own == base or (not is_binary(own) and Wording(own, base, python=python).shown == base)


def has_marks(content: bytes) -> bool:
    """Return whether a text still holds the marks of a conflict that an update left in it."""
    began = False
    for line in content.split(b"\n"):
        if began and line.startswith(_END):
            return True
        began = began or line.rstrip() == _BEGIN
    return False


def is_binary(content: bytes) -> bool:
    """Return whether git would take ``content`` for binary."""
    return b"\0" in content[:_LOOKED_AT]


def _merge(git: Plumbing, base: bytes | None, own: bytes, theirs: bytes, labels: Labels, *, python: bool) -> MergedText:
    like = theirs if base is None else base
    wording = Wording(own, like, python=python)
    content, marked = _merge_file(git, base, wording.shown, theirs, labels)
    restored = wording.restored(content)
    if python and not marked and _meaning(restored) != _meaning(content):
        # The owner's writing does not fit around what is new, as with another width of indentation.
        return MergedText(Wording(own, like, python=False).restored(content))
    return MergedText(restored, marked)


def _merge_file(git: Plumbing, base: bytes | None, own: bytes, theirs: bytes, labels: Labels) -> tuple[bytes, bool]:
    with tempfile.TemporaryDirectory(prefix="memkit-merge-") as folder:
        sides = {"own": own, "base": base or b"", "theirs": theirs}
        for name, content in sides.items():
            Path(folder, name).write_bytes(content)
        names = [word for label in (_OWN_LABEL, labels.base, labels.theirs) for word in ("-L", label)]
        style = [] if base is None else ["--diff3"]
        done = git.finished("merge-file", "-p", "-q", *style, *names, *(str(Path(folder, name)) for name in sides))
    if not 0 <= done.status <= _MOST_CONFLICTS:
        raise EnvironmentFault(f"git merge-file failed: {done.errors.decode('utf-8', 'replace').strip()}")
    return done.output, done.status > 0


def _broken(merged: bytes, own: bytes, theirs: bytes) -> bool:
    """Return whether two sides that can be read were joined to something that cannot."""
    return _meaning(merged) is None and None not in (_meaning(own), _meaning(theirs))


def _meaning(content: bytes) -> object:
    try:
        return meaning_of(content.decode("utf-8-sig"))
    except UnicodeDecodeError:
        return None
