//! `[[export.shadow]]`: devices that see what an export sees.

use crate::common::Bench;
use crate::serve::{Client, FLUSH, READ, WRITE, serve, stop};
use serde_json::Value;

const SHADOWED: &str = r#"
socket = "s"
control = "c"

[[export]]
cache = "1MiB"
no-delay = true
record = "served.bin"

[[export.shadow]]

[[export.shadow]]
scheme = "arc"
cache = "4MiB"

[[export.shadow]]
set = ["t_read=500us"]
"#;

/// The export's own stats and record, and those of its shadows.
fn stats(bench: &Bench) -> (Value, Vec<Value>) {
    let told = bench.json("ctl --control c stats");
    let export = told["exports"][0].clone();
    let shadows = export["shadows"].as_array().unwrap().clone();
    (export, shadows)
}

/// Reads and writes with hits and misses, and FUA.
fn work(bench: &Bench) {
    let mut client = Client::new(&bench.path("s"));
    let mut page = 1_u64;
    for i in 0..2_000_u64 {
        page = (page * 48_271) % 2_147_483_647;
        let offset = (page % 700) << 12;
        match i % 3 {
            0 => _ = client.request(READ, offset, 4096, &[]),
            _ => _ = client.request(WRITE, offset, 4096, &[1; 4096]),
        }
    }
    client.request(FLUSH, 0, 0, &[]);
}

#[test]
fn a_shadow_of_the_same_kind_measures_the_same() {
    let bench = Bench::new();
    bench.file("shadowed.toml", SHADOWED);
    let (child, _) = serve(&bench, "--config shadowed.toml");
    work(&bench);
    let (export, shadows) = stats(&bench);
    let own = &export["record"];
    assert_eq!(own["counts"]["requests"], 2_001);
    assert_eq!(shadows.len(), 3);
    for shadow in &shadows {
        assert_eq!(
            (&shadow["complete"], &shadow["lost_requests"]),
            (&true.into(), &0.into())
        );
        assert_eq!(shadow["record"]["counts"]["requests"], 2_001);
    }
    // The twin measures the same in everything.
    for part in [
        "counts",
        "ratios",
        "latency_ns",
        "erase_counts",
        "utilisation",
        "config",
    ] {
        assert_eq!(shadows[0]["record"][part], own[part], "{part}");
    }
    // A larger cache hits more, and slower flash makes reads slower.
    let hits = |record: &Value| record["counts"]["page_hits"].as_u64().unwrap();
    assert!(hits(&shadows[1]["record"]) > hits(own));
    assert_eq!(shadows[1]["record"]["scheme"], "arc");
    let mean = |record: &Value| record["latency_ns"]["read"]["mean"].as_f64().unwrap();
    assert!(mean(&shadows[2]["record"]) > mean(own));
    // Another scheme of the export begins new statistics everywhere, and the twin is flushed, too.
    bench.destage("ctl --control c scheme fifo").ok();
    work(&bench);
    let (export, shadows) = stats(&bench);
    assert_eq!(export["record"]["scheme"], "fifo");
    for shadow in &shadows {
        assert_eq!(shadow["record"]["counts"]["requests"], 2_001);
    }
    bench.destage("ctl --control c power-cut").ok();
    let (_, shadows) = stats(&bench);
    assert_eq!(
        shadows[1]["record"]["counts"]["requests"], 0,
        "their power was cut, too"
    );
    work(&bench);
    let said = stop(child);
    let parts = [
        "live shadow 1",
        "live shadow 3",
        "highest page hit ratio",
        "(shadow 2, arc)",
        "lowest mean response time",
    ];
    for part in parts {
        assert!(said.contains(part), "{part}: {said}");
    }
}

#[test]
fn a_shadow_that_cannot_follow_is_refused_or_says_so() {
    let bench = Bench::new();
    bench.refuses_texts(
        "serve --config bad.toml",
        "bad.toml",
        "
        socket = 's'; [[export]]; [[export.shadow]]; scheme = 'belady' | knows the future
        socket = 's'; [[export]]; [[export.shadow]]; socket = 't'
          | `socket` is not an option of a shadow
        socket = 's'; [[export]]; [[export.shadow]]; backing = 'b'
          | `backing` is not an option of a shadow
        socket = 's'; [[export]]; [[export.shadow]]; set = ['blocks_per_plane=16']
          | a shadow needs as many
        socket = 's'; [[export]]; shadow = 3 | shadow = 3
        ",
    );
}

const DRIVE: &str = r#"
socket = "s"
control = "c"

[[export]]
device = "enterprise-tlc-1t"
set = ["blocks_per_plane=60", "pages_per_block=24", "t_erase=73us", "cache_persistence=volatile"]
scheme = "drain(fifo)"
read-alloc = "off"
cache = "8MiB"
no-delay = true

[[export.shadow]]

[[export.shadow]]
scheme = "drain(lru)"

[[export.shadow]]
device = "sata-tlc-500g"
set = ["blocks_per_plane=120", "pages_per_block=24"]
"#;

/// A drive with units and a host's side, without capacitors so that a FLUSH pads units, the same drive under another scheme, and another drive.
#[test]
fn a_drive_is_served_beside_its_shadows() {
    let bench = Bench::new();
    bench.file("drive.toml", DRIVE);
    let (child, _) = serve(&bench, "--config drive.toml");
    work(&bench);
    let (export, shadows) = stats(&bench);
    let own = &export["record"];
    for record in std::iter::once(own).chain(shadows.iter().map(|s| &s["record"])) {
        assert_eq!(record["counts"]["requests"], 2_001);
    }
    for part in ["counts", "latency_ns", "service_ns", "utilisation"] {
        assert_eq!(shadows[0]["record"][part], own[part], "{part}");
    }
    // Its link, its command processing and its DRAM: 7 us, 4 KiB at 1.5 GB/s, 1 us.
    assert_eq!(own["latency_ns"]["write"]["p50"], 10_731);
    assert!(
        own["counts"]["padded_places"].as_u64().unwrap() > 0,
        "a FLUSH"
    );
    let slower = shadows[2]["record"]["latency_ns"]["write"]["p50"].as_u64();
    assert!(slower.unwrap() > 10_731);
    bench.destage("ctl --control c scheme drain(lru)").ok();
    work(&bench);
    let (export, shadows) = stats(&bench);
    assert_eq!(export["record"]["scheme"], "drain(lru)");
    for record in std::iter::once(&export).chain(&shadows) {
        assert_eq!(record["record"]["counts"]["requests"], 2_001);
    }
    // Flushed data survive.
    let loss = bench.json("ctl --control c power-cut");
    assert_eq!(loss["lost_pages"], 0, "{loss}");
    let mut client = Client::new(&bench.path("s"));
    let page = client.request(READ, 0, 4096, &[]);
    assert!(page.iter().all(|&byte| byte <= 1));
    drop(client);
    stop(child);
}
