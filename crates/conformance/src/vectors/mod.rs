//! The worked examples (`vectors.json`).
//!
//! They stand in the folder that `DESTAGE_SPEC` names and are never copied
//! into the project. Some examples of the project itself stand in `own.txt`.

mod golden;
mod model;
mod own;
mod timed;

pub use golden::Golden;
pub use model::Model;

use crate::building::ways;
use crate::drive::{Config, Drive, Queues, TestDevice};
use crate::reference::{Row, SlowCounts, SlowRequest, look_ahead};
use destage_scheme::Expr;
use destage_scheme::info::Role;
use destage_types::{Nanos, Op, PageSize, StaticLayout};
use serde_json::{Map, Value};
use std::path::PathBuf;

/// Serves the rows of a table: the real core or a slow model.
pub trait Server {
    /// Serves one request.
    fn step(&mut self, request: &SlowRequest) -> Row;

    /// These chips collect garbage now, no others.
    fn collect(&mut self, chips: &[usize]);

    /// These chips are idle, no others, and what is written back on them takes no time.
    fn idle(&mut self, chips: &[usize]) -> Row;

    /// The state column.
    fn state(&self) -> String;

    /// Counters so far.
    fn counts(&self) -> SlowCounts;
}

impl Server for Drive {
    fn step(&mut self, request: &SlowRequest) -> Row {
        Drive::step(self, request)
    }

    fn collect(&mut self, chips: &[usize]) {
        let gc = &mut self.chips().gc;
        gc.fill(false);
        chips.iter().for_each(|&chip| gc[chip] = true);
    }

    fn idle(&mut self, chips: &[usize]) -> Row {
        Drive::idle(self, chips)
    }

    fn state(&self) -> String {
        Drive::state(self)
    }

    fn counts(&self) -> SlowCounts {
        Drive::counts(self)
    }
}

/// All worked examples of the specification.
pub struct Vectors(Map<String, Value>);

/// One table of a worked example with its complete setup.
pub struct Table {
    /// Name of the worked example.
    pub name: String,
    setup: Map<String, Value>,
    rows: Vec<Value>,
    expect: Map<String, Value>,
}

impl Vectors {
    /// Reads the examples; `None`, with a note, if `DESTAGE_SPEC` is not set.
    ///
    /// # Panics
    /// The variable names no readable examples.
    pub fn load() -> Option<Vectors> {
        let Some(path) = std::env::var_os("DESTAGE_SPEC").map(PathBuf::from) else {
            println!("SKIPPED: DESTAGE_SPEC does not name the folder of the specification");
            return None;
        };
        let file = match path.is_dir() {
            true => path.join("vectors.json"),
            false => path,
        };
        let text = std::fs::read_to_string(&file).expect("DESTAGE_SPEC names a readable file");
        match serde_json::from_str(&text) {
            Ok(Value::Object(all)) => Some(Vectors(all)),
            other => panic!("the worked examples are no JSON object: {other:?}"),
        }
    }

    /// Names of all examples, in the order of the file.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// The subject of the example: `scheme`, `identifier`, `equation`, `parser` or `rng`.
    pub fn kind(&self, name: &str) -> &str {
        self.0[name]["setup"]["kind"].as_str().unwrap_or("scheme")
    }

    /// The tables of an example.
    ///
    /// # Panics
    /// There is no such example, or it has no tables.
    pub fn tables(&self, name: &str) -> Vec<Table> {
        let vector = self.0.get(name).unwrap_or_else(|| panic!("no `{name}`"));
        let tables = vector["tables"].as_array().expect("an example has tables");
        let tables = tables.iter().map(|table| {
            let mut setup = object(&vector["setup"]);
            setup.extend(object(&table["setup"]));
            Table {
                name: name.to_owned(),
                setup,
                rows: table["rows"].as_array().expect("a table has rows").clone(),
                expect: object(&table["expect"]),
            }
        });
        tables.collect()
    }
}

fn object(value: &Value) -> Map<String, Value> {
    value.as_object().cloned().unwrap_or_default()
}

fn number(value: &Value) -> u64 {
    value
        .as_u64()
        .unwrap_or_else(|| panic!("{value}: no number"))
}

impl Table {
    /// The rows as they stand in the file.
    pub fn rows(&self) -> &[Value] {
        &self.rows
    }

    /// A cell of a row.
    ///
    /// # Panics
    /// There is no such cell.
    pub fn cell<'a>(&self, row: &'a Value, column: &str) -> &'a str {
        let cell = row[column].as_str();
        cell.unwrap_or_else(|| panic!("{}: no column `{column}`", self.name))
    }

    fn setup(&self, key: &str) -> &Value {
        self.setup.get(key).unwrap_or(&Value::Null)
    }

    /// A number of the setup; what it does not name has its default.
    fn number(&self, key: &str, default: u64) -> u64 {
        match self.setup(key) {
            Value::Null => default,
            value => number(value),
        }
    }

    /// Sectors of a page.
    fn page_sectors(&self) -> u64 {
        self.number("page_sectors", 8)
    }

    /// Is it about an identifier of hot data alone, whatever the cache inside does?
    fn is_of_identifier(&self) -> bool {
        self.setup("kind") == "identifier"
    }

    /// The scheme of the table.
    ///
    /// # Panics
    /// It is no legal expression.
    pub fn expr(&self) -> Expr {
        let text = self.setup("scheme").as_str().expect("a scheme");
        Expr::parse(text).unwrap_or_else(|refusal| panic!("{refusal}"))
    }

    /// Has the table a device that keeps time? One without is a cache alone, or chips whose GC
    /// state stands in the rows.
    pub fn is_timed(&self) -> bool {
        let device = self.setup("device");
        device.is_object() && device["gc"] != "per row" && !self.rows.iter().any(is_idle)
    }

    /// Can the chips be imitated by plain FIFO queues, without background work?
    pub fn has_plain_queues(&self) -> bool {
        let response = self.rows.iter().any(|r| r.get("response").is_some());
        let works = self.is_timed() && self.expr().has_background();
        !response && !works
    }

    /// The configuration of the run.
    pub fn config(&self) -> Config {
        let spp = self.page_sectors();
        // A cache of no matter, as large as all pages of an example.
        let capacity = self.number("capacity_pages", 64) as u32;
        let draws = self.setup("draws").as_array();
        let draws = draws.map(|d| d.iter().filter_map(Value::as_f64).collect());
        let device = self.setup("device");
        let unit = self.number("time_unit_ns", 1);
        let (mut layout, mut queues) = (StaticLayout::flat(1, 1), None);
        if device.is_object() {
            let channels = number(&device["channels"]) as u32;
            layout = StaticLayout::flat(channels, number(&device["chips"]) as u32);
            queues = Some(Queues {
                read: Nanos(number(&device["t_read"]) * unit),
                program: Nanos(number(&device["t_program"]) * unit),
            });
        }
        Config {
            page: PageSize::new(spp * 512).expect("a page size"),
            read_alloc: self.setup("read_alloc").as_bool(),
            draws,
            hashes: hashes(&self.setup("options")["hash"]),
            exact_counts: self.setup("options")["frequency"] == "exact counters",
            layout,
            queues,
            ..Config::new(capacity, spp as u32)
        }
    }

    /// The same with the engine in place of imitated queues.
    pub fn timed_config(&self) -> Config {
        let device = self.setup("device");
        let time = |key: &str| Nanos(number(&device[key]) * number(self.setup("time_unit_ns")));
        assert_eq!(time("t_transfer"), Nanos::ZERO, "{}: transfers", self.name);
        let device = TestDevice {
            read: time("t_read"),
            program: time("t_program"),
            dram: time("t_dram"),
        };
        Config {
            device: Some(device),
            ..self.config()
        }
    }

    /// The requests of the table; for belady those that make the initial content come first.
    pub fn requests(&self) -> Vec<SlowRequest> {
        let spp = self.page_sectors();
        let unit = self.number("time_unit_ns", 1);
        let mut requests = self.initial();
        let mut now = 0;
        for row in self.rows.iter().filter(|row| !is_idle(row)) {
            let req = &row["req"];
            now = req["at"].as_u64().map_or(now, |at| at * unit);
            let mut request = request(req, spp);
            request.arrival = now;
            requests.push(request);
        }
        let told = |row: &Value| row["req"].get("next").is_some();
        if self.expr().scheme().role == Role::Offline && !self.rows.iter().any(told) {
            look_ahead(&mut requests, spp as u32, "any");
        }
        requests
    }

    /// Requests that bring in the initial content.
    pub fn initial(&self) -> Vec<SlowRequest> {
        let spp = self.page_sectors() as u32;
        let pages = self.setup("initial").as_array().into_iter().flatten();
        let write = |page: &Value| {
            let lpn = number(&page[0]);
            let mut request = SlowRequest::write_pages(spp, lpn, lpn);
            request.next = vec![page[1].as_u64()];
            request
        };
        pages.map(write).collect()
    }

    /// Runs the table and compares every cell.
    ///
    /// # Panics
    /// A cell differs.
    pub fn run(&self, mut server: impl Server) {
        let requests = self.requests();
        let (initial, requests) = requests.split_at(self.initial().len());
        for request in initial {
            server.step(request);
        }
        let mut requests = requests.iter();
        let chips = |list: &Value| -> Vec<usize> {
            let list = list.as_array().into_iter().flatten();
            list.map(|chip| number(chip) as usize).collect()
        };
        for row in &self.rows {
            let req = &row["req"];
            if self.setup("device")["gc"] == "per row" {
                server.collect(&chips(&req["gc_chips"]));
            }
            let got = match is_idle(row) {
                true => server.idle(&chips(&req["chips"])),
                false => server.step(requests.next().expect("a request for each other row")),
            };
            self.compare(row, got, server.state());
        }
        let counts = server.counts();
        for (key, wanted) in &self.expect {
            let wanted: Vec<u64> = match wanted.as_array() {
                Some(pair) => pair.iter().map(number).collect(),
                None => vec![number(wanted)],
            };
            assert_eq!(wanted, counted(&counts, key), "{}: {key}", self.name);
        }
    }

    /// Runs the table in every way it can be run: through the real core, on imitated queues and on
    /// the engine, and through the slow model if the scheme has one.
    ///
    /// # Panics
    /// A cell differs, or the scheme is not built.
    pub fn check(&self) {
        let expr = self.expr();
        for &boxed in ways(&expr) {
            let start = |config: Config| Config { boxed, ..config }.drive(&expr, &self.requests());
            if self.is_timed() {
                self.run_timed(start(self.timed_config()));
            }
            if self.has_plain_queues() {
                self.run(start(self.config()));
            }
        }
        if self.has_plain_queues()
            && let Ok(model) = self.model()
        {
            self.run(model);
        }
    }

    fn compare(&self, row: &Value, got: Row, state: String) {
        let (got, state) = match self.is_of_identifier() {
            true => (without_cache(&got), behind(&state, "] ")),
            false => (got, state),
        };
        let at = format!("{} row {} `{}`", self.name, row["#"], row["request"]);
        for (column, got) in [
            ("result", &got.result),
            ("evicted", &got.evicted),
            ("state after", &state),
        ] {
            let Some(wanted) = row.get(column).and_then(Value::as_str) else {
                continue;
            };
            // Own examples leave the times of the chips out.
            let shown = match wanted.contains(" CQCT=") {
                true => got.as_str(),
                false => got.split(" CQCT=").next().unwrap_or(got),
            };
            assert_eq!(shown, wanted, "{at}: column `{column}`");
        }
    }
}

/// The row of an identifier of hot data, without the cache's part.
fn without_cache(row: &Row) -> Row {
    let of_cache = ["flush{", "drop{", "inval{"];
    let events = row.evicted.split(' ');
    let mut events: Vec<&str> = events
        .filter(|event| !of_cache.iter().any(|word| event.starts_with(word)))
        .collect();
    if events.is_empty() {
        events.push("-");
    }
    Row {
        result: behind(&row.result, " "),
        evicted: events.join(" "),
        ..row.clone()
    }
}

/// The text after the first `mark`.
fn behind(text: &str, mark: &str) -> String {
    let parts = text.split_once(mark);
    parts.map_or(String::new(), |parts| parts.1.to_owned())
}

/// Hash functions such as `x mod 11` and `(7x+3) mod 11`: factors and summands.
pub fn hashes(list: &Value) -> Option<Vec<[u64; 2]>> {
    let hash = |text: &Value| {
        let text = text.as_str().expect("a hash function is a text");
        let (sum, _) = text.split_once(" mod ").expect("modulo the table");
        let sum = sum.trim_matches(['(', ')']);
        let (product, summand) = sum.split_once('+').unwrap_or((sum, "0"));
        let factor = product.strip_suffix('x').expect("a multiple of x");
        let factor = if factor.is_empty() { "1" } else { factor };
        [factor, summand].map(|n| n.parse().expect("a number"))
    };
    Some(list.as_array()?.iter().map(hash).collect())
}

/// Are chips idle in this row, instead of a request?
fn is_idle(row: &Value) -> bool {
    row["req"]["op"] == "idle"
}

fn request(req: &Value, spp: u64) -> SlowRequest {
    let op = match req["op"].as_str().expect("an operation") {
        "R" => Op::Read,
        "W" => Op::Write,
        "T" => Op::Trim,
        "F" => Op::Flush,
        other => panic!("operation `{other}`"),
    };
    let (first, last) = match op {
        Op::Flush => (0, 0),
        _ => (number(&req["first"]), number(&req["last"])),
    };
    let mut request = match req["unit"].as_str() {
        _ if op == Op::Flush => SlowRequest::new(op, 0, 0),
        Some("sector") => SlowRequest::new(op, first, (last - first + 1) as u32),
        _ => SlowRequest::pages(op, spp as u32, first, last),
    };
    let pre = req["pre"].as_array().into_iter().flatten();
    request.prev = pre.map(|p| p.as_u64().map(|p| p * spp)).collect();
    request.atomic = req["atomic"].as_bool().unwrap_or(false);
    request.next = vec![req["next"].as_u64()];
    request
}

/// A figure below a table: a count, or numerator and denominator.
fn counted(c: &SlowCounts, key: &str) -> Vec<u64> {
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
        other => panic!("no figure is called `{other}`"),
    }
}
