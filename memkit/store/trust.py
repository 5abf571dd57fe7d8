"""Trust in a store: a person's decision, kept outside it, that it may run and contact what it does now.

The decision is for one store and one digest (``Demands.digest``), and is stored beside the user's keys. When
anything relevant changes, the digest differs and the store is as it was before: read, but not trusted.
Going back to an earlier trusted state is a change like any other, because only the last decision counts.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from memkit.errors import EnvironmentFault, NotTrusted
from memkit.runtime.host.terminal import one_line
from memkit.runtime.memory.log.clone import own_state
from memkit.runtime.memory.log.shards import FOUNDED
from memkit.runtime.memory.record.lines import NothingOfItsOwn
from memkit.store.allowances import Demands, allow_keys, demands_of, forbid_keys
from memkit.store.files import make_user_only, write_whole
from memkit.store.layout import keys_home, known_git_folder

VARIABLE = "MEMKIT_TRUST"
"""Holds the trusted digest in a run in which nobody can be asked."""
_SHOWN = 3
"""The most changes that a message names."""


class Trust:
    """A person's decision about the store at ``root``; nothing is cached, so every change counts at once."""

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()

    def demands(self) -> Demands:
        """Return what the store would run or contact now."""
        return demands_of(self.root)

    def holds(self, demands: Demands | None = None) -> bool:
        """Return whether the store may do what it demands: a person trusted it, or there is nothing to allow."""
        demands = demands or self.demands()
        return not demands.allows or self._is_given(demands)

    def _is_given(self, demands: Demands, *, to_writers: bool = False) -> bool:
        """Return whether a person trusted exactly these demands, and also the writers of the memory."""
        given = [kept.get("writers", True) for kept in self._kept() if kept["digest"] == demands.digest]
        named = os.environ.get(VARIABLE, "").strip().lower()
        return named == demands.digest or (any(given) if to_writers else bool(given))

    def vouches(self) -> bool:
        """Return whether others' writes in the store are trusted with it: a person trusted it, or made it here."""
        demands = self.demands()
        return self.holds(demands) and (self.was_made_here() or self._is_given(demands, to_writers=True))

    def was_made_here(self) -> bool:
        """Return whether this clone began the memory, and git did not clone the store."""
        with suppress(NothingOfItsOwn, OSError):
            return (own_state(self.root) / FOUNDED).is_file() and not _is_cloned(self.root)
        return False

    def require(self, what: str, instead: str = "") -> Demands:
        """Return the store's demands if they are trusted; both arguments are clauses of the refusal.

        Raises:
            NotTrusted: They are not.
        """
        demands = self.demands()
        if not self.holds(demands):
            raise self._refusal(demands, what, instead)
        return demands

    def require_command(self, run: Sequence[str], what: str) -> None:
        """Raise ``NotTrusted`` unless the store is trusted and ``run`` is a check of one of its skills."""
        if tuple(run) not in (demands := self.require(what)).checks:
            raise self._refusal(demands, what, "")

    def require_evaluator(self, path: Path) -> None:
        """Raise ``NotTrusted`` unless the store is trusted and the file at ``path`` is one of its evaluators."""
        shown = os.path.relpath(path, self.root)
        what = f"{shown} is in a store and would run with your rights"
        if shown not in (demands := self.require(what)).evaluators:
            raise NotTrusted(
                f"{what}, and it is not one of the evaluators that 'memkit trust' listed. Name it evaluator.py, or "
                "give it its own function evaluate, and trust the store again.",
                self,
                demands,
            )

    def _refusal(self, demands: Demands, what: str, instead: str) -> NotTrusted:
        changed = self.changed(demands)
        why = "this store is not trusted here"
        if changed:
            named = ", ".join(one_line(name, 80) for name in changed[:_SHOWN])
            more = f" and {len(changed) - _SHOWN} more" if len(changed) > _SHOWN else ""
            why = f"the store changed since it was trusted ({named}{more})"
        return NotTrusted(
            f"{what}, but {why}. Inspect it with 'memkit trust --show', allow it with 'memkit trust'{instead}.",
            self,
            demands,
        )

    def changed(self, demands: Demands) -> list[str]:
        """Return the names of everything that changed since a person last trusted this store; empty if nobody did."""
        last = next(self._kept(), None)
        if last is None or last["digest"] == demands.digest:
            return []
        before, now = last["parts"], demands.parts
        return sorted(name for name in {*before, *now} if before.get(name) != now.get(name))

    def give(self, demands: Demands, *, to_writers: bool = True) -> None:
        """Record a person's trust in exactly these demands; an earlier decision about this store is replaced.

        Without ``to_writers`` it says nothing about what other clones wrote into the memory.

        Raises:
            EnvironmentFault: It cannot be stored.
        """
        home = self._home()
        if home is None:
            raise EnvironmentFault(
                f"{keys_home()} is inside the store, where trust cannot be kept. For one run, set "
                f"{VARIABLE}={demands.digest}"
            )
        kept = demands.with_keys_in_use()
        data = {
            "root": str(self.root), "folder": self._folder(), "digest": kept.digest, "parts": kept.parts,
            "writers": to_writers,
        }  # fmt: skip
        try:
            if demands.key_id is not None:
                allow_keys(self.root, demands.key_id)
            make_user_only(home)
            write_whole(self._file(home), json.dumps(data, indent=1).encode(), mode=0o600)
        except EnvironmentFault as error:
            raise EnvironmentFault(
                f"Trust cannot be saved: {str(error).partition('. ')[0].rstrip('.')}. For one run, set "
                f"{VARIABLE}={demands.digest}"
            ) from error

    def take_back(self) -> bool:
        """Forget the decision about this store, and return whether there was one."""
        found = forbid_keys(self.root)
        for path, _ in self._records():
            try:
                path.unlink()
            except OSError as error:
                raise EnvironmentFault(f"{path} cannot be removed: {error.strerror or error}.") from error
            found = True
        return found

    @contextmanager
    def in_step(self, tell: Callable[[str], None]) -> Iterator[None]:
        """Keep a trusted store trusted over a person's change of its settings with memkit in the block.

        If the trust cannot be recorded the change stands all the same, and is reported through ``tell``.
        """
        before, vouches = self.demands(), self.vouches()
        was_trusted = self.holds(before)
        yield
        after = self.demands()
        if was_trusted and after.allows and after.digest != before.digest and _only_settings(before, after):
            try:
                self.give(after, to_writers=vouches)
            except EnvironmentFault as error:
                tell(str(error))

    def _kept(self) -> Iterator[Mapping[str, Any]]:
        """Yield the records about this store, wherever it was then."""
        yield from (data for _, data in self._records())

    def _records(self) -> Iterator[tuple[Path, Mapping[str, Any]]]:
        home = self._home()
        if home is None:
            return
        own = self._file(home)
        for path in (own, *sorted(set(_files(home)) - {own})):
            data = _read(path)
            # A store that moved is recognised by its folder's identity, which a copy does not share.
            if data is not None and (path == own or data["folder"] == self._folder()):
                yield path, data

    def _file(self, home: Path) -> Path:
        return home / f"{hashlib.sha256(os.fsencode(self.root)).hexdigest()[:32]}.json"

    def _folder(self) -> list[int]:
        found = self.root.stat()
        return [found.st_dev, found.st_ino]

    def _home(self) -> Path | None:
        """Return the folder of trust records; None if it is inside the store, which could then vouch for itself."""
        home = keys_home() / "trust"
        return None if home.resolve().is_relative_to(self.root) else home


def _is_cloned(root: Path) -> bool:
    """Return whether the first entry in git's reflog says that the repository was cloned."""
    folder = known_git_folder(root)
    history = folder.shared / "logs" / "HEAD" if folder else None
    if history is None or not history.is_file():
        return False
    with history.open("rb") as file:
        return b"\tclone: " in file.readline(4096)


def _files(home: Path) -> list[Path]:
    try:
        return list(home.glob("*.json"))
    except OSError:
        return []


def _read(path: Path) -> Mapping[str, Any] | None:
    """Return a record; None for a missing or damaged one."""
    data = None
    with suppress(OSError, ValueError, RecursionError):
        data = json.loads(path.read_text(encoding="utf-8"))
    kinds = {"digest": str, "parts": dict, "folder": list}
    if not isinstance(data, dict) or not all(isinstance(data.get(key), kind) for key, kind in kinds.items()):
        return None
    return data


def _only_settings(before: Demands, after: Demands) -> bool:
    """Return whether only settings, and files that these now name, differ."""
    names = {name for name in {*before.parts, *after.parts} if before.parts.get(name) != after.parts.get(name)}
    return all(name.startswith("setting ") or (name.startswith("file ") and name not in before.parts) for name in names)
