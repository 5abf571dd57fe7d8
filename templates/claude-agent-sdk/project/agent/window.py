"""What the next request of a run will hold, which the command line does not bound."""

from __future__ import annotations

from memory.tiers.context import MainContext


class Window:
    """Compares what the command line has gathered since the run began with what the main context may hold."""

    def __init__(self, main: MainContext) -> None:
        self._main = main
        self._pending = 0
        self._core = ""

    def open(self) -> None:
        """Begin with the main context as it is now, which the model is shown."""
        self._pending = 0
        self._core = self._main.render_core()

    def gather(self, content: object) -> None:
        """Count what the main context does not know yet."""
        self._pending += self._main.count(str(content))

    def settle(self) -> None:
        """Note that the main context has taken in what was gathered."""
        self._pending = 0

    def is_full(self) -> bool:
        """Return whether the next request would hold more than the main context may."""
        return self._main.used() + self._pending > self._main.budget

    def changed_core(self) -> str | None:
        """Return core memory where it is no longer what the model saw last."""
        core = self._main.render_core()
        if core == self._core:
            return None
        self._core = core
        return core
