//! The rules of composition that need the run's configuration: X16, X7, X8, X9, X13 and the parts
//! of X10 that depend on the page size.

use destage_types::PageSize;

use super::{Code, DRAINED_LRU, Expr, Refusal, Warning};
use crate::info::{MinCapacity, Role};

/// Whether a page that a read missed enters the cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ReadAlloc {
    /// Yes.
    On,
    /// No.
    Off,
    /// As each scheme declares, see [`Expr::default_read_alloc`].
    #[default]
    Scheme,
}

impl ReadAlloc {
    /// Is read allocation on for `expr`?
    pub fn resolve(self, expr: &Expr) -> bool {
        match self {
            ReadAlloc::On => true,
            ReadAlloc::Off => false,
            ReadAlloc::Scheme => expr.default_read_alloc(),
        }
    }
}

/// Facts about a run that [`check_run`] needs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RunContext {
    /// Page frames of the cache.
    pub capacity_pages: u64,
    /// Page size of the cache.
    pub page: PageSize,
    /// Read allocation as configured.
    pub read_alloc: ReadAlloc,
    /// The device, if there is one.
    pub device: Option<RunDevice>,
}

/// Facts about a device that [`check_run`] needs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RunDevice {
    /// Units with their own queue.
    pub chips: u32,
    /// Pages of a flash block.
    pub pages_per_block: u32,
    /// The place of a page is chosen when it is written.
    pub dynamic_allocation: bool,
    /// Frames are kept until their data are on flash.
    pub bounded_buffer: bool,
}

impl RunContext {
    /// A run without a device, read allocation as the scheme says.
    pub const fn cache_only(capacity_pages: u64, page: PageSize) -> RunContext {
        RunContext {
            capacity_pages,
            page,
            read_alloc: ReadAlloc::Scheme,
            device: None,
        }
    }
}

/// Checks `expr` against a run's configuration.
///
/// # Errors
/// The first broken rule of X16, X7, X9, X13, X10 (`cac` on other than 4096-byte pages, `ssp`
/// below one page). Settings that are allowed but have no effect come back as warnings.
pub fn check_run(expr: &Expr, run: &RunContext) -> Result<Vec<Warning>, Refusal> {
    let mut warnings = Vec::new();
    let outcome = read_allocation(expr, run)
        .and_then(|()| allocation(expr, run))
        .and_then(|()| {
            clean_first(expr, run, &mut warnings);
            fits(expr, run.capacity_pages, run, &mut warnings)
        })
        .and_then(|()| own_rules(expr, run));
    idle_device(expr, run, &mut warnings);
    undrained(expr, run, &mut warnings);
    match outcome {
        Ok(()) => Ok(warnings),
        Err((code, why)) => Err(Refusal::new(code, &expr.to_string(), why)),
    }
}

type Outcome = Result<(), super::Broken>;

fn read_allocation(expr: &Expr, run: &RunContext) -> Outcome {
    let buffer = |layer: &&Expr| matches!(layer.info.role, Role::GroupPolicy | Role::Admission);
    match expr.chain().find(buffer) {
        Some(layer) if run.read_alloc == ReadAlloc::On => Err((
            Code::ReadAlloc,
            format!("{} is a write buffer", layer.info.name),
        )),
        _ => Ok(()),
    }
}

fn allocation(expr: &Expr, run: &RunContext) -> Outcome {
    let dynamic = run.device.is_some_and(|device| device.dynamic_allocation);
    match expr.chain().find(|layer| layer.info.chip_aware) {
        Some(layer) if dynamic => Err((
            Code::Dynamic,
            format!(
                "victim chip is unknown before allocation: {} needs static allocation",
                layer.info.name
            ),
        )),
        _ => Ok(()),
    }
}

fn clean_first(expr: &Expr, run: &RunContext, warnings: &mut Vec<Warning>) {
    let cleans = run.device.is_some() && expr.chain().any(keeps_clean_pages);
    if cleans || run.read_alloc.resolve(expr) {
        return;
    }
    if let Some(layer) = expr.schemes().find(|layer| layer.info.clean_aware) {
        warnings.push(Warning {
            code: Some(Code::Read),
            reason: format!(
                "clean-first has no effect: without read allocation {} holds no clean page \
                 before a FLUSH",
                layer.info.name
            ),
        });
    }
}

/// Do pages that the layer writes back stay, clean?
fn keeps_clean_pages(layer: &Expr) -> bool {
    let info = layer.info;
    let removes = info.param("after").is_some() && layer.word("after") == "remove";
    info.role == Role::Background && !removes
}

/// Does the scheme fit into `frames` frames?
fn fits(expr: &Expr, mut frames: u64, run: &RunContext, warnings: &mut Vec<Warning>) -> Outcome {
    let chips = run
        .device
        .map_or(1, |device| u64::from(device.chips.max(1)));
    for layer in expr.chain() {
        let info = layer.info;
        let least = match info.min_capacity {
            MinCapacity::Frames(n) => n,
            MinCapacity::OneBlock => {
                layer.block_pages(run.device.map(|device| device.pages_per_block))
            }
            MinCapacity::Above(key) => {
                let least = layer.frames(key, frames).expect("a number of frames");
                least.saturating_add(1)
            }
            MinCapacity::FramePerChip => {
                if frames < chips && frames > 0 {
                    warnings.push(Warning {
                        code: Some(Code::Limit),
                        reason: format!(
                            "capacity {frames} below one page for each of the {chips} chips of {}",
                            info.name
                        ),
                    });
                }
                1
            }
        };
        if frames < least {
            let why = format!("capacity {frames} below minimum {least} of {}", info.name);
            return Err((Code::Limit, why));
        }
        frames = (info.frames_inside)(layer, frames, chips);
        for member in layer.members() {
            fits(member, frames, run, warnings)?;
        }
    }
    Ok(())
}

/// Without a device no queue is ever loaded, no chip collects garbage and nothing is ever idle.
fn idle_device(expr: &Expr, run: &RunContext, warnings: &mut Vec<Warning>) {
    if run.device.is_some() {
        return;
    }
    for layer in expr.chain() {
        let inner = layer.inner().map(Expr::to_string).unwrap_or_default();
        if let Some(without_device) = layer.info.without_device {
            warnings.push(Warning {
                code: None,
                reason: format!("without a device {}", without_device(&inner)),
            });
        }
    }
}

/// A bounded buffer that nothing drains hands pages over when a write waits for a frame, and then a unit.
fn undrained(expr: &Expr, run: &RunContext, warnings: &mut Vec<Warning>) {
    if run.device.is_some_and(|device| device.bounded_buffer) && !expr.drains() {
        warnings.push(Warning {
            code: None,
            reason: format!(
                "without drain a bounded buffer programs one unit at a time, when a write waits for room, while all \
                 other dies are idle; drives drain theirs, as {DRAINED_LRU} does"
            ),
        });
    }
}

fn own_rules(expr: &Expr, run: &RunContext) -> Outcome {
    // From the policy outwards, as placements (X13) come before page sizes (X10).
    let layers: Vec<&Expr> = expr.schemes().collect();
    let mut layers = layers.into_iter().rev();
    layers.try_for_each(|layer| (layer.info.refuse_run)(layer, run))
}
