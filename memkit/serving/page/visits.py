"""Visitors of the page: a key that is printed once, or a token, starts a visit that a cookie names."""

from __future__ import annotations

import hmac
import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from memkit.serving.interface import Caller
from memkit.store.tokens import SCOPES, ServerTokens

IDLE = 8 * 3600.0
"""Seconds without a request after which a visit is over."""
MOST_VISITS = 1000
CLIENT = "page"
"""The actor in offers of a visit by token."""


@dataclass
class Visit:
    """Somebody who may view, and perhaps act, for one user."""

    user: str
    scope: str
    """read | write | review"""
    token: str | None = None
    """The id of the token that it began with; None for the person who started the server."""
    form_key: str = field(default_factory=lambda: secrets.token_urlsafe(24))
    """Included in every form of this visit, so that no other page can send one."""
    seen: float = 0.0
    message: str = ""
    """The result of an action, for the next page."""

    @property
    def is_operator(self) -> bool:
        """Return whether it is the person who started the server, and may see what concerns every user."""
        return self.token is None

    def may(self, scope: str) -> bool:
        """Return whether the visit's scope includes ``scope``."""
        return SCOPES.index(self.scope) >= SCOPES.index(scope)

    @property
    def caller(self) -> Caller | None:
        """Return the client in whose name writes are made; None for a person who is vouched for."""
        return None if self.may("review") else Caller(self.user, CLIENT, self.scope, token=self.token)


class Visits:
    """The visits of one server, in its memory alone; a restart ends all of them."""

    def __init__(
        self, tokens: ServerTokens, operator: Visit | None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Admit anyone who shows a token, and once whoever shows ``key``, as ``operator``."""
        self._tokens = tokens
        self._operator = operator
        self._clock = clock
        self._open: dict[str, Visit] = {}
        self._guard = threading.Lock()
        self.key = secrets.token_urlsafe(24) if operator else None

    def enter(self, shown: str) -> str | None:
        """Begin a visit and return the cookie's value; None for a key that is wrong or was used."""
        with self._guard:
            visit = self._visit_of(shown.strip())
            if visit is None:
                return None
            self._drop_old()
            name = secrets.token_urlsafe(32)
            visit.seen = self._clock()
            self._open[name] = visit
            return name

    def of(self, name: str) -> Visit | None:
        """Return the visit that a cookie names, if it is not over and its token was not revoked."""
        with self._guard:
            visit = self._open.get(name)
            if visit is None:
                return None
            now = self._clock()
            if now - visit.seen > IDLE or (visit.token and visit.token not in {one.id for one in self._tokens.all()}):
                del self._open[name]
                return None
            visit.seen = now
            return visit

    def once(self, header: str) -> Visit | None:
        """Return a visit of one request for the token in its Authorization header; no form can be sent in it."""
        token = self._tokens.in_header(header)
        return Visit(token.user_id, token.scope, token.id) if token else None

    def leave(self, name: str) -> None:
        """End a visit."""
        with self._guard:
            self._open.pop(name, None)

    def _visit_of(self, shown: str) -> Visit | None:
        if self.key and self._operator and hmac.compare_digest(shown.encode(), self.key.encode()):
            self.key = None
            return self._operator
        token = self._tokens.of(shown) if shown else None
        return Visit(token.user_id, token.scope, token.id) if token else None

    def _drop_old(self) -> None:
        oldest = sorted(self._open, key=lambda name: self._open[name].seen)
        for name in oldest[: max(0, len(oldest) - MOST_VISITS + 1)]:
            del self._open[name]
