//! One run from arguments, device and built-in values, with the origin of every setting.

use super::settings::{Settings, warmup_text};
use crate::args::{ReadAllocArg, ReadFillArg, RunArgs};
use destage_device::config::{self, EffectiveDevice, Origin};
use destage_scheme::Expr;
use destage_sim::spec::TimeScale;
use destage_sim::{ReadFill, Replay, RunSpec};
use destage_types::{ByteSize, PageSize};
use std::sync::Arc;

const DEFAULT_CACHE: ByteSize = ByteSize(16 << 20);

/// Keys of a device that a flag of `run` may override; they are settings of the run.
const RUN_KEYS: [&str; 6] = ["name", "base", "page_bytes", "cache", "read_fill", "rmw"];

/// What the runs of one command have in common.
pub struct Common<'a> {
    args: &'a RunArgs,
    device: Option<&'a EffectiveDevice>,
    config: Option<Arc<config::DeviceConfig>>,
    time_scale: TimeScale,
}

impl<'a> Common<'a> {
    /// The runs of `args` on `device`.
    pub fn new(args: &'a RunArgs, device: Option<&'a EffectiveDevice>) -> Common<'a> {
        Common {
            args,
            device,
            config: device.map(|d| Arc::new(d.config().clone())),
            time_scale: args.time_scale.as_ref().map_or(TimeScale::ONE, |t| t.scale),
        }
    }

    /// Cache size when none is given: what the device is meant for.
    pub fn default_cache(&self) -> ByteSize {
        self.config.as_ref().map_or(DEFAULT_CACHE, |c| c.cache)
    }

    /// The run of `expr` with `cache`.
    pub fn run(&self, expr: Expr, cache: ByteSize) -> RunSpec {
        let (args, config) = (self.args, self.config.as_deref());
        let page = config.map_or(PageSize::KIB4, |c| c.geometry.page);
        let read_fill = config.map_or(ReadFill::Page, |c| match c.read_fill {
            config::ReadTransfer::Page => ReadFill::Page,
            config::ReadTransfer::Requested => ReadFill::Requested,
        });
        RunSpec {
            charge_metadata: args.charge_metadata,
            page: args.page.unwrap_or(page),
            read_alloc: args.read_alloc.map(Into::into).unwrap_or_default(),
            read_fill: args.read_fill.map_or(read_fill, Into::into),
            rmw: config.is_none_or(|c| c.rmw),
            warmup: args.warmup.unwrap_or_default(),
            device: self.config.clone(),
            wrap: args.wrap,
            time_scale: self.time_scale,
            replay: match args.closed_loop {
                Some(depth) => Replay::Closed { depth },
                None => Replay::Open,
            },
            unbalance: args.unbalance,
            flush_at_end: args.flush_at_end,
            seed: args.seed.unwrap_or(1),
            settings: self.settings(&expr, cache),
            ..RunSpec::cache_only(expr, cache)
        }
    }

    fn settings(&self, expr: &Expr, cache: ByteSize) -> Vec<destage_sim::record::Setting> {
        let args = self.args;
        let mut all = Settings::default();
        let given = !args.schemes.is_empty();
        all.add("scheme", given.then_some(expr), "lru");
        if expr.scheme().name != "none" {
            let given = (!args.caches.is_empty()).then_some(cache);
            self.layered(&mut all, "cache", given, "cache", "16MiB");
        }
        let charge = args.charge_metadata.then_some(true);
        all.add("charge_metadata", charge, "false");
        let page = args.page.map(|p| ByteSize(p.bytes()));
        self.layered(&mut all, "page", page, "page_bytes", "4KiB");
        all.add("device", args.device.as_ref(), "none");
        let read_alloc = args.read_alloc.map(|r| match r {
            ReadAllocArg::On => "on",
            ReadAllocArg::Off => "off",
            ReadAllocArg::Scheme => "scheme",
        });
        all.add("read_alloc", read_alloc, "scheme");
        let read_fill = args.read_fill.map(|r| match r {
            ReadFillArg::Page => "page",
            ReadFillArg::Requested => "requested",
        });
        self.layered(&mut all, "read_fill", read_fill, "read_fill", "page");
        self.layered(&mut all, "rmw", None::<bool>, "rmw", "true");
        all.add("warmup", args.warmup.map(warmup_text), "none");
        all.add("limit", args.input.limit, "none");
        let flush = args.flush_at_end.then_some(true);
        all.add("flush_at_end", flush, "false");
        all.add("seed", args.seed, "1");
        all.add("format", args.input.format.as_ref(), "detected");
        let skip = args.input.skip_bad_lines.then_some(true);
        all.add("skip_bad_lines", skip, "false");
        all.add("tags", args.input.tags, "all");
        all.add("volumes", args.input.volumes.as_ref(), "stack");
        all.add("event", args.input.event, "Q");
        if let Some(device) = self.device {
            all.add("time_scale", args.time_scale.as_ref().map(|t| &t.text), "1");
            all.add("closed_loop", args.closed_loop, "off");
            all.add("wrap", args.wrap.then_some(true), "false");
            all.add("unbalance", args.unbalance.then_some(true), "false");
            all.add("fit", args.fit.then_some(true), "false");
            let own = device.settings().iter();
            for s in own.filter(|s| !RUN_KEYS.contains(&s.key)) {
                all.from(s.key, &s.value, origin(&s.origin));
            }
        }
        all.0
    }

    /// A setting that a flag, else the device under `key`, else the program decides.
    fn layered<T: std::fmt::Display>(
        &self,
        all: &mut Settings,
        name: &str,
        given: Option<T>,
        key: &str,
        default: &str,
    ) {
        let mut of_device = self.device.iter().flat_map(|d| d.settings());
        match of_device.find(|s| s.key == key) {
            Some(s) if given.is_none() => {
                let value = s.value.trim_matches('"');
                // A device gives its page in bytes, without a unit.
                let bytes = value.parse().ok().filter(|_| key == "page_bytes");
                let value = bytes.map_or(value.to_owned(), |n| ByteSize(n).to_string());
                all.from(name, &value, origin(&s.origin));
            }
            _ => all.add(name, given, default),
        }
    }
}

/// The origin in the words of the result record.
fn origin(origin: &Origin) -> String {
    match origin {
        Origin::Set => super::settings::COMMAND_LINE.to_owned(),
        other => other.to_string(),
    }
}
