"""A page that is served in the test's own process, and who looks at it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
from starlette.testclient import TestClient

from memkit.runtime.memory.record.record import Draft
from memkit.serving.http import RATE, Door, Rates, hosts_of
from memkit.serving.page.site import Site
from memkit.serving.page.visits import Visit, Visits
from memkit.store.tokens import ServerTokens
from memkit.workspace import Workspace

HOME = "http://127.0.0.1:8765"


@dataclass
class Served:
    """A page that is served in this process, and who looks at it."""

    client: TestClient
    workspace: Workspace
    site: Site
    now: list[float]
    told: list[str]

    def enter(self, key: str | None = None) -> Any:
        """Enter by the printed key, or another."""
        return self.client.post("/enter", data={"key": key or self.site.visits.key or "none", "back": "/"})

    def do(self, deed: str, **given: str) -> Any:
        """Send the form of a deed, as the page has it."""
        found = re.search(r'name="form_key" value="([^"]+)"', self.client.get("/people").text)
        return self.client.post(f"/do/{deed}", data={"form_key": found[1] if found else "", **given})

    def add(self, text: str, user: str = "ada", **more: Any) -> str:
        """Add a record as a person and return its id."""
        return str(self.workspace.archive.offer(Draft(text, **more), self.workspace.person(user)).id)

    def status(self, id: str) -> str:
        """Return the state of a record."""
        stored = self.workspace.archive.get(id)
        return stored.status if stored else "none"


@contextmanager
def page_of(store: Path) -> Iterator[Served]:
    """Return a page for ada, whom the link that is printed lets in as who started the server."""
    now, told = [0.0], []
    with Workspace(store) as workspace:
        tokens = ServerTokens(store)
        visits = Visits(tokens, Visit("ada", "review"), lambda: now[0])
        site = Site(workspace, visits, anyio.CapacityLimiter(1), told.append, lambda entry: None)

        async def no_clients(*_: Any) -> None:
            raise AssertionError

        door = Door(no_clients, tokens, Rates(RATE), hosts=hosts_of("127.0.0.1"), open_without=False, site=site)
        client = TestClient(door, base_url=HOME, headers={"Origin": HOME})
        yield Served(client, workspace, site, now, told)
    assert told == []


def token(served: Served, user: str, scope: str) -> str:
    """Make a token and enter with it."""
    shown, kept = ServerTokens(served.workspace.root).new(user, scope, served.workspace.clock())
    assert served.enter(shown).status_code == 200
    return kept.id
