"""Decisions about requests, made in batches before a run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from destage import _destage
from destage._errors import SchemeError

#: Requests of a batch.
BATCH = 1 << 20

#: Decides for every request of a trace: a byte for each, 1 or 0.
Decide = Callable[["_destage.Trace"], bytes]


class Batch:
    """Consecutive requests of a trace, as columns of numpy that must not be changed.

    Attributes
    ----------
    arrival_ns:
        Arrivals in nanoseconds.
    op:
        ``b"R"``, ``b"W"``, ``b"T"`` or ``b"F"``.
    start_sector, sectors:
        First sector of 512 B, and sectors of all extents.
    stream:
        Number of the source.
    """

    __slots__ = ("arrival_ns", "op", "start_sector", "sectors", "stream")

    def __init__(self, columns: tuple[bytes, bytes, bytes, bytes, bytes]) -> None:
        import numpy

        arrival, op, start, sectors, stream = columns
        self.arrival_ns = numpy.frombuffer(arrival, dtype="int64")
        self.op = numpy.frombuffer(op, dtype="S1")
        self.start_sector = numpy.frombuffer(start, dtype="int64")
        self.sectors = numpy.frombuffer(sectors, dtype="int64")
        self.stream = numpy.frombuffer(stream, dtype="int64")

    def __len__(self) -> int:
        return len(self.op)

    @property
    def bytes(self) -> Any:
        """Bytes of the requests."""
        return self.sectors * 512

    @property
    def is_write(self) -> Any:
        """Which requests are writes."""
        return self.op == b"W"


def decisions_of(function: Callable[[Batch], Any]) -> Decide:
    """The decisions of ``function``, batch by batch."""

    def decide(trace: _destage.Trace) -> bytes:
        import numpy

        parts = []
        for begin in range(0, len(trace), BATCH):
            batch = Batch(trace.columns(begin, begin + BATCH))
            try:
                mask = numpy.asarray(function(batch))
            except Exception as error:
                name = getattr(function, "__name__", "admit")
                text = f"{trace.name}: requests {begin} to {begin + len(batch) - 1}: {name} raised {error!r}"
                raised = SchemeError(text)
                raised.request, raised.hook = begin, name
                raise raised from error
            if mask.dtype.kind != "b" or mask.shape != (len(batch),):
                raised = SchemeError(
                    f"{trace.name}: {len(batch)} booleans are needed, one for each request; not {mask.dtype} of "
                    f"shape {mask.shape}"
                )
                raised.request, raised.hook = begin, getattr(function, "__name__", "admit")
                raise raised
            parts.append(mask.tobytes())
        return b"".join(parts)

    return decide
