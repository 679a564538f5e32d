//! Random requests and power cuts against a plain model of what may and must survive.

use crate::model::{ModelDevice, PAGE_BYTES, SECTORS, random_drive, simulated};
use destage_live::device::{DataDevice, SimulatedSsd, TimedDevice};
use destage_live::protocol::transmission::{NbdCommand, NbdOutcome, NbdRequest};
use destage_live::store::{CacheKind, MemoryMedium, Store};
use destage_types::rng::SplitMix64;
use destage_types::{Nanos, SECTOR_BYTES};
use std::collections::BTreeMap;

const PAGES: usize = 24;
const CAPACITY: u64 = PAGES as u64 * PAGE_BYTES as u64;

/// The number of the request that wrote each sector; 0 for zeros.
type PageContent = [u64; SECTORS as usize];

/// All contents that a page has had, the first that may survive, and each write with its sectors.
struct ModelPage {
    versions: Vec<PageContent>,
    floor: usize,
    writes: Vec<(u64, std::ops::Range<usize>)>,
}

/// Pages that a request must make durable once it is answered, with the number of their version.
type Promise = Vec<(usize, usize)>;

struct Bench<D> {
    device: DataDevice<D, usize>,
    kind: CacheKind,
    /// Changes that are not answered, by page, if these may come to the cache in another order. Then no other request is
    /// sent to such a page.
    under_way: Option<BTreeMap<usize, usize>>,
    pages: Vec<ModelPage>,
    promises: Vec<Option<Promise>>,
    /// Pages that each request changes, until it is answered.
    changes: Vec<Promise>,
    reads: Vec<Option<Vec<u8>>>,
    now: Nanos,
}

impl<D: TimedDevice> Bench<D> {
    fn new(device: D, kind: CacheKind) -> Bench<D> {
        let store = Store::new(Box::new(MemoryMedium::default()), kind, PAGE_BYTES);
        let page = || ModelPage {
            versions: vec![[0; SECTORS as usize]],
            floor: 0,
            writes: Vec::new(),
        };
        Bench {
            device: DataDevice::new(device, store, Vec::new()),
            kind,
            under_way: None,
            pages: (0..PAGES).map(|_| page()).collect(),
            promises: Vec::new(),
            changes: Vec::new(),
            reads: Vec::new(),
            now: Nanos::ZERO,
        }
    }

    /// Requests may come to the cache in another order.
    fn out_of_order(mut self) -> Bench<D> {
        self.under_way = Some(BTreeMap::new());
        self
    }

    fn is_under_way(&self, page: usize) -> bool {
        let pages = self.under_way.as_ref();
        pages.is_some_and(|pages| pages.contains_key(&page))
    }

    /// The last version of each page that a FLUSH covers that is sent now.
    fn covered(&self) -> Promise {
        let last = |(n, page): (usize, &ModelPage)| {
            let not_answered = usize::from(self.is_under_way(n));
            (n, page.versions.len() - 1 - not_answered)
        };
        self.pages.iter().enumerate().map(last).collect()
    }

    /// A request has been sent: what it changes, and what it promises.
    fn sent(&mut self, change: Promise, promise: Option<Promise>, read: Option<Vec<u8>>) {
        for &(page, _) in &change {
            if let Some(pages) = &mut self.under_way {
                *pages.entry(page).or_default() += 1;
            } else if self.kind == CacheKind::Nvm {
                // All that was submitted is durable.
                self.pages[page].floor = self.pages[page].versions.len() - 1;
            }
        }
        self.changes.push(change);
        self.promises.push(promise);
        self.reads.push(read);
    }

    /// The request is answered.
    fn answered(&mut self, id: usize) {
        for (page, version) in std::mem::take(&mut self.changes[id]) {
            if let Some(pages) = &mut self.under_way {
                pages.remove(&page);
                if self.kind == CacheKind::Nvm {
                    self.pages[page].floor = self.pages[page].floor.max(version);
                }
            }
        }
        for (page, version) in self.promises[id].take().unwrap_or_default() {
            self.pages[page].floor = self.pages[page].floor.max(version);
        }
    }

    fn newest(&self, from: u64, sectors: u64) -> Vec<u8> {
        let sector = |s: u64| {
            let page = &self.pages[(s / SECTORS) as usize];
            let stamp = page.versions.last().expect("one")[(s % SECTORS) as usize];
            stamp.to_le_bytes().repeat(SECTOR_BYTES as usize / 8)
        };
        (from..from + sectors).flat_map(sector).collect()
    }

    /// Writes, trims, or zeroes in the model, whole pages only if `whole`.
    fn change(&mut self, number: u64, from: u64, sectors: u64, whole: bool) -> Promise {
        let mut promise = Vec::new();
        let end = from + sectors;
        for page in from / SECTORS..end.div_ceil(SECTORS) {
            let start = page * SECTORS;
            let part =
                (from.max(start) - start) as usize..(end.min(start + SECTORS) - start) as usize;
            if whole && part.len() < SECTORS as usize {
                continue;
            }
            let page_model = &mut self.pages[page as usize];
            let mut content = *page_model.versions.last().expect("one");
            content[part.clone()].fill(number);
            page_model.versions.push(content);
            page_model.writes.push((number, part));
            promise.push((page as usize, page_model.versions.len() - 1));
        }
        promise
    }

    fn submit(&mut self, random: &mut SplitMix64, plain: bool) {
        let id = self.promises.len();
        let number = id as u64 + 1;
        let sectors = 1 + random.below(20);
        let from = random.below(PAGES as u64 * SECTORS - sectors);
        let (offset, length) = (from * SECTOR_BYTES, (sectors * SECTOR_BYTES) as u32);
        let request = |command| NbdRequest::of(command, offset, length);
        let touched = from / SECTORS..(from + sectors).div_ceil(SECTORS);
        if touched.clone().any(|page| self.is_under_way(page as usize)) {
            return;
        }
        let fua = random.below(8) == 0;
        let mut data = Vec::new();
        let (mut read, mut change, mut promise) = (None, Vec::new(), None);
        let request = match random.below(if plain { 13 } else { 11 }) {
            0..=6 => {
                data = number
                    .to_le_bytes()
                    .repeat((sectors * SECTOR_BYTES) as usize / 8);
                change = self.change(number, from, sectors, false);
                promise = Some(change.clone()).filter(|_| fua);
                if fua {
                    request(NbdCommand::Write).with_fua()
                } else {
                    request(NbdCommand::Write)
                }
            }
            7..=9 => {
                read = Some(self.newest(from, sectors));
                request(NbdCommand::Read)
            }
            10 => {
                promise = Some(self.covered());
                NbdRequest::of(NbdCommand::Flush, 0, 0)
            }
            11 => {
                change = self.change(0, from, sectors, true);
                request(NbdCommand::Trim)
            }
            _ => {
                change = self.change(0, from, sectors, false);
                request(NbdCommand::WriteZeroes)
            }
        };
        self.sent(change, promise, read);
        self.device.submit(self.now, id, &request, data);
    }

    fn advance(&mut self, to: Nanos, cut: bool) {
        self.now = to;
        let mut answers = Vec::new();
        if cut {
            let _ = self.device.power_cut(to, &mut answers);
        } else {
            self.device.advance(to, &mut answers);
        }
        let mut last = Nanos::ZERO;
        for answer in answers {
            assert!(last <= answer.at && answer.at <= to);
            last = answer.at;
            if let Some(expected) = self.reads[answer.token].take() {
                let NbdOutcome::Data(_, data) = answer.outcome else {
                    panic!("a read gives data");
                };
                assert!(data == expected, "read {} gave other data", answer.token);
            }
            self.answered(answer.token);
        }
        if let Some(pages) = self.under_way.as_mut().filter(|_| cut) {
            pages.clear();
        }
    }

    /// The model goes on from the pages that are there after a cut. Gives the pages that lost a
    /// version.
    fn check_survivors(&mut self, exact: bool) -> usize {
        let mut lost = 0;
        let id = self.promises.len();
        self.sent(Vec::new(), None, None);
        let request = NbdRequest::of(NbdCommand::Read, 0, CAPACITY as u32);
        self.device.submit(self.now, id, &request, Vec::new());
        let mut answers = Vec::new();
        self.now = Nanos(self.now.0 + 100_000_000);
        self.device.advance(self.now, &mut answers);
        let NbdOutcome::Data(_, data) = &answers.last().expect("an answer").outcome else {
            panic!("a read gives data");
        };
        for (n, page) in self.pages.iter_mut().enumerate() {
            let bytes = &data[n * PAGE_BYTES as usize..(n + 1) * PAGE_BYTES as usize];
            let mut content = [0; SECTORS as usize];
            for (sector, stamp) in bytes.chunks(SECTOR_BYTES as usize).zip(&mut content) {
                *stamp = u64::from_le_bytes(sector[..8].try_into().expect("eight bytes"));
                assert!(
                    sector.chunks(8).all(|c| c == stamp.to_le_bytes()),
                    "a torn sector"
                );
            }
            if exact {
                assert!(
                    page.versions[page.floor..].contains(&content),
                    "page {n}: {content:?} is none of {:?}",
                    &page.versions[page.floor..]
                )
            } else {
                check_parts(n, page, &content)
            }
            lost += usize::from(page.versions.last() != Some(&content));
            page.versions = vec![content];
            page.writes.clear();
            page.floor = 0;
        }
        lost
    }
}

/// Each sector is at least as new as promised, and where one has the content of a write, the others that
/// it wrote in the page are no older.
fn check_parts(n: usize, page: &ModelPage, content: &PageContent) {
    for (sector, stamp) in content.iter().enumerate() {
        let promised = page.versions[page.floor][sector];
        assert!(
            *stamp >= promised,
            "page {n} sector {sector}: {stamp} < {promised}"
        );
    }
    for (number, part) in &page.writes {
        let seen = part.clone().any(|s| content[s] == *number);
        let whole = part.clone().all(|s| content[s] >= *number);
        assert!(!seen || whole, "page {n}: write {number} is torn");
    }
}

fn cuts(seed: u64, kind: CacheKind, bypass: bool, n: usize) {
    let device = ModelDevice::new(seed, 5, bypass);
    cuts_of(Bench::new(device, kind), seed, !bypass, n);
}

/// `exact`: pages are written as a whole, so each is one of its versions. Gives the pages that lost a version.
fn cuts_of<D: TimedDevice>(mut bench: Bench<D>, seed: u64, exact: bool, n: usize) -> usize {
    let (mut random, mut lost) = (SplitMix64::new(seed), 0);
    for _ in 0..n {
        for _ in 0..random.below(40) {
            bench.submit(&mut random, exact);
            let to = Nanos(bench.now.0 + random.below(60_000));
            bench.advance(to, false);
        }
        let to = Nanos(bench.now.0 + random.below(200_000));
        bench.advance(to, true);
        lost += bench.check_survivors(exact);
    }
    lost
}

#[test]
fn simulated_devices_keep_what_flush_and_fua_covered() {
    for (seed, scheme) in [
        (4, "lru"),
        (5, "req-block"),
        (6, "none"),
        (7, "prober(lru)"),
    ] {
        let bench = Bench::new(simulated(&[], scheme, 32 << 10), CacheKind::Dram);
        cuts_of(bench, seed, false, number_of_cuts().min(100));
    }
}

/// Drives with units, bounded buffers, paced collection and a host's side. Writes that are larger than their buffer wait
/// for frames.
#[test]
fn random_drives_keep_what_flush_and_fua_covered() {
    let mut lost = 0;
    for seed in 0..number_of_cuts() as u64 / 25 {
        let mut random = SplitMix64::new(seed);
        let (spec, kind) = random_drive(&mut random);
        let device = SimulatedSsd::new(&spec, "test").expect("a device");
        let bench = Bench::new(device, kind).out_of_order();
        lost += cuts_of(bench, seed, true, 25);
    }
    assert!(lost > number_of_cuts() / 4, "{lost} pages lost a version");
}

fn number_of_cuts() -> usize {
    let given = std::env::var("DESTAGE_POWER_CUTS").ok();
    given.and_then(|n| n.parse().ok()).unwrap_or(2000)
}

#[test]
fn each_page_is_a_version_that_flush_and_fua_allow() {
    cuts(1, CacheKind::Dram, false, number_of_cuts());
}

#[test]
fn of_a_write_past_the_cache_a_page_has_all_or_nothing() {
    cuts(2, CacheKind::Dram, true, number_of_cuts());
}

#[test]
fn a_non_volatile_cache_keeps_what_it_was_given() {
    cuts(3, CacheKind::Nvm, false, number_of_cuts());
}
