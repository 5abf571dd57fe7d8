"""The program ``memkit``, also as ``python -m memkit``."""

import gc
import sys

# ``-m`` looks for every module first where it was called, and that may be a store that somebody else made. This comes
# before any other import; ``memkit`` itself was found there, or not, before there was anything to be done about it.
if __name__ == "__main__" and not sys.flags.safe_path:
    del sys.path[0]

YOUNG_OBJECTS = 100_000
"""New objects between two collections of garbage."""


def main() -> None:
    """Run the command line; one that is interrupted while it is still being loaded ends as any other one."""
    # Most commands are over before there is garbage worth looking for; a long talk collects it, in larger steps.
    gc.set_threshold(YOUNG_OBJECTS)
    try:
        from memkit.cli.main import main as run
    except KeyboardInterrupt:
        sys.stderr.write("Interrupted.\n")
        sys.exit(130)
    run()


if __name__ == "__main__":
    main()
