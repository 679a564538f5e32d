//! From the figures of a run to its result record.

use crate::cache::ReadFill;
use crate::cache::sample::{QueueSampler, Samples};
use crate::device::{DeviceCore, FlashState};
use crate::run::front::{Front, HostSide};
use crate::run::metadata_budget::Capacity;
use crate::run::replay::LoopTimes;
use crate::run::run_cache::CacheState;
use crate::run::spec::RunSpec;
use destage_device::config::DeviceConfig;
use destage_device::map::HandleCounts;
use destage_device::nand::{ChipStats, OpKind};
use destage_record::counts::{Counts, ratio};
use destage_record::result::{Ratios, SCHEMA};
use destage_record::{
    Conditions, CountFields, Endurance, EnergyNj, EraseCounts, HandleFigures, LifeUsed, RatedFlash,
    ResultRecord, RunInfo, Throughput, TraceInfo, Utilisation,
};
use destage_scheme::SchemeStats;

/// Counts of the measured part up to some moment.
pub(crate) struct Figures {
    pub counts: Counts,
    pub samples: Samples,
    /// Figures of the scheme's own.
    pub stats: SchemeStats,
    /// Dirty pages whose present version no counted program writes.
    pub dirty_pages_left: u64,
    /// Wear and work of the flash.
    pub flash: Option<FlashState>,
    /// Measurements at the host's side of the device, where that is simulated.
    pub host_side: Option<HostSide>,
    /// Times of a closed loop.
    pub loop_times: Option<LoopTimes>,
}

impl Figures {
    /// Those of `cache` at this moment; `before` are the scheme's own when the measured part began.
    pub fn of(cache: &dyn CacheState, samples: Samples, before: &SchemeStats) -> Figures {
        Figures {
            counts: cache.counts(),
            samples,
            stats: cache.stats().since(before),
            dirty_pages_left: cache.dirty_pages_left(),
            flash: cache.device().map(DeviceCore::flash_state),
            host_side: None,
            loop_times: None,
        }
    }
}

type SchemeFigures = serde_json::Map<String, serde_json::Value>;

/// Entries of a record besides figures.
pub(crate) struct Recording<'a> {
    pub spec: &'a RunSpec,
    pub trace: TraceInfo,
    /// Requests of the trace whose arrival was corrected.
    pub arrival_corrections: u64,
    /// Is the trace what a modelled file system sent?
    pub modelled: bool,
    pub capacity: Capacity,
    /// Requests before the measured part.
    pub warmup: u64,
    pub version: &'a str,
}

impl Recording<'_> {
    fn conditions(&self) -> Conditions {
        let spec = self.spec;
        Conditions {
            read_alloc: spec.resolved_read_alloc(),
            read_fill: match spec.read_fill {
                ReadFill::Page => "page".to_owned(),
                ReadFill::Requested => "requested".to_owned(),
            },
            charge_metadata: spec.charge_metadata,
            cache_region: spec.cache_region().map(|region| region.to_string()),
            evict_wait: spec.device.as_ref().map(|d| d.evict_wait.to_string()),
            warmup_requests: self.warmup,
            queue_depth: spec.replay.depth(),
            unmapped_reads: spec.device.as_ref().map(|d| {
                if d.precondition.trace {
                    "precondition=trace".to_owned()
                } else {
                    "counted".to_owned()
                }
            }),
        }
    }

    /// Counters, and the figures of the scheme beside them.
    fn count_fields(&self, counts: &Counts, stats: &SchemeStats) -> (CountFields, SchemeFigures) {
        let stats = stats.iter();
        let stats = stats.map(|(name, value)| (name.to_owned(), value.into()));
        let mut stats: SchemeFigures = stats.collect();
        let parts = self.spec.count_parts(self.modelled);
        let mut fields = CountFields::new(counts, self.arrival_corrections, parts);
        // Decisions that the engine of a scheme counts, under its name in the result record.
        let zero = stats.shift_remove("zero_cqct_decisions");
        fields.zero_cqct_decisions = zero.and_then(|n| n.as_u64());
        (fields, stats)
    }

    /// The record of a run on `cache`, whose `figures` are those of the end of its trace.
    pub fn record(&self, cache: &dyn CacheState, figures: Figures) -> ResultRecord {
        let Figures {
            counts: c,
            samples,
            stats,
            dirty_pages_left,
            flash,
            host_side,
            loop_times,
        } = &figures;
        let mut measures = cache.device().map(DeviceCore::measures);
        if let Some((measures, host)) = measures.as_mut().zip(host_side.as_ref()) {
            (measures.latency, measures.backlog) = (host.response, host.backlog);
        }
        let spec = self.spec;
        let device = spec.device.as_ref();
        let waits_at_front = device.is_some_and(|device| Front::is_wanted(device, spec.replay));
        let meta = samples.meta_bytes_mean();
        let cache_bytes = if spec.is_cached() { spec.cache.0 } else { 0 };
        let meta_ratio = meta.and_then(|m| ratio(m, cache_bytes as f64));
        let (counts, scheme_stats) = self.count_fields(c, stats);
        ResultRecord {
            schema: SCHEMA.to_owned(),
            trace: self.trace.clone(),
            run_name: spec.name.clone(),
            scheme: spec.expr.to_string(),
            cache_bytes,
            cache_pages: u64::from(self.capacity.frames),
            meta_bytes_charged: self.capacity.metadata,
            page_bytes: spec.page.bytes(),
            device: device.map_or("none".to_owned(), |d| d.name.clone()),
            seed: spec.seed,
            version: self.version.to_owned(),
            reading: self.conditions(),
            counts,
            ratios: Ratios::new(c, spec.page.bytes(), meta_ratio, cache.is_timed()),
            latency_ns: measures.map(|m| m.latency),
            service_ns: (host_side.as_ref().filter(|_| waits_at_front)).map(|host| host.service),
            backlog: measures.and_then(|m| m.backlog),
            write_pace: host_side.as_ref().and_then(|host| host.write_pace),
            throughput: (loop_times.as_ref())
                .and_then(|times| Throughput::of(times.elapsed().0, times.held().0, c)),
            evict_wait_ns: measures.map(|m| m.evict_wait),
            evict_turnaround_ns: measures.map(|m| m.evict_turnaround),
            victim_valid_pages_mean: (flash.as_ref())
                .and_then(|_| ratio(c.gc_victim_pages as f64, c.gc_victims as f64)),
            erase_counts: (flash.as_ref())
                .map(|flash| EraseCounts::new(&flash.wear.blocks_by_erases)),
            handles: flash.as_ref().and_then(handles),
            endurance: endurance(spec, cache, flash.as_ref(), c),
            energy_nj: (device.zip(flash.as_ref()))
                .and_then(|(device, flash)| energy(device, flash)),
            utilisation: (cache.device().map(DeviceCore::busy_times))
                .map(|busy| Utilisation::new(busy.elapsed, &busy.channels, &busy.dies)),
            evict_pages_mean: ratio(c.evicted_pages as f64, c.evictions as f64),
            evict_flush_mean: ratio(c.flushed_pages as f64, c.evictions as f64),
            evict_pages_histogram: cache.evict_pages().rows(),
            dirty_pages_left: *dirty_pages_left,
            final_flush: None,
            hits_by_size: None,
            unbalance: (cache.queues().filter(|_| spec.unbalance)).map(QueueSampler::report),
            meta_bytes_mean: meta,
            list_pages: (!samples.list_pages.is_empty()).then(|| samples.list_pages.clone()),
            scheme_stats,
            config: spec.settings.clone(),
            run: RunInfo::default(),
        }
    }
}

/// What each handle wrote, if there are several.
fn handles(flash: &FlashState) -> Option<Vec<HandleFigures>> {
    let last = flash.handles.len().checked_sub(1)?;
    let of = |(handle, row): (usize, &HandleCounts)| HandleFigures {
        handle: (handle < last).then_some(handle as u32),
        host_places: row.host_places,
        moved_places: row.moved_places,
        units_opened: row.units_opened,
        units_erased: row.units_erased,
        valid_at_erase: row.valid_at_erase,
    };
    Some(flash.handles.iter().enumerate().map(of).collect())
}

/// How long the flash lasts; `None` if the device has no rated cycles.
fn endurance(
    spec: &RunSpec,
    cache: &dyn CacheState,
    state: Option<&FlashState>,
    counts: &Counts,
) -> Option<Endurance> {
    let device = spec.device.as_ref()?;
    let flash = RatedFlash {
        raw_bytes: device.geometry.pages() * device.geometry.page.bytes(),
        pe_cycles: device.pe_cycles?,
    };
    let elapsed = cache.device()?.busy_times().elapsed;
    let erases = EraseCounts::new(&state?.wear.blocks_by_erases);
    let page = spec.page.bytes();
    let slc = device.rated_slc_cycles().unwrap_or(u32::MAX);
    let modes = &state?.wear.blocks_by_modes;
    Some(Endurance {
        life_used: LifeUsed::new([flash.pe_cycles, slc], modes),
        ..Endurance::new(flash, counts, page, elapsed, &erases)
    })
}

/// Energy that the chips of `state` spent; `None` if the device knows no energies.
fn energy(config: &DeviceConfig, state: &FlashState) -> Option<EnergyNj> {
    let each = [
        config.e_read,
        config.e_program,
        config.e_erase,
        config.e_byte,
    ]
    .map(|e| u128::from(e.0));
    if each == [0; 4] {
        return None;
    }
    let of_chip = |chip: &ChipStats| {
        let copies = chip.of(OpKind::Copyback);
        let counts = [
            chip.of(OpKind::Read) + copies,
            chip.of(OpKind::Program) + copies,
            chip.of(OpKind::Erase),
            chip.bytes_read + chip.bytes_programmed,
        ];
        std::array::from_fn::<u128, 4, _>(|i| u128::from(counts[i]) * each[i])
    };
    let chips: Vec<[u128; 4]> = state.chips.iter().map(of_chip).collect();
    let nj = |pj: u128| pj as f64 / 1000.0;
    let part = |i: usize| nj(chips.iter().map(|chip| chip[i]).sum());
    Some(EnergyNj {
        read: part(0),
        program: part(1),
        erase: part(2),
        transfer: part(3),
        total: nj(chips.iter().flatten().sum()),
        chips: chips.iter().map(|chip| nj(chip.iter().sum())).collect(),
    })
}
