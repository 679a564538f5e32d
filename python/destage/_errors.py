"""The exceptions of the package. Their texts are those of the ``destage`` command, with arguments of Python."""

from __future__ import annotations

from destage._words import in_python


class DestageError(Exception):
    """Something that destage refused or that failed."""


class UsageError(DestageError, ValueError):
    """Bad usage or input: what the command ends for with exit code 2."""

    def __init__(self, text: str = "") -> None:
        super().__init__(in_python(text))


class RunError(DestageError, RuntimeError):
    """Something that started did not end well: what the command ends for with exit code 1."""


class SchemeError(RunError):
    """A scheme of one's own broke the contract, or raised.

    The exception that it raised is the ``__cause__``, with its traceback.
    """

    #: Number of the request of the trace that was served, from 0, warm-up passes included.
    request: int
    #: The method that failed.
    hook: str


class DestageWarning(UserWarning):
    """A warning of the command."""
