//! The slow cache: the request rules D1 to D12, one after the other.

mod asked;
mod evictions;
mod renames;
mod request_path;
mod write_back;

use destage_types::{Op, RequestFlags};

use super::admission::Admission;
use super::admission_layers::{is_admission, layer};
use super::ahead::Ahead;
use super::background::{DeviceCounts, WriteBack};
use super::co_active::Quota;
use super::counts::SlowCounts;
use super::cqct::Cost;
use super::expr::SlowExpr;
use super::flash::SlowFlash;
use super::mapping::Art;
use super::occasions::Asked;
use super::registry::{Around, build};
use super::request::{SlowAccess, SlowRequest};
use super::scheme::{Served, SlowScheme};
use super::store::Store;

/// The sectors that a read miss brings in (D2).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum SlowReadFill {
    /// The whole page.
    #[default]
    Page,
    /// The requested sectors.
    Requested,
}

/// Everything about a run that the expression does not say.
pub struct SlowConfig {
    /// Pages.
    pub capacity: usize,
    /// Sectors of a page.
    pub spp: u32,
    /// Allocation on read misses; as the scheme has it if not given.
    pub read_alloc: Option<bool>,
    /// The sectors that a read miss brings in.
    pub fill: SlowReadFill,
    /// Does the flush of a partly valid page cost a read?
    pub rmw: bool,
    /// Seed of the random choices.
    pub seed: u64,
    /// Numbers to draw before the generator is asked.
    pub draws: Vec<f64>,
    /// Factors and summands of hash functions in place of the real ones.
    pub hashes: Vec<[u64; 2]>,
    /// Counts accesses one by one where the scheme has a sketch.
    pub exact_counts: bool,
    /// The chips under the cache.
    pub flash: Box<dyn SlowFlash>,
}

impl SlowConfig {
    /// `capacity` pages of `spp` sectors; read allocation as the scheme has it, no device.
    pub fn new(capacity: usize, spp: u32) -> SlowConfig {
        SlowConfig {
            capacity,
            spp,
            read_alloc: None,
            fill: SlowReadFill::Page,
            rmw: true,
            seed: 1,
            draws: Vec::new(),
            hashes: Vec::new(),
            exact_counts: false,
            flash: Box::default(),
        }
    }

    fn page_bytes(&self) -> u64 {
        u64::from(self.spp) * 512
    }

    fn around(&self) -> Around {
        Around {
            capacity: self.capacity,
            chips: self.flash.chips(),
            page: self.page_bytes(),
            exact_counts: self.exact_counts,
        }
    }
}

/// One victim unit.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Evicted {
    /// Dirty pages in program order.
    pub flush: Vec<u64>,
    /// Clean pages, ascending.
    pub drop: Vec<u64>,
}

/// The row of one request.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Row {
    /// The result column: letters, then words.
    pub result: String,
    /// The evicted column, `-` if empty.
    pub evicted: String,
    /// Hit or miss per page; empty for TRIM and FLUSH.
    pub hits: Vec<bool>,
    /// Victim units in order.
    pub evictions: Vec<Evicted>,
    /// Resident pages removed without a flush because newer data exist.
    pub discards: Vec<u64>,
    /// Renames that found something, in order.
    pub remaps: Vec<(u64, u64)>,
    /// Programs in order, whatever caused them.
    pub programs: Vec<u64>,
    /// Flash reads in order, read-modify-write included.
    pub reads: Vec<u64>,
}

/// The slow cache.
pub struct SlowCache {
    /// Frames and clocks.
    pub store: Store,
    /// Counters since the start.
    pub counts: SlowCounts,
    /// Counters of a device.
    pub device_counts: DeviceCounts,
    background: Option<WriteBack>,
    ahead: Option<Ahead>,
    /// The quota of the scheme's own background work.
    quota: Option<Quota>,
    scheme: Option<Box<dyn SlowScheme>>,
    art: Option<Art>,
    admission: Option<Box<dyn Admission>>,
    fill: SlowReadFill,
    rmw: bool,
    row: Row,
    log: Vec<String>,
    /// Pages renamed into residence for the request being served.
    renamed: Vec<u64>,
}

/// Schemes whose papers describe a write buffer (D2).
const WRITE_BUFFERS: [&str; 16] = [
    "req-block",
    "bplru",
    "fab",
    "vbbms",
    "pud-lru",
    "bpac",
    "lb-clock",
    "ref",
    "wow",
    "cscan",
    "prober",
    "procache",
    "refcount",
    "multihash",
    "mbf",
    "twolevel",
];

fn is_write_buffer(expr: &SlowExpr) -> bool {
    let own = WRITE_BUFFERS.contains(&expr.name.as_str()) || expr.name == "belady";
    own || expr.inner.as_deref().is_some_and(is_write_buffer)
}

impl SlowCache {
    /// An empty cache under the scheme named by `expression`.
    ///
    /// # Errors
    /// The expression is not understood, or there is no model of a scheme in it.
    pub fn new(expression: &str, mut config: SlowConfig) -> Result<SlowCache, String> {
        let whole = SlowExpr::parse(expression)?;
        let page = config.page_bytes();
        let (mut art, mut admission, mut background, mut ahead) = (None, None, None, None);
        let mut expr = &whole;
        loop {
            match expr.name.as_str() {
                "cac" if page != 4096 => return Err("cac needs pages of 4096 bytes".to_owned()),
                "cac" => art = Some(Art::new(expr)?),
                name if is_admission(name) => {
                    let draws = (config.seed, &config.draws[..]);
                    admission = Some(layer(expr, page, draws, &config.hashes)?);
                }
                // Without a device nothing is written back in the background.
                "awb" if config.flash.device().is_some() => {
                    background = Some(WriteBack::new(expr)?);
                }
                "eager" if config.flash.device().is_some() => {
                    background = Some(WriteBack::eager(expr, config.capacity)?);
                }
                "awb" | "eager" => {}
                name if name.starts_with("test-") => {
                    let asked = Asked::new(expr)?;
                    if let Some(device) = config.flash.device() {
                        let watches = asked.as_ref().is_some_and(Asked::watches_programs);
                        device.watches_programs = watches;
                        background = asked.map(WriteBack::asked);
                    }
                }
                "idle-clean" => {
                    ahead = Some(Ahead::new(expr, config.capacity)?);
                    background = config.flash.device().map(|_| WriteBack::ahead());
                }
                _ => break,
            }
            expr = expr.inside()?;
        }
        if let Some(device) = config.flash.device() {
            device.cost = Cost::of(expr)?;
        }
        let quota = Quota::of(expr)?;
        if quota.is_some() && config.flash.device().is_some() {
            background = Some(WriteBack::of_scheme());
        }
        let cached = expr.name != "none";
        let scheme = cached.then(|| build(expr, config.around())).transpose()?;
        Ok(SlowCache {
            store: Store {
                capacity: config.capacity,
                spp: config.spp,
                read_alloc: config.read_alloc.unwrap_or(!is_write_buffer(&whole)),
                flash: config.flash,
                ..Store::default()
            },
            counts: SlowCounts::default(),
            device_counts: DeviceCounts::default(),
            background,
            ahead,
            quota,
            scheme,
            art,
            admission,
            fill: config.fill,
            rmw: config.rmw,
            row: Row::default(),
            log: Vec::new(),
            renamed: Vec::new(),
        })
    }

    /// Pages the scheme believes resident, ascending.
    pub fn scheme_pages(&self) -> Vec<u64> {
        let mut pages = self.scheme.as_ref().map(|s| s.pages()).unwrap_or_default();
        pages.sort_unstable();
        pages
    }

    /// The state column, which takes longer than a request where tables are long.
    pub fn state(&self) -> String {
        let mut state = match &self.scheme {
            Some(scheme) => scheme.state(&self.store),
            None => "(none)".to_owned(),
        };
        if let Some(admission) = &self.admission {
            state += &admission.state();
        }
        if let Some(ahead) = &self.ahead {
            state += &ahead.state();
        }
        if let Some(art) = &self.art {
            state += &format!(" ; {}", art.state());
        }
        if let Some(note) = self.store.flash.note() {
            state += &format!(" {note}");
        }
        state
    }

    /// Serves one request.
    pub fn step(&mut self, request: &SlowRequest) -> Row {
        self.row = Row::default();
        self.log.clear();
        self.renamed.clear();
        self.counts.requests += 1;
        self.pass_time(self.store.now.max(request.arrival));
        if request.flags.any(RequestFlags::PREFLUSH) {
            self.program_dirty(|_| true);
        }
        self.store.flash.begin(self.store.request, request.op);
        self.store.request += 1;
        if matches!(request.op, Op::Read | Op::Write) {
            self.store.data = (self.store.now, self.store.request);
            let device = self.store.flash.device();
            let program = device.map_or(0, |d| d.program_time());
            let quota = self.quota.iter_mut();
            quota.for_each(|quota| quota.request(self.store.now, program));
        }
        self.store.writing = request.op == Op::Write;
        let accesses = request.accesses(self.store.spp);
        match request.op {
            Op::Read => self.read(request, &accesses),
            Op::Write => self.write(request, &accesses),
            Op::Trim => self.trim(&accesses),
            Op::Flush => self.flush(),
        }
        if request.flags.any(RequestFlags::FUA) {
            let pages: Vec<u64> = accesses.iter().map(|access| access.lpn).collect();
            self.program_dirty(|lpn| pages.contains(&lpn));
            self.store.flash.force(&pages);
        }
        self.drop_translations();
        self.store.flash.end(self.row.hits.len() as u64);
        self.issue();
        self.describe(request.op);
        self.row.clone()
    }

    /// Pages that left have no entry in the remapping table.
    fn drop_translations(&mut self) {
        if let Some(art) = &mut self.art {
            art.map.retain(|cur, _| self.store.frames.contains_key(cur));
        }
    }

    /// Fills in the strings of the row.
    fn describe(&mut self, op: Op) {
        let whole_request = self.admission.as_ref().is_some_and(|a| a.whole_requests());
        let letter = |hit: bool| if hit { "H" } else { "M" };
        let letters: String = match op {
            Op::Trim | Op::Flush => "-".to_owned(),
            _ if whole_request => letter(self.row.hits.iter().all(|&h| h)).to_owned(),
            _ => self.row.hits.iter().map(|&h| letter(h)).collect(),
        };
        self.row.result = match self.row.result.is_empty() {
            true => letters,
            false => format!("{letters} {}", self.row.result),
        };
        self.row.evicted = match self.log.is_empty() {
            true => "-".to_owned(),
            false => self.log.join(" "),
        };
    }

    fn say(&mut self, word: &str) {
        if !self.row.result.is_empty() {
            self.row.result.push(' ');
        }
        self.row.result.push_str(word);
    }

    /// Tells `idle-clean` of it, and every layer that is asked about each page.
    fn know(&mut self, of: impl FnOnce(&mut Ahead)) {
        if let Some(ahead) = &mut self.ahead {
            of(ahead);
        }
        if let Some(asked) = self.background.as_mut().and_then(|b| b.asked.as_mut()) {
            asked.keep_dirty(|lpn| self.store.dirty(lpn));
        }
    }

    fn scheme(&mut self) -> (&mut dyn SlowScheme, &Store) {
        let scheme = self.scheme.as_mut().expect("only a cache asks its scheme");
        (scheme.as_mut(), &self.store)
    }

    /// Tells the scheme of the whole request before its pages are served.
    fn classify(&mut self, request: &SlowRequest, accesses: &[SlowAccess]) {
        if self.scheme.is_none() {
            return;
        }
        let span = |&(start, n): &(u64, u32)| (start, start + u64::from(n) - 1);
        let served = Served {
            spans: request.extents.iter().map(span).collect(),
            pages: accesses.iter().map(|a| a.lpn).collect(),
            renamed: self.renamed.clone(),
            write: request.op == Op::Write,
        };
        let (scheme, store) = self.scheme();
        scheme.request(&served, store);
    }

    fn finish(&mut self, request: &SlowRequest, sector_hits: u64) {
        if let Some(scheme) = &mut self.scheme {
            for word in scheme.words() {
                self.say(&word);
            }
        }
        let write = request.op == Op::Write;
        let hits = &self.row.hits;
        (self.counts).served(write, hits, request.sectors(), sector_hits);
    }
}
