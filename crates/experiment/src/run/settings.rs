//! One run from options, device and built-in values, with the origin of every setting, for the
//! record and below the table.

use crate::options::{
    ADDRESSES, Addresses, CacheSizeArg, FilePart, OptionGroup, RunArgs, default_of, word_of,
};
use destage_console::failure::Failure;
use destage_device::config::{self, EffectiveDevice, Origin};
use destage_scheme::{Expr, Role};
use destage_sim::record::ConfigEntry;
use destage_sim::spec::TimeScale;
use destage_sim::{ReadFill, Replay, RunSpec};
use destage_types::ByteSize;
use std::collections::BTreeSet;
use std::fmt::Display;
use std::path::PathBuf;
use std::sync::Arc;

/// The options that a run file gave, because the command line left them open.
#[derive(Clone, Debug, Default)]
pub struct FileOptions {
    name: String,
    /// Name of the `[[run]]`, if it has one.
    pub run_name: Option<String>,
    /// Names of their fields.
    pub fields: BTreeSet<String>,
    /// Where device files are, if not in the current folder.
    pub device_folder: PathBuf,
    /// Where they stand, if a file has them.
    pub part: Option<FilePart>,
}

impl FileOptions {
    /// None yet, of the file `name`.
    pub fn of(name: &str) -> FileOptions {
        FileOptions {
            name: name.to_owned(),
            ..FileOptions::default()
        }
    }

    /// A failure of options or of whole runs, with its place in the file.
    pub fn placed(&self, failure: Failure) -> Failure {
        match &self.part {
            Some(part) => failure.map_faults(|fault| part.placed(fault)),
            None => failure,
        }
    }

    /// Where the value of `field`, which was given, comes from.
    pub fn origin(&self, field: &str) -> String {
        match self.fields.contains(field) {
            true => format!("{}{}", ConfigEntry::RUN_FILE, self.name),
            false => ConfigEntry::COMMAND_LINE.to_owned(),
        }
    }
}

/// Collects settings in the order in which they are shown.
#[derive(Default)]
pub struct Settings {
    /// The settings.
    pub entries: Vec<ConfigEntry>,
    filed: FileOptions,
}

impl Settings {
    /// The option that is kept in `field`: the value given, or else what is declared for none.
    pub fn add<T: Display>(&mut self, field: &str, given: Option<T>) {
        match given {
            Some(value) => self.from(field, &value.to_string(), self.filed.origin(field)),
            None => self.built_in(field, default_of(field)),
        }
    }

    /// A setting that nobody gave.
    pub fn built_in(&mut self, key: &str, value: &str) {
        self.from(key, value, ConfigEntry::BUILT_IN.to_owned());
    }

    /// A setting of known origin.
    fn from(&mut self, key: &str, value: &str, origin: String) {
        self.entries.push(ConfigEntry {
            key: key.to_owned(),
            value: value.to_owned(),
            origin,
        });
    }
}

/// Keys of a device that a flag of `run` may override; they are settings of the run.
const RUN_KEYS: [&str; 6] = ["name", "base", "page_bytes", "cache", "read_fill", "rmw"];

/// Options that every record shows, in its order.
const RECORDED: &[&str] = &[
    "scheme",
    "cache",
    "charge_metadata",
    "page",
    "device",
    "read_alloc",
    "read_fill",
    "warmup",
    "limit",
    "flush_at_end",
    "hits_by_size",
    "seed",
    "format",
    "skip_bad_lines",
    "tags",
    "volumes",
    "event",
    "time_unit",
    "time_scale",
];

/// Builds the runs of one command from the options that they share.
pub struct RunBuilder<'a> {
    args: &'a RunArgs,
    filed: &'a FileOptions,
    device: Option<&'a EffectiveDevice>,
    config: Option<Arc<config::DeviceConfig>>,
    time_scale: TimeScale,
}

impl<'a> RunBuilder<'a> {
    /// The runs of `args`, some of which a run file gave, on `device`.
    pub fn new(
        args: &'a RunArgs,
        filed: &'a FileOptions,
        device: Option<&'a EffectiveDevice>,
    ) -> RunBuilder<'a> {
        RunBuilder {
            args,
            filed,
            device,
            config: device.map(|d| Arc::new(d.config().clone())),
            time_scale: args.time_scale().scale,
        }
    }

    /// The cache sizes given, or that which the device is meant for.
    pub fn caches(&self) -> Vec<CacheSizeArg> {
        match &self.config {
            Some(config) if self.args.caches.cache.is_empty() => {
                vec![CacheSizeArg::Bytes(config.cache)]
            }
            _ => self.args.caches.cache(),
        }
    }

    /// The run of `expr` with `cache`. In the place of a share stands the usual size until there is a trace.
    pub fn run(&self, expr: Expr, cache: CacheSizeArg) -> RunSpec {
        let (args, config) = (self.args, self.config.as_deref());
        let page = config.map(|c| c.mapping());
        let read_fill = config.map(|c| match c.read_fill {
            config::ReadTransfer::Page => ReadFill::Page,
            config::ReadTransfer::Requested => ReadFill::Requested,
        });
        let (pages, hits) = (&args.pages, &args.hits);
        RunSpec {
            name: self.filed.run_name.clone(),
            charge_metadata: args.charge_metadata,
            page: pages.page.or(page).unwrap_or_else(|| pages.page()),
            read_alloc: hits.read_alloc(),
            read_fill: hits
                .read_fill
                .or(read_fill)
                .unwrap_or_else(|| hits.read_fill()),
            rmw: config.is_none_or(|c| c.rmw),
            warmup: hits.warmup.unwrap_or_default(),
            device: self.config.clone(),
            wrap: args.resolved_addresses() == Addresses::Wrap,
            time_scale: self.time_scale,
            replay: match (args.closed_loop, args.queue_depth) {
                (Some(depth), _) => Replay::Closed { depth },
                (None, Some(depth)) => Replay::Limited { depth },
                (None, None) => Replay::Open,
            },
            unbalance: args.unbalance,
            hits_by_size: args.hits_by_size,
            flush_at_end: args.flush_at_end,
            seed: args.random.seed(),
            settings: self.settings(&expr, cache),
            ..RunSpec::cache_only(expr, self.bytes(cache))
        }
    }

    /// The bytes of a cache, those that a share may come to before there is a trace.
    fn bytes(&self, cache: CacheSizeArg) -> ByteSize {
        let usual = || ByteSize::parse(default_of("cache")).expect("the default is a size");
        match (cache, &self.config) {
            (CacheSizeArg::Bytes(bytes), _) => bytes,
            (CacheSizeArg::Share(_), Some(config)) => config.cache,
            (CacheSizeArg::Share(_), None) => usual(),
        }
    }

    /// The settings of a run, in the order of [`RECORDED`].
    fn settings(&self, expr: &Expr, cache: CacheSizeArg) -> Vec<ConfigEntry> {
        let args = self.args;
        let mut all = Settings {
            entries: Vec::new(),
            filed: self.filed.clone(),
        };
        for &field in RECORDED {
            let given = args.given(field);
            match field {
                "scheme" if given.is_none() => all.built_in(field, &expr.to_string()),
                "scheme" => all.add(field, Some(expr)),
                "cache" if expr.scheme().role == Role::None => {}
                "cache" => self.layered(&mut all, field, given.map(|_| cache.to_string()), "cache"),
                "page" => self.layered(&mut all, field, given, "page_bytes"),
                "read_fill" => {
                    self.layered(&mut all, field, given, "read_fill");
                    // No option sets `rmw`.
                    match self.device {
                        Some(_) => self.layered(&mut all, "rmw", None, "rmw"),
                        None => all.built_in("rmw", "true"),
                    }
                }
                _ => all.add(field, given),
            }
        }
        // Few traces need these: the others do not mention them.
        for field in ["trace_columns", "restarts"] {
            let given = args.given(field);
            if given.is_some() {
                all.add(field, given);
            }
        }
        if let Some(device) = self.device {
            all.add("closed_loop", args.closed_loop);
            if args.queue_depth.is_some() {
                all.add("queue_depth", args.queue_depth);
            }
            let addresses = args.given_addresses();
            all.add("addresses", addresses.map(|how| word_of(ADDRESSES, how)));
            all.add("unbalance", args.given("unbalance"));
            let own = device.settings().iter();
            for s in own.filter(|s| !RUN_KEYS.contains(&s.key)) {
                all.from(s.key, &s.value, self.origin(&s.origin));
            }
        }
        all.entries
    }

    /// An option that a flag, else the device under `key`, else the program decides.
    fn layered(&self, all: &mut Settings, field: &str, given: Option<String>, key: &str) {
        let mut of_device = self.device.iter().flat_map(|d| d.settings());
        match of_device.find(|s| s.key == key) {
            Some(s) if given.is_none() => {
                let value = s.value.trim_matches('"');
                // A device gives its page in bytes, without a unit.
                let bytes = value.parse().ok().filter(|_| key == "page_bytes");
                let value = bytes.map_or(value.to_owned(), |n| ByteSize(n).to_string());
                all.from(field, &value, self.origin(&s.origin));
            }
            _ => all.add(field, given),
        }
    }

    /// The origin of a value of the device in the words of the result record.
    fn origin(&self, origin: &Origin) -> String {
        match origin {
            Origin::Set => self.filed.origin("set"),
            other => other.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::OptionScope;

    #[test]
    fn records_show_every_option_that_decides_on_them() {
        // Those of a device stand behind the others, file systems and traces have a place of their own, `set` is
        // shown as keys of the device, and `wrap` and `fit` are other words for `addresses`.
        let elsewhere = [
            "trace_columns",
            "restarts",
            "closed_loop",
            "queue_depth",
            "addresses",
            "unbalance",
            "host_fs",
            "traces",
            "set",
            "wrap",
            "fit",
        ];
        for option in RunArgs::declared()
            .iter()
            .filter(|o| o.scope <= OptionScope::Run)
        {
            let is_known = RECORDED.contains(&option.field) || elsewhere.contains(&option.field);
            assert!(is_known, "{}", option.field);
        }
        assert!(
            RECORDED
                .iter()
                .all(|field| RunArgs::declared().iter().any(|o| o.field == *field))
        );
    }
}
