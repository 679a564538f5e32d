//! Preparing a device for a trace: address checks and preconditioning, both without time.

use crate::RunError;
use crate::cache::{page_span, wrap_extents};
use crate::engine::Engine;
use crate::run::mapping::DeviceMap;
use destage_device::config::DeviceConfig;
use destage_trace::Workload;
use destage_types::{Extent, Lpn, Op, PageSize, RequestRef};

/// A device ready for `workload`: addresses checked, flash preconditioned.
///
/// # Errors
/// The trace addresses more than the device exports and `wrap` is off; preconditioning does not
/// fit. `seed` is that of the run: GC policies and overwrites draw from it.
///
/// # Panics
/// If the device has units.
pub fn prepare<'a>(
    config: &DeviceConfig,
    workload: impl Into<Workload<'a>>,
    wrap: bool,
    background: bool,
    seed: u64,
) -> Result<Engine, RunError> {
    match prepared_map(config, workload.into(), wrap, seed, &mut |_| {})? {
        DeviceMap::Pages(map) => Ok(Engine::new(config, *map, background)),
        DeviceMap::Units(_) => panic!("a device with units has an engine of its own"),
    }
}

/// The mapping of a device ready for `workload`; `tell` hears now and then how many of about
/// [`precondition_pages`](destage_device::map::precondition_pages) pages more were written.
///
/// # Errors
/// Those of [`prepare`].
pub(crate) fn prepared_map(
    config: &DeviceConfig,
    workload: Workload<'_>,
    wrap: bool,
    seed: u64,
    tell: &mut dyn FnMut(u64),
) -> Result<DeviceMap, RunError> {
    if is_filled(config) {
        // That addresses do not fit is said before anything else.
        check_fits(config, workload, wrap)?;
    }
    let mut map = DeviceMap::new(config, seed);
    let prepared = precondition(&mut map, config, workload, wrap, seed, tell);
    if prepared.is_err() {
        check_fits(config, workload, wrap)?;
    }
    prepared.map(|()| map)
}

/// Does preconditioning leave the same whatever the trace? A trace maps no page of a device that is full.
pub(crate) fn is_filled(config: &DeviceConfig) -> bool {
    let (wanted, logical) = (&config.precondition, config.logical_pages());
    !wanted.trace || wanted.fill.of(logical) >= logical
}

/// Checks that the addresses of `workload` are on the device, unless they `wrap`.
///
/// # Errors
/// The first request that goes beyond.
pub(crate) fn check_fits(
    config: &DeviceConfig,
    workload: Workload<'_>,
    wrap: bool,
) -> Result<(), RunError> {
    let space = address_space(config);
    if wrap {
        Ok(())
    } else {
        workload.try_each(|number, request| check_request(config, number, request, space))
    }
}

/// Sectors the host can address.
pub fn address_space(config: &DeviceConfig) -> u64 {
    config.logical_pages() * u64::from(config.mapping().sectors())
}

fn check_request(
    config: &DeviceConfig,
    number: u64,
    request: RequestRef<'_>,
    space: u64,
) -> Result<(), RunError> {
    match request.extents().find(|e| e.end() > space) {
        Some(extent) => Err(RunError::BeyondDevice {
            request: number,
            sector: extent.end() - 1,
            device: config.name.clone(),
            sectors: space,
        }),
        None => Ok(()),
    }
}

/// Preconditions. Where that depends on the trace its addresses are checked on the way: those beyond
/// the device are taken modulo its sectors if they `wrap`.
fn precondition(
    map: &mut DeviceMap,
    config: &DeviceConfig,
    workload: Workload<'_>,
    wrap: bool,
    seed: u64,
    tell: &mut dyn FnMut(u64),
) -> Result<(), RunError> {
    let refused = |full| RunError::Precondition {
        device: config.name.clone(),
        full,
    };
    let wanted = &config.precondition;
    map.fill(wanted.fill, tell).map_err(refused)?;
    if !is_filled(config) {
        let reads = first_reads(config, workload, wrap)?;
        map.map_trace(&mut reads.pages()).map_err(refused)?;
    }
    let written = map.overwrite(wanted.fill, wanted.overwrite, seed, tell);
    written.map_err(refused)?;
    map.write_translation_pages().map_err(refused)
}

/// The pages that `workload` reads before it writes them.
fn first_reads(
    config: &DeviceConfig,
    workload: Workload<'_>,
    wrap: bool,
) -> Result<FirstReads, RunError> {
    let space = address_space(config);
    let mut reads = FirstReads::new(config.mapping(), config.logical_pages());
    let mut extents: Vec<Extent> = Vec::new();
    workload.try_each(|number, request| {
        let (op, only) = (request.head.op, request.only_extent());
        if let Some(only) = only.filter(|only| only.end() <= space) {
            reads.add(op, &only);
            return Ok(());
        }
        if !wrap {
            check_request(config, number, request, space)?;
        }
        extents.clear();
        extents.extend(request.extents());
        wrap_extents(&mut extents, space);
        extents.iter().for_each(|extent| reads.add(op, extent));
        Ok::<(), RunError>(())
    })?;
    reads.note_waiting();
    Ok(reads)
}

/// Extents that are looked up side by side: each alone would wait for memory.
const AT_ONCE: usize = 32;

/// Pages that a trace reads before it writes them ([PR 4.1] "pre-scanning trace approach").
struct FirstReads {
    page: PageSize,
    /// Two bits per logical page: accessed by the trace so far, and first of all read.
    known: Vec<[u64; 2]>,
    /// One bit for each of those words that has a bit: most of a drive is never touched.
    touched: Vec<u64>,
    /// Extents of reads and writes that were not looked at yet.
    waiting: Vec<(Op, Extent)>,
}

impl FirstReads {
    fn new(page: PageSize, pages: u64) -> FirstReads {
        FirstReads {
            page,
            known: vec![[0; 2]; pages.div_ceil(64) as usize],
            touched: vec![0; pages.div_ceil(64 * 64) as usize],
            waiting: Vec::with_capacity(AT_ONCE),
        }
    }

    #[inline]
    fn add(&mut self, op: Op, extent: &Extent) {
        if matches!(op, Op::Read | Op::Write) {
            self.waiting.push((op, *extent));
            if self.waiting.len() == AT_ONCE {
                self.note_waiting();
            }
        }
    }

    /// Notes the pages of the waiting extents.
    #[inline(never)]
    fn note_waiting(&mut self) {
        let first_words = self.waiting.iter().map(|(_, extent)| {
            let page = self.page.page_of(extent.start_sector);
            self.known[page.0 as usize / 64][0]
        });
        std::hint::black_box(first_words.fold(0, |all, word| all ^ word));
        let mut waiting = std::mem::take(&mut self.waiting);
        for (op, extent) in waiting.drain(..) {
            self.note(op, &extent);
        }
        self.waiting = waiting;
    }

    /// The pages of an extent are known from now on.
    #[inline]
    fn note(&mut self, op: Op, extent: &Extent) {
        let (first, pages) = page_span(extent, self.page);
        let (mut from, to) = (first.0, first.0 + u64::from(pages));
        while from < to {
            let start = from / 64 * 64;
            let end = to.min(start + 64);
            let bits = u64::MAX >> (64 - (end - from)) << (from - start);
            let [known, read] = &mut self.known[(from / 64) as usize];
            if op == Op::Read {
                *read |= bits & !*known;
            }
            *known |= bits;
            self.touched[(from / 4096) as usize] |= 1 << (from / 64 % 64);
            from = end;
        }
    }

    /// The pages, in ascending order (D-18, DR-12).
    fn pages(&self) -> impl Iterator<Item = Lpn> + '_ {
        let words = (0..).zip(&self.touched);
        let words = words.flat_map(|(at, &bits)| ones(bits).map(move |bit| at * 64 + bit));
        words.flat_map(|word| {
            let [_, read] = self.known[word as usize];
            ones(read).map(move |bit| Lpn(word * 64 + bit))
        })
    }
}

/// Numbers of the bits that are set, ascending.
fn ones(bits: u64) -> impl Iterator<Item = u64> {
    let rest = |left: &u64| Some(left & (left - 1)).filter(|&left| left != 0);
    let left = std::iter::successors(Some(bits).filter(|&left| left != 0), rest);
    left.map(|left| u64::from(left.trailing_zeros()))
}

#[cfg(test)]
mod tests;
