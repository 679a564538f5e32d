"""Schemes of one's own: classes against those that come along, faults, checks, scores, decisions."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import threading
import time
from collections import OrderedDict

import numpy as np
import pytest
from conftest import SMALL, full, requests

import destage as ds


class PyLru(ds.Policy):
    """Evicts the page that was not used for the longest time."""

    def start(self, cache):
        self.order = OrderedDict()

    def on_insert(self, page):
        self.order[page] = None

    def on_hit(self, page):
        self.order.move_to_end(page)

    def on_remove(self, page, reason):
        del self.order[page]

    def victim(self, view):
        return next(iter(self.order))

    def next_victims(self, view):
        return iter(self.order)


class PyFifo(PyLru):
    """Evicts what came in first."""

    def on_hit(self, page):
        pass


class CleanFirst(PyLru):
    """Evicts the clean page that was not used for the longest time, if one of the next is clean."""

    window: int = ds.param(8, min=1, note="pages that are looked at")
    share: float = ds.param(0.5, max=1.0)
    strict: bool = ds.param(False)
    kind: str = ds.param("near", choices=["near", "far"])

    next_victims = ds.Policy.next_victims

    def victim(self, view):
        pages = [page for _, page in zip(range(self.window), self.order)]
        return next((page for page in pages if not view.is_dirty(page)), pages[0])

    def stats(self):
        return {"window": self.window}


# `cac` over a trace that names no old addresses is told to have nothing to do.
pytestmark = pytest.mark.filterwarnings("ignore::destage.DestageWarning")


def figures(results: ds.Results) -> list[object]:
    return [(r.counts, r.ratios, r.cache_pages) for r in results]


@pytest.mark.parametrize(
    ("around", "options"),
    [
        ("{}", {"cache": ["64KiB", "256KiB"]}),
        ("{}", {"cache": "128KiB", **SMALL}),
        ("cac({})", {"cache": "128KiB", "host_fs": "lfs"}),
        ("cac(prober({}))", {"cache": "128KiB", "host_fs": "lfs"}),
        ("gcar({})", {"cache": "128KiB", **SMALL}),
        ("procache({},p=0.5)", {"cache": "128KiB", "seed": 3}),
        ("awb({})", {"cache": "128KiB", **SMALL}),
    ],
)
@pytest.mark.parametrize(("own", "name"), [(PyLru, "lru"), (PyFifo, "fifo")])
def test_a_class_is_what_the_scheme_of_the_same_rules_is(trace, around, options, own, name):
    text = ds.scheme_of(own()).text
    composed = ds.Scheme(around.format(text), ds.scheme_of(own()).own)
    mine, known = (ds.run(trace, scheme, **options) for scheme in (composed, around.format(name)))
    assert figures(mine) == figures(known)
    assert mine[0].scheme == around.format(text)


def test_order_of_results_is_that_of_schemes(trace):
    line = ["lru", PyLru(), ds.cac(PyFifo()), "fifo", PyFifo]
    results = ds.run(trace, line, cache=["64KiB", "128KiB"], host_fs=["inplace", "lfs"])
    names = ["lru", "py-lru", "cac(py-fifo)", "fifo", "py-fifo"]
    assert [r.scheme for r in results] == [name for name in names for _ in range(2)] * 2


def test_parameters(trace):
    policy = CleanFirst(window=3, strict=True)
    assert (policy.window, policy.share, policy.strict, policy.kind) == (3, 0.5, True, "near")
    assert repr(policy) == "clean-first(window=3,strict=true)"
    result = ds.run(trace, policy, cache="64KiB")[0]
    assert result.scheme == "clean-first(strict=true,window=3)"
    assert result.scheme_stats.window == 3
    assert ds.run(trace, CleanFirst, cache="64KiB")[0].scheme_stats.window == 8
    for wrong, text in [({"window": 0}, "integer, 1"), ({"share": 1.5}, "number in"), ({"kind": "x"}, "near, far")]:
        # Before there is a run, and within layers.
        with pytest.raises(ds.UsageError, match=text):
            CleanFirst(**wrong)
    with pytest.raises(ds.UsageError, match="out of range: p=2.0"):
        ds.cac(ds.procache(p=2.0))
    with pytest.raises(TypeError, match="no parameter 'windw'; there are: window, share, strict, kind"):
        CleanFirst(windw=3)
    with pytest.raises(ds.UsageError, match="gcar"):
        ds.run(trace, ds.gcar(CleanFirst()), cache="64KiB", **SMALL)


def test_names_are_checked(trace):
    with pytest.raises(ds.UsageError, match="`lru` is the name of a scheme that comes along"):
        ds.run(trace, type("Lru", (PyLru,), {})(), cache="64KiB")
    twice = [type("Same", (PyLru,), {})(), type("Same", (PyFifo,), {})()]
    with pytest.raises(ds.UsageError, match="two different schemes are called `same`"):
        ds.run(trace, twice, cache="64KiB")
    with pytest.raises(ds.UsageError, match="class Nothing has no method victim"):
        ds.run(trace, type("Nothing", (ds.Policy,), {})(), cache="64KiB")


def broken(**methods):
    return type("Broken", (PyLru,), methods)()


def deep(self, page):
    return deep(self, page)


@pytest.mark.parametrize(
    ("methods", "hook", "text", "cause"),
    [
        ({"victim": lambda self, view: 10**6}, "victim", "victim named page 1000000, which is not cached", None),
        ({"victim": lambda self, view: -5}, "victim", "named page -5, which is not cached", None),
        ({"victim": lambda self, view: None}, "victim", "victim gave None, which is no page", None),
        ({"victim": lambda self, view: "3"}, "victim", "victim gave '3'", None),
        ({"victim": lambda self, view: 2**70}, "victim", "which is no page", None),
        ({"on_hit": lambda self, page: {}[page]}, "on_hit", "on_hit raised KeyError: ", KeyError),
        ({"on_hit": deep}, "on_hit", "on_hit raised RecursionError", RecursionError),
        ({"on_insert": lambda self: None}, "on_insert", "on_insert raised TypeError", TypeError),
        ({"on_remove": lambda self, page, reason: 1 / 0}, "on_remove", "ZeroDivisionError", ZeroDivisionError),
        ({"start": lambda self, cache: cache.frames}, "start", "start raised AttributeError", AttributeError),
        ({"stats": lambda self: {"x": -1}}, "stats", "stats raised OverflowError", OverflowError),
    ],
)
def test_what_breaks_the_contract_ends_the_run(trace, methods, hook, text, cause):
    with pytest.raises(ds.SchemeError, match=text) as raised:
        ds.run(trace, broken(**methods), cache="64KiB")
    error = raised.value
    assert (error.hook, type(error.__cause__)) == (hook, type(None) if cause is None else cause)
    assert 0 <= error.request < len(trace)
    assert "request" in str(error) and "broken" in str(error)
    if cause is not None and hook not in ("on_insert", "stats"):
        # The traceback ends in the method.
        tb = error.__cause__.__traceback__
        while tb.tb_next is not None:
            tb = tb.tb_next
        assert tb.tb_frame.f_code.co_filename == __file__
    # Nothing is left behind.
    assert ds.run(trace, PyLru(), cache="64KiB")[0].counts.page_hits > 0


def test_the_request_is_that_which_was_served():
    trace = ds.read_trace({"op": ["W"] * 4, "start_sector": [0, 8, 16, 24], "sectors": [8] * 4})
    with pytest.raises(ds.SchemeError, match="request 2 of the trace") as raised:
        ds.run(trace, broken(victim=lambda self, view: 77), cache="8KiB")
    assert raised.value.request == 2


def test_next_victims_is_checked(trace):
    with pytest.raises(ds.SchemeError, match="next_victims named page 99999999, which is not cached"):
        scheme = broken(next_victims=lambda self, view: [99999999])
        ds.run(trace, ds.gcar(scheme), cache="64KiB", **SMALL)


def test_views_are_open_while_methods_run(trace):
    seen = []

    class Looks(PyLru):
        "Looks at all that there is."

        def victim(self, view):
            page = super().victim(view)
            chip = view.chip(page)
            assert view is self.view and view.is_cached(page) and view.lpn(page) == page
            seen.append((view.used, view.capacity, view.chips, view.drain_ns(chip), view.is_idle(chip)))
            assert view.queued(chip) >= (0, 0) and view.in_gc(chip) in (True, False)
            assert view.request is not None and view.is_write in (True, False) and view.accesses > 0
            assert view.now_ns >= 0
            return page

    policy = Looks()
    ds.run(trace, policy, cache="64KiB", **SMALL)
    used, capacity, chips, _, _ = seen[-1]
    assert (used, capacity) == (16, 16) and chips > 1
    assert any(drain > 0 for _, _, _, drain, _ in seen) and any(idle for *_, idle in seen)
    kept = []

    class Keeps(PyLru):
        "Keeps its view."

        def on_hit(self, page):
            kept.append(self.view)

    ds.run(trace, Keeps(), cache="64KiB")
    with pytest.raises(ds.RunError, match="a view can be asked only while a method of its scheme runs"):
        kept[0].is_dirty(0)
    asked = broken(on_hit=lambda self, page: self.view.is_dirty(12345678))
    with pytest.raises(ds.SchemeError, match="page 12345678 is not cached"):
        ds.run(trace, asked, cache="64KiB")
    asked = broken(on_hit=lambda self, page: self.view.drain_ns(5))
    with pytest.raises(ds.SchemeError, match="chip 5: there are 1, from 0"):
        ds.run(trace, asked, cache="64KiB")


def test_renames_are_told_to_those_who_ask(trace):
    renames = []

    class Follows(PyFifo):
        "Follows pages to their new addresses."

        def start(self, cache):
            super().start(cache)
            self.present = set()

        def on_insert(self, page):
            assert page not in self.present
            self.present.add(page)
            super().on_insert(page)

        def on_remove(self, page, reason):
            self.present.remove(page)
            super().on_remove(page, reason)

        def on_rename(self, old, new):
            renames.append((old, new))
            self.present.remove(old)
            self.present.add(new)
            self.order = OrderedDict((new if page == old else page, None) for page in self.order)

        def victim(self, view):
            page = super().victim(view)
            assert view.lpn(page) == page
            return page

    options = {"cache": "64KiB", "host_fs": "lfs"}
    mine, known = ds.run(trace, ds.cac(Follows()), **options), ds.run(trace, "cac(fifo)", **options)
    assert renames and figures(mine) == figures(known)


def test_ctrl_c_reaches_a_class_at_once(trace):
    for method in (lambda self, page: None, lambda self, page: time.sleep(5)):
        sent = []

        def interrupt():
            time.sleep(0.3)
            sent.append(time.perf_counter())
            os.kill(os.getpid(), signal.SIGINT)

        thread = threading.Thread(target=interrupt)
        thread.start()
        with pytest.raises(KeyboardInterrupt):
            ds.run(trace, broken(on_hit=method), cache="64KiB", warmup="passes=1000")
        took = time.perf_counter() - sent[0]
        thread.join()
        assert took < 0.2


def test_a_class_may_run_others(trace):
    class Asks(PyLru):
        "Asks another run."

        def start(self, cache):
            super().start(cache)
            self.hits = ds.run(trace, PyFifo(), cache="64KiB")[0].counts.page_hits

        def stats(self):
            return {"hits": self.hits}

    result = ds.run(trace, Asks(), cache="64KiB")[0]
    assert result.scheme_stats.hits == ds.run(trace, "fifo", cache="64KiB")[0].counts.page_hits


def test_deep_recursion_of_the_machine_does_not_end_the_process(trace):
    class Nested:
        def __init__(self, inner):
            self.inner = inner

        def __eq__(self, other):
            return self.inner == other

        __hash__ = None

    def compare(self, page):
        nested = 0
        for _ in range(100_000):
            nested = [nested]
        repr(nested)

    with pytest.raises(ds.SchemeError, match="RecursionError"):
        ds.run(trace, broken(on_hit=compare), cache="64KiB")


# Checks


@pytest.mark.parametrize("policy", [PyLru, PyFifo, CleanFirst, CleanFirst(window=2)])
def test_what_keeps_the_contract_passes(policy):
    ds.check(policy, cases=24)


@pytest.mark.parametrize(
    ("methods", "text", "longest"),
    [
        # Forgets a page that was trimmed.
        ({"on_remove": lambda self, page, reason: self.order.pop(page) if reason == "evicted" else None}, "but the cached", 4),
        # An order that is not that of its victims.
        ({"next_victims": lambda self, view: iter(reversed(self.order))}, "but victim names page", 4),
        # An order that lacks a page.
        ({"next_victims": lambda self, view: iter(list(self.order)[:3])}, "but the cached pages are", 6),
        # Not the same twice.
        (
            {
                "victim": lambda self, view: np.random.default_rng().choice(list(self.order)).item(),
                "next_victims": ds.Policy.next_victims,
            },
            "two runs of the same requests differ",
            150,
        ),
    ],
)  # fmt: skip
def test_faults_are_found_and_made_small(methods, text, longest):
    with pytest.raises(ds.CheckError, match=text) as raised:
        ds.check(broken(**methods))
    error = raised.value
    assert 1 <= len(error.requests) <= longest, error
    assert "the smallest case found: broken, " in str(error)
    assert error.frames <= 4 or longest > 10


# Scores


@ds.ScoreFunction
def recency(page, access, hits, now_ns, write):
    return access


def test_a_score_of_recency_is_lru(trace):
    mine = ds.run(trace, [ds.scored(recency, "recency"), "lru"], cache=["64KiB", "256KiB"])
    # Metadata is its own: a score has a place in a heap.
    assert [r.counts for r in mine[:2]] == [r.counts for r in mine[2:]]
    assert mine[0].scheme == "recency"


def test_scores_may_fall():
    """Evicts the page with the lowest score, against a model, where scores rise and fall."""

    @ds.ScoreFunction
    def drawn(page, access, hits, now_ns, write):
        return float((page * 7919 + access * 104729 + hits) % 101)

    columns = requests(3000, seed=5, pages=40)
    keep = [i for i, op in enumerate(columns["op"]) if op in "RW"]
    pages = [columns["start_sector"][i] // 8 for i in keep]
    trace = ds.read_trace({"op": ["W"] * len(pages), "start_sector": [page * 8 for page in pages], "sectors": [8] * len(pages)})
    cached, hits = {}, 0
    for access, page in enumerate(pages, 1):
        count = cached[page][2] + 1 if page in cached else 1
        hits += page in cached
        if page not in cached and len(cached) == 10:
            del cached[min(cached, key=lambda page: cached[page][:2])]
        cached[page] = (float((page * 7919 + access * 104729 + count) % 101), access, count)
    assert ds.run(trace, ds.scored(drawn, "drawn"), cache="40KiB")[0].counts.page_hits == hits > 0


@full
def test_scores_of_numba(trace):
    numba = pytest.importorskip("numba")

    @numba.cfunc(ds.SCORE_SIGNATURE)
    def frequency(page, access, hits, now_ns, write):
        return float(hits)

    first = ds.run(trace, [ds.scored(frequency, "frequency"), ds.cac(ds.scored(frequency, "frequency"))], cache="64KiB")
    assert first[0].counts.page_hits == first[1].counts.page_hits > 0

    @numba.cfunc("float64(uint64)")
    def short(page):
        return 0.0

    with pytest.raises(ds.UsageError, match=r"float64\(uint64, uint64, uint64, uint64, int32\) is needed"):
        ds.scored(short)


def test_what_is_no_score_is_refused(trace):
    with pytest.raises(TypeError, match="a function of numba.cfunc or ctypes"):
        ds.scored(lambda *_: 0.0)
    with pytest.raises(ds.UsageError, match="address 0"):
        ds.scored(0)
    with pytest.raises(ds.UsageError, match="restype c_double"):
        ds.scored(ctypes.CDLL(None).abs)

    @ds.ScoreFunction
    def nothing(page, access, hits, now_ns, write):
        return float("nan") if access > 100 else 1.0

    with pytest.raises(ds.SchemeError, match="the score of page .* is not a number") as raised:
        ds.run(trace, ds.scored(nothing, "nothing"), cache="64KiB")
    assert raised.value.hook == "score" and raised.value.request > 10


# Decisions


def test_decisions_of_batches(trace):
    sizes = []

    def small(batch):
        sizes.append(len(batch))
        assert batch.arrival_ns[0] == 0 and set(np.unique(batch.op)) <= {b"R", b"W", b"T", b"F"}
        return batch.bytes <= 8192

    layered, plain = ds.admit(small, PyLru()), ds.admit(small, "lru")
    results = ds.run(trace, [layered, plain, "lru"], cache="64KiB", warmup="passes=1")
    assert figures(results[:1]) == figures(results[1:2])
    assert results[1].scheme == "small(lru)"
    assert results[1].counts.bypassed_pages > 0 == results[2].counts.bypassed_pages
    assert sizes == [len(trace)]
    everything = ds.admit(lambda batch: np.ones(len(batch), dtype=bool), "lru", name="everything")
    assert figures(ds.run(trace, everything, cache="64KiB")) == figures(ds.run(trace, "lru", cache="64KiB"))


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (lambda batch: batch.bytes, "booleans are needed, one for each request; not int64"),
        (lambda batch: np.array([True]), r"of shape \(1,\)"),
        (lambda batch: batch.nothing, "raised AttributeError"),
    ],
)
def test_what_is_no_decision_is_refused(trace, function, text):
    with pytest.raises(ds.SchemeError, match=text):
        ds.run(trace, ds.admit(function, name="decided"), cache="64KiB")
    with pytest.raises(ds.UsageError, match="host_fs"):
        ds.run(trace, ds.admit(lambda b: b.is_write, name="writes"), cache="64KiB", host_fs="lfs")


def test_a_process_with_many_classes_stays_small(trace):
    """Declarations are kept, runs are not."""
    code = f"""
import resource
import destage as ds
from test_policy import PyLru
t = ds.read_trace({trace.path!r})
peak = []
for i in range(60):
    ds.run(t, [PyLru(), ds.cac(PyLru())], cache="64KiB", progress=False)
    peak.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
assert peak[-1] - peak[20] < 4096, peak
"""
    import subprocess

    line = [sys.executable, "-W", "ignore", "-c", code]
    done = subprocess.run(line, capture_output=True, text=True, cwd=os.path.dirname(__file__), timeout=120)
    assert done.returncode == 0, done.stderr
