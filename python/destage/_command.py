"""The ``destage`` command of the package: the same program as that of Rust."""

from __future__ import annotations

import sys

from destage import _destage


def main() -> int:
    """Do what the command line says; gives the exit code."""
    # Python has no standard output if it was closed when the process began.
    return _destage.command(["destage", *sys.argv[1:]], sys.stdout is None)


if __name__ == "__main__":
    sys.exit(main())
