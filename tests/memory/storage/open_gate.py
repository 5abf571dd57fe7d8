"""A gate that lets everything in, so that storage is tested by itself."""

from collections.abc import Callable, Sequence

from memkit.runtime.memory.archive.archive import ArchivalStore
from memkit.runtime.memory.interface import ArchiveView, Judgement
from memkit.runtime.memory.record.lines import JSON, Reason
from memkit.runtime.memory.record.record import Draft, Origin

OpenStore = Callable[..., ArchivalStore]


class OpenGate:
    """A gate that admits everything, with the trust that a test asks for in the draft."""

    def judge(self, draft: Draft, origin: Origin, view: ArchiveView, *, consented: bool = True) -> Judgement:
        """Admit ``draft``."""
        trust = str(draft.extra.get("wanted_trust", "verified"))
        decision = "quarantined" if trust == "quarantined" else "admitted"
        return Judgement(decision, (), {"trust": trust})

    def judge_core(
        self, section: str, text: str, origin: Origin, view: ArchiveView, *, consented: bool = True
    ) -> Judgement:
        """Admit a person's text and quarantine everybody else's."""
        return Judgement("admitted" if origin.actor == "person" else "quarantined")

    def judge_document(
        self, value: JSON, origin: Origin, names: Sequence[str] = (), *, consented: bool = True
    ) -> tuple[tuple[Reason, ...], Callable[[JSON], JSON]]:
        """Admit ``value`` as it is."""
        return (), lambda whole: whole


def person(user_id: str = "ada", **more: str) -> Origin:
    """Return the origin of a person at the command line."""
    return Origin(actor="person", user_id=user_id, **more)


def note(store: ArchivalStore, text: str, user_id: str = "ada", **more: object) -> str:
    """Store ``text`` for a user and return its id."""
    decision = store.offer(Draft(text=text, **more), person(user_id))
    assert decision.id is not None, decision
    return decision.id


def found(store: ArchivalStore, query: str, user_id: str = "ada", **more: object) -> list[str]:
    """Return the texts that a search finds, best first."""
    return [hit.text for hit in store.search(query, user_id=user_id, **more).hits]
