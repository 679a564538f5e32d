"""One policy of libCacheSim over one trace; prints one JSON object. Arguments: POLICY SIZE TRACE RATE.

SIZE counts objects of any size. With a RATE below 1, such a share of the objects and of the cache stands for all
(mini-simulation)."""

import json
import sys
import time

import libcachesim
from libcachesim.libcachesim_python import Sampler, SamplerType


def status_kib(name):
    with open("/proc/self/status") as status:
        for line in status:
            if line.startswith(name):
                return int(line.split()[1])


def main():
    policy, size, trace, rate = sys.argv[1:]
    rate = float(rate)
    how = libcachesim.ReaderInitParam(ignore_obj_size=True)
    if rate < 1:
        sampler = Sampler(sample_ratio=rate, type=SamplerType.SPATIAL_SAMPLER)
        how = libcachesim.ReaderInitParam(ignore_obj_size=True, sampler=sampler)
    reader = libcachesim.TraceReader(
        trace=trace,
        trace_type=libcachesim.TraceType.ORACLE_GENERAL_TRACE,
        reader_init_params=how,
    )
    count = reader.get_num_of_req()
    cache = getattr(libcachesim, policy)(cache_size=round(int(size) * rate))
    before = status_kib("VmRSS:")
    start = time.process_time()
    miss_ratio, _ = cache.process_trace(reader)
    seconds = time.process_time() - start
    print(
        json.dumps(
            {
                "count": count,
                "hits": round(count * (1 - miss_ratio)),
                "cpu_s": seconds,
                "before_kib": before,
                "peak_kib": status_kib("VmHWM:"),
            }
        )
    )


main()
