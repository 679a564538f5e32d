"""Decisions about requests, made in batches before a run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from destage import _destage
from destage._errors import SchemeError

#: Requests of a batch: columns that stay in the caches of the processor are made fastest. A trace that is in a file
#: is read from its beginning for each batch, so there they are larger.
BATCH, STREAMED_BATCH = 1 << 16, 1 << 20

#: Decides for every request of a trace: a byte for each, 1 or 0.
Decide = Callable[["_destage.Trace"], bytes]


class Batch:
    """Consecutive requests of a trace, as columns of numpy that must not be changed.

    A column is made when it is asked for.
    """

    __slots__ = ("_trace", "_begin", "_end", "_made")

    def __init__(self, trace: _destage.Trace, begin: int, end: int) -> None:
        self._trace, self._begin, self._end = trace, begin, max(begin, end)
        self._made: dict[str, Any] = {}

    def _column(self, name: str, dtype: str = "int64") -> Any:
        column = self._made.get(name)
        if column is None:
            import numpy

            column = numpy.frombuffer(self._trace.column(name, self._begin, self._end), dtype=dtype)
            self._made[name] = column
        return column

    def __len__(self) -> int:
        return self._end - self._begin

    @property
    def arrival_ns(self) -> Any:
        """Arrivals in nanoseconds."""
        return self._column("arrival_ns")

    @property
    def op(self) -> Any:
        """Operations: ``b"R"``, ``b"W"``, ``b"T"`` (trim) or ``b"F"`` (flush)."""
        return self._column("op", "S1")

    @property
    def start_sector(self) -> Any:
        """First sectors, of 512 B."""
        return self._column("start_sector")

    @property
    def sectors(self) -> Any:
        """Sectors of 512 B, of all extents."""
        return self._column("sectors")

    @property
    def stream(self) -> Any:
        """Numbers of the sources."""
        return self._column("stream")

    @property
    def fua(self) -> Any:
        """Which requests are writes with FUA: they complete when their data are on flash."""
        return self._column("fua", "bool")

    @property
    def preflush(self) -> Any:
        """Which requests are writes before which the host flushes the device."""
        return self._column("preflush", "bool")

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
        size = STREAMED_BATCH if trace.is_streamed else BATCH
        for begin in range(0, len(trace), size):
            batch = Batch(trace, begin, min(begin + size, len(trace)))
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
