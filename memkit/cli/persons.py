"""What vouches for text of others takes a person, and not an agent with a shell."""

from __future__ import annotations

from memkit.errors import NegativeAnswer
from memkit.runtime.host.persons import persons_only


class PersonsOnly(NegativeAnswer):
    """Report that an agent asked for what only a person can say."""

    code = "persons_only"


def require_person(deed: str) -> None:
    """Raise ``PersonsOnly`` where an agent runs this; ``deed`` is what was asked for, such as ``'memkit trust'``."""
    if why := persons_only(deed):
        raise PersonsOnly(why)
