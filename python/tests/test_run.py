"""Runs: records as those of the command, options, and faults with its texts."""

from __future__ import annotations

import json
import os
import re
import signal
import threading
import time
from pathlib import Path

import pytest
from conftest import SMALL, requests, without_cost, words

import destage as ds
from destage._words import in_python

CASES = [
    (["lru", "cac(prober(lirs))"], {"cache": ["256KiB", 0.1]}, []),
    (["arc"], {"cache": "1MiB", "device": "ecr-64g", "warmup": "10%", "addresses": "wrap"}, []),
    (["awb(prober(lru))"], {"device": "default", "set": {"t_read": "75us"}, "cache": 0.25, "addresses": "fit"}, []),
    (["lfu", "belady"], {"cache": 65536, "read_alloc": False, "page": 8192, "seed": 7}, []),
    (["lru"], {"cache": "64KiB", "host_fs": ["lfs", "inplace"], "charge_metadata": True}, []),
    (["fifo"], {"cache": "64KiB", "closed_loop": 4, "unbalance": True, **SMALL}, []),
]  # fmt: skip


@pytest.mark.filterwarnings("ignore::destage.DestageWarning")
@pytest.mark.parametrize(("schemes", "options", "_"), CASES)
def test_records_are_those_of_the_command(trace, trace_file, command, schemes, options, _):
    line = [part for scheme in schemes for part in ("--scheme", scheme)]
    told = command("run", trace_file, *line, *words(options), "--format-out", "jsonl")
    expected = [without_cost(record) for record in told.stdout.splitlines()]
    results = ds.run(trace, schemes, **options)
    assert [without_cost(record) for record in results.json_lines().splitlines()] == expected
    assert len(results) == len(expected) >= 1
    # Byte for byte, but for the object that says what the execution cost.
    for result, record in zip(results, told.stdout.splitlines()):
        assert result.json().split('"run":')[0] == record.split('"run":')[0]


def test_options_of_reading_are_settings_of_the_run(trace_file, command):
    told = command("run", trace_file, "--limit", 100, "--cache", "64KiB", "--format-out", "jsonl")
    read = ds.read_trace(trace_file, limit=100)
    assert len(read) == 100
    (result,) = ds.run(read, cache="64KiB")
    assert without_cost(result.json()) == without_cost(told.stdout)


@pytest.mark.parametrize(
    ("line", "options"),
    [
        (["--cache", "4"], {"cache": "4"}),
        (["--cache", "1.5"], {"cache": 1.5}),
        (["--cache", "0.0"], {"cache": 0.0}),
        (["--scheme", "lrux"], {"schemes": "lrux"}),
        (["--device", "ecr-65g"], {"device": "ecr-65g"}),
        (["--warmup", "100%"], {"warmup": "100%"}),
        (["--closed-loop", "2"], {"closed_loop": 2}),
        (["--cache", "1k"], {"cache": 1024}),
        (["--read-fill", "some"], {"read_fill": "some"}),
        (["--cache", "18446744073709551616B"], {"cache": 2**64}),
        (["--cache", "1048576t"], {"cache": 2**60}),
    ],
)
def test_faults_are_usage_errors_with_the_texts_of_the_command(trace, trace_file, command, line, options):
    told = command("run", trace_file, *line, check=False)
    assert told.returncode == 2
    with pytest.raises(ds.UsageError) as raised:
        ds.run(trace, **options)
    # Every fault has a line of its own there.
    said = "; ".join(told.stderr.split("For more information")[0].strip().split("\nerror: "))
    said = " ".join(said.replace("error: ", "").split())
    text = str(raised.value).removeprefix("destage.run: ").rstrip()
    # In front of the reason, each names the option in its own way.
    reason = re.sub(r"^[a-z-]+ = .*?: ", "", text)
    assert "--" not in text
    assert reason in in_python(said.replace("[possible values", "allowed")), (text, said)
    assert isinstance(raised.value, ValueError)


def test_a_run_that_cannot_run_leaves_the_others(trace):
    # LIRS needs three pages, LRU one.
    with pytest.warns(ds.DestageWarning, match=r"left out: lirs, 4KiB: .*") as said:
        results = ds.run(trace, ["lirs", "lru"], cache=["4KiB", "64KiB"])
    assert [(r.scheme, r.cache_pages) for r in results] == [("lirs", 16), ("lru", 1), ("lru", 16)]
    assert len(results.left_out) == 1 and results.left_out[0].startswith("lirs, 4KiB: ")
    assert said[0].filename == __file__
    with pytest.raises(ds.UsageError):
        ds.run(trace, "lirs", cache="4KiB")


def test_an_unknown_scheme_has_the_nearest_one_named(trace):
    with pytest.raises(ds.UsageError, match="nearest is `lirs`"):
        ds.run(trace, "lirz")


def test_a_share_is_of_the_pages_that_reads_and_writes_touch(trace):
    pages = trace.footprint_pages()
    shares = [0.001, 0.1, 0.5, 1 / 3, 1.0]
    results = ds.run(trace, cache=shares)
    assert [result.cache_pages for result in results] == [max(1, int(pages * share)) for share in shares]
    config = {entry["key"]: entry for entry in results[1].to_dict()["config"]}
    assert config["cache"] == {"key": "cache", "value": "0.1", "origin": "command line"}


def test_several_traces_follow_each_other(trace, trace_file):
    results = ds.run([trace, trace_file], ["lru", "fifo"], cache="64KiB")
    assert [result.scheme for result in results] == ["lru", "fifo", "lru", "fifo"]
    assert without_cost(results[0].json()) == without_cost(results[2].json())


def test_warnings_are_those_of_the_command_at_the_line_of_the_caller(trace):
    with pytest.warns(ds.DestageWarning, match="remaps nothing and equals its inner") as said:
        ds.run(trace, "cac(lru)", cache="64KiB")
    assert said[0].filename == __file__


def test_logs_are_written_when_the_run_is_done(trace, tmp_path: Path):
    log = tmp_path / "requests.csv"
    ds.run(trace, cache="64KiB", **SMALL, log_requests=log)
    assert len(log.read_text().splitlines()) == len(trace) + 1
    with pytest.raises(ds.UsageError, match="several runs need out="):
        ds.run(trace, ["lru", "fifo"], cache="64KiB", log_evictions=tmp_path / "evictions.jsonl")
    with pytest.raises(ds.UsageError, match="series: a log is of one run, and these are 2 traces"):
        ds.run([trace, trace], cache="64KiB", series=tmp_path / "series.csv")
    with pytest.raises(ds.UsageError, match="cannot create it"):
        ds.run(trace, cache="64KiB", log_evictions=tmp_path / "no" / "evictions.jsonl")


def long_trace() -> ds.Trace:
    return ds.read_trace(requests(200_000), name="long")


def test_the_lock_of_the_interpreter_is_free(trace):
    long, counted, over = long_trace(), [], threading.Event()

    def count():
        while not over.is_set():
            counted.append(time.perf_counter())
            time.sleep(0.001)

    thread = threading.Thread(target=count)
    thread.start()
    begin = time.perf_counter()
    ds.run(long, ["lru", "arc", "lirs"], cache=[0.1, 0.2], jobs=1)
    end = time.perf_counter()
    over.set()
    thread.join()
    during = [at for at in counted if begin < at < end]
    assert len(during) > (end - begin) / 0.05


def test_ctrl_c_stops_runs_within_a_fifth_of_a_second(trace):
    long = long_trace()
    sent = []

    def interrupt():
        time.sleep(0.3)
        sent.append(time.perf_counter())
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        ds.run(long, ["lru", "arc", "lirs", "lfu"], cache=[0.1, 0.2], warmup="passes=200", jobs=1)
    took = time.perf_counter() - sent[0]
    thread.join()
    assert took < 0.2


def test_progress_is_told(trace, monkeypatch):
    from destage import _destage

    seen = []
    long = long_trace()
    options = {"scheme": ["lru"], "warmup": "passes=20"}
    _destage.run(long._native, options, [], False, lambda *told: seen.append(told))
    done, of, runs = seen[-1]
    assert (done, runs) == (of, 1)
    assert of == 21 * len(long)
    assert [told[0] for told in seen] == sorted(told[0] for told in seen)


def test_the_command_is_in_the_package(command, trace_file):
    assert command("--version").stdout.strip() == f"destage {ds._destage.version}"
    refused = command("run", trace_file, "--scheme", "lrux", check=False)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "nearest is `lru`" in refused.stderr
    schemes = json.loads(command("schemes", "--json").stdout)
    assert {scheme["name"] for scheme in schemes} >= {"lru", "cac"}


def test_fork_in_the_middle_of_a_run(trace):
    """A child of a process with threads has a trace that works, and runs that it asks for."""
    code = f"""
import os, threading
import destage as ds
t = ds.read_trace({trace.path!r})
worker = threading.Thread(target=lambda: ds.run(t, ["lru", "arc"], cache="64KiB", warmup="passes=50"))
worker.start()
child = os.fork()
if child == 0:
    r = ds.run(t, "lru", cache="64KiB")
    os._exit(0 if r[0].counts.requests == len(t) else 1)
worker.join()
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
"""
    import subprocess
    import sys

    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
