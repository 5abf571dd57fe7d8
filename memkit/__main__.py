"""The program ``memkit``, also as ``python -m memkit``."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line; one that is interrupted while it is still being loaded ends as any other one."""
    try:
        from memkit.cli.main import main as run
    except KeyboardInterrupt:
        sys.stderr.write("Interrupted.\n")
        sys.exit(130)
    run()


if __name__ == "__main__":
    main()
