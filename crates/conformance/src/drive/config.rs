//! From an expression to a driven cache.

use super::{
    Checked, Chips, Choice, Core, Drive, Order, Promise, Queues, Shared, Stage, TestDevice,
};
use crate::reference::SlowRequest;
use destage_scheme::contract::Build;
use destage_scheme::info::MetadataContext;
use destage_scheme::policy::Future;
use destage_scheme::registry::{Visit, build_any};
use destage_scheme::{
    Boxed, Env, Expr, ReadAlloc, RunContext, RunDevice, Scheme, check_run, info::Role,
};
use destage_sim::{Cache, CacheGeometry, CacheOptions, Flash, ReadFill};
use destage_types::{Nanos, Op, PageSize, StaticLayout};
use std::sync::Arc;

/// Everything about a run that the expression does not say.
#[derive(Clone, Debug)]
pub struct Config {
    /// Page frames; `none` gets 0 whatever stands here.
    pub capacity: u32,
    /// Page size.
    pub page: PageSize,
    /// Do read misses enter the cache? As the scheme declares if not given.
    pub read_alloc: Option<bool>,
    /// The sectors that a read miss brings in.
    pub read_fill: ReadFill,
    /// Does the flush of a partly valid page cost a read?
    pub rmw: bool,
    /// Seed of random choices.
    pub seed: u64,
    /// Numbers to draw in place of the generator's.
    pub draws: Option<Vec<f64>>,
    /// Factor and summand of hash functions in place of the real ones.
    pub hashes: Option<Vec<[u64; 2]>>,
    /// Count accesses one by one where the scheme has a sketch.
    pub exact_counts: bool,
    /// Static page allocation.
    pub layout: StaticLayout,
    /// FIFO queues of the chips.
    pub queues: Option<Queues>,
    /// A device with time in place of such chips.
    pub device: Option<TestDevice>,
    /// Build every layer through dynamic calls?
    pub boxed: bool,
    /// How victims are found.
    pub choice: Choice,
    /// Slots beyond those of the pages. With some, no slot is used for a second page, so there must be one for
    /// each page that comes in.
    pub fresh_slots: u32,
}

impl Config {
    /// `capacity` pages of `spp` sectors, one idle chip.
    pub fn new(capacity: u32, spp: u32) -> Config {
        Config {
            capacity,
            page: PageSize::new(u64::from(spp) * 512).expect("a power of two up to 128 sectors"),
            read_alloc: None,
            read_fill: ReadFill::Page,
            rmw: true,
            seed: 1,
            draws: None,
            hashes: None,
            exact_counts: false,
            layout: StaticLayout::flat(1, 1),
            queues: None,
            device: None,
            boxed: false,
            choice: Choice::Asked,
            fresh_slots: 0,
        }
    }

    /// Read allocation, which the expression decides if it was not given.
    pub fn resolved_read_alloc(&self, expr: &Expr) -> bool {
        self.read_alloc.unwrap_or_else(|| expr.default_read_alloc())
    }

    /// The rules that need the run's configuration.
    ///
    /// # Errors
    /// The first one that is broken.
    pub fn check(&self, expr: &Expr) -> Result<(), String> {
        let run = RunContext {
            capacity_pages: u64::from(self.capacity),
            page: self.page,
            read_alloc: match self.read_alloc {
                None => ReadAlloc::Scheme,
                Some(true) => ReadAlloc::On,
                Some(false) => ReadAlloc::Off,
            },
            device: (self.layout.chips() > 1).then(|| RunDevice {
                chips: self.layout.chips(),
                pages_per_block: 64,
                dynamic_allocation: false,
                bounded_buffer: false,
            }),
        };
        check_run(expr, &run).map(|_| ()).map_err(|r| r.to_string())
    }

    /// The surroundings of the scheme.
    pub fn env(&self, expr: &Expr) -> Env {
        Env {
            page: self.page,
            layout: self.layout,
            read_alloc: self.resolved_read_alloc(expr),
            seed: self.seed,
            background: expr.has_role(Role::Background),
            draws: self.draws.clone(),
            hashes: self.hashes.clone(),
            exact_counts: self.exact_counts,
            slots: self.slots(expr),
            ..Env::cache_only(self.frames(expr))
        }
    }

    /// Inputs of the metadata bound of a scheme on `requests`.
    pub fn metadata(&self, expr: &Expr, requests: &[SlowRequest]) -> MetadataContext {
        let end = requests.iter().flat_map(|r| &r.extents);
        let end = end
            .map(|&(start, sectors)| start + u64::from(sectors))
            .max();
        let extents = requests.iter().map(|r| r.extents.len()).max();
        MetadataContext {
            frames: self.frames(expr).into(),
            page: self.page,
            chips: self.layout.chips().into(),
            pages: end.unwrap_or(0).div_ceil(self.page.sectors().into()),
            extents: extents.unwrap_or(0) as u64,
            shares: false,
            batches: false,
        }
    }

    fn frames(&self, expr: &Expr) -> u32 {
        match expr.scheme().role {
            Role::None => 0,
            _ => self.capacity,
        }
    }

    fn slots(&self, expr: &Expr) -> u32 {
        self.frames(expr) + self.fresh_slots
    }

    /// Settings of the cache.
    pub fn options(&self, expr: &Expr) -> CacheOptions {
        let cached = expr.scheme().role != Role::None;
        CacheOptions {
            read_alloc: cached && self.resolved_read_alloc(expr),
            read_fill: self.read_fill,
            rmw: self.rmw,
            wrap: None,
            nvm: false,
        }
    }

    /// The cache under `expr`, which `scheme` is built of.
    pub fn cache<S: Scheme, F: Flash>(&self, expr: &Expr, scheme: S, flash: F) -> Cache<S, F> {
        let frames = self.frames(expr);
        let geometry = CacheGeometry {
            capacity: frames,
            slots: self.slots(expr),
            page: self.page,
            layout: self.layout,
        };
        let mut cache = Cache::new(scheme, flash, geometry, self.options(expr));
        if self.fresh_slots > 0 {
            cache.never_reuse_slots();
        }
        cache
    }

    /// A driven cache under `expr`; an offline scheme is told of all `requests` to come, whose
    /// `next` must be filled.
    ///
    /// # Panics
    /// The run is refused.
    pub fn drive(&self, expr: &Expr, requests: &[SlowRequest]) -> Drive {
        if let Err(refusal) = self.check(expr) {
            panic!("{refusal}");
        }
        let env = self.env(expr);
        let start = Start {
            config: self,
            expr,
            requests,
            journal: Shared::default(),
        };
        build(expr, &env, requests, self.boxed, start)
    }
}

/// Builds any scheme, the offline one too, which must be told of the requests to come.
pub fn build<V: Visit>(
    expr: &Expr,
    env: &Env,
    requests: &[SlowRequest],
    boxed: bool,
    visitor: V,
) -> V::Out {
    let mut env = env.clone();
    if expr.scheme().role == Role::Offline {
        let data = requests
            .iter()
            .filter(|r| matches!(r.op, Op::Read | Op::Write));
        let future = Future::given(data.flat_map(|r| r.next.iter().copied()));
        env.future = Some(Arc::new(future));
    }
    match boxed {
        true => visitor.visit(Boxed::build(expr, &env)),
        false => build_any(expr, &env, visitor),
    }
}

/// The promise about the candidate order of the whole composition (GC-1, X15).
///
/// The order of a policy is that of its declaration; layers outside the victim choice pass it on. A
/// classifier may name a page that it keeps apart, so the order of the base says nothing of the victim.
/// A victim filter has the order of the base and may name any page of it, or it has none.
fn promise(expr: &Expr) -> Promise {
    let policy = expr.policy();
    let info = policy.scheme();
    let (known, groups) = (
        (info.victim_is_known)(policy),
        info.role == Role::GroupPolicy,
    );
    let mut order = match info.order {
        Some(_) if info.role == Role::PagePolicy && known => Order::First,
        Some(_) if info.role == Role::PagePolicy => Order::Holds,
        None if info.role == Role::PagePolicy && known => Order::Begins,
        _ => Order::Free,
    };
    // Units are asked for with the page that comes in, and with the queues as they are.
    let mut units = match info.order {
        Some(_) if groups || known || info.chip_lists => Order::First,
        Some(_) => Order::Holds,
        None => Order::Free,
    };
    let mut next_unit = groups && known;
    // From the inside out: what a filter may choose is up to those outside it.
    let layers: Vec<_> = expr.chain().map(Expr::scheme).collect();
    for layer in layers.into_iter().rev() {
        order = match (layer.role, layer.order) {
            (Role::VictimFilter, Some(_)) if matches!(order, Order::Holds | Order::First) => {
                Order::Holds
            }
            (Role::VictimFilter | Role::Classifier, _) => Order::Free,
            _ => order,
        };
        units = match layer.role {
            Role::VictimFilter if units != Order::Free && !layer.chip_lists => Order::Holds,
            Role::Classifier => Order::Free,
            _ => units,
        };
        next_unit &= !matches!(layer.role, Role::VictimFilter | Role::Classifier);
    }
    Promise {
        order,
        units,
        next_unit,
        spares_hits: !info.hit_leaves_next,
    }
}

struct Start<'a> {
    config: &'a Config,
    expr: &'a Expr,
    requests: &'a [SlowRequest],
    journal: Shared,
}

impl Start<'_> {
    fn start<S: Scheme, F: Stage>(self, scheme: S, flash: F) -> Drive
    where
        Cache<Checked<S>, F>: Core + 'static,
    {
        let (config, expr, journal) = (self.config, self.expr, self.journal);
        let frames = config.frames(expr);
        let bound = expr.metadata(&config.metadata(expr, self.requests));
        let bound = bound.map(|b| b.bytes(frames.into()));
        let checked = Checked::new(scheme, promise(expr), config.choice, bound, journal.clone());
        journal.open().uncached = frames == 0;
        journal.open().hide_queued = expr.contains("eager");
        let mut cache = config.cache(expr, checked, flash);
        cache.observe(Box::new(journal.clone()));
        cache.reset_counts();
        if let Some(mut rules) = expr.write_back_rules() {
            if config.device.is_none() {
                // Chips without time know nothing but moments in which they are idle.
                (rules.on_page, rules.on_program_end, rules.at_start) = (false, false, false);
            }
            cache.enable_background(rules, Nanos::ZERO);
        }
        let pages_are_requests = |l: &Expr| l.word("hit-rule") == "page";
        let procache = expr.chain().find(|l| l.scheme().name == "procache");
        let letter_per_request = procache.is_some_and(|l| !pages_are_requests(l));
        let spp = config.page.sectors();
        Drive::new(Box::new(cache), journal, spp, letter_per_request)
    }
}

impl Visit for Start<'_> {
    type Out = Drive;

    fn visit<S: Scheme + Send + 'static>(self, scheme: S) -> Drive {
        if let Some(device) = &self.config.device {
            let background = self.expr.has_background();
            let engine = device.engine(self.config, background, self.requests);
            return self.start(scheme, engine);
        }
        let (layout, queues) = (self.config.layout, self.config.queues);
        let chips = Chips::new(layout, queues, self.journal.clone());
        self.start(scheme, chips)
    }
}
