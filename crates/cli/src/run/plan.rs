//! From arguments to runs: every fault that needs no trace is found here, all of them at once.

use super::settings::{Settings, warmup_text};
use crate::args::{FormatOut, ReadAllocArg, ReadFillArg, RunArgs};
use crate::available;
use crate::failure::Failure;
use destage_scheme::Expr;
use destage_sim::{RunError, RunSpec, Warmup};
use destage_trace::{LoadOptions, format};
use destage_types::{ByteSize, PageSize};
use std::fs::File;
use std::path::{Path, PathBuf};

/// A checked command line.
pub struct Plan {
    /// Traces in input order.
    pub traces: Vec<PathBuf>,
    /// How each is read.
    pub load: LoadOptions,
    /// The runs over each trace: schemes x cache sizes.
    pub runs: Vec<RunSpec>,
    /// Part before the measured one.
    pub warmup: Warmup,
    /// Threads.
    pub jobs: usize,
    /// Form of the results.
    pub format_out: FormatOut,
    /// Folder for results.
    pub out: Option<PathBuf>,
    /// What should be said before the runs start.
    pub warnings: Vec<String>,
    log: Option<PathBuf>,
}

const DEFAULT_CACHE: ByteSize = ByteSize(16 << 20);

impl Plan {
    /// Checks `args`.
    ///
    /// # Errors
    /// All faults.
    pub fn new(args: RunArgs) -> Result<Plan, Failure> {
        let mut faults = usage_faults(&args);
        let mut warnings = Vec::new();
        let exprs = schemes(&args, &mut faults, &mut warnings);
        let caches = caches(&args, &mut warnings);
        let mut runs = Vec::new();
        for expr in &exprs {
            let cacheless = expr.scheme().name == "none";
            let sizes = if cacheless { &caches[..1] } else { &caches[..] };
            runs.extend(sizes.iter().map(|&cache| spec(&args, expr.clone(), cache)));
        }
        for run in &runs {
            match run.check() {
                Ok(found) => {
                    warnings.extend(found.iter().map(|w| format!("{}: {w}", run.expr)));
                }
                Err(error) => note(&mut faults, refused(run, &error)),
            }
        }
        warnings.extend(mixed_read_allocation(&runs));
        let several = args.traces.len() * runs.len() > 1;
        if args.log_evictions.is_some() && several && args.out.is_none() {
            let n = args.traces.len() * runs.len();
            faults.push(format!(
                "--log-evictions: {n} runs need --out DIR, where each gets a file of its own"
            ));
        }
        let results = args.out.iter().flat_map(|dir| {
            let names = ["results.jsonl", "results.csv"];
            names.map(|name| dir.join(name))
        });
        faults.extend(
            results
                .chain(args.log_evictions.clone())
                .filter_map(|file| {
                    let same = |trace: &&PathBuf| same_file(trace, &file);
                    let trace = args.traces.iter().find(same)?.display();
                    Some(format!(
                        "{trace} is read as a trace and would be overwritten"
                    ))
                }),
        );
        if !faults.is_empty() {
            return Err(Failure::Usage(faults));
        }
        Ok(Plan {
            load: LoadOptions {
                format: args.input.format,
                limit: args.input.limit,
                skip_bad_lines: args.input.skip_bad_lines,
                hash: true,
            },
            traces: args.traces,
            runs,
            warmup: args.warmup.unwrap_or_default(),
            jobs: args.jobs.resolve(),
            format_out: args.format_out.unwrap_or(FormatOut::Table),
            out: args.out,
            warnings,
            log: args.log_evictions,
        })
    }

    fn single(&self) -> bool {
        self.traces.len() * self.runs.len() == 1
    }

    /// Makes sure that a log can be written before anything runs.
    ///
    /// # Errors
    /// The file cannot be created.
    pub fn create_logs(&self) -> Result<(), Failure> {
        let Some(log) = self.log.as_ref().filter(|_| self.single()) else {
            return Ok(());
        };
        File::create(log).map(drop).map_err(|error| {
            let place = log.display();
            Failure::usage(format!(
                "--log-evictions {place}: cannot create it: {error}"
            ))
        })
    }

    /// Where run number `run` over trace number `trace` logs its evictions.
    pub fn log_file(&self, trace: usize, name: &str, run: usize) -> Option<PathBuf> {
        let log = self.log.as_ref()?;
        let (Some(dir), false) = (&self.out, self.single()) else {
            return Some(log.clone());
        };
        let spec = &self.runs[run];
        let number = trace * self.runs.len() + run + 1;
        let parts = match spec.is_cached() {
            true => format!("{name}-{}-{}", spec.expr, spec.cache),
            false => format!("{name}-{}", spec.expr),
        };
        let (stem, extension) = (part(log.file_stem()), part(log.extension()));
        let extension = if extension.is_empty() {
            "jsonl"
        } else {
            &extension
        };
        Some(dir.join(format!("{stem}-{number:03}-{}.{extension}", tame(&parts))))
    }
}

fn same_file(a: &Path, b: &Path) -> bool {
    matches!((a.canonicalize(), b.canonicalize()), (Ok(a), Ok(b)) if a == b)
}

fn part(text: Option<&std::ffi::OsStr>) -> String {
    text.map_or_else(String::new, |t| t.to_string_lossy().into_owned())
}

/// `text` as part of a file name: no character that a shell or a file system treats specially.
fn tame(text: &str) -> String {
    let keep = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '=' | '+');
    let name: String = text
        .chars()
        .map(|c| if keep(c) { c } else { '_' })
        .take(120)
        .collect();
    name.trim_end_matches('_').to_owned()
}

/// Faults of single options and of pairs of them.
fn usage_faults(args: &RunArgs) -> Vec<String> {
    let mut faults = Vec::new();
    if args.traces.is_empty() {
        faults.push(
            "no trace given; name a file, or `-` for standard input (`destage demo` needs none)"
                .to_owned(),
        );
    }
    if args.traces.iter().filter(|t| *t == Path::new("-")).count() > 1 {
        faults.push("standard input (`-`) can be read only once".to_owned());
    }
    if let Some(name) = &args.input.format
        && let Err(error) = format::by_name(name)
    {
        faults.push(format!("--format: {error}"));
    }
    for set in &args.set {
        faults.push(match set.split_once('=') {
            Some((key, _)) => {
                format!("--set {set}: `{key}` is a key of a device, and --device is none")
            }
            None => format!("--set {set}: allowed: KEY=VALUE"),
        });
    }
    if args.log_evictions.as_deref() == Some(Path::new("-")) {
        faults.push("--log-evictions needs a file: standard output is for results".to_owned());
    }
    faults
}

fn schemes(args: &RunArgs, faults: &mut Vec<String>, warnings: &mut Vec<String>) -> Vec<Expr> {
    let default = ["lru".to_owned()];
    let texts = match args.schemes.is_empty() {
        true => &default[..],
        false => &args.schemes[..],
    };
    let mut exprs: Vec<Expr> = Vec::new();
    for text in texts {
        match Expr::parse(text) {
            Err(refusal) => note(faults, refusal.to_string()),
            Ok(expr) if exprs.contains(&expr) => {
                warnings.push(format!(
                    "--scheme {text}: {expr} is given twice and runs once"
                ));
            }
            Ok(expr) => match available::missing(&expr) {
                Some(info) => note(faults, unavailable(&expr, info.name)),
                None => exprs.push(expr),
            },
        }
    }
    exprs
}

fn unavailable(expr: &Expr, name: &'static str) -> String {
    let expr = expr.to_string();
    format!(
        "{}; see `destage schemes`",
        RunError::Unavailable { expr, name }
    )
}

fn caches(args: &RunArgs, warnings: &mut Vec<String>) -> Vec<ByteSize> {
    let mut caches: Vec<ByteSize> = Vec::new();
    for &cache in &args.caches {
        match caches.contains(&cache) {
            true => warnings.push(format!("--cache {cache} is given twice and runs once")),
            false => caches.push(cache),
        }
    }
    if caches.is_empty() {
        caches.push(DEFAULT_CACHE);
    }
    caches
}

/// Says a fault once, however many runs have it.
fn note(faults: &mut Vec<String>, fault: String) {
    if !faults.contains(&fault) {
        faults.push(fault);
    }
}

fn refused(run: &RunSpec, error: &RunError) -> String {
    match error {
        RunError::NoPage { .. } | RunError::TooManyPages { .. } => {
            format!("--cache {}: {error}", run.cache)
        }
        _ => error.to_string(),
    }
}

fn spec(args: &RunArgs, expr: Expr, cache: ByteSize) -> RunSpec {
    let mut settings = Settings::default();
    let given = !args.schemes.is_empty();
    settings.add("scheme", given.then_some(&expr), "lru");
    if expr.scheme().name != "none" {
        let given = !args.caches.is_empty();
        settings.add("cache", given.then_some(cache), &DEFAULT_CACHE.to_string());
    }
    let page = args.page.map(|p| ByteSize(p.bytes()));
    settings.add("page", page, "4KiB");
    settings.add("device", args.device.as_ref(), "none");
    let read_alloc = args.read_alloc.map(|r| match r {
        ReadAllocArg::On => "on",
        ReadAllocArg::Off => "off",
        ReadAllocArg::Scheme => "scheme",
    });
    settings.add("read_alloc", read_alloc, "scheme");
    let read_fill = args.read_fill.map(|r| match r {
        ReadFillArg::Page => "page",
        ReadFillArg::Requested => "requested",
    });
    settings.add("read_fill", read_fill, "page");
    settings.add("rmw", None::<bool>, "true");
    settings.add("warmup", args.warmup.map(warmup_text), "none");
    settings.add("limit", args.input.limit, "none");
    settings.add("seed", args.seed, "1");
    settings.add("format", args.input.format.as_ref(), "detected");
    let skip = args.input.skip_bad_lines.then_some(true);
    settings.add("skip_bad_lines", skip, "false");
    RunSpec {
        expr,
        cache,
        page: args.page.unwrap_or(PageSize::KIB4),
        read_alloc: args.read_alloc.map(Into::into).unwrap_or_default(),
        read_fill: args.read_fill.map(Into::into).unwrap_or_default(),
        rmw: true,
        warmup: args.warmup.unwrap_or_default(),
        seed: args.seed.unwrap_or(1),
        boxed: false,
        settings: settings.0,
    }
}

/// Hit ratios of schemes with different read allocation are not alike (spec 00 section 2).
fn mixed_read_allocation(runs: &[RunSpec]) -> Option<String> {
    let names = |on: bool| {
        let mut names: Vec<String> = Vec::new();
        for run in runs.iter().filter(|r| r.is_cached()) {
            let name = run.expr.to_string();
            if run.resolved_read_alloc() == on && !names.contains(&name) {
                names.push(name);
            }
        }
        names.join(", ")
    };
    let (on, off) = (names(true), names(false));
    (!on.is_empty() && !off.is_empty()).then(|| {
        format!(
            "the schemes differ in read allocation, which changes what a hit ratio means: on for \
             {on}; off for {off}; --read-alloc sets it for all"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_names_are_tame() {
        assert_eq!(tame("hm_0-ecr(lru)-16MiB"), "hm_0-ecr_lru_-16MiB");
        assert_eq!(tame("a/../b"), "a_.._b");
        assert_eq!(tame("cac(lru)"), "cac_lru");
    }
}
