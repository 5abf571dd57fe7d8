"""Which files were renamed between two sets of files, as git finds it: by how much of their lines they share."""

from __future__ import annotations

from collections.abc import Mapping

from memkit.store.plumbing import Plumbing

_PERSON = "memkit <memkit@example.org> 0 +0000"


def renames(git: Plumbing, before: Mapping[str, bytes], after: Mapping[str, bytes]) -> dict[str, str]:
    """Return the path in ``before`` → the path in ``after`` of every file that was renamed, edited or not.

    Args:
        git: A repository to put both sets into.
        before: Contents by path.
        after: The same, later.
    """
    gone = {path: content for path, content in before.items() if path not in after}
    new = {path: content for path, content in after.items() if path not in before}
    if not gone or not new:
        return {}
    trees = [_tree(git, files) for files in (gone, new)]
    words = git.run("diff-tree", "-r", "-z", "-M", "-l0", "--diff-filter=R", *trees).split(b"\0")
    found = {}
    for start in range(0, len(words) - 2, 3):
        old, path = words[start + 1].decode(), words[start + 2].decode("utf-8", "surrogateescape")
        found[old] = path
    return found


def _tree(git: Plumbing, files: Mapping[str, bytes]) -> str:
    """Put files into the repository as a commit and return its id."""
    parts = [f"commit refs/heads/files\ncommitter {_PERSON}\ndata 0\n\ndeleteall\n".encode()]
    for path, content in files.items():
        named = path.encode("utf-8", "surrogateescape")
        parts.append(b"M 100644 inline " + _quoted(named) + f"\ndata {len(content)}\n".encode() + content + b"\n")
    git.run("fast-import", "--quiet", "--force", given=b"".join(parts))
    return git.run("rev-parse", "--verify", "refs/heads/files").decode().strip()


def _quoted(path: bytes) -> bytes:
    """Return a path as fast-import reads any of them."""
    escaped = path.replace(b"\\", b"\\\\").replace(b'"', b'\\"').replace(b"\n", b"\\n")
    return b'"' + escaped + b'"'
