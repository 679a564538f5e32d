"""The conformance suite for schemes of one's own: random streams, and the smallest that shows a fault."""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from destage._errors import DestageWarning, RunError, SchemeError, UsageError
from destage._policy import OwnScheme, Policy
from destage._run import run
from destage._scheme import Scheme, scheme_of
from destage._traces import read_trace

#: Sectors of a page.
PAGE = 8
#: A request: operation, first page, pages, and the page that the first one was before, as a file system that
#: writes to new places has it.
Request = tuple[str, int, int]

#: A device that is prepared in no time.
SMALL: Any = {"channels": 2, "blocks_per_plane": 64, "pages_per_block": 32, "op": 0.25}

#: What stands around the policy.
AROUND = ("{}", "cac({})", "prober({})", "procache({},p=0.5)")
#: The same where the policy has an order.
ORDERED = ("gcar({})", "eager({})")


class CheckError(SchemeError):
    """A scheme broke the contract. The text has the smallest case that was found; the exception of the scheme
    is the ``__cause__``."""

    #: The scheme expression.
    scheme: str
    #: Frames of the cache.
    frames: int
    #: The requests: operation, first page, pages.
    requests: list[Request]


@dataclass(frozen=True)
class Case:
    """A stream, a cache, and what is around the policy."""

    requests: tuple[Request, ...]
    frames: int
    around: str
    timed: bool

    def smaller(self) -> Iterator[Case]:
        """Cases that are a little simpler, the simplest first."""
        if self.timed:
            yield replace(self, timed=False)
        if self.around != "{}":
            yield replace(self, around="{}")
        size = len(self.requests) // 2
        while size:
            for at in range(0, len(self.requests), size):
                rest = self.requests[:at] + self.requests[at + size :]
                if rest:
                    yield replace(self, requests=rest)
            size //= 2
        if self.frames > 1:
            yield replace(self, frames=self.frames - 1)
        for i, (op, page, pages) in enumerate(self.requests):
            simpler = [(op, page, 1)] if pages > 1 else []
            simpler += [("W", page, pages)] if op == "R" else []
            simpler += [(op, page // 2, pages)] if page else []
            for request in simpler:
                yield replace(self, requests=(*self.requests[:i], request, *self.requests[i + 1 :]))


def _stream(draw: random.Random) -> tuple[Request, ...]:
    """Requests of a kind of their own: some operations do not occur, and addresses are more or less skewed."""
    operations = [op for op in "RWT" if draw.random() < 0.75] or ["W"]
    weights = [draw.random() + 0.1 for _ in operations]
    pages, longest, skew = draw.choice([3, 12, 60]), draw.choice([1, 1, 3, 9]), draw.choice([0, 1, 3])

    def request() -> Request:
        page = min(draw.randrange(pages) for _ in range(skew + 1))
        return draw.choices(operations, weights)[0], page, draw.randint(1, longest)

    return tuple(request() for _ in range(draw.choice([5, 40, 150])))


def _run(scheme: Scheme, case: Case) -> str:
    """Returns the record of a case, without the cost of its execution."""
    composed = Scheme(case.around.format(scheme.text), scheme.own)
    columns = {
        "arrival_ns": [i * 20_000 for i in range(len(case.requests))],
        "op": [op for op, _, _ in case.requests],
        "start_sector": [page * PAGE for _, page, _ in case.requests],
        "sectors": [pages * PAGE for _, _, pages in case.requests],
    }
    host_fs = "lfs" if case.around.startswith("cac") else None
    cache = case.frames * PAGE * 512
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DestageWarning)
        results = run(
            read_trace(columns, name="check"), composed, cache=cache, host_fs=host_fs, progress=False,
            device="default" if case.timed else None, set=SMALL if case.timed else None,
            addresses="wrap" if case.timed else None,
        )  # fmt: skip
    return repr((results[0].counts, results[0].scheme_stats))


class _Wrong(Exception):
    """A law does not hold."""


def _fault(scheme: Scheme, case: Case) -> Exception | None:
    """Returns the fault of a case, if it has one."""
    try:
        if _run(scheme, case) != _run(scheme, case):
            return _Wrong("two runs of the same requests differ: something beside the requests decides")
    except SchemeError as error:
        return error
    except (RunError, UsageError) as error:
        # The case does not suit the scheme, as a cache of few pages does not suit some layers.
        return error if isinstance(error, RunError) else None
    return None


def _shrunk(scheme: Scheme, case: Case, fault: Exception, tries: int = 400) -> tuple[Case, Exception]:
    """The smallest case that goes wrong, as far as steps lead to it."""
    found = True
    while found and tries > 0:
        found = False
        for simpler in case.smaller():
            tries -= 1
            other = _fault(scheme, simpler)
            if other is not None:
                case, fault, found = simpler, other, True
                break
            if tries == 0:
                break
    return case, fault


def check(
    policy: OwnScheme | type[OwnScheme],
    *,
    cases: int = 60,
    seed: int = 1,
    log: Callable[[str], None] | None = None,
) -> None:
    """Hold a scheme of one's own to the contract.

    Random streams of reads, writes and trims go through caches of few pages, with the scheme alone, inside
    layers, behind a file system that moves addresses, and on a device. The scheme must not raise, name only pages
    that are cached, and give the same result twice. Its order (``next_victims``), if it has one, must hold every cached
    page once, and begin with its victim. What goes wrong is made as small as possible before it is told.

    Parameters
    ----------
    policy:
        A class, or an instance with parameters.
    cases:
        Streams to draw.
    seed:
        Seed of the streams; the same one draws the same.
    log:
        Called with a line for every case.

    Raises
    ------
    CheckError
        The contract is broken.

    >>> import destage as ds
    >>> class Forgets(ds.Policy):
    ...     "Forgets that any page may leave at any time."
    ...     def start(self, cache):
    ...         self.pages = []
    ...     def on_insert(self, page):
    ...         self.pages.append(page)
    ...     def victim(self, view):
    ...         return self.pages.pop(0)
    >>> ds.check(Forgets)
    Traceback (most recent call last):
    destage._check.CheckError: ...
    """
    scheme = scheme_of(policy)
    # Declarations differ from run to run only in names, so one check is enough for what is around.
    own = policy if isinstance(policy, type) else type(policy)
    ordered = issubclass(own, Policy) and own._has("next_victims")
    checked = _with_laws(policy) if isinstance(own, type) and issubclass(own, Policy) else scheme
    around = AROUND + (ORDERED if ordered else ())
    draw = random.Random(seed)
    for number in range(cases):
        shape = around[number % len(around)]
        timed = shape in ORDERED or draw.random() < 0.3
        case = Case(_stream(draw), draw.choice([1, 2, 3, 5, 8, 30]), shape, timed)
        if log is not None:
            log(f"case {number}: {shape.format(scheme.text)}, {case.frames} frames, {len(case.requests)} requests")
        fault = _fault(checked, case)
        if fault is not None:
            raise _told(scheme, *_shrunk(checked, case, fault)) from (fault.__cause__ or fault)


def _told(scheme: Scheme, case: Case, fault: Exception) -> CheckError:
    requests = "\n".join(f"    {op} page {page}" + (f" to {page + n - 1}" if n > 1 else "") for op, page, n in case.requests)
    composed = case.around.format(scheme.text)
    where = "on a device" if case.timed else "without a device"
    fs = ", behind the file system lfs" if case.around.startswith("cac") else ""
    error = CheckError(f"{fault}\nthe smallest case found: {composed}, {case.frames} frames, {where}{fs}:\n{requests}")
    error.scheme, error.frames, error.requests = composed, case.frames, list(case.requests)
    error.request, error.hook = getattr(fault, "request", 0), getattr(fault, "hook", "")
    return error


def _with_laws(policy: Any) -> Scheme:
    """The same policy, which looks at its own order whenever it is asked for a victim."""
    base: Any = policy if isinstance(policy, type) else type(policy)
    given = {} if isinstance(policy, type) else getattr(policy, "_given", {})

    class Checked(base):  # type: ignore[misc]
        name = base.name + "-checked"
        _cached: set[int]

        def start(self, cache: Any) -> None:
            self._cached = set()
            super().start(cache)

        def on_insert(self, page: int) -> None:
            self._cached.add(page)
            super().on_insert(page)

        def on_remove(self, page: int, reason: str) -> None:
            self._cached.discard(page)
            super().on_remove(page, reason)

        def victim(self, view: Any) -> int:
            order = list(self.next_victims(view)) if self._has("next_victims") else None
            page = super().victim(view)
            if order is not None:
                if sorted(order) != sorted(self._cached):
                    raise _Wrong(f"next_victims gives {order}, but the cached pages are {sorted(self._cached)}")
                if order[0] != page:
                    raise _Wrong(f"next_victims begins with page {order[0]}, but victim names page {page}")
            return page  # type: ignore[no-any-return]

    Checked.__doc__ = base.__doc__
    if base._has("on_rename"):

        def on_rename(self: Any, old: int, new: int) -> None:
            self._cached.discard(old)
            self._cached.add(new)
            base.on_rename(self, old, new)

        setattr(Checked, "on_rename", on_rename)
    return scheme_of(Checked(**given))
