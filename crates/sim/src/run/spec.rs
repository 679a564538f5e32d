//! Settings of one run: scheme, cache, page size and the settings that decide how figures are read.

use crate::RunError;
use crate::cache::ReadFill;
use crate::drive::DriveReads;
use crate::run::metadata_budget::Demand;
use destage_device::config::{Allocation, CacheRegion, DeviceConfig, Suspend};
use destage_record::ConfigEntry;
use destage_record::counts::CountParts;
use destage_scheme::{Expr, ReadAlloc, Role, RunContext, RunDevice, Warning, check_run};
use destage_types::{ByteSize, Nanos, PageSize};
use std::num::NonZeroU32;
use std::sync::Arc;

/// The part of a run before the measured one.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub enum Warmup {
    /// Measure from the first request.
    #[default]
    None,
    /// That many requests of the run's own stream.
    Requests(u64),
    /// That many millionths of the trace's requests, rounded down.
    Millionths(u64),
    /// That many whole passes over the trace before the measured one.
    Passes(u32),
}

impl Warmup {
    /// Reads `10000`, `12.5%` or `passes=3`.
    ///
    /// # Errors
    /// The fault and the allowed values.
    pub fn parse(text: &str) -> Result<Warmup, String> {
        let wrong = || {
            format!("`{text}` is no warm-up; allowed: a number of requests, `N%`, or `passes=K`")
        };
        if let Some(passes) = text.strip_prefix("passes=") {
            return passes.parse().map(Warmup::Passes).map_err(|_| wrong());
        }
        let Some(percent) = text.strip_suffix('%') else {
            return text.parse().map(Warmup::Requests).map_err(|_| wrong());
        };
        let (whole, fraction) = percent.split_once('.').unwrap_or((percent, ""));
        if fraction.len() > 4 || whole.is_empty() {
            return Err(wrong());
        }
        let digits: u64 = format!("{whole}{fraction:0<4}")
            .parse()
            .map_err(|_| wrong())?;
        if digits >= 1_000_000 {
            return Err(format!("a warm-up of `{text}` leaves nothing to measure"));
        }
        Ok(Warmup::Millionths(digits))
    }

    /// Requests before the measured part, for a trace of `requests`, and passes in all.
    ///
    /// # Errors
    /// The warm-up covers the trace.
    pub fn resolve(self, requests: u64) -> Result<(u64, u64), RunError> {
        let before = match self {
            Warmup::None => 0,
            Warmup::Requests(n) => n,
            Warmup::Millionths(m) => (u128::from(requests) * u128::from(m) / 1_000_000) as u64,
            Warmup::Passes(k) => return Ok((u64::from(k) * requests, u64::from(k) + 1)),
        };
        if before >= requests {
            return Err(RunError::WarmupCoversTrace {
                warmup: before,
                requests,
            });
        }
        Ok((before, 1))
    }
}

/// A factor on arrivals, kept as a fraction so that scaling is exact.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TimeScale {
    numerator: u64,
    denominator: u64,
}

impl TimeScale {
    /// The factor as a number.
    pub fn ratio(self) -> f64 {
        self.numerator as f64 / self.denominator as f64
    }

    /// Arrivals as the trace has them.
    pub const ONE: TimeScale = TimeScale {
        numerator: 1,
        denominator: 1,
    };

    /// Reads `2`, `0.5`, `12.25`: a positive number with at most 6 decimals.
    ///
    /// # Errors
    /// The allowed values.
    pub fn parse(text: &str) -> Result<TimeScale, String> {
        let wrong = || {
            format!(
                "`{text}` is no time scale; allowed: a number above 0 such as `0.5`, written with at \
                 most 9 digits before and 6 after the point, and without an exponent"
            )
        };
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        if fraction.len() > 6 || whole.len() > 9 || !text.starts_with(|c: char| c.is_ascii_digit())
        {
            return Err(wrong());
        }
        let numerator = format!("{whole}{fraction}").parse().map_err(|_| wrong())?;
        let denominator = 10u64.pow(fraction.len() as u32);
        if numerator == 0 {
            return Err(wrong());
        }
        Ok(TimeScale {
            numerator,
            denominator,
        })
    }

    /// The scaled time, rounded down to a nanosecond.
    #[inline]
    pub fn apply(self, time: Nanos) -> Nanos {
        if self == TimeScale::ONE {
            return time;
        }
        Nanos(self.apply_wide(time) as u64)
    }

    /// [`TimeScale::apply`] where the result may be too large for a time.
    pub(crate) fn apply_wide(self, time: Nanos) -> u128 {
        u128::from(time.0) * u128::from(self.numerator) / u128::from(self.denominator)
    }
}

/// When requests are issued.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Replay {
    /// At the arrivals of the trace.
    #[default]
    Open,
    /// `depth` at time 0, then the next one whenever one completes; the arrivals of the trace do
    /// not count. Needs a device.
    Closed {
        /// Requests under way.
        depth: NonZeroU32,
    },
    /// At the arrivals of the trace, but with at most `depth` of each stream under way; the others wait
    /// outside in order (D-14). Needs a device.
    Limited {
        /// Requests of each stream under way.
        depth: NonZeroU32,
    },
}

impl Replay {
    /// Requests under way in a closed loop.
    pub fn depth(self) -> Option<u32> {
        match self {
            Replay::Open | Replay::Limited { .. } => None,
            Replay::Closed { depth } => Some(depth.get()),
        }
    }
}

/// Settings of one run.
#[derive(Clone, Debug)]
pub struct RunSpec {
    /// Name of the `[[run]]` that asks for it, for the record.
    pub name: Option<String>,
    /// The scheme.
    pub expr: Expr,
    /// Cache size as given; `none` ignores it.
    pub cache: ByteSize,
    /// Metadata of the scheme takes frames away, as much as it can come to
    /// need. Else it is only measured, as the papers do.
    pub charge_metadata: bool,
    /// Page size.
    pub page: PageSize,
    /// Read allocation as asked for.
    pub read_alloc: ReadAlloc,
    /// The sectors that a read miss brings in.
    pub read_fill: ReadFill,
    /// Read-modify-write of partial pages.
    pub rmw: bool,
    /// The part before the measured one.
    pub warmup: Warmup,
    /// The device; `None`: cache only.
    pub device: Option<Arc<DeviceConfig>>,
    /// Take addresses modulo the device's address space instead of refusing them.
    pub wrap: bool,
    /// Factor on all arrivals.
    pub time_scale: TimeScale,
    /// When requests are issued.
    pub replay: Replay,
    /// Seed of schemes that draw.
    pub seed: u64,
    /// Sample the chip queues before every dirty eviction ([`destage_record::Unbalance`]), which
    /// takes time. Nothing without a device.
    pub unbalance: bool,
    /// Count pages by the size of the request that brought them in
    /// ([`destage_record::HitsBySize`]), which takes time.
    pub hits_by_size: bool,
    /// Write all dirty pages back at the end, and count that apart.
    pub flush_at_end: bool,
    /// How a drive with units reads, to compare it with devices of pages.
    pub reads: DriveReads,
    /// Build every layer through dynamic calls, to compare with the static types.
    pub boxed: bool,
    /// Effective settings with their origin, for the record.
    pub settings: Vec<ConfigEntry>,
}

impl RunSpec {
    /// All values as text: the same for two specifications whose runs over a trace give the same
    /// record, but for where its settings come from.
    pub fn identity(&self) -> String {
        // Taken apart, so that no new field is forgotten here.
        let RunSpec {
            name,
            expr,
            cache,
            charge_metadata,
            page,
            read_alloc,
            read_fill,
            rmw,
            warmup,
            device,
            wrap,
            time_scale,
            replay,
            seed,
            unbalance,
            hits_by_size,
            flush_at_end,
            reads,
            boxed,
            settings: _,
        } = self;
        let own =
            format!("{expr} {cache:?} {charge_metadata} {page:?} {read_alloc:?} {read_fill:?}");
        let replayed = format!("{rmw} {warmup:?} {wrap} {time_scale:?} {replay:?} {seed}");
        let reported = format!("{unbalance} {hits_by_size} {flush_at_end} {boxed} {reads:?}");
        format!("{name:?} {own} {replayed} {reported} {device:?}")
    }

    /// Is there a cache at all?
    pub fn is_cached(&self) -> bool {
        self.expr.scheme().role != Role::None
    }

    /// The region of flash that holds the cache, if there is one and a cache.
    pub fn cache_region(&self) -> Option<CacheRegion> {
        let device = self.device.as_ref().filter(|_| self.is_cached());
        device.and_then(|device| device.cache_region)
    }

    /// The counters that not every run has; `modelled` are those of a file system's model.
    pub(crate) fn count_parts(&self, modelled: bool) -> CountParts {
        let device = self.device.as_ref();
        CountParts {
            timed: device.is_some(),
            region: self.cache_region().is_some(),
            units: device.is_some_and(|d| d.has_units()),
            slc: device.is_some_and(|d| d.has_slc()),
            parity: device.is_some_and(|d| d.parity.unwrap_or(0) > 0),
            mapping: device.is_some_and(|d| d.has_cached_mapping()),
            suspends: device.is_some_and(|d| d.suspend != Suspend::Off),
            modelled,
        }
    }

    /// Page frames: floor(cache / page); 0 for `none`. With `charge_metadata` the most that a
    /// trace can leave of them.
    ///
    /// # Errors
    /// No page fits, or more than 2^32 - 2; the metadata has no bound.
    pub fn capacity(&self) -> Result<u32, RunError> {
        Ok(self.capacity_for(Demand::LEAST)?.frames)
    }

    /// The run without a device on a scheme and a cache size, everything else as built in.
    pub fn cache_only(expr: Expr, cache: ByteSize) -> RunSpec {
        RunSpec {
            name: None,
            expr,
            cache,
            charge_metadata: false,
            page: PageSize::KIB4,
            read_alloc: ReadAlloc::Scheme,
            read_fill: ReadFill::Page,
            rmw: true,
            warmup: Warmup::None,
            device: None,
            wrap: false,
            time_scale: TimeScale::ONE,
            replay: Replay::Open,
            seed: 1,
            unbalance: false,
            hits_by_size: false,
            flush_at_end: false,
            reads: DriveReads::default(),
            boxed: false,
            settings: Vec::new(),
        }
    }

    /// Does the scheme write pages back in the background?
    pub fn has_background(&self) -> bool {
        self.expr.has_background()
    }

    /// Does a read miss enter the cache?
    pub fn resolved_read_alloc(&self) -> bool {
        self.is_cached() && self.read_alloc.resolve(&self.expr)
    }

    /// Checks everything that can be known before a trace is read.
    ///
    /// # Errors
    /// The first rule that is broken.
    pub fn check(&self) -> Result<Vec<Warning>, RunError> {
        let capacity = self.capacity()?;
        if self.replay != Replay::Open && self.device.is_none() {
            return Err(RunError::ClosedLoop);
        }
        if let Some(device) = &self.device {
            self.check_device(device)?;
        }
        self.check_rules(capacity)
    }

    /// The rules of composition that need the run, for a cache of `capacity` frames.
    pub(crate) fn check_rules(&self, capacity: u32) -> Result<Vec<Warning>, RunError> {
        let context = RunContext {
            capacity_pages: u64::from(capacity),
            page: self.page,
            read_alloc: self.read_alloc,
            device: self.device.as_ref().map(|device| RunDevice {
                chips: device.layout().chips(),
                pages_per_block: device.mapping_units_per_block(),
                dynamic_allocation: device.allocation != Allocation::Static,
                bounded_buffer: device.is_bounded(),
            }),
        };
        check_run(&self.expr, &context).map_err(RunError::Refused)
    }

    /// Refuses settings that do not go with a buffer whose frames are kept until their data are on
    /// flash.
    fn check_bounded_buffer(&self, device: &DeviceConfig) -> Result<(), RunError> {
        if !device.is_bounded() {
            return Ok(());
        }
        let no = |why: String| Err(RunError::Units(format!("device {}: {why}", device.name)));
        let policy = self.expr.policy();
        match policy.scheme().role {
            Role::None => {
                return no(
                    "buffer = bounded needs frames, and scheme none has no cache".to_owned(),
                );
            }
            Role::Offline => {
                return no(format!(
                    "buffer = bounded lets writes wait while others go on, and scheme {} knows the accesses in the order of \
                     the trace alone",
                    policy.scheme().name
                ));
            }
            _ => {}
        }
        if policy.scheme().param("padding").is_some() && policy.flag("padding") {
            return no(format!(
                "buffer = bounded has no frames for pages that are not cached, and scheme {} has padding=true \
                 (padding=false)",
                policy.scheme().name
            ));
        }
        let frontiers = match device.allocation {
            Allocation::Static => device.host_frontiers(),
            _ => 1,
        };
        let (unit, frames) = (device.least_host_unit(), self.cache.0 / self.page.bytes());
        if frames < u64::from(unit) * u64::from(frontiers) {
            return no(format!(
                "buffer = bounded needs a unit of {unit} mapping units for each host frontier ({frontiers}), and the \
                 cache has {frames} frames"
            ));
        }
        Ok(())
    }

    fn check_device(&self, device: &DeviceConfig) -> Result<(), RunError> {
        let name = || device.name.clone();
        let device_page = device.mapping();
        if self.page != device_page {
            let (page, device_page) = (ByteSize(self.page.bytes()), ByteSize(device_page.bytes()));
            return Err(RunError::PageOfDevice {
                page,
                device: name(),
                device_page,
            });
        }
        let exported = device.logical_pages() * device_page.bytes();
        if self.is_cached() && self.cache.0 > exported {
            let cache = self.cache;
            return Err(RunError::CacheBeyondDevice {
                cache,
                device: name(),
                exported,
            });
        }
        self.check_bounded_buffer(device)?;
        match self.cache_region() {
            Some(region) if self.cache > region.size => Err(RunError::CacheBeyondRegion {
                cache: self.cache,
                device: name(),
                region: region.size,
            }),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warm_ups() {
        assert_eq!(Warmup::parse("500"), Ok(Warmup::Requests(500)));
        assert_eq!(Warmup::parse("12.5%"), Ok(Warmup::Millionths(125_000)));
        assert_eq!(Warmup::parse("passes=3"), Ok(Warmup::Passes(3)));
        for wrong in ["", "-1", "x%", "%", "100%", "1.23456%", "passes=-1", "5 %"] {
            assert!(Warmup::parse(wrong).is_err(), "{wrong}");
        }
        assert_eq!(
            Warmup::Millionths(333_333).resolve(10).unwrap(),
            (3, 1),
            "rounded down"
        );
        assert_eq!(Warmup::Passes(2).resolve(10).unwrap(), (20, 3));
        assert!(Warmup::Requests(10).resolve(10).is_err());
    }

    #[test]
    fn time_scales() {
        assert_eq!(TimeScale::parse("0.5").unwrap().apply(Nanos(3)), Nanos(1));
        assert_eq!(
            TimeScale::parse("12.25").unwrap().apply(Nanos(400)),
            Nanos(4900)
        );
        for wrong in ["0", "-1", "", "x", "0.0000001", ".5", "1e3", "+2"] {
            assert!(TimeScale::parse(wrong).is_err(), "{wrong}");
        }
    }
}
