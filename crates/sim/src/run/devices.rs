//! Devices that are prepared once and shared by all runs that begin on the same one.
//!
//! The data on a device before a run depend on the device, on the seed and, where preconditioning
//! maps the pages that the trace reads first, on the trace. The first run that needs such a device
//! prepares it while the others wait; each goes on from a copy that shares what it does not change,
//! and the last takes what is left.

use crate::RunError;
use crate::run::mapping::DeviceMap;
use crate::run::meter::SweepProgress;
use crate::run::precondition::{check_fits, is_filled, prepared_map};
use crate::run::spec::RunSpec;
use crate::run::touched::Touched;
use destage_device::config::DeviceConfig;
use destage_device::map::precondition_pages;
use destage_trace::Workload;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Devices that are kept at the most.
const MOST_KEPT: usize = 4;

/// Prepared devices that do not depend on the trace, kept from one sweep to the next.
pub struct PreparedDevices {
    most_bytes: u64,
    /// The one used last stands last.
    kept: Mutex<Vec<Arc<PreparedDevice>>>,
}

/// A device before its first request.
struct PreparedDevice {
    config: Arc<DeviceConfig>,
    seed: u64,
    /// Copied under the lock, which takes little; it remembers what it was asked and so cannot be shared as it is.
    map: Mutex<DeviceMap>,
    bytes: u64,
}

impl PreparedDevices {
    /// None yet. Between sweeps four are kept, in `most_bytes` together.
    pub fn new(most_bytes: u64) -> PreparedDevices {
        PreparedDevices {
            most_bytes,
            kept: Mutex::new(Vec::new()),
        }
    }

    /// Bytes of those that are kept.
    pub fn bytes(&self) -> u64 {
        lock(&self.kept).iter().map(|device| device.bytes).sum()
    }

    /// Forgets those that are kept.
    pub fn clear(&self) {
        lock(&self.kept).clear();
    }

    /// Bytes that are held beside `runs` while they go on over a trace that touches so much: devices that
    /// are kept, and those that several of the runs begin on.
    pub fn bytes_beside(&self, runs: &[RunSpec], touched: Touched) -> u64 {
        let mut groups: Vec<(&RunSpec, u64)> = Vec::new();
        for run in runs.iter().filter(|run| run.device.is_some()) {
            match groups.iter_mut().find(|(one, _)| begin_alike(one, run)) {
                Some((_, count)) => *count += 1,
                None => groups.push((run, 1)),
            }
        }
        let held = groups.iter().filter_map(|&(run, count)| {
            let device = run.device.as_ref()?;
            let kept = self.most_bytes > 0 && is_filled(device);
            let there = kept && self.find(device, run.seed).is_some();
            (!there && (kept || count > 1)).then(|| touched.of_device(run))
        });
        held.sum::<u64>() + self.bytes()
    }

    fn find(&self, config: &DeviceConfig, seed: u64) -> Option<Arc<PreparedDevice>> {
        let mut kept = lock(&self.kept);
        let found =
            |device: &Arc<PreparedDevice>| device.seed == seed && device.config.maps_like(config);
        let at = kept.iter().position(found)?;
        let device = kept.remove(at);
        kept.push(Arc::clone(&device));
        Some(device)
    }

    fn keep(&self, device: &Arc<PreparedDevice>) {
        if device.bytes > self.most_bytes {
            return;
        }
        let mut kept = lock(&self.kept);
        kept.push(Arc::clone(device));
        let bytes = |kept: &[Arc<PreparedDevice>]| kept.iter().map(|d| d.bytes).sum::<u64>();
        while kept.len() > MOST_KEPT || bytes(&kept) > self.most_bytes {
            kept.remove(0);
        }
    }
}

/// The devices of the runs of one sweep.
pub(crate) struct SweepDevices<'a> {
    kept: Option<&'a PreparedDevices>,
    slots: Vec<Slot>,
    /// Slot of each run that has a device.
    of_run: Vec<Option<usize>>,
    progress: &'a SweepProgress,
}

/// Runs that begin on the same device.
struct Slot {
    config: Arc<DeviceConfig>,
    seed: u64,
    wrap: bool,
    /// Pages that preparing it writes, about.
    pages: u64,
    state: Mutex<SlotState>,
}

struct SlotState {
    device: Option<Arc<PreparedDevice>>,
    /// Runs that have not taken it.
    left: u64,
}

/// Do two runs over one trace begin on the same device?
fn begin_alike(a: &RunSpec, b: &RunSpec) -> bool {
    let devices = a.device.as_ref().zip(b.device.as_ref());
    let same = devices.is_some_and(|(a, b)| Arc::ptr_eq(a, b) || a.maps_like(b));
    same && a.seed == b.seed && a.wrap == b.wrap
}

impl<'a> SweepDevices<'a> {
    /// The devices of `runs`; without `kept` each run prepares its own.
    pub fn new(
        kept: Option<&'a PreparedDevices>,
        runs: &[RunSpec],
        progress: &'a SweepProgress,
    ) -> SweepDevices<'a> {
        let mut of_run = vec![None; runs.len()];
        let mut slots: Vec<Slot> = Vec::new();
        let mut firsts: Vec<usize> = Vec::new();
        for (number, run) in runs.iter().enumerate() {
            let Some(device) = &run.device else { continue };
            let shared = |first: &usize| kept.is_some() && begin_alike(&runs[*first], run);
            let at = firsts.iter().position(shared).unwrap_or(slots.len());
            if at == slots.len() {
                firsts.push(number);
                slots.push(Slot::new(run, device, kept));
                let pages = slots[at].pages;
                progress
                    .pages_to_prepare
                    .fetch_add(pages, Ordering::Relaxed);
            }
            lock(&slots[at].state).left += 1;
            of_run[number] = Some(at);
        }
        SweepDevices {
            kept,
            slots,
            of_run,
            progress,
        }
    }

    /// The mapping that run number `run` begins with, to be asked for once.
    ///
    /// # Errors
    /// The device cannot be prepared for `workload`.
    pub fn take(&self, run: usize, workload: Workload<'_>) -> Result<DeviceMap, RunError> {
        let slot = self.of_run[run].expect("only runs with a device take one");
        let slot = &self.slots[slot];
        let mut state = lock(&slot.state);
        state.left = state.left.saturating_sub(1);
        let device = match state.device.take() {
            Some(device) => device,
            None => self.prepared(slot, workload, state.left > 0)?,
        };
        if state.left > 0 {
            state.device = Some(Arc::clone(&device));
        }
        drop(state);
        // The last one to hold it takes it.
        let mut map = match Arc::try_unwrap(device) {
            Ok(device) => device
                .map
                .into_inner()
                .unwrap_or_else(PoisonError::into_inner),
            Err(shared) => lock(&shared.map).clone(),
        };
        map.thaw();
        Ok(map)
    }

    /// The device of `slot`, kept from before or made now. It is `wanted` again.
    fn prepared(
        &self,
        slot: &Slot,
        workload: Workload<'_>,
        wanted: bool,
    ) -> Result<Arc<PreparedDevice>, RunError> {
        let config = &slot.config;
        let keeps = self
            .kept
            .filter(|kept| is_filled(config) && kept.most_bytes > 0);
        let kept = keeps.and_then(|kept| kept.find(config, slot.seed));
        if let Some(device) = kept {
            self.progress.prepared(slot.pages);
            check_fits(config, workload, slot.wrap)?;
            return Ok(device);
        }
        let mut untold = slot.pages;
        let mut tell = |pages: u64| {
            let more = pages.min(untold);
            untold -= more;
            self.progress.prepared(more);
        };
        let map = prepared_map(config, workload, slot.wrap, slot.seed, &mut tell);
        tell(u64::MAX);
        let mut map = map?;
        if wanted || keeps.is_some() {
            map.freeze();
        }
        let device = Arc::new(PreparedDevice {
            config: Arc::clone(config),
            seed: slot.seed,
            bytes: map.memory_bytes(),
            map: Mutex::new(map),
        });
        if let Some(keeps) = keeps {
            keeps.keep(&device);
        }
        Ok(device)
    }
}

impl Slot {
    fn new(run: &RunSpec, device: &Arc<DeviceConfig>, kept: Option<&PreparedDevices>) -> Slot {
        let there = kept.is_some_and(|kept| kept.find(device, run.seed).is_some());
        Slot {
            config: Arc::clone(device),
            seed: run.seed,
            wrap: run.wrap,
            pages: if there { 0 } else { precondition_pages(device) },
            state: Mutex::new(SlotState {
                device: None,
                left: 0,
            }),
        }
    }
}

/// Nothing is changed before what may panic, so what a panic leaves is whole.
fn lock<T>(state: &Mutex<T>) -> MutexGuard<'_, T> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}
