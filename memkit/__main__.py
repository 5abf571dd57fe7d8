"""The program ``memkit``, also as ``python -m memkit``."""

import gc
import sys

# ``-m`` looks for every module in the current folder first, which may be a store that somebody else made. This comes
# before any other import; for ``memkit`` itself it is too late to do anything about that.
if __name__ == "__main__" and not sys.flags.safe_path:
    del sys.path[0]

YOUNG_OBJECTS = 100_000
"""Number of new objects that triggers a garbage collection."""


def main() -> None:
    """Run the command line; an interrupt during loading ends it as one later does."""
    # Most commands end before there is garbage worth collecting; a long chat collects it in larger steps.
    gc.set_threshold(YOUNG_OBJECTS)
    try:
        from memkit.cli.main import main as run
    except (KeyboardInterrupt, RuntimeError) as error:
        # Before Python 3.12, an interrupt in a class that is being made arrives as the cause of a RuntimeError.
        if isinstance(error, RuntimeError) and not isinstance(error.__cause__, KeyboardInterrupt):
            raise
        sys.stderr.write("Interrupted.\n")
        sys.exit(130)
    run()


if __name__ == "__main__":
    main()
