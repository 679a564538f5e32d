//! Random runs of any expression through the real core, alone or beside a slow model.

mod bytes;
mod chips;
pub mod contract;
mod settings;
mod shrink;
mod unmodelled;

use crate::drive::{Config, Drive, TestDevice};
use crate::reference::invariants::Watched;
use crate::reference::rng::SplitMix64;
use crate::reference::{
    Profile, Row, SlowCache, SlowConfig, SlowCounts, SlowRequest, look_ahead, swarm,
};
use crate::timed::slow_fill;
use destage_scheme::Expr;
use destage_scheme::info::{Role, charged_frames};
use destage_sim::ReadFill;
use destage_types::{PageSize, RequestFlags, StaticLayout};
use std::cell::RefCell;
use std::rc::Rc;

pub use bytes::operations;
pub use chips::{COSTS, Script, SlowChips};
pub use settings::{
    compositions, contexts, every_selected, is_selected, on_all_processors, random, schemes,
    seed_of, selected, small, values, with,
};
pub use shrink::{message_of, print, shrink};

/// Does `cargo xtask full` ask for all random cases? `cargo xtask ci` tries a part of them.
pub fn is_full() -> bool {
    std::env::var_os("DESTAGE_FULL").is_some()
}

/// The text without the lists that begin so and end with the next bracket.
fn without(text: &str, start: &str) -> String {
    let mut parts = text.split(start);
    let first = parts.next().unwrap_or_default();
    let rest = parts.map(|part| part.split_once(']').map_or("", |list| list.1));
    std::iter::once(first).chain(rest).collect()
}

/// One run: expression, configuration, requests and the states of the chips.
#[derive(Clone, Debug)]
pub struct Case {
    /// The scheme.
    pub expr: Expr,
    /// Its surroundings.
    pub config: Config,
    /// Seed of the chips' states; 0 = idle for ever.
    pub chips_seed: u64,
    /// The requests of the host.
    pub requests: Vec<SlowRequest>,
}

/// The smallest cache that the expression accepts under `config`.
///
/// # Panics
/// None up to 4096 pages.
pub fn least_capacity(expr: &Expr, config: &Config) -> u32 {
    let fits = |&capacity: &u32| {
        let config = Config {
            capacity,
            ..config.clone()
        };
        config.check(expr).is_ok()
    };
    (1..=4096)
        .find(fits)
        .unwrap_or_else(|| panic!("{expr}: no cache is large enough: {config:?}"))
}

impl Case {
    /// A random case for `expr`: the seed decides everything.
    pub fn random(expr: &Expr, seed: u64, length: usize) -> Case {
        let mut rng = SplitMix64::new(seed ^ 0x5eed);
        let rng = &mut rng;
        let mapped = expr.contains("cac");
        let spp = match mapped || rng.chance(40) {
            true => 8,
            false => rng.pick(&[1, 4, 16, 32, 64, 128]),
        };
        // A size in bytes can be too small for a large page (ssp below one page).
        let spp = match Config::new(4096, spp).check(expr).is_ok() {
            true => spp,
            false => 8,
        };
        let layouts = [(1, 1), (1, 1), (1, 3), (2, 2), (2, 4)];
        let (channels, chips) = rng.pick(&layouts);
        let mut config = Config {
            layout: StaticLayout::flat(channels, chips),
            read_fill: rng.pick(&[ReadFill::Page, ReadFill::Requested]),
            rmw: rng.chance(70),
            seed: rng.below(1000),
            ..Config::new(4096, spp)
        };
        if config.check(expr).is_err() {
            config = Config {
                page: PageSize::KIB4, // a set of `ssp` sectors must not be shorter than a page
                ..config
            };
        }
        let spp = config.page.sectors();
        for alloc in [Some(true), Some(false), None] {
            config.read_alloc = alloc;
            if rng.chance(40) && config.check(expr).is_ok() {
                break;
            }
            config.read_alloc = None;
        }
        let least = least_capacity(expr, &config);
        config.capacity = least
            + match rng.below(4) {
                0 => rng.below(3) as u32,
                1 => rng.below(8) as u32,
                _ => rng.below(25) as u32,
            };
        let pages = rng.pick(&[12, 40, 64, 64, 400]).max(u64::from(least) * 2);
        let mut profile = Profile::new(length, spp).pages(pages).with_forced();
        if rng.chance(25) {
            profile = profile.with_extents();
        }
        if mapped {
            profile = profile.with_prev();
        }
        let chips_seed = match rng.chance(60) {
            true => 1 + rng.below(1 << 20),
            false => 0,
        };
        Case {
            expr: expr.clone(),
            config,
            chips_seed,
            requests: swarm(seed, profile),
        }
    }

    /// The same case with other requests.
    pub fn with(&self, requests: &[SlowRequest]) -> Case {
        Case {
            requests: requests.to_vec(),
            ..self.clone()
        }
    }

    /// The requests as the scheme sees them: an offline one knows what comes.
    pub fn prepared(&self) -> Vec<SlowRequest> {
        let mut requests = self.requests.clone();
        if self.expr.scheme().role == Role::Offline {
            let next_of = self.expr.word("next-of");
            look_ahead(&mut requests, self.config.page.sectors(), next_of);
        }
        requests
    }

    /// Runs the case to its end, with all checks of the driver.
    pub fn run(&self) -> (Drive, Vec<Row>) {
        let requests = self.prepared();
        let mut drive = self.config.drive(&self.expr, &requests);
        let mut script = self.script();
        let rows = requests.iter().map(|request| {
            script.step();
            script.apply(drive.chips());
            drive.step(request)
        });
        let rows = rows.collect();
        (drive, rows)
    }

    /// The case with the most frames that fit into `bytes` together with their metadata, and the
    /// bytes set aside for that; `None` if none fit or the scheme has metadata without bound.
    pub fn charged(&self, bytes: u64) -> Option<(Case, u64)> {
        let context = self.config.metadata(&self.expr, &self.requests);
        let (frames, metadata) = charged_frames(&self.expr, bytes, &context)?;
        let mut case = self.clone();
        case.config.capacity = frames.try_into().ok()?;
        (frames > 0 && case.config.check(&case.expr).is_ok()).then_some((case, metadata))
    }

    /// Runs the case on a device with time, to the end of all work.
    pub fn run_timed(&self, device: TestDevice) -> (Drive, Vec<Row>) {
        let requests = self.prepared();
        let config = Config {
            device: Some(device),
            ..self.config.clone()
        };
        let mut drive = config.drive(&self.expr, &requests);
        let rows = requests.iter().map(|request| drive.step(request)).collect();
        let times = drive.settle();
        let preflush = |r: &&SlowRequest| r.flags.any(RequestFlags::PREFLUSH);
        let preflushes = requests.iter().filter(preflush).count();
        assert_eq!(
            times.completions.len(),
            requests.len() + preflushes,
            "completed requests and preflushes"
        );
        (drive, rows)
    }

    fn script(&self) -> Script {
        Script::new(self.config.layout.chips(), self.chips_seed)
    }

    /// The slow model of the case with its chips; an error if there is none. It has the text of the
    /// expression and what the run says, and works out the rest itself.
    fn slow(&self) -> Result<(SlowCache, Rc<RefCell<Script>>), String> {
        let config = &self.config;
        let expr = self.expr.to_string();
        let script = Rc::new(RefCell::new(self.script()));
        let capacity = match expr.as_str() {
            "none" => 0,
            _ => config.capacity as usize,
        };
        let slow = SlowConfig {
            read_alloc: config.read_alloc,
            fill: slow_fill(config.read_fill),
            rmw: config.rmw,
            seed: config.seed,
            flash: Box::new(SlowChips::new(script.clone(), &expr)?),
            ..SlowConfig::new(capacity, config.page.sectors())
        };
        Ok((SlowCache::new(&expr, slow)?, script))
    }

    /// Is there a slow model of every layer and setting?
    pub fn has_model(&self) -> bool {
        self.slow().is_ok()
    }

    /// Runs the case beside its slow model, step by step, and gives the counters.
    ///
    /// # Errors
    /// The first difference.
    pub fn compare(&self) -> Result<SlowCounts, String> {
        let requests = self.prepared();
        let (slow, script) = self.slow()?;
        let mut slow = Watched::new(slow);
        let mut drive = self.config.drive(&self.expr, &requests);
        for (i, request) in requests.iter().enumerate() {
            script.borrow_mut().step();
            script.borrow().apply(drive.chips());
            let wanted = slow.step(request);
            let got = drive.step(request);
            let states = [slow.cache.state(), drive.state()];
            if let Some(difference) = self.difference(wanted, got, states) {
                return Err(format!("request {i} {request:?}: {difference}"));
            }
        }
        slow.check_counts(&requests);
        let (wanted, got) = (&slow.cache.counts, drive.counts());
        match *wanted == got {
            true => Ok(got),
            false => Err(format!("counts\n  model {wanted:?}\n  core  {got:?}")),
        }
    }

    /// The difference between two rows, if there is one.
    fn difference(&self, model: Row, core: Row, states: [String; 2]) -> Option<String> {
        let [of_model, of_core] = states.map(|state| self.plain_state(&state));
        // Whether pages go past the cache one by one or together is not a matter of the rules.
        let plain = |row: Row| Row {
            evicted: row.evicted.replace("} inval{", ","),
            ..row
        };
        let (model, core) = ((plain(model), of_model), (plain(core), of_core));
        (model != core).then(|| format!("\n  model {model:?}\n  core  {core:?}"))
    }

    /// The state without what a model does not print: the chips' times, and what a background
    /// layer leaves out of the state of the classifier inside.
    fn plain_state(&self, state: &str) -> String {
        let background = self
            .expr
            .chain()
            .any(|l| l.scheme().role == Role::Background);
        if background && self.expr.contains("prober") {
            return String::new();
        }
        let state = without(state, " CQCT=[");
        match self.expr.contains("ecr") {
            // The models of both have the same options of the cost.
            true => without(&state, " load=["),
            false => state,
        }
    }

    /// Panics with a short stream if `check` fails for the case.
    ///
    /// # Panics
    /// If so.
    pub fn must<T>(&self, check: impl Fn(&Case) -> Result<T, String>) {
        let fails = |requests: &[SlowRequest]| message_of(|| check(&self.with(requests)));
        if fails(&self.requests).is_none() {
            return;
        }
        let (requests, message) = shrink(&self.requests, fails);
        let (config, chips) = (&self.config, self.chips_seed);
        let stream = print(&requests);
        panic!(
            "{}: {message}\n{config:?}, chips {chips}\n{stream}",
            self.expr
        );
    }
}
