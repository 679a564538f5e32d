"""Hit-ratio curves, figures of traces, generated workloads."""

from __future__ import annotations

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import destage as ds
from destage._words import in_python


def test_points_of_curves_are_those_of_runs(trace, trace_file):
    points = ds.mrc(trace_file, ["lru", ds.arc()], cache=["64KiB", "25%"])
    assert [p.scheme for p in points] == ["lru", "lru", "arc", "arc"]
    run = ds.run(trace, ["lru", "arc"], cache="64KiB")
    assert [points[0].page_hit_ratio, points[2].page_hit_ratio] == [r.ratios.page_hit_ratio for r in run]
    frames = [pd.DataFrame(points), points.to_pandas(), pl.DataFrame(points), points.to_polars()]
    for frame in frames:
        assert list(frame.columns) == list(points[0])
        for name in points[0]:
            assert list(frame[name]) == [point[name] for point in points]
    assert pa.table(points).to_pylist() == [point.to_dict() for point in points]
    assert pl.DataFrame(points).schema["page_hit_ratio"] == pl.Float64
    assert len(points[1:]) == 3 and points[1:] == points[1:4] != points


def test_figures_of_a_trace(trace, trace_file):
    info = ds.trace_info(trace_file)
    assert info.requests == len(trace)
    assert ds.trace_info(trace_file, limit=10).requests == 10
    assert ds.trace_info(trace).requests == len(trace)


def test_workloads_are_the_same_for_the_same_seed():
    one, same, other = (ds.synth("hot-cold", requests=500, seed=seed) for seed in (1, 1, 2))
    places = [t.requests().start_sector.tolist() for t in (one, same, other)]
    assert places[0] == places[1] != places[2] and len(one) == 500
    assert one.name == "hot-cold"


def test_messages_speak_python(trace, trace_file):
    with pytest.raises(ds.UsageError) as caught:
        ds.run(trace, cache="16")
    assert "--" not in str(caught.value) and "cache" in str(caught.value)
    with pytest.raises(ds.UsageError, match="no_such_workload"):
        ds.synth("no_such_workload")
    with pytest.warns(ds.DestageWarning, match="read_alloc=off"):
        ds.run(trace, ["lru", "req-block"], cache="64KiB")
    assert in_python("a trace -- of two--parts") == "a trace -- of two--parts"
    with pytest.raises(ds.UsageError, match="a trace needs columns, and there is none"):
        ds.read_trace({})
