"""A laboratory for the cache inside a NAND SSD.

>>> import destage as ds
>>> ds.scheme_of("cac(lru)")
cac(lru)
"""

from __future__ import annotations

import json

from destage import _destage
from destage._admission import Batch
from destage._check import CheckError, check
from destage._destage import View
from destage._errors import DestageError, DestageWarning, RunError, SchemeError, UsageError
from destage._fields import Fields
from destage._policy import SCORE_SIGNATURE, Cache, Policy, ScoreFunction, admit, param, scored
from destage._results import Result, Results
from destage._run import run
from destage._scheme import Scheme, scheme_of
from destage._schemes import *  # noqa: F403
from destage._schemes import __all__ as _scheme_names
from destage._sweep import sweep
from destage._tools import Points, mrc, synth, trace_info
from destage._traces import Trace, read_trace

__version__: str = _destage.__version__

__all__ = [
    "Batch",
    "Cache",
    "CheckError",
    "DestageError",
    "DestageWarning",
    "Fields",
    "Points",
    "Policy",
    "Result",
    "Results",
    "RunError",
    "SCORE_SIGNATURE",
    "Scheme",
    "SchemeError",
    "ScoreFunction",
    "Trace",
    "UsageError",
    "View",
    "admit",
    "check",
    "devices",
    "mrc",
    "param",
    "read_trace",
    "run",
    "scored",
    "scheme_of",
    "schemes",
    "sweep",
    "synth",
    "trace_info",
    *_scheme_names,
]


def schemes() -> list[Fields]:
    """All schemes, as ``destage schemes --json`` has them: name, role, parameters and more of each.

    >>> next(s.summary for s in schemes() if s.name == "fifo").startswith("Evicts")
    True
    """
    return [Fields(scheme) for scheme in json.loads(_destage.schemes())]


def devices() -> list[str]:
    """Names of the devices that come along.

    >>> "ecr-64g" in devices()
    True
    """
    return _destage.preset_names()
