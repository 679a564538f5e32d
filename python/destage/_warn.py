"""Warnings, at the line of the caller."""

from __future__ import annotations

import os
import sys
import warnings

from destage._errors import DestageWarning
from destage._words import in_python

_HERE = os.path.dirname(__file__)


def warn(text: str) -> None:
    """Warn at the line that called the package."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_HERE):
        level, frame = level + 1, frame.f_back
    warnings.warn(in_python(text), DestageWarning, stacklevel=level)
