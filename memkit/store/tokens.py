"""Tokens: who may call a server over HTTP, for whom, and what they may do. Only digests are kept, outside the store.

They are stored beside the user's keys, one file each, so that no store can bring a token along and two programs that
create one at the same time lose none. A server checks at each request, so a revoked token is refused from then on.
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
"""A token's rights, each including the ones before: read, offer memory, and vouch by an elicited yes."""
BEARER = "memkit.token"
"""The key of a request's scope that holds its token."""
PREFIX = "memkit_"


@dataclass(frozen=True)
class ServerToken:
    """What is stored about a token: not the token itself."""

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
        """Create a token and return it, which is never shown again, with what is stored about it.

        Raises:
            EnvironmentFault: It cannot be stored.
        """
        shown = PREFIX + secrets.token_urlsafe(32)
        token = ServerToken(secrets.token_hex(6), user, scope, _digest(shown), to_text(now))
        folder = self._folder()
        if folder.resolve().is_relative_to(self._root):
            raise EnvironmentFault(f"{keys_home()} is inside the store, which could then grant access to anyone.")
        make_user_only(folder)
        write_whole(folder / f"{token.id}.json", json.dumps(asdict(token)).encode(), mode=0o600)
        return shown, token

    def all(self) -> list[ServerToken]:
        """Return what is stored about every token, oldest first."""
        return sorted(self._read(), key=lambda token: (token.created_at, token.id))

    def revoke(self, id: str) -> ServerToken:
        """Revoke a token and return what was stored about it; raise ``NotFound`` if there is none."""
        for token in self._read():
            if token.id == id:
                (self._folder() / f"{id}.json").unlink(missing_ok=True)
                return token
        raise NotFound(f"There is no token {id!r:.60}. 'memkit token list' shows them.")

    def revoke_all(self, user: str) -> None:
        """Revoke every token of a user."""
        for token in self._read():
            if token.user_id == user:
                self.revoke(token.id)

    def of(self, shown: str) -> ServerToken | None:
        """Return what is stored about the token in a request; None for any other text.

        A digest is looked up, so that the time it takes reveals nothing about any token. A known one costs the same
        however many there are; its file is still looked for each time.
        """
        digest = _digest(shown)
        known = self._by_digest.get(digest)
        if known is None or not (self._folder() / f"{known.id}.json").exists():
            self._by_digest = {token.digest: token for token in self._read()}
            known = self._by_digest.get(digest)
        return known

    def in_header(self, authorization: str) -> ServerToken | None:
        """Return what is stored about the token that a request's Authorization header shows."""
        kind, _, shown = authorization.partition(" ")
        return self.of(shown.strip()) if kind.lower() == "bearer" else None

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
