"""Laws of copies: what is pickled is the same in another process."""

from __future__ import annotations

import copy
import multiprocessing
import os
import pickle
import random
from concurrent.futures import ProcessPoolExecutor

import pytest
from conftest import SMALL, requests, without_cost
from test_frames import content, drawn
from test_policy import CleanFirst

import destage as ds
from destage import _destage

CASES = 200 if os.environ.get("DESTAGE_FULL") else 20


def again(value, protocol=pickle.HIGHEST_PROTOCOL):
    return pickle.loads(pickle.dumps(value, protocol))


def facts(trace):
    return trace.name, trace.format, trace.path, trace.sha256, trace.duration_ns, len(trace), content(trace)


def records(trace, **options):
    return [without_cost(result.json()) for result in ds.run(trace, ["lru", "arc"], cache=["64KiB", 0.5], **options)]


@pytest.mark.parametrize("seed", range(CASES))
def test_traces_are_the_same_behind_pickle(seed, tmp_path):
    columns, draw = drawn(seed)
    path = tmp_path / "drawn.csv"
    rows = zip(*(columns[name] for name in ("arrival_ns", "op", "start_sector", "sectors", "stream", "fua", "preflush")))
    lines = [
        f"{at},{op},{start},{sectors},{stream},,0,{'+'.join(['fua'] * fua + ['preflush'] * preflush)}\n"
        for at, op, start, sectors, stream, fua, preflush in rows
    ]
    path.write_text("arrival_ns,op,start_sector,sectors,stream,prev,atomic,flags\n" + "".join(lines))
    mapped = {"ts": columns["arrival_ns"], "k": columns["op"], "lba": columns["start_sector"], "n": columns["sectors"]}
    many = {"limit": draw.randrange(1, 80), "volumes": draw.choice(["stack", "overlay"])}
    traces = [
        ds.read_trace(columns, name="own"),
        ds.read_trace(mapped, trace_columns="time=ts:ns,op=k,offset=lba:sectors,size=n:sectors"),
        ds.read_trace(path, **many),
        ds.read_trace(path, trace_memory="64B"),
        *ds.read_trace(path, volumes="split"),
        *ds.read_trace(path, volumes="split", trace_memory="64B"),
    ]
    for trace in traces:
        for protocol in (2, pickle.HIGHEST_PROTOCOL):
            other = again(trace, protocol)
            assert facts(other) == facts(trace)
            assert pickle.dumps(again(other)) == pickle.dumps(trace)
        assert copy.deepcopy(trace) is copy.copy(trace) is trace
    trace = draw.choice([trace for trace in traces if set(content(trace)["op"]) & {b"R", b"W"}] or [None])
    if trace is not None:
        assert records(again(trace)) == records(trace)
        batch = again(trace.requests(1))
        assert batch.start_sector.tolist() == content(trace)["start_sector"][1:]


@pytest.mark.parametrize("seed", range(CASES // 4))
def test_results_are_the_same_behind_pickle(seed):
    draw = random.Random(seed)
    trace = ds.read_trace(requests(300, seed=seed))
    device = draw.choice([{}, SMALL, {**SMALL, "closed_loop": 4, "flush_at_end": True}, {"page": "8KiB"}])
    with pytest.warns(ds.DestageWarning, match="left out"):
        results = ds.run(trace, ["lru", "arc", "lirs", "clock", "req-block"], cache=["8KiB", "64KiB", 1], read_alloc="off", **device)
    for other in (again(results), again(results, 2), copy.deepcopy(results), copy.copy(results)):
        assert other == results and other.left_out == results.left_out and other.left_out
        assert other.json_lines() == results.json_lines() and repr(other) == repr(results)
        assert pickle.dumps(other) == pickle.dumps(results)
        assert other.to_polars().equals(results.to_polars())
    for result in results:
        for other in (again(result), copy.deepcopy(result)):
            assert other == result and isinstance(other, ds.Result) and other.counts == result.counts
        assert again(result.counts) == copy.deepcopy(result.counts) == result.counts


def test_points_and_schemes_are_the_same_behind_pickle(trace):
    points = ds.mrc(trace, ["lru", "arc"])
    assert again(points) == copy.deepcopy(points) == points
    scheme = ds.cac(ds.two_q(kin=5))
    assert again(scheme) == copy.deepcopy(scheme) == scheme
    own = ds.cac(CleanFirst(window=3))
    assert again(own) == copy.deepcopy(own) == own and again(CleanFirst(window=3)).window == 3
    with pytest.raises(ds.UsageError, match="scheme `small` cannot be pickled"):
        pickle.dumps(ds.scored(ds.ScoreFunction(lambda *_: 0.0), "small"))


def job(trace, scheme):
    return ds.run(trace, scheme, cache="64KiB")


def test_a_pool_of_processes_runs_traces(trace):
    frame = {"arrival_ns": [0, 250_000], "op": ["W", "R"], "start_sector": [0, 0], "sectors": [8, 8]}
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        for given in (trace, frame):
            results = list(pool.map(job, [given] * 2, ["lru", "arc"]))
            expected = [job(given, scheme) for scheme in ("lru", "arc")]
            lines = [[without_cost(result.json()) for result in one] for one in results]
            assert lines == [[without_cost(result.json()) for result in one] for one in expected]


def test_what_is_no_pickle_of_a_trace_is_refused(trace):
    data, path, reading = trace._native.to_bytes()
    for broken in (b"", data[:40], data[:-1], data.replace(b"mixed", b"fixed", 1), data[:-9] + b"\0" * 9):
        with pytest.raises(ds.UsageError, match="the bytes of a trace|changed|damaged|ends"):
            _destage.trace_of_bytes(broken, path, reading)
