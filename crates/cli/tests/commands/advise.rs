//! `destage advise`.

use crate::common::Bench;

/// A skewed trace that fills a small buffer, in each of the ways in which a trace may come.
#[test]
fn it_says_what_to_build_and_what_that_costs() {
    let bench = Bench::new();
    bench
        .destage("trace synth hot-cold --requests 4000 -o t.csv")
        .ok();
    bench
        .destage("trace convert t.csv -o t.bin --to destage-bin")
        .ok();
    let mut said = Vec::new();
    for trace in ["t.csv", "t.bin"] {
        let line = format!("advise {trace} --device sata-tlc-500g --set cache=4MiB --jobs 1");
        let done = bench.destage(line).ok();
        let runs = |scheme: &str| {
            let rows = done.stdout.lines().filter(|l| l.starts_with(scheme));
            rows.filter(|l| l.ends_with(" %")).count()
        };
        assert_eq!(
            (runs("drain(lru"), runs("reserve")),
            (9, 3),
            "{}",
            done.stdout
        );
        for size in ["2MiB", "4MiB", "8MiB"] {
            done.shows(size);
        }
        done.shows("Build `");
        done.shows("fewest possible");
        done.shows("With the drive's own buffer of 4MiB:");
        let marked: Vec<&str> = done.stdout.lines().filter(|l| l.contains(" < ")).collect();
        let [best] = marked[..] else {
            panic!("one row is marked: {}", done.stdout);
        };
        let scheme = best.split(" < ").next().unwrap();
        done.shows(format!("Build `{}`", scheme.trim()));
        // No scheme writes less than the bound.
        assert!(!done.stdout.contains(" -"), "{}", done.stdout);
        said.push(done.stdout);
    }
    assert_eq!(said[0], said[1], "the format changes nothing");
}

#[test]
fn drives_without_a_bounded_buffer_are_refused_with_what_to_do() {
    let bench = Bench::new();
    for device in ["default", "none", "req-block-128g"] {
        let done = bench.destage(format!("advise demo --device {device}"));
        let parts = [
            device,
            "buffer = bounded",
            "destage presets",
            "destage run demo",
        ];
        done.fails(2, &parts);
    }
}

/// Half of the buffer has no room for a unit: the others are shown, and the error says what is missing.
#[test]
fn a_size_that_cannot_be_is_said() {
    let bench = Bench::new();
    let line = "advise demo --device enterprise-tlc-1t --set cache=96KiB --limit 500";
    let done = bench.destage(line);
    assert_eq!(done.code, 1, "{}", done.stderr);
    done.says("48KiB");
    done.says("a unit of 24 mapping units");
    done.shows("192KiB");
    done.shows("Build `");
}
