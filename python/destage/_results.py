"""Results of runs: a sequence, a table of Arrow, a report."""

from __future__ import annotations

import html
import json
import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal, overload

from destage import _destage
from destage._errors import DestageError
from destage._fields import Fields
from destage._record import Record


if TYPE_CHECKING:
    import pandas  # type: ignore[import-untyped]
    import polars

#: Statistics of response times.
Statistic = Literal["mean", "std", "p50", "p95", "p99", "p999", "p9999", "max"]
#: Requests that have response times.
Operation = Literal["read", "write", "all"]
#: Parts of a record that are one value of a table.
_WHOLE = ("scheme_stats",)


class Result(Record):
    """The record of one run. `docs/OUTPUT.md` says what its fields are.

    ``counts``, ``ratios``, ``latency_ns`` and the others are attributes: ``r.counts.page_hits``. Times are
    nanoseconds, sizes bytes or pages as the names say. As a mapping it has the columns of a table:
    ``r["counts.page_hits"]``, so that ``pandas.DataFrame([r, ...])`` has one for each figure.
    """

    __slots__ = ("_native",)

    def __init__(self, native: _destage.Record) -> None:
        super().__init__(json.loads(native.json()))
        self._native = native

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled it is its line of JSON, without what a report draws over time."""
        return _result_of, (self.json(),)

    def __deepcopy__(self, memo: object) -> Result:
        return Result(self._native)

    def __getitem__(self, name: str) -> Any:
        if name in self._fields:
            return super().__getitem__(name)
        part: Any = self._fields
        for key in name.split("."):
            if not isinstance(part, dict) or key not in part:
                raise KeyError(name)
            part = part[key]
        return part

    def __iter__(self) -> Iterator[str]:
        return _columns("", self._fields)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __contains__(self, name: object) -> bool:
        return name in self._fields or (isinstance(name, str) and name in set(self))

    def latency(self, what: Statistic = "mean", op: Operation = "all") -> float | None:
        """A response time in nanoseconds.

        Parameters
        ----------
        what:
            ``mean``, ``std``, ``p50``, ``p95``, ``p99``, ``p999``, ``p9999`` or ``max``.
        op:
            ``read``, ``write`` or ``all``.

        None if there was no such request. Without a device no request takes time, which is an error.
        """
        times = self._fields.get("latency_ns")
        if times is None:
            raise DestageError("without a device no request takes time: run with device=...")
        for given, known in ((op, times), (what, times["all"])):
            if given not in known:
                raise DestageError(f"no response time {given!r}; there are: {', '.join(known)}")
        return times[op][what]  # type: ignore[no-any-return]

    def json(self) -> str:
        """The record as one line of JSON, as ``destage run --format-out jsonl`` writes it."""
        return self._native.json()

    def __repr__(self) -> str:
        hit = self._fields["ratios"]["page_hit_ratio"]
        shown = "no pages" if hit is None else f"{hit:.2%} of page accesses hit"
        fields = self._fields
        name = f"run {fields['run_name']}, " if "run_name" in fields else ""
        size = f"{fields['cache_pages']} pages of {fields['page_bytes']} B, device {fields['device']}"
        return f"<destage.Result {fields['trace']['name']}, {name}{fields['scheme']}, {size}: {shown}>"


def _result_of(line: str) -> Result:
    return Result(_destage.Record.from_json(line))


def _columns(above: str, fields: dict[str, Any]) -> Iterator[str]:
    for name, value in fields.items():
        if isinstance(value, dict) and name not in _WHOLE:
            yield from _columns(f"{above}{name}.", value)
        else:
            yield above + name


class Results:
    """The results of runs, in their order: traces, then schemes, then cache sizes.

    They are indexed, sliced and gone through as a list of :class:`Result`, and they are a table: :meth:`to_pandas`,
    :meth:`to_polars`, ``pandas.DataFrame(r)``, ``polars.DataFrame(r)`` and ``pyarrow.table(r)``. Nested fields are columns such as ``counts.page_hits``.
    """

    __slots__ = ("_all", "_left_out")

    def __init__(self, results: Sequence[Result], left_out: Sequence[str] = ()) -> None:
        self._all = list(results)
        self._left_out = list(left_out)

    @classmethod
    def _of(cls, records: Sequence[_destage.Record], left_out: Sequence[str] = ()) -> Results:
        return cls([Result(record) for record in records], left_out)

    @property
    def left_out(self) -> list[str]:
        """The runs that could not run: scheme, size and reason of each."""
        return list(self._left_out)

    @classmethod
    def from_json_lines(cls, text: str) -> Results:
        """The results of lines of JSON, such as those of ``results.jsonl``."""
        return cls._of([_destage.Record.from_json(line) for line in text.splitlines() if line.strip()])

    def __len__(self) -> int:
        return len(self._all)

    @overload
    def __getitem__(self, index: int) -> Result: ...

    @overload
    def __getitem__(self, index: slice) -> Results: ...

    def __getitem__(self, index: int | slice) -> Result | Results:
        if isinstance(index, slice):
            return Results(self._all[index])
        return self._all[index]

    # Not a `Sequence`: frames would take it for one column of objects instead of a table.

    def __iter__(self) -> Iterator[Result]:
        return iter(self._all)

    def __reversed__(self) -> Iterator[Result]:
        return reversed(self._all)

    def __contains__(self, result: object) -> bool:
        return result in self._all

    def __eq__(self, other: object) -> bool:
        return self._all == other._all if isinstance(other, Results) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __add__(self, other: Results) -> Results:
        """These results, then the others."""
        return Results([*self._all, *other], [*self._left_out, *other._left_out])

    def _natives(self) -> list[_destage.Record]:
        return [result._native for result in self._all]

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The results as a stream of Arrow's C interface."""
        return _destage.arrow_stream(self._natives())

    def to_pandas(self) -> pandas.DataFrame:
        """The results as a table of pandas, with all columns of a record, those of :meth:`to_polars`."""
        import pandas

        rows = [dict(result) for result in self._all]
        return pandas.DataFrame({name: [row.get(name) for row in rows] for name in _destage.record_columns()})

    def to_polars(self) -> polars.DataFrame:
        """The results as a table of polars, with all columns of a record; lists are JSON text."""
        import polars

        return polars.DataFrame(self)

    def json_lines(self) -> str:
        """A line of JSON for each result, as ``destage run --format-out jsonl`` writes them."""
        return "".join(result.json() + "\n" for result in self._all)

    def answers(self) -> list[str]:
        """Sentences that say which scheme answers fastest, hits most, and writes least to flash.

        One for each trace, device and cache size, which stand in front if there are several. Hit ratios are compared among
        runs with the same read allocation, dirty pages left in the cache count as flash writes, and ties are told.
        """
        return _destage.answers(self._natives())

    def table(self) -> str:
        """The table that the command prints."""
        return _destage.table(self._natives())

    def report(self, path: str | os.PathLike[str], title: str = "destage run") -> None:
        """Write tables and charts of all runs to ``path``, one self-contained HTML page.

        Figures over time are drawn for runs with ``charts=True``.
        """
        _destage.write_report(os.fspath(path), title, self._natives())

    def __repr__(self) -> str:
        return self.table() if self._all else "<destage.Results: none>"

    def _repr_html_(self) -> str:
        """The table of a notebook."""
        timed = any("latency_ns" in result for result in self._all)
        own, texts, in_bytes = _destage.distinctions(self._natives())
        cache, writes = ("cache MiB", "flash writes MiB") if in_bytes else ("cache pages", "flash writes")
        heads = ["trace", "scheme", *own, cache, "page hit %", "read hit %", "write hit %", writes]
        heads += ["mean ms", "p99 ms", "WAF"] if timed else []
        rows = [_row(result, text, timed, in_bytes) for result, text in zip(self._all, texts)]
        head = "".join(f"<th>{html.escape(cell)}</th>" for cell in heads)
        body = "".join("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _row(result: Result, own: list[str], timed: bool, in_bytes: bool) -> list[str]:
    def shown(value: float | None, scale: float, digits: int) -> str:
        return "" if value is None else f"{value * scale:.{digits}f}"

    ratios, counts = result["ratios"], result["counts"]
    hits = [shown(ratios[f"{kind}page_hit_ratio"], 100, 2) for kind in ("", "read_", "write_")]

    def amount(pages: int) -> str:
        return f"{pages * result['page_bytes'] / 2**20:,.3f}" if in_bytes else f"{pages:,}"

    cache, writes = amount(result["cache_pages"]), amount(counts["flash_writes_host"])
    row = [result["trace"]["name"], result["scheme"], *own, cache, *hits, writes]
    if timed and "latency_ns" in result:
        row += [shown(result.latency(what), 1e-6, 3) for what in ("mean", "p99")]
        row.append(shown(ratios["waf"] if "waf" in ratios else None, 1, 2))
    return row
