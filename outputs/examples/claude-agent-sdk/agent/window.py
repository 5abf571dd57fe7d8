"""The size of a run's next request, which the command line does not limit."""

from __future__ import annotations

from memkit_runtime.memory.main import MainContext


class Window:
    """Compares what the command line has gathered since the run began with the limit of the main context."""

    def __init__(self, main: MainContext) -> None:
        self._main = main
        self._pending = 0
        self._core = ""

    def open(self) -> None:
        """Begin with the current main context, which the model is shown."""
        self._pending = 0
        self._core = self._main.render_core()

    def gather(self, content: object) -> None:
        """Count content that the main context does not have yet."""
        self._pending += self._main.count(str(content))

    def settle(self) -> None:
        """Note that the main context has taken in what was gathered."""
        self._pending = 0

    def is_full(self) -> bool:
        """Return whether the next request would exceed the main context's limit."""
        return self._main.used() + self._pending > self._main.budget

    def changed_core(self) -> str | None:
        """Return core memory if it differs from what the model saw last."""
        core = self._main.render_core()
        if core == self._core:
            return None
        self._core = core
        return core
