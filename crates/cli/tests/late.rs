//! Times near the end of a clock of 64 bits.

mod common;

use common::Bench;

/// A first time stamp that is not one, as collectors write: 406 years before the second.
const BOGUS: &str = "0,hm,1,Write,0,4096,1\n\
                     128166372003061629,hm,1,Write,8192,4096,1\n\
                     128166372013061629,hm,1,Read,819200,4096,1\n";

#[test]
fn a_device_leaves_half_of_all_times_to_what_waits() {
    let bench = Bench::new();
    bench.file("bogus.csv", BOGUS);
    let late = [
        "bogus: the last request would arrive after 406 years (12816637201306162900 ns)",
        "below 292 years (2^63 ns)",
        "--time-scale",
    ];
    let device = ["run", "bogus.csv", "--device", "default"];
    bench.destage(&device).fails(2, &late);
    bench.destage(&device[..2]).ok();
    let halved = [&device[..], &["--time-scale", "0.5"]].concat();
    bench.destage(&halved).ok();
    let twice = [&halved[..], &["--warmup", "passes=1"]].concat();
    bench.destage(&twice).fails(2, &["after 406 years"]);
    // The requests of a closed loop do not look at the trace's times.
    let closed = [&device[..], &["--closed-loop", "1"]].concat();
    bench.destage(&closed).ok();
}

#[test]
fn times_do_not_start_again_at_zero() {
    let bench = Bench::new();
    bench.file("bogus.csv", BOGUS);
    // Without a device all 64 bits are there for arrivals, and no more.
    let line = ["run", "bogus.csv", "--warmup", "passes=1"];
    bench.destage(&line).fails(
        2,
        &[
            "bogus: the last request",
            "after 812 years",
            "584 years (2^64 ns)",
        ],
    );
    bench.file(
        "t.csv",
        "0,hm,1,Write,0,4096,1\n10000000,hm,1,Read,8192,4096,1\n",
    );
    let scaled = |scale| {
        let line = ["run", "t.csv", "--device", "default", "--time-scale", scale];
        bench.destage(&line)
    };
    // 10^9 ns and 10^13 ns, scaled to just below and just above 2^63 ns.
    scaled("999999999").ok();
    bench.file(
        "t.csv",
        "0,hm,1,Write,0,4096,1\n100000000000,hm,1,Read,8192,4096,1\n",
    );
    scaled("922337.203685").ok();
    scaled("922337.203686").fails(2, &["t: the last request would arrive after 292 years"]);
}
