//! Preparing a device for a trace: address checks and preconditioning, both without time.

use crate::RunError;
use crate::cache::{page_span, wrap_extents};
use crate::engine::Engine;
use crate::run::mapping::Mapping;
use destage_device::config::DeviceConfig;
use destage_device::ftl::DeviceFull;
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
        Mapping::Pages(map) => Ok(Engine::new(config, *map, background)),
        Mapping::Units(_) => panic!("a device with units has an engine of its own"),
    }
}

/// The mapping of a device ready for `workload`; `tell` hears now and then how many of about
/// [`Mapping::pages_of`] pages more were written.
///
/// # Errors
/// Those of [`prepare`].
pub(crate) fn prepared_map(
    config: &DeviceConfig,
    workload: Workload<'_>,
    wrap: bool,
    seed: u64,
    tell: &mut dyn FnMut(u64),
) -> Result<Mapping, RunError> {
    if is_filled(config) {
        // That addresses do not fit is said before anything else.
        check_fits(config, workload, wrap)?;
    }
    let mut map = Mapping::new(config, seed);
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
    map: &mut Mapping,
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
    let (wanted, space) = (&config.precondition, address_space(config));
    map.fill(wanted.fill, tell).map_err(refused)?;
    if !is_filled(config) {
        let mut reads = FirstReads::new(config.mapping(), config.logical_pages());
        let mut extents: Vec<Extent> = Vec::new();
        workload.try_each(|number, request| {
            let (op, only) = (request.head.op, request.only_extent());
            if let Some(only) = only.filter(|only| only.end() <= space) {
                return reads.map(map, op, &only).map_err(refused);
            }
            if !wrap {
                check_request(config, number, request, space)?;
            }
            extents.clear();
            extents.extend(request.extents());
            wrap_extents(&mut extents, space);
            let mut each = extents.iter();
            each.try_for_each(|extent| reads.map(map, op, extent).map_err(refused))
        })?;
    }
    let written = map.overwrite(wanted.fill, wanted.overwrite, seed, tell);
    written.map_err(refused)
}

/// Pages that a trace reads before it writes them ([PR 4.1] "pre-scanning trace approach").
struct FirstReads {
    page: PageSize,
    /// One bit per logical page: written by the trace so far, or mapped.
    known: Vec<u64>,
}

impl FirstReads {
    fn new(page: PageSize, pages: u64) -> FirstReads {
        FirstReads {
            page,
            known: vec![0; pages.div_ceil(64) as usize],
        }
    }

    #[inline]
    fn map(&mut self, map: &mut Mapping, op: Op, extent: &Extent) -> Result<(), Box<DeviceFull>> {
        if !matches!(op, Op::Read | Op::Write) {
            return Ok(());
        }
        let (first, pages) = page_span(extent, self.page);
        let (from, to) = (first.0, first.0 + u64::from(pages));
        // No branch on the kind, which no predictor could learn.
        let wanted = if op == Op::Read { u64::MAX } else { 0 };
        self.note(from, to, |start, unknown| match unknown & wanted {
            0 => Ok(()),
            unread => map_first(map, start, unread),
        })
    }

    /// Pages `from..to` are known from now on. Those that were not are given to `f` word by word:
    /// the first page of the word, and a bit for each.
    #[inline(always)]
    fn note(
        &mut self,
        mut from: u64,
        to: u64,
        mut f: impl FnMut(u64, u64) -> Result<(), Box<DeviceFull>>,
    ) -> Result<(), Box<DeviceFull>> {
        while from < to {
            let start = from / 64 * 64;
            let end = to.min(start + 64);
            let bits = u64::MAX >> (64 - (end - from)) << (from - start);
            let word = &mut self.known[(from / 64) as usize];
            let unknown = bits & !*word;
            *word |= bits;
            f(start, unknown)?;
            from = end;
        }
        Ok(())
    }
}

/// Maps the pages of a word: from `start` on, a bit for each.
#[inline(never)]
fn map_first(map: &mut Mapping, start: u64, mut unread: u64) -> Result<(), Box<DeviceFull>> {
    while unread != 0 {
        map.map_trace([Lpn(start + u64::from(unread.trailing_zeros()))])?;
        unread &= unread - 1;
    }
    Ok(())
}
