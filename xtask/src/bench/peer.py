"""One policy of libCacheSim over one trace; prints one JSON object. Arguments: POLICY SIZE TRACE."""

import json
import sys
import time

import libcachesim


def status_kib(name):
    with open("/proc/self/status") as status:
        for line in status:
            if line.startswith(name):
                return int(line.split()[1])


def main():
    policy, size, trace = sys.argv[1:]
    reader = libcachesim.TraceReader(
        trace=trace, trace_type=libcachesim.TraceType.ORACLE_GENERAL_TRACE
    )
    count = reader.get_num_of_req()
    cache = getattr(libcachesim, policy)(cache_size=int(size))
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
