"""The native part of the package. What it has is for the package; users see `destage`."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, final

__all__ = [
    "OwnScheme",
    "Record",
    "SweepJob",
    "SweepWorker",
    "Trace",
    "View",
    "__version__",
    "answers",
    "arrow_of_rows",
    "arrow_stream",
    "check_scheme",
    "command",
    "distinctions",
    "from_columns",
    "preset_names",
    "read_frame",
    "read_traces",
    "record_columns",
    "run",
    "schemes",
    "sweep_file",
    "sweep_job",
    "table",
    "trace_of_bytes",
    "version",
    "write_report",
]

__version__: str
version: str

@final
class Trace:
    @property
    def name(self) -> str: ...
    @property
    def format(self) -> str: ...
    @property
    def sha256(self) -> str | None: ...
    @property
    def path(self) -> Path | None: ...
    @property
    def duration_ns(self) -> int: ...
    def __len__(self) -> int: ...
    @property
    def is_streamed(self) -> bool: ...
    def column(self, name: str, from_: int, to: int) -> bytes: ...
    def footprint_pages(self, page: int) -> int: ...
    def to_bytes(self) -> tuple[bytes, Path | None, str]: ...
    def write(self, path: str) -> None: ...

@final
class Record:
    def json(self) -> str: ...
    @staticmethod
    def from_json(text: str) -> Record: ...

@final
class OwnScheme:
    @property
    def name(self) -> str: ...
    @staticmethod
    def of_class(
        name: str, summary: str, class_: type, params: Sequence[dict[str, Any]], ordered: bool
    ) -> OwnScheme: ...
    @staticmethod
    def of_score(name: str, address: int, keeper: object) -> OwnScheme: ...
    @staticmethod
    def of_admission(name: str) -> OwnScheme: ...

@final
class View:
    """The cache and the device, as a scheme sees them while one of its methods runs.

    Pages are the numbers that the methods are given.
    """

    @property
    def now_ns(self) -> int:
        """Arrival of the request, or the time of the background event, in nanoseconds."""

    @property
    def accesses(self) -> int:
        """Page accesses so far, the one that is served included."""

    @property
    def request(self) -> int | None:
        """Number of the request that is served, from 0, warm-up passes included; None outside of one."""

    @property
    def is_write(self) -> bool | None:
        """Is the access that is served a write? None outside of one."""

    @property
    def used(self) -> int:
        """Pages that are cached."""

    @property
    def capacity(self) -> int:
        """Page frames of the cache."""

    @property
    def chips(self) -> int:
        """Chips of the device, each with a queue of its own; 1 without one."""

    def is_cached(self, page: int) -> bool:
        """Is the page cached?"""

    def is_dirty(self, page: int) -> bool:
        """Has the cached page data that flash does not have?"""

    def lpn(self, page: int) -> int:
        """The address of the cached page, which differs from its number only under ``cac``."""

    def chip(self, page: int) -> int:
        """The chip that a page belongs to, cached or not; 0 without a device."""

    def drain_ns(self, chip: int) -> int:
        """Time until everything in the queue of the chip is done if nothing else arrives, in nanoseconds."""

    def is_idle(self, chip: int) -> bool:
        """Is nothing at all queued or in service on the chip?"""

    def in_gc(self, chip: int) -> bool:
        """Is the chip collecting garbage?"""

    def queued(self, chip: int) -> tuple[int, int]:
        """Reads and writes in the queue of the chip, the one in service included."""

_Progress = Callable[..., object]

def arrow_of_rows(rows: str, names: Sequence[str]) -> object: ...
def arrow_stream(all: Sequence[Record]) -> object: ...
def check_scheme(text: str, own: Sequence[OwnScheme]) -> None: ...
def command(words: Sequence[str], stdout_is_closed: bool) -> int: ...
def from_columns(
    name: str,
    arrival_ns: bytes,
    op: bytes,
    start_sector: bytes,
    sectors: bytes,
    stream: bytes,
    fua: bytes,
    preflush: bytes,
) -> Trace: ...
def preset_names() -> list[str]: ...
def read_frame(
    name: str,
    columns: Sequence[tuple[str, bool, Callable[[], tuple[str, bytes, list[bytes]]]]],
    rows: int,
    options: dict[str, Any],
) -> tuple[list[Trace], list[str]]: ...
def record_columns() -> list[str]: ...
def read_traces(path: str, options: dict[str, Any], progress: _Progress | None) -> tuple[list[Trace], list[str]]: ...
def run(
    trace: Trace,
    options: dict[str, Any],
    own: Sequence[tuple[OwnScheme, bytes | None]],
    charts: bool,
    progress: _Progress | None,
) -> tuple[list[Record], list[str], list[str]]: ...
def schemes() -> str: ...
def trace_of_bytes(bytes: bytes, path: Path | None, reading: str) -> Trace: ...
def distinctions(all: Sequence[Record]) -> tuple[list[str], list[list[str]], bool]: ...
def answers(all: Sequence[Record]) -> list[str]: ...
def table(all: Sequence[Record]) -> str: ...
def write_report(path: str, title: str, all: Sequence[Record]) -> None: ...

@final
class SweepJob:
    def batches(self) -> list[int]: ...
    def key(self) -> str: ...
    def open_batches(self) -> list[int]: ...
    def merge(self) -> tuple[Path, list[str]]: ...
    def release(self) -> None: ...

@final
class SweepWorker:
    def __new__(
        cls, out: str, key: str, folder: str, trace_cache: str | None, options: dict[str, Any]
    ) -> SweepWorker: ...
    def trace(self, batch: int) -> tuple[str, str]: ...
    def work(self, batch: int) -> list[str]: ...

def sweep_file(path: str) -> tuple[str, str]: ...
def sweep_job(
    json: str,
    name: str,
    out: str,
    folder: str,
    trace_cache: str | None,
    options: dict[str, Any],
    batch: str | None,
    fresh: bool,
) -> tuple[SweepJob, list[str]]: ...
