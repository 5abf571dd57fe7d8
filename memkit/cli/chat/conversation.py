"""A conversation of one user with the agent of a store."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from memkit.agent import ReferenceAgent
from memkit.agent_session import lacks_room
from memkit.cli.chat.outlet import Outlet
from memkit.cli.output import Diagnostic, diagnostic
from memkit.use_cases.open_chat import NOBODY
from memkit.workspace import Workspace

NO_USER = "Nobody is named, so nothing is stored or recalled for later: give --user, or set MEMKIT_USER."
NO_CONSENT = 'Nothing is stored for later until {user} agrees: say "yes, you may remember", or use --consent.'
OFF_RECORD = "Memory is read, and nothing of what is said now is kept."


@dataclass
class Conversation:
    """A conversation in a terminal or a pipe."""

    workspace: Workspace
    agent: ReferenceAgent
    changed: bool = False
    """Whether anything was written to the archive, which then is to be committed."""
    outlet: Outlet | None = None
    """What shows its turns, where anything does."""

    @property
    def user(self) -> str:
        """Return whose conversation it is."""
        return self.agent.setting.user

    @property
    def session(self) -> str:
        """Return the session's name."""
        return self.agent.setting.session

    @property
    def prompt(self) -> str:
        """Return what stands before the words that a person types; it says so where nothing of them is kept."""
        if not self.agent.setting.remembers:
            return "(no memory) > "
        return "(memory off) > " if self.agent.is_off_record else "> "

    def notices(self) -> list[Diagnostic]:
        """Return why nothing of this conversation is kept, if nothing is and that was not asked for."""
        agent = self.agent
        if agent.session.fault is not None:
            return [diagnostic("not-kept", agent.session.fault)]
        if not agent.setting.remembers or agent.may_remember():
            return []
        if agent.is_off_record and agent.setting.user != NOBODY:
            return [diagnostic("off_record", OFF_RECORD, severity="info")]
        if agent.setting.user == NOBODY:
            return [diagnostic("user", NO_USER, severity="info")]
        if not agent.setting.long_term:
            return [diagnostic("consent", "Long-term memory is off for this store.", severity="info")]
        return [diagnostic("consent", NO_CONSENT.format(user=self.user), severity="info")]

    def keeps_all_of(self, data: Mapping[str, Any]) -> bool:
        """Return whether the disk took all that a turn was to leave: the session, and what tools were to store."""
        return self.agent.session.fault is None and not lacks_room(data)

    def commit(self) -> None:
        """Commit what the conversation wrote."""
        if self.changed:
            self.workspace.end_batch()
            self.changed = False
