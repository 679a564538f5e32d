"""Results: fields, sequences, tables of Arrow, reports."""

from __future__ import annotations

import json
import subprocess
import sys

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from conftest import SMALL, without_cost, words

import destage as ds


@pytest.fixture(scope="module")
def results(trace):
    return ds.run(trace, ["lru", "arc"], cache=["64KiB", "256KiB"], **SMALL)


def test_fields_are_attributes(results):
    result, record = results[0], json.loads(results[0].json())
    assert result.counts.page_hits == record["counts"]["page_hits"] > 0
    assert result.trace.name == "mixed"
    assert result["ratios"]["page_hit_ratio"] == result.ratios.page_hit_ratio
    assert "page_hits" in dir(result.counts)
    assert result.to_dict() == record
    with pytest.raises(AttributeError, match="no field 'page_hit' in this record; there are: requests"):
        _ = result.counts.page_hit


def test_results_are_mappings_of_columns(results):
    result = results[0]
    assert result["counts.page_hits"] == result.counts.page_hits == dict(result)["counts.page_hits"]
    assert "counts" in result and "counts.page_hits" in result and "counts" not in list(result)
    assert len(result) == len(list(result)) == len(set(result))
    with pytest.raises(KeyError):
        _ = result["counts.nothing"]


def test_fields_have_types(tmp_path):
    code = tmp_path / "code.py"
    code.write_text(
        "import destage as ds\nr = ds.run('t', cache='1MiB')[0]\nhits: int = r.counts.page_hits\n"
        "r.cuonts\nr.counts.page_hit\nr.latency('p98')\nr.latency('p99', op='trim')\n"
    )
    done = subprocess.run([sys.executable, "-m", "mypy", str(code)], capture_output=True, text=True, check=False)
    lines = [int(line.split(":")[1]) for line in done.stdout.splitlines() if ": error:" in line]
    assert lines == [4, 5, 6, 7], done.stdout


def test_response_times(results, trace):
    result = results[0]
    assert result.latency("p99", op="write") == result.latency_ns.write.p99 > 0
    assert result.latency() == result.latency_ns.all.mean
    for wrong in ({"what": "p98"}, {"op": "trim"}):
        with pytest.raises(ds.DestageError, match="no response time .* there are: "):
            result.latency(**wrong)
    with pytest.raises(ds.DestageError, match="run with device="):
        ds.run(trace, cache="64KiB")[0].latency()


def test_results_are_a_sequence(results):
    assert len(results) == 4
    assert [r.scheme for r in results] == ["lru", "lru", "arc", "arc"]
    assert results[-1].cache_bytes == 256 << 10
    part = results[1:3]
    assert isinstance(part, ds.Results) and [r.scheme for r in part] == ["lru", "arc"]
    assert len(part + results) == 6
    assert results[0] in results
    with pytest.raises(IndexError):
        _ = results[4]


def test_lines_of_json_come_back(results):
    again = ds.Results.from_json_lines(results.json_lines())
    assert again.json_lines() == results.json_lines()
    with pytest.raises(ds.UsageError, match="no result record"):
        ds.Results.from_json_lines('{"schema": 1}')


def test_arrow_takes_them_to_every_frame(results):
    polars = pl.DataFrame(results)
    assert polars.schema["counts.page_hits"] == pl.UInt64
    assert polars.schema["ratios.waf"] == pl.Float64
    assert polars.schema["reading.read_alloc"] == pl.Boolean
    hits = [r.counts.page_hits for r in results]
    assert polars["counts.page_hits"].to_list() == hits
    assert polars["scheme"].to_list() == [r.scheme for r in results]
    assert pa.table(results)["counts.page_hits"].to_pylist() == hits
    for pandas in (pd.DataFrame(results), results.to_pandas()):
        assert pandas["counts.page_hits"].tolist() == hits
        assert pandas["latency_ns.all.mean"].tolist() == [r.latency() for r in results]
        assert pandas["scheme"].tolist() == [r.scheme for r in results]
        assert pandas["trace.name"].unique().tolist() == ["mixed"]
    assert results.to_polars().equals(polars)
    assert results.to_pandas().columns.tolist() == polars.columns
    assert set(results[0]) <= set(polars.columns)
    pandas = pd.DataFrame.from_arrow(results)
    assert pandas["counts.page_hits"].tolist() == hits
    assert json.loads(polars["config"][0])[0]["key"] == "scheme"
    # What a run cannot have is null.
    assert polars["throughput.requests_per_s"].null_count() == 4
    # A capsule that nobody takes, and several streams of the same results.
    for _ in range(3):
        results.__arrow_c_stream__()
        assert pa.table(results).num_rows == 4


def test_the_columns_are_those_of_parquet(results, trace_file, command, tmp_path):
    command("run", trace_file, "--cache", "64KiB", "--format-out", "parquet", "--out", tmp_path)
    parquet = pl.read_parquet(tmp_path / "results.parquet")
    assert parquet.columns == pl.DataFrame(results).columns


def test_tables(results, command, trace_file):
    line = ["run", trace_file, "--scheme", "lru", "--scheme", "arc", "--cache", "64KiB", "--cache", "256KiB"]
    told = command(*line, *words(SMALL)).stdout
    assert results.table() == told
    said = results.answers()
    assert said and all(sentence.endswith(".") for sentence in said), said
    assert repr(results) == told
    html = results._repr_html_()
    assert html.count("<tr>") == 5 and "<td>arc</td>" in html and "p99 ms" in html


def test_devices_side_by_side(trace, tmp_path):
    large = tmp_path / "large.toml"
    large.write_text("name = 'large'\npage_bytes = 16384\n")
    both = [ds.run(trace, "lru", cache="64KiB", device=device)[0] for device in ("default", str(large))]
    assert "16 pages of 4096 B, device default" in repr(both[0])
    assert "4 pages of 16384 B, device large" in repr(both[1])
    html = ds.Results(both)._repr_html_()
    for head in ("device", "page", "cache MiB", "flash writes MiB"):
        assert f"<th>{head}</th>" in html
    assert "<td>large</td><td>16KiB</td><td>0.062</td>" in html
    for result in both:
        programmed = result.counts.flash_writes_host + result.counts.flash_writes_gc + result.counts.flash_writes_meta
        written = result.counts.write_sectors * 512
        assert result.ratios.waf == programmed * result.page_bytes / written
        assert f"<td>{result.counts.flash_writes_host * result.page_bytes / 2**20:,.3f}</td>" in html
    # One page size: pages, as ever.
    assert "<th>cache pages</th>" in ds.Results(both[:1])._repr_html_()


def test_names_of_runs(trace_file):
    parts = [{"name": "first"}, {"name": "second"}]
    swept = ds.sweep({"trace": trace_file, "scheme": "lru", "cache": "64KiB", "run": parts})
    assert [result.run_name for result in swept] == ["first", "second"]
    assert "run second, lru" in repr(swept[1])
    assert "<th>run</th>" in swept._repr_html_() and "<td>second</td>" in swept._repr_html_()


def test_reports(trace, tmp_path, results):
    plain, drawn = tmp_path / "plain.html", tmp_path / "drawn.html"
    results.report(plain)
    ds.run(trace, ["lru"], cache="64KiB", charts=True).report(drawn, title="over time")
    assert "<h1>destage run</h1>" in plain.read_text()
    assert "<h1>over time</h1>" in drawn.read_text()
    assert "Page hit ratio over" in drawn.read_text() or "data-chart" in drawn.read_text()
    with pytest.raises(ds.DestageError, match="cannot create it"):
        results.report(tmp_path / "no" / "report.html")


def test_charts_change_no_figure(trace):
    plain, drawn = (ds.run(trace, "arc", cache="64KiB", charts=charts)[0] for charts in (False, True))
    assert without_cost(plain.json()) == without_cost(drawn.json())


def test_schemes_from_functions(trace):
    composed = ds.awb(ds.prober("lirs", ssp="128KiB"))
    assert str(composed) == "awb(prober(lirs,ssp=128KiB))"
    assert ds.cac() == ds.cac("lru") == ds.scheme_of("cac(lru)")
    assert str(ds.two_q(kin=5)) == "2q(kin=5)"
    assert str(ds.procache("arc", p=0.00001)) == "procache(arc,p=0.00001)"
    result = ds.run(trace, [composed], cache="256KiB", **SMALL)[0]
    assert result.scheme == "awb(prober(lirs,ssp=128k))"
    assert str(ds.best_of("lru", ds.two_q(kin=5))) == "best-of(lru,2q(kin=5))"
    with pytest.raises(TypeError, match="a scheme is text"):
        ds.run(trace, [5])
    with pytest.raises(TypeError, match="unexpected keyword"):
        ds.two_q(kim=5)
    with pytest.raises(ds.UsageError, match="parameter `p`|p of procache|p="):
        ds.run(trace, ds.procache(p=2.0))
