"""Schemes of one's own: classes, functions of C that score pages, and decisions in batches."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from destage import _destage
from destage._errors import UsageError
from destage._scheme import Scheme, SchemeLike, Value, checked, expression, scheme_of

if TYPE_CHECKING:
    from destage._admission import Decide
    from destage._destage import View

#: What :func:`scored` takes, as numba's ``cfunc`` wants it.
SCORE_SIGNATURE = "float64(uint64, uint64, uint64, uint64, int32)"

#: The same for ctypes: ``@ds.ScoreFunction`` makes such a function of one of Python.
_GIVES: Any = ctypes.c_double
_TAKES: Any = (ctypes.c_uint64, ctypes.c_uint64, ctypes.c_uint64, ctypes.c_uint64, ctypes.c_int32)
ScoreFunction: Any = ctypes.CFUNCTYPE(_GIVES, *_TAKES)
#: What is a function of ctypes.
_FUNCTION: Any = ScoreFunction.__mro__[1]


@dataclass(frozen=True, eq=False)
class Declared:
    """A scheme of one's own that expressions can name."""

    native: _destage.OwnScheme
    #: Decides for every request of a trace before a run, if it does that.
    decide: Decide | None = None
    #: The class that declares it, if one does.
    policy: type[Policy] | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        if self.policy is None:
            text = "cannot be pickled, as its function is of this process; build the scheme in the task that runs it"
            raise UsageError(f"scheme `{self.native.name}` {text}")
        return _declared_by, (self.policy,)


def _declared_by(policy: type[Policy]) -> Declared:
    return policy._declared()


class OwnScheme:
    """A scheme written in Python."""

    def scheme(self) -> Scheme:
        """The expression that stands for it."""
        raise NotImplementedError


@dataclass(frozen=True)
class Cache:
    """The cache that a policy is for."""

    #: Page frames.
    capacity: int
    #: Bytes of a page.
    page_bytes: int
    #: Chips of the device, 1 without one.
    chips: int
    #: Pages of a block of flash.
    pages_per_block: int
    #: Does a read miss enter the cache?
    read_alloc: bool
    #: Seed of the run.
    seed: int


@dataclass(frozen=True)
class Param:
    """What :func:`param` declares."""

    default: Any
    min: float | None
    max: float | None
    choices: tuple[str, ...] | None
    note: str


def param(
    default: Any,
    *,
    min: float | None = None,
    max: float | None = None,
    choices: Iterable[str] | None = None,
    note: str = "",
) -> Any:
    """Declare a parameter in the body of a :class:`Policy`.

    Parameters
    ----------
    default:
        Its value if it is not given, and its type: a whole or real number from 0, True or False, or one of
        ``choices``.
    min, max:
        Least and largest value that are allowed.
    choices:
        The words that are allowed.
    note:
        What it does.
    """
    return Param(default, min, max, None if choices is None else tuple(choices), note)


class Policy(OwnScheme):
    """A page policy: decides which page leaves the cache next.

    The cache owns the pages and tells of each what happens to it; a page is a number, its address in pages. Every
    run makes an instance of its own, with the parameters of the one that was given.

    - A page is inserted once, hit while it is there, and removed once.
    - **Any** page may be removed at any time, not only the one that ``victim`` named: the host trims it, or a
      layer around the policy takes another one.
    - While one of the methods runs, ``self.view`` (:class:`View`) answers what is dirty and how busy chips are.

    A method that raises, or names a page that is not cached, ends the run with a :class:`SchemeError`.

    >>> import destage as ds
    >>> class Oldest(ds.Policy):
    ...     "Evicts what came in first."
    ...     def start(self, cache):
    ...         self.queue = {}
    ...     def on_insert(self, page):
    ...         self.queue[page] = None
    ...     def on_remove(self, page, reason):
    ...         del self.queue[page]
    ...     def victim(self, view):
    ...         return next(iter(self.queue))
    >>> t = ds.read_trace({"op": ["W"] * 5, "start_sector": [0, 8, 0, 16, 0], "sectors": [8] * 5})
    >>> [r.counts.page_hits for r in ds.run(t, [Oldest(), "fifo"], cache="8KiB")]
    [1, 1]
    """

    #: What expressions call it; by default the name of the class in lower case, ``-`` between words.
    name: ClassVar[str] = ""
    #: Its parameters.
    params: ClassVar[dict[str, Param]] = {}
    #: The cache and the device, while one of the methods runs.
    view: View

    def __init_subclass__(cls, **more: object) -> None:
        super().__init_subclass__(**more)
        own = {name: value for name, value in vars(cls).items() if isinstance(value, Param)}
        cls.params = {**cls.params, **own}
        for name, value in own.items():
            setattr(cls, name, value.default)
        if "name" not in vars(cls):
            words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "-", cls.__name__)
            cls.name = words.strip("_").replace("_", "-").lower()

    def __init__(self, **params: Value) -> None:
        """A policy with these parameters, which are checked; others have their defaults."""
        for name in params:
            if name not in self.params:
                known = ", ".join(self.params) or "none"
                raise TypeError(f"{type(self).__name__} has no parameter {name!r}; there are: {known}")
        self._given = params
        for name, value in params.items():
            setattr(self, name, value)
        if params:
            self.scheme()

    def start(self, cache: Cache) -> None:
        """A run begins, with an empty cache."""

    def on_insert(self, page: int) -> None:
        """The page is cached now."""

    def on_hit(self, page: int) -> None:
        """The cached page is read or written."""

    def on_remove(self, page: int, reason: str) -> None:
        """The page leaves: ``"evicted"``, or ``"discarded"``, as by TRIM, and then it should not be remembered."""

    def victim(self, view: View) -> int:
        """The page that leaves to make room. It stays until ``on_remove``."""
        raise NotImplementedError

    def next_victims(self, view: View) -> Iterable[int]:
        """All pages in the order in which they would leave; a class that has it may stand inside ``gcar`` and others."""
        raise NotImplementedError

    def on_miss(self, page: int) -> None:
        """The page is about to come in, before room is made for it."""

    def on_clean(self, pages: list[int]) -> None:
        """These dirty pages were written back, and stay."""

    def on_rename(self, old: int, new: int) -> None:
        """The page ``old`` is called ``new`` from now on, which happens under ``cac``.

        A class without this method goes on with the old number; ``view.lpn`` has the address.
        """

    def on_partial_hit(self, page: int) -> None:
        """The page is cached, but sectors of it that are read are not."""

    def stats(self) -> dict[str, int]:
        """Figures of its own at the end of a run, which the record has in ``scheme_stats``."""
        return {}

    @classmethod
    def _begin(cls, params: dict[str, Any], cache: dict[str, Any], view: View) -> tuple[Any, ...]:
        policy = cls(**params)
        policy.view = view
        policy.start(Cache(**cache))
        return policy._hooks()

    def _hooks(self) -> tuple[Any, ...]:
        always = ("on_insert", "on_hit", "on_remove", "victim")
        own = ("next_victims", "on_miss", "on_clean", "on_rename", "on_partial_hit", "stats")
        methods = [getattr(self, name) for name in always]
        return (*methods, *(getattr(self, name) if self._has(name) else None for name in own))

    @classmethod
    def _has(cls, name: str) -> bool:
        return getattr(cls, name) is not getattr(Policy, name)

    @classmethod
    def _declared(cls) -> Declared:
        declared: Declared | None = vars(cls).get("_declaration")
        if declared is None:
            if not cls._has("victim"):
                raise UsageError(f"class {cls.__name__} has no method victim")
            params = [
                {
                    "key": name.replace("_", "-"), "note": param.note, "default": param.default,
                    "least": param.min, "most": param.max, "choices": param.choices,
                }
                for name, param in cls.params.items()
            ]  # fmt: skip
            summary = (cls.__doc__ or "").strip().partition("\n")[0]
            ordered = cls._has("next_victims")
            native = _destage.OwnScheme.of_class(cls.name, summary, cls, params, ordered)
            declared = Declared(native, policy=cls)
            setattr(cls, "_declaration", declared)
        return declared

    def scheme(self) -> Scheme:
        """The expression that stands for it."""
        given = {name.replace("_", "-"): value for name, value in getattr(self, "_given", {}).items()}
        return checked(expression(self.name, (), given), (self._declared(),))

    def __repr__(self) -> str:
        return self.scheme().text


def _address(function: Any) -> int:
    """The address of a function of C, whose type is checked where it says it."""
    signature = getattr(function, "_sig", None)
    if signature is not None and hasattr(function, "address"):  # numba
        found = str(signature).replace(" ", "")
        returns, _, arguments = SCORE_SIGNATURE.replace(" ", "").partition("(")
        if found != f"({arguments}->{returns}":
            raise UsageError(f"scored: the function is {signature}; {SCORE_SIGNATURE} is needed")
        return int(function.address)
    if isinstance(function, _FUNCTION):
        if (function.restype, tuple(function.argtypes or ())) != (_GIVES, _TAKES):
            raise UsageError(
                "scored: the function needs restype c_double and argtypes c_uint64 (4 times) and c_int32, as "
                "destage.ScoreFunction has"
            )
        return ctypes.cast(function, ctypes.c_void_p).value or 0
    if isinstance(function, int):
        return function
    raise TypeError("scored: a function of numba.cfunc or ctypes, or the address of one, is needed")


_SCORES: dict[tuple[str, int], tuple[Declared, Any]] = {}


def scored(function: Any, name: str = "scored") -> Scheme:
    """A policy that evicts the page with the lowest score, which a function of C gives at every access.

    The function is ``double score(uint64_t page, uint64_t access, uint64_t hits, uint64_t now_ns, int32_t
    write)``: the address of the page, the number of the page access, the accesses to the page since it came in, the
    arrival of the request in nanoseconds, and 1 for a write. Among equal scores the page that was accessed
    longest ago leaves. The lock of the interpreter is not held while it runs.

    Parameters
    ----------
    function:
        What ``numba.cfunc(ds.SCORE_SIGNATURE)`` or ``ds.ScoreFunction`` makes, a function of a library loaded
        by ctypes, or the address of a function. What is at an address, and what the function does, nobody
        can check: a function that goes astray ends the process.
    name:
        What expressions and records call it.

    >>> import destage as ds
    >>> @ds.ScoreFunction
    ... def recency(page, access, hits, now_ns, write):
    ...     return access
    >>> t = ds.read_trace({"op": ["W"] * 5, "start_sector": [0, 8, 0, 16, 0], "sectors": [8] * 5})
    >>> [r.counts.page_hits for r in ds.run(t, [ds.scored(recency), "lru"], cache="8KiB")]
    [2, 2]
    """
    address = _address(function)
    known = _SCORES.get((name, address))
    if known is None or known[1] is not function:
        known = Declared(_destage.OwnScheme.of_score(name, address, function)), function
        _SCORES[name, address] = known
    return Scheme(name, (known[0],))


_ADMISSIONS: dict[tuple[str, Any], Declared] = {}


def admit(function: Callable[[Any], Any], inner: SchemeLike = "lru", name: str | None = None) -> Scheme:
    """A layer that admits the requests for which ``function`` says so, all of them decided before the run.

    Parameters
    ----------
    function:
        Called with batches of requests (:class:`Batch`, columns of numpy); gives an array of booleans, one for
        each. Where it is false, a write goes past the cache to flash and the pages that a read misses do not
        enter. It sees the trace, not the cache.
    inner:
        The scheme inside.
    name:
        What expressions and records call it; by default the name of the function.

    >>> import destage as ds
    >>> def small(batch):
    ...     return batch.bytes <= 4096
    >>> t = ds.read_trace({"op": ["W"] * 4, "start_sector": [0, 8, 0, 8], "sectors": [8, 16, 8, 16]})
    >>> r = ds.run(t, ds.admit(small, "lru"), cache="64KiB")[0]
    >>> r.scheme, r.counts.page_hits, r.counts.bypassed_pages
    ('small(lru)', 1, 4)
    """
    from destage._admission import decisions_of

    if name is None:
        name = getattr(function, "__name__", "admit").strip("_<>").replace("_", "-").lower()
    declared = _ADMISSIONS.get((name, function))
    if declared is None:
        declared = Declared(_destage.OwnScheme.of_admission(name), decisions_of(function))
        _ADMISSIONS[name, function] = declared
    inside = scheme_of(inner)
    return Scheme(expression(name, (inside.text,), {}), (declared, *inside.own))
