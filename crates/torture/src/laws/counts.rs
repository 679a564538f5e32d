//! Laws of counters: by cause they sum up, and what the trace says they say.

use super::{Law, any};
use crate::case::Case;
use crate::compare::{at_most, count, near, want};
use crate::lab::{Fault, Lab, Verdict};
use destage_types::Op;
use serde_json::Value;

pub const CONSERVATION: Law = Law {
    name: "conservation",
    promise: "counters by cause sum up to the counters of all, and parts are at most the whole",
    adapt: any,
    check: conservation,
};

fn conservation(lab: &Lab, case: &Case) -> Verdict {
    let Some(record) = lab.record(case, "trace.csv")? else {
        return Ok(false);
    };
    of_requests(&record)?;
    of_evictions(&record)?;
    of_flash(&record)?;
    of_times(&record)?;
    Ok(true)
}

fn of_requests(record: &Value) -> Result<(), Fault> {
    let c = |name: &str| count(record, name);
    let sum = |names: [&str; 2]| c(names[0]) + c(names[1]);
    let data = sum(["read_requests", "write_requests"]);
    let others = sum(["trim_requests", "flush_requests"]);
    want("requests by kind", data + others, c("requests"))?;
    want(
        "pages",
        sum(["read_pages", "write_pages"]),
        c("page_accesses"),
    )?;
    let hits = sum(["read_page_hits", "write_page_hits"]);
    want("page hits", hits, c("page_hits"))?;
    want(
        "sectors",
        sum(["read_sectors", "write_sectors"]),
        c("sectors"),
    )?;
    let hits = sum(["read_sector_hits", "write_sector_hits"]);
    want("sector hits", hits, c("sector_hits"))?;
    for kind in ["read", "write"] {
        let at = |name: &str| format!("{kind}_{name}");
        let chain = ["request_hits", "request_hits_any", "requests"].map(at);
        for pair in chain.windows(2) {
            at_most(&pair[0], c(&pair[0]), c(&pair[1]))?;
        }
        for (part, whole) in [("page_hits", "pages"), ("sector_hits", "sectors")] {
            at_most(&at(part), c(&at(part)), c(&at(whole)))?;
        }
        let fraction = &record["counts"][at("hit_fraction_sum")];
        let fraction = fraction.as_f64().unwrap_or(f64::NAN);
        let hits = [c(&at("request_hits")), c(&at("request_hits_any"))].map(|n| n as f64);
        at_most("requests with all pages", hits[0], fraction + 1e-6)?;
        at_most("hit fractions", fraction, hits[1] + 1e-6)?;
        let ratio = record["ratios"][at("page_hit_ratio")].as_f64();
        let (part, whole) = (c(&at("page_hits")) as f64, c(&at("pages")) as f64);
        near(
            kind,
            ratio.unwrap_or(0.0),
            if whole > 0.0 { part / whole } else { 0.0 },
        )?;
    }
    Ok(())
}

fn of_evictions(record: &Value) -> Result<(), Fault> {
    let c = |name: &str| count(record, name);
    at_most("dirty evictions", c("dirty_evictions"), c("evictions"))?;
    at_most("pages in GC", c("dirty_gc_evictions"), c("dirty_evictions"))?;
    at_most("flushed pages", c("flushed_pages"), c("evicted_pages"))?;
    at_most("dirty evictions", c("dirty_evictions"), c("flushed_pages"))?;
    let empty = Vec::new();
    let rows = record["evict_pages_histogram"].as_array().unwrap_or(&empty);
    let number = |row: &Value, i: usize| row[i].as_u64().unwrap_or(0);
    let evictions: u64 = rows.iter().map(|row| number(row, 1)).sum();
    let pages: u64 = rows.iter().map(|row| number(row, 0) * number(row, 1)).sum();
    want("evictions by size", evictions, c("evictions"))?;
    want("pages by size of eviction", pages, c("evicted_pages"))
}

fn of_flash(record: &Value) -> Result<(), Fault> {
    let c = |name: &str| count(record, name);
    let sum = |names: &[&str]| names.iter().map(|name| c(name)).sum::<u64>();
    let reads = ["flash_reads_miss", "flash_reads_rmw", "flash_reads_padding"];
    want("flash reads by cause", sum(&reads), c("flash_reads_host"))?;
    let writes = [
        "flash_writes_evict",
        "flash_writes_bypass",
        "flash_writes_flush",
        "flash_writes_padding",
        "background_writes",
    ];
    want("programs by cause", sum(&writes), c("flash_writes_host"))?;
    let evicted = sum(&["flash_writes_evict", "inflight_evictions"]);
    want("pages of evictions", evicted, c("flushed_pages"))?;
    at_most(
        "pages past the cache",
        c("bypassed_pages"),
        c("flash_writes_bypass"),
    )?;
    // A drive with units reads whole pages and moves mapping units. The host may overwrite a unit before it is moved,
    // and paced collection leaves blocks half collected when the run ends (D-11).
    if record["counts"]["padded_places"].is_null() {
        want("pages moved", c("flash_reads_gc"), c("flash_writes_gc"))?;
        at_most(
            "pages of victims",
            c("gc_victim_pages"),
            c("flash_writes_gc"),
        )?;
        at_most("victims", c("gc_victims"), c("erases"))?;
    }
    if !record["counts"]["map_hits"].is_null() {
        let pages = ["map_evict_places", "map_gc_places", "map_moved_places"];
        want("translation pages", sum(&pages), c("flash_writes_meta"))?;
        at_most("joined", c("map_joined"), c("map_misses"))?;
        at_most(
            "entries in memory of the host",
            c("hmb_hits"),
            c("map_hits"),
        )?;
    }
    if let Some(handles) = record["handles"].as_array() {
        let places = handles.iter().filter_map(|row| row["host_places"].as_u64());
        want("places of handles", places.sum(), c("flash_writes_host"))?;
    }
    at_most("copybacks", c("copybacks"), c("flash_writes_gc"))?;
    if let Some(waf) = record["ratios"]["waf"].as_f64() {
        let all = sum(&[
            "flash_writes_host",
            "flash_writes_gc",
            "flash_writes_meta",
            "padded_places",
            "parity_places",
        ]);
        let page = record["page_bytes"].as_u64().unwrap_or(0);
        let (programmed, written) = (all * page, c("write_sectors") * 512);
        near("waf", waf, programmed as f64 / written as f64)?;
    }
    Ok(())
}

fn of_times(record: &Value) -> Result<(), Fault> {
    for kind in ["all", "read", "write"] {
        let times = &record["latency_ns"][kind];
        let ranks = ["p50", "p95", "p99", "p999", "p9999", "max"];
        let ranks = ranks.map(|rank| times[rank].as_u64().unwrap_or(0));
        for pair in ranks.windows(2) {
            at_most("percentiles", pair[0], pair[1])?;
        }
        let number = |name: &str| times[name].as_f64().unwrap_or(0.0);
        at_most("mean", number("mean"), ranks[5] as f64)?;
        at_most("0", 0.0, number("std"))?;
    }
    let energy = &record["energy_nj"];
    if let Some(total) = energy["total"].as_f64() {
        let parts = ["read", "program", "erase", "transfer"].map(|part| energy[part].as_f64());
        let parts: Option<f64> = parts.into_iter().sum();
        let parts = parts.ok_or_else(|| Fault::law("a part of the energy is missing"))?;
        near("energy", parts, total)?;
    }
    for parts in ["channels", "dies"] {
        let shares = record["utilisation"][parts].as_array();
        for share in shares.into_iter().flatten() {
            at_most(parts, share.as_f64().unwrap_or(f64::NAN), 1.0)?;
        }
    }
    Ok(())
}

pub const FROM_TRACE: Law = Law {
    name: "from-trace",
    promise: "requests, pages and sectors are those of the trace, counted anew",
    adapt: |case, _| {
        let hides = [
            "--warmup",
            "--limit",
            "--tags",
            "--host-fs",
            "--wrap",
            "--fit",
        ];
        case.without(&hides);
    },
    check: from_trace,
};

fn from_trace(lab: &Lab, case: &Case) -> Verdict {
    let Some(record) = lab.record(case, "trace.csv")? else {
        return Ok(false);
    };
    let c = |name: &str| count(&record, name);
    for (op, kind) in [
        (Op::Read, "read"),
        (Op::Write, "write"),
        (Op::Trim, "trim"),
        (Op::Flush, "flush"),
    ] {
        let of_kind: Vec<_> = case.requests.iter().filter(|r| r.host.op == op).collect();
        let name = format!("{kind}_requests");
        want(&name, of_kind.len() as u64, c(&name))?;
        if !matches!(op, Op::Read | Op::Write) {
            continue;
        }
        // A page is accessed by each extent that touches it.
        let (mut pages, mut sectors) = (0, 0);
        for &(start, length) in of_kind.iter().flat_map(|r| &r.host.extents) {
            let per_page = case.page / 512;
            let last = start + u64::from(length) - 1;
            pages += last / per_page - start / per_page + 1;
            sectors += u64::from(length);
        }
        want(&format!("{kind}_pages"), pages, c(&format!("{kind}_pages")))?;
        want(
            &format!("{kind}_sectors"),
            sectors,
            c(&format!("{kind}_sectors")),
        )?;
    }
    // A TRIM of a part of a page in flight leaves the rest to be written again.
    if case.requests.iter().all(|r| r.host.op != Op::Trim) {
        let written = c("flash_writes_host") - c("flash_writes_padding");
        let left = record["dirty_pages_left"].as_u64().unwrap_or(0);
        // A page that gets another address while it is written back stays dirty.
        let stale = c("remaps").min(c("background_writes"));
        let most = c("write_pages") + stale;
        at_most("pages written and left", written + left, most)?;
    }
    Ok(true)
}
