"""Migrate a store from an older format to this one, a format at a time, and add links to lines without."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterator, Mapping, MutableMapping, MutableSequence, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from memkit.errors import MemkitError
from memkit.runtime.guard.core import FORMER_TRUST, names_former_trust
from memkit.runtime.host.terminal import counted
from memkit.runtime.memory.index.chains import shard_order
from memkit.runtime.memory.log.clone import lock_file, require_inside, state_folder, whole_file
from memkit.runtime.memory.log.log import Witness, linked, shard_writer
from memkit.runtime.memory.log.shards import MONTH, locked, set_aside, sync_folder
from memkit.runtime.memory.record.lines import InvalidRecord, decode_line, encode_data
from memkit.store.change import change_file, change_files
from memkit.store.config import FORMAT
from memkit.store.file_history import ABOUT_VERSIONS
from memkit.store.files import write_whole
from memkit.store.git import Git
from memkit.store.manifest import change_manifest
from memkit.store.repair import LOCK_SECONDS
from memkit.store.yaml import load_yaml
from memkit.store.yaml_edit import edited, without_entries

_LINK = b'"link":'
_TABLES = "policies/tests"


def unlinked_shards(root: Path) -> list[str]:
    """Return the shards of the writers none of whose lines has a link, in the order of writing."""
    writers: dict[str, list[str]] = {}
    linked_writers = set()
    for shard in _shards(root):
        writer = shard_writer(shard)[0]
        writers.setdefault(writer, []).append(shard)
        if _LINK in whole_file(root / "archive" / shard):
            linked_writers.add(writer)
    found = [shard for writer, shards in writers.items() if writer not in linked_writers for shard in shards]
    return sorted(found, key=shard_order)


def link_shards(root: Path) -> str | None:
    """Link the lines of every such writer, note it in each of them, and commit that; return the commit's id.

    The former files are kept under ``repaired/`` of the clone's state.

    Raises:
        EnvironmentFault: A shard cannot be written; those before it are linked.
        StoreLocked: Another process held the lock for too long.
    """
    key, tails = Witness(root).relinking_key, dict[tuple[str, str], bytes]()
    with locked(lock_file(root), timeout=LOCK_SECONDS):
        for shard in unlinked_shards(root):
            path = root / "archive" / shard
            require_inside(root, path)
            content = whole_file(path)
            set_aside(state_folder(root) / "repaired", shard.replace("/", "-"), content, ".jsonl")
            lines = (_linked(line, shard_writer(shard)[0], tails, key) for line in content.split(b"\n"))
            write_whole(path, b"\n".join(lines), beside=state_folder(root))
            sync_folder(path.parent)
    git = Git(root)
    return git.commit("Link the lines of memory", ["archive"]) if git.is_repository() else None


def _linked(line: bytes, writer: str, tails: dict[tuple[str, str], bytes], key: bytes | None) -> bytes:
    try:
        data = decode_line(line)
    except InvalidRecord:
        return line  # fsck reports it
    chain = writer, str(data.get("user_id", ""))
    placed, link = linked(data, tails.get(chain, b""), key=key, by="migrate")
    tails[chain] = link.own
    return encode_data(placed).encode()


def _shards(root: Path) -> Iterator[str]:
    archive = root / "archive"
    require_inside(root, archive)
    for month in sorted(archive.glob("*")):
        if re.fullmatch(MONTH, month.name) and month.is_dir() and not month.is_symlink():
            files = (path for path in sorted(month.glob("*.jsonl")) if path.is_file() and not path.is_symlink())
            yield from (f"{month.name}/{path.name}" for path in files)


UNSTATED = 0
"""The format of a store whose ``memkit.yaml`` states none, as a handwritten one may; it is read as format 1."""


@dataclass(frozen=True)
class MigrationStep:
    """The step from a store of one format to the next."""

    words: str
    apply: Callable[[Path], str | None]
    """Migrates the store at a path in one commit, and returns the commit's id; None without a repository."""


LINKED = 2
"""From this format on every line has a link."""


def _state_the_format(root: Path, number: int) -> str | None:
    return change_manifest(root, {"format": number}, f"State that the store has format {number}")


STEPS: Mapping[int, MigrationStep] = {
    UNSTATED: MigrationStep("state the format in memkit.yaml", partial(_state_the_format, number=1)),
    LINKED - 1: MigrationStep("state format 2, whose lines have links", partial(_state_the_format, number=LINKED)),
}
"""By initial format; together they lead to ``FORMAT``."""


def steps_from(stated: int) -> list[MigrationStep]:
    """Return the steps from a format to the one that this version writes, in order; empty from that one itself."""
    return [STEPS[number] for number in range(stated, FORMAT)]


def steps_beside(root: Path) -> list[MigrationStep]:
    """Return the changes that the files of a store need in any format.

    They concern links, policies and their tables that use a former ``context.trust``, and files that state a version,
    over which two branches would always conflict.
    """
    unlinked = unlinked_shards(root)
    linking = MigrationStep(f"link the lines of {counted(len(unlinked), 'shard')}", link_shards)
    return [
        *([linking] if unlinked else []),
        *(
            MigrationStep(f"rewrite context.trust in {name}", partial(_rewrite_trust, name=name))
            for name in (*_files(root, "policies"), *_files(root, _TABLES), *_files(root, _TABLES, "csv"))
            if any(names_former_trust(holder[key]) for holder, key in _trust_conditions(_data(root / name)))
        ),
        *_steps_about_versions(root),
    ]


def _steps_about_versions(root: Path) -> Iterator[MigrationStep]:
    stating = [
        name
        for folder in ("skills", "policies", "domains")
        for name in _files(root, folder)
        if isinstance(data := _data(root / name), Mapping) and not data.keys().isdisjoint(ABOUT_VERSIONS)
    ]
    if stating:
        words = f"let the versions of {', '.join(stating)} follow from their commits"
        yield MigrationStep(words, partial(_drop_versions, names=stating))


def _drop_versions(root: Path, names: Sequence[str]) -> str | None:
    files = {name: without_entries((root / name).read_bytes().decode(), ABOUT_VERSIONS) for name in names}
    return change_files(root, files, "Let versions follow from the commits", hooks=False)


def _files(root: Path, folder: str, ending: str = "yaml") -> list[str]:
    return sorted(f"{folder}/{path.name}" for path in (root / folder).glob(f"*.{ending}"))


def _data(path: Path) -> Any:
    try:
        if path.suffix == ".csv":
            return _table(path)
        return load_yaml(path.read_text(encoding="utf-8")).data
    except (MemkitError, OSError, ValueError, csv.Error):
        return None  # lint reports what is wrong with it


def _table(path: Path) -> dict[str, Any]:
    """Return a table of tests in the shape that tables of YAML have."""
    columns, *rows = csv.reader(io.StringIO(path.read_bytes().decode(), newline=""), strict=True)
    return {"columns": columns, "rows": rows}


def _trust_conditions(policy: Any) -> Iterator[tuple[Any, Any]]:
    """Yield every map and key with a condition on ``context.trust``, and with the trust in the context of a test.

    In the rows of a table the key is a column's number.
    """
    if isinstance(policy, Mapping):
        columns, rows = policy.get("columns"), policy.get("rows")
        if isinstance(columns, list) and isinstance(rows, list) and "context.trust" in columns:
            at = columns.index("context.trust")
            yield from ((row, at) for row in rows if isinstance(row, list) and len(row) > at)
        for key, value in policy.items():
            if key == "context.trust":
                yield policy, key
            elif key == "context" and isinstance(value, Mapping) and "trust" in value:
                yield value, "trust"
            else:
                yield from _trust_conditions(value)
    elif isinstance(policy, list):
        for one in policy:
            yield from _trust_conditions(one)


def _rewrite_trust(root: Path, name: str) -> str | None:
    if name.endswith(".csv"):
        data, written = _table(root / name), io.StringIO()
        _with_present_trust(data)
        ending = "\r\n" if b"\r\n" in (root / name).read_bytes() else "\n"
        csv.writer(written, lineterminator=ending).writerows([data["columns"], *data["rows"]])
        content = written.getvalue()
    else:
        content = edited((root / name).read_text(encoding="utf-8"), _with_present_trust)
    return change_file(root, name, content, f"Ask {name} of trusted and untrusted turns", hooks=False)


def _with_present_trust(policy: Any) -> None:
    for holder, key in _trust_conditions(policy):
        holder[key] = _present(holder[key])


def _present(condition: Any) -> Any:
    """Return a condition on former values as one on present ones; anything below verified is untrusted."""
    if isinstance(condition, MutableMapping):
        told = {key: _present(value) for key, value in condition.items()}
        return told["in"] if set(told) == {"in"} and isinstance(told["in"], str) else told
    if isinstance(condition, MutableSequence):
        told_all = list(dict.fromkeys(_present(one) for one in condition))
        return told_all[0] if len(told_all) == 1 else told_all
    return {"verified": "trusted"}.get(condition, "untrusted") if condition in FORMER_TRUST else condition
