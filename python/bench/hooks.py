"""How fast schemes of one's own are, beside the hooks of libCacheSim: the same LRU on the same requests.

    python python/bench/hooks.py [--requests 1000000] [--pages 200000] [--cache 20000]

Each runs three times; the least CPU time counts, and the hits of all must agree. Decisions are measured by
themselves, too. Needs numpy, numba and libcachesim, and a destage that was built optimised.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections import OrderedDict
from collections.abc import Callable

import libcachesim
import numba
import numpy as np

import destage as ds
from destage import _admission


class BoundLru(ds.Policy):
    """Evicts the page that was not used for the longest time."""

    def start(self, cache):
        self.order = order = OrderedDict()
        # The methods of the dictionary are those of the policy.
        self.on_hit = order.move_to_end

    def on_insert(self, page):
        self.order[page] = None

    def on_remove(self, page, reason):
        del self.order[page]

    def victim(self, view):
        return next(iter(self.order))


class PlainLru(BoundLru):
    """The same with a method for every call."""

    def start(self, cache):
        self.order = OrderedDict()

    def on_hit(self, page):
        self.order.move_to_end(page)


@numba.cfunc(ds.SCORE_SIGNATURE)
def recency(page, access, hits, now_ns, write):
    return float(access)


def large(batch):
    """Admits everything, looking at every request."""
    return batch.bytes > 0


def small_writes(batch):
    """A decision over three columns."""
    return batch.is_write & (batch.bytes <= 16384) & (batch.start_sector % 8 == 0)


def peer(path: str, frames: int) -> tuple[float, int]:
    """Seconds of the hooks of libCacheSim, and its hits."""
    reader = libcachesim.TraceReader(trace=path, trace_type=libcachesim.TraceType.ORACLE_GENERAL_TRACE)
    cache = libcachesim.PluginCache(
        cache_size=frames,
        cache_init_hook=lambda params: OrderedDict(),
        cache_hit_hook=lambda order, request: order.move_to_end(request.obj_id),
        cache_miss_hook=lambda order, request: order.__setitem__(request.obj_id, None),
        # It calls no other hook for what is evicted.
        cache_eviction_hook=lambda order, request: order.popitem(last=False)[0],
        cache_remove_hook=lambda order, page: order.pop(page, None),
        cache_free_hook=lambda order: order.clear(),
        cache_name="hooks",
    )
    begin = time.process_time()
    misses, _ = cache.process_trace(reader)
    return time.process_time() - begin, round(reader.get_num_of_req() * (1 - misses))


def own(trace: ds.Trace, scheme: object, frames: int) -> tuple[float, int]:
    """Seconds of a run, and its hits."""
    begin = time.process_time()
    result = ds.run(trace, scheme, cache=frames * 4096, progress=False)[0]
    return time.process_time() - begin, result.counts.page_hits


def decisions(trace: ds.Trace, function: Callable[[ds.Batch], object], batch: int) -> float:
    """Seconds of the decisions about all requests, so many at a time, without a run."""
    _admission.BATCH = batch
    decide = ds.admit(function).own[0].decide
    assert decide is not None

    def measure() -> float:
        begin = time.process_time()
        decide(trace._native)
        return time.process_time() - begin

    return min(measure() for _ in range(20))


def least(measure: Callable[[], tuple[float, int]]) -> tuple[float, int]:
    return min(measure() for _ in range(3))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=1_000_000)
    parser.add_argument("--pages", type=int, default=200_000)
    parser.add_argument("--cache", type=int, default=20_000)
    given = parser.parse_args()
    draw = np.random.default_rng(1)
    weights = 1 / np.arange(1, given.pages + 1) ** 0.9
    order = draw.permutation(given.pages)
    pages = order[np.searchsorted(np.cumsum(weights) / weights.sum(), draw.random(given.requests))]
    record = np.dtype([("time", "<u4"), ("id", "<u8"), ("size", "<u4"), ("next", "<i8")])
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "zipf.oracleGeneral")
        records = np.zeros(given.requests, dtype=record)
        records["id"], records["size"], records["next"] = pages, 1, -1
        records.tofile(path)
        columns = {"op": ["R"] * given.requests, "start_sector": pages * 8, "sectors": np.full(given.requests, 8)}
        trace = ds.read_trace(columns, name="zipf")
        rows = [("libCacheSim, hooks", *least(lambda: peer(path, given.cache)))]
    schemes = [
        ("class, methods", PlainLru()),
        ("class, bound methods of C", BoundLru()),
        ("function of C", ds.scored(recency, "recency")),
        ("decisions around lru", ds.admit(large, "lru")),
        ("lru, as it comes along", "lru"),
    ]
    for name, scheme in schemes:
        rows.append((name, *least(lambda scheme=scheme: own(trace, scheme, given.cache))))
    hits = rows[0][2]
    if any(row[2] != hits for row in rows):
        raise SystemExit(f"the hits differ: {[(row[0], row[2]) for row in rows]}")
    # A hit is one call, a miss an insertion, an eviction and a removal.
    calls = hits + 3 * (given.requests - hits) - 2 * given.cache
    print(f"{given.requests} requests, {hits} hits, {given.cache} frames, LRU")
    print(f"{'':28}{'M requests/s':>14}{'M calls/s':>12}{'against hooks':>16}")
    for name, seconds, _ in rows:
        rate, times = given.requests / seconds / 1e6, rows[0][1] / seconds
        print(f"{name:28}{rate:14.2f}{calls / seconds / 1e6:12.2f}{times:15.1f}x")
    batches = (_admission.BATCH, _admission.STREAMED_BATCH)
    for function in (large, small_writes):
        for batch in batches:
            rate = given.requests / decisions(trace, function, batch) / 1e6
            print(f"decisions alone, {function.__name__}, {batch} at a time: {rate:.0f} M/s")


if __name__ == "__main__":
    main()
