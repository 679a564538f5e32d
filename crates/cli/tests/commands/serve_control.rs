//! `destage ctl`: a server that runs is asked and told.

use crate::common::{Bench, Done};
use crate::serve::{Client, FLUSH, READ, WRITE, serve, stop};
use serde_json::Value;
use std::os::unix::fs::MetadataExt;
use std::process::Child;

/// A server with a control socket and `more` options.
fn controlled(more: &str) -> (Bench, Child) {
    let bench = Bench::new();
    let options = format!("--socket s --control c --no-delay --cache=1MiB {more}");
    let (child, address) = serve(&bench, options);
    assert_eq!(address, "nbd+unix:///?socket=s");
    (bench, child)
}

fn ctl(bench: &Bench, order: &str) -> Done {
    bench.destage(format!("ctl --control c {order}"))
}

fn told(bench: &Bench, order: &str) -> Value {
    bench.json(format!("ctl --control c {order}"))
}

/// The figures of the only export.
fn stats(bench: &Bench) -> Value {
    let stats = told(bench, "stats");
    assert_eq!(stats["exports"].as_array().unwrap().len(), 1);
    stats["exports"][0].clone()
}

#[test]
fn statistics_are_told_and_begin_again() {
    let (bench, child) = controlled("");
    let mut client = Client::new(&bench.path("s"));
    for page in 0..300_u64 {
        client.request(WRITE, (page % 200) << 12, 4096, &[1; 4096]);
    }
    let seen = stats(&bench);
    let counts = &seen["record"]["counts"];
    assert_eq!(counts["write_pages"], 300);
    assert_eq!(counts["page_hits"], 100);
    assert_eq!(seen["requests"], 300);
    assert_eq!(ctl(&bench, "reset").ok().stdout, "");
    client.request(READ, 0, 4096, &[]);
    let seen = stats(&bench);
    assert_eq!(seen["record"]["counts"]["write_pages"], 0);
    assert_eq!(
        seen["record"]["counts"]["read_page_hits"], 1,
        "the cache stays"
    );
    assert_eq!(seen["requests"], 301);
    stop(child);
}

#[test]
fn a_scheme_changes_and_what_was_cached_is_flushed() {
    let (bench, child) = controlled("");
    let mut client = Client::new(&bench.path("s"));
    for page in 0..100_u64 {
        client.request(WRITE, page << 12, 4096, &[page as u8; 4096]);
    }
    ctl(&bench, "scheme req-block --cache 2MiB").ok();
    let record = &stats(&bench)["record"];
    assert_eq!(record["scheme"], "req-block");
    assert_eq!(record["cache_bytes"], 2 << 20);
    let read = client.request(READ, 99 << 12, 4096, &[]);
    assert_eq!(read, [99; 4096], "data stay");
    assert_eq!(
        stats(&bench)["record"]["counts"]["page_hits"],
        0,
        "the cache is new"
    );
    // Another change keeps the size, and a wrong one changes nothing.
    ctl(&bench, "scheme gcar(lru)").ok();
    ctl(&bench, "scheme req-blok").fails(1, &["refused", "`req-block`"]);
    ctl(&bench, "scheme belady").fails(1, &["knows the future"]);
    ctl(&bench, "scheme lru --cache 1B").fails(1, &["cache"]);
    let record = &stats(&bench)["record"];
    assert_eq!(record["scheme"], "gcar(lru)");
    assert_eq!(record["cache_bytes"], 2 << 20);
    // Data written before the change are durable: the flush was first.
    let loss = told(&bench, "power-cut");
    assert_eq!(loss["lost_pages"], 0);
    let mut client = Client::new(&bench.path("s"));
    assert_eq!(client.request(READ, 99 << 12, 4096, &[]), [99; 4096]);
    assert_eq!(
        stats(&bench)["record"]["counts"]["flash_reads_host"],
        1,
        "it is mapped"
    );
    let said = stop(child);
    assert!(
        said.contains("gcar(lru)") && said.contains("power cut: 0 pages"),
        "{said}"
    );
}

#[test]
fn a_power_cut_takes_what_is_volatile_and_a_snapshot_has_the_rest() {
    let (bench, child) = controlled("--backing disk --record r.bin");
    let mut client = Client::new(&bench.path("s"));
    client.request(WRITE, 4096, 4096, &[1; 4096]);
    client.request(FLUSH, 0, 0, &[]);
    client.request(WRITE, 8192, 4096, &[2; 4096]);
    let bytes = told(&bench, "snapshot snap")["bytes"].as_u64().unwrap();
    let snapshot = bench.path("snap").metadata().unwrap();
    assert_eq!(snapshot.len(), bytes);
    assert!(snapshot.blocks() * 512 < 1 << 20, "it is sparse");
    let head = &mut [7; 12288][..];
    let file = std::fs::File::open(bench.path("snap")).unwrap();
    std::os::unix::fs::FileExt::read_exact_at(&file, head, 0).unwrap();
    assert_eq!(
        head,
        [[0; 4096], [1; 4096], [0; 4096]].concat(),
        "page 2 is volatile"
    );
    assert_eq!(told(&bench, "power-cut")["lost_pages"], 1);
    assert_eq!(stats(&bench)["power_cuts"][0]["lost_pages"], 1);
    let mut client = Client::new(&bench.path("s"));
    assert_eq!(client.request(READ, 8192, 4096, &[]), [0; 4096]);
    // Files of the server are its own, and nothing is left of what failed.
    for own in ["disk", "./disk", "r.bin"] {
        ctl(&bench, &format!("snapshot {own}")).fails(1, &["refused", "server uses"]);
    }
    ctl(&bench, "snapshot nowhere/snap").fails(1, &["nowhere/snap"]);
    stop(child);
    let left = std::fs::read_dir(bench.dir.path()).unwrap();
    let mut names = left.map(|entry| entry.unwrap().file_name());
    assert!(!names.any(|name| name.to_string_lossy().contains("tmp")));
}

#[test]
fn an_end_is_told_before_it_comes() {
    let (bench, child) = controlled("--data none");
    ctl(&bench, "snapshot snap").fails(1, &["keeps no data"]);
    assert!(!bench.path("snap").exists());
    ctl(&bench, "shutdown").ok();
    let ended = child.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(0));
    let said = String::from_utf8(ended.stdout).unwrap();
    assert!(said.contains("requests to the device"), "{said}");
    assert!(!bench.path("c").exists() && !bench.path("s").exists());
    ctl(&bench, "stats").fails(2, &["--control c"]);
}

#[test]
fn bad_orders_are_refused() {
    let (bench, child) = controlled("");
    let refusals = [
        ("stat", 2, "similar value exists: 'stats'"),
        ("scheme", 2, "needs a scheme"),
        ("snapshot", 2, "needs a file"),
        ("reset now", 2, "takes no argument"),
        ("reset --cache 1MiB", 2, "only `scheme`"),
        ("scheme lru --cache 1XB", 2, "1XB"),
        ("--export other stats", 1, "no export `other`"),
    ];
    for (order, code, named) in refusals {
        let done = ctl(&bench, order);
        assert_eq!(done.code, code, "{order}: {}", done.stderr);
        done.says(named);
    }
    bench.refuses("serve --socket t --control c | --control c | in use");
    assert_eq!(stats(&bench)["requests"], 0);
    stop(child);
}
