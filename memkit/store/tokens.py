"""ServerTokens: who may call a server over HTTP, for whom, and what. Only digests are kept, outside of the store.

They lie beside the user's keys, a file each, so that no store can bring a token along and two programs that make one at
a time lose none. A server looks each time it is asked, so one that is revoked is refused from then on.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path

from memkit.errors import EnvironmentFault, NotFound
from memkit.runtime.memory.record.lines import to_text
from memkit.store.files import make_user_only, write_whole
from memkit.store.layout import keys_home

SCOPES = ("read", "write", "review")
"""What a token may do, each including the ones before: look, offer memory, and vouch by an elicited yes."""
BEARER = "memkit.token"
"""Where in the scope of a request the token is that it came with."""
PREFIX = "memkit_"


@dataclass(frozen=True)
class ServerToken:
    """What is kept of a token: not itself."""

    id: str
    user_id: str
    scope: str
    digest: str
    created_at: str


class ServerTokens:
    """The tokens of the store at ``root``."""

    def __init__(self, root: Path) -> None:
        self._root = root.resolve()
        self._by_digest: dict[str, ServerToken] = {}

    def new(self, user: str, scope: str, now: datetime) -> tuple[str, ServerToken]:
        """Make a token and return it, which is the only time that it can be seen, with what is kept of it.

        Raises:
            EnvironmentFault: It cannot be kept.
        """
        shown = PREFIX + secrets.token_urlsafe(32)
        token = ServerToken(secrets.token_hex(6), user, scope, _digest(shown), to_text(now))
        folder = self._folder()
        if folder.resolve().is_relative_to(self._root):
            raise EnvironmentFault(f"{keys_home()} lies in the store itself, which could so let anybody in.")
        make_user_only(folder)
        write_whole(folder / f"{token.id}.json", json.dumps(asdict(token)).encode(), mode=0o600)
        return shown, token

    def all(self) -> list[ServerToken]:
        """Return what is kept of every token, oldest first."""
        return sorted(self._read(), key=lambda token: (token.created_at, token.id))

    def revoke(self, id: str) -> ServerToken:
        """Take a token back and return what was kept of it; raises ``NotFound`` where there is none."""
        for token in self._read():
            if token.id == id:
                (self._folder() / f"{id}.json").unlink(missing_ok=True)
                return token
        raise NotFound(f"There is no token {id!r:.60}. 'memkit token list' shows them.")

    def revoke_all(self, user: str) -> None:
        """Take back every token of a user."""
        for token in self._read():
            if token.user_id == user:
                self.revoke(token.id)

    def of(self, shown: str) -> ServerToken | None:
        """Return what is kept of the token that a request came with; None for any other text.

        A digest is looked up, so that the time it takes says nothing of any token. One that is known costs the same
        however many there are; its file is still looked for each time.
        """
        digest = _digest(shown)
        known = self._by_digest.get(digest)
        if known is None or not (self._folder() / f"{known.id}.json").exists():
            self._by_digest = {token.digest: token for token in self._read()}
            known = self._by_digest.get(digest)
        return known

    def _read(self) -> Iterator[ServerToken]:
        folder = self._folder()
        if folder.resolve().is_relative_to(self._root):
            return
        for path in sorted(folder.glob("*.json")):
            with suppress(OSError, ValueError, TypeError, RecursionError):
                token = ServerToken(**json.loads(path.read_text(encoding="utf-8")))
                if token.id == path.stem and token.scope in SCOPES and isinstance(token.digest, str):
                    yield token

    def _folder(self) -> Path:
        return keys_home() / "tokens" / hashlib.sha256(os.fsencode(self._root)).hexdigest()[:32]


def _digest(shown: str) -> str:
    return hashlib.sha256(shown.encode("utf-8", "surrogatepass")).hexdigest()
