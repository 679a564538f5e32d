//! The slow models against the worked examples.
//!
//! The examples are in the folder that `DESTAGE_SPEC` names; without it the
//! tests say so and pass.

use std::cell::RefCell;
use std::path::PathBuf;
use std::rc::Rc;

use destage_conformance::reference::{Counts, SlowCache, SlowConfig, SlowFlash, SlowRequest};
use destage_conformance::vectors::hashes;
use destage_types::Op;
use serde_json::Value;

/// Chips with a FIFO queue each, and GC states set row by row.
#[derive(Default)]
struct Drain {
    now: u64,
    free: Vec<u64>,
    gc: Vec<bool>,
    t_read: u64,
    t_program: u64,
}

impl Drain {
    fn new(device: &Value) -> Drain {
        let number = |key: &str| device[key].as_u64().unwrap();
        let chips = number("chips") as usize;
        Drain {
            now: 0,
            free: vec![0; chips],
            gc: vec![false; chips],
            t_read: number("t_read"),
            t_program: number("t_program"),
        }
    }

    fn enqueue(&mut self, lpn: u64, time: u64) -> u64 {
        let chip = (lpn % self.free.len() as u64) as usize;
        let wait = self.cqct(chip);
        self.free[chip] = self.now + wait + time;
        wait
    }
}

impl SlowFlash for Drain {
    fn chips(&self) -> usize {
        self.free.len()
    }
    fn cqct(&self, chip: usize) -> u64 {
        self.free[chip].saturating_sub(self.now)
    }
    fn in_gc(&self, chip: usize) -> bool {
        self.gc[chip]
    }
    fn advance(&mut self, now: u64) {
        self.now = now;
    }
    fn read(&mut self, lpn: u64) {
        self.enqueue(lpn, self.t_read);
    }
    fn program(&mut self, lpn: u64) -> Option<u64> {
        let wait = self.enqueue(lpn, self.t_program);
        (self.t_program > 0).then_some(wait)
    }
    fn note(&self) -> Option<String> {
        let all: Vec<u64> = (0..self.free.len()).map(|c| self.cqct(c)).collect();
        (self.t_program > 0).then(|| format!("CQCT={all:?}"))
    }
}

fn vectors() -> Option<Value> {
    let Some(folder) = std::env::var_os("DESTAGE_SPEC") else {
        println!("SKIPPED: DESTAGE_SPEC does not name the folder of the specification");
        return None;
    };
    let text = std::fs::read_to_string(PathBuf::from(folder).join("vectors.json"));
    Some(serde_json::from_str(&text.unwrap()).unwrap())
}

fn request(row: &Value, spp: u64, unit: u64) -> SlowRequest {
    let req = &row["req"];
    let (first, last) = (
        req["first"].as_u64().unwrap(),
        req["last"].as_u64().unwrap(),
    );
    let op = match req["op"].as_str().unwrap() {
        "R" => Op::Read,
        "W" => Op::Write,
        "T" => Op::Trim,
        other => panic!("unexpected operation {other}"),
    };
    let mut request = match req["unit"].as_str().unwrap() {
        "page" => SlowRequest::pages(op, spp as u32, first, last),
        _ => SlowRequest::new(op, first, (last - first + 1) as u32),
    };
    request.arrival = req["at"].as_u64().unwrap_or(0) * unit;
    if let Some(pre) = req["pre"].as_array() {
        request.prev = pre.iter().map(|p| p.as_u64().map(|p| p * spp)).collect();
    }
    request.atomic = req["atomic"].as_bool().unwrap_or(false);
    request.next = vec![req["next"].as_u64()];
    request
}

fn ratios(counts: &Counts, key: &str) -> Vec<u64> {
    let c = counts;
    match key {
        "page_hit_ratio" => vec![c.page_hits, c.page_accesses],
        "read_page_hit_ratio" => vec![c.read_page_hits, c.read_pages],
        "write_page_hit_ratio" => vec![c.write_page_hits, c.write_pages],
        "read_req_hit_ratio" => vec![c.read_request_hits, c.read_requests],
        "write_req_hit_ratio" => vec![c.write_request_hits, c.write_requests],
        "read_req_hit_ratio_any" => vec![c.read_request_hits_any, c.read_requests],
        "write_req_hit_ratio_any" => vec![c.write_request_hits_any, c.write_requests],
        "dirty_evict_prob" => vec![c.dirty_evictions, c.evictions],
        "evictions" => vec![c.evictions],
        "flash_writes_host" => vec![c.flash_writes_host],
        other => panic!("unknown expectation {other}"),
    }
}

/// Runs one table; the number of rows compared.
fn run_table(name: &str, setup: &serde_json::Map<String, Value>, table: &Value) -> usize {
    let key = |key: &str| setup.get(key).unwrap_or(&Value::Null);
    let (capacity, spp) = (key("capacity_pages").as_u64(), key("page_sectors").as_u64());
    let (capacity, spp) = (capacity.unwrap() as usize, spp.unwrap());
    let draws: Vec<f64> = (key("draws").as_array().into_iter().flatten())
        .map(|d| d.as_f64().unwrap())
        .collect();
    let mut config = SlowConfig::new(capacity, spp as u32)
        .read_alloc(key("read_alloc").as_bool().unwrap())
        .draws(&draws)
        .hashes(&hashes(&key("options")["hash"]).unwrap_or_default());
    let mut chips = None;
    if key("device").is_object() {
        let drain = Rc::new(RefCell::new(Drain::new(key("device"))));
        config = config.flash(Rc::clone(&drain));
        chips = Some(drain);
    }
    let expression = key("scheme").as_str().unwrap();
    let mut cache = SlowCache::new(expression, config).unwrap();
    let initial = key("initial").as_array().into_iter().flatten();
    let initial: Vec<(u64, u64)> = initial
        .map(|p| (p[0].as_u64().unwrap(), p[1].as_u64().unwrap()))
        .collect();
    cache.preload(&initial);
    let rows = table["rows"].as_array().unwrap();
    for row in rows {
        if let Some(chips) = &chips {
            let busy = row["req"]["gc_chips"].as_array();
            let mut chips = chips.borrow_mut();
            chips.gc.fill(false);
            for chip in busy.into_iter().flatten() {
                chips.gc[chip.as_u64().unwrap() as usize] = true;
            }
        }
        let unit = key("time_unit_ns").as_u64().unwrap();
        let got = cache.step(&request(row, spp, unit));
        let at = format!("{name} row {} {}", row["#"], row["request"]);
        assert_eq!(
            row["result"].as_str(),
            Some(got.result.as_str()),
            "{at}: result"
        );
        assert_eq!(
            row["evicted"].as_str(),
            Some(got.evicted.as_str()),
            "{at}: evicted"
        );
        if let Some(state) = row["state after"].as_str() {
            assert_eq!(state, got.state, "{at}: state");
        }
    }
    for (key, value) in table["expect"].as_object().into_iter().flatten() {
        let wanted: Vec<u64> = match value.as_array() {
            Some(pair) => pair.iter().map(|v| v.as_u64().unwrap()).collect(),
            None => vec![value.as_u64().unwrap()],
        };
        assert_eq!(wanted, ratios(&cache.counts, key), "{name}: {key}");
    }
    rows.len()
}

fn check(names: &str) {
    let Some(vectors) = vectors() else {
        return;
    };
    for name in names.split_whitespace() {
        let vector = &vectors[name];
        let mut rows = 0;
        for table in vector["tables"].as_array().expect(name) {
            let mut setup = vector["setup"].as_object().unwrap().clone();
            for (key, value) in table["setup"].as_object().into_iter().flatten() {
                setup.insert(key.clone(), value.clone());
            }
            rows += run_table(name, &setup, table);
        }
        assert!(rows > 0, "{name}: no rows");
        println!("{name}: {rows} rows");
    }
}

#[test]
fn page_leaves() {
    check("none fifo lru lfu clock cflru arc lirs lirs2q twoq met");
}

#[test]
fn req_block() {
    check("reqblock1 reqblock2 reqblock3 reqblock4");
}

#[test]
fn block_leaves() {
    check("bplru bplrupad vbbms");
}

#[test]
fn prober() {
    check("lwrs proberlru proberlirs proberarc");
}

#[test]
fn cac() {
    check("caclru cacatomic cacarc cacghost cacinplace cacmulti");
}

#[test]
fn procache() {
    check("procache procachegt procachev");
    check("refcount multihash");
}

#[test]
fn belady() {
    check("belady1 belady2");
}

#[test]
fn chip_aware() {
    check("gcarlru gcarcflru ecr ecreps");
}
