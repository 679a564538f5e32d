//! The slow models of schemes by their names.

use super::address_order::AddressOrder;
use super::arc::Arc;
use super::belady::Belady;
use super::best_of::BestOf;
use super::chips::{ChipLru, Ecr};
use super::clusters::{Bpac, LbClock};
use super::co_active::CoActive;
use super::expr::SlowExpr;
use super::filters::{EcrGroups, Gcar};
use super::frd::Frd;
use super::groups::{Bplru, Fab, Vbbms};
use super::histories::{Lrfu, Lru2, Mq};
use super::lirs::{Lirs, TwoQueue};
use super::lists::{Lfu, PageList};
use super::prober::Prober;
use super::reqblock::ReqBlock;
use super::reserve::Reserve;
use super::rings::{Clock, Sieve, TwoQ};
use super::s3_fifo::S3Fifo;
use super::scheme::Built;
use super::second_chance::SecondChance;
use super::update_distance::PudLru;
use super::w_tinylfu::WTinyLfu;
use super::windows::Window;

/// The surroundings of a scheme.
#[derive(Clone, Copy, Debug)]
pub struct Around {
    /// Page frames.
    pub capacity: usize,
    /// Chips.
    pub chips: usize,
    /// Bytes of a page.
    pub page: u64,
    /// Count accesses one by one instead of in a sketch.
    pub exact_counts: bool,
}

/// Builds everything below the mapping and admission layers.
///
/// # Errors
/// An unknown scheme, an unknown parameter or a bad value.
pub fn build(expr: &SlowExpr, around: Around) -> Built {
    let Around {
        capacity,
        chips,
        page,
        exact_counts,
    } = around;
    let with_capacity = |expr: &SlowExpr, capacity| build(expr, Around { capacity, ..around });
    let inner = |capacity| with_capacity(expr.inside()?, capacity);
    Ok(match expr.name.as_str() {
        "fifo" | "lru" | "cflru" => Box::new(PageList::new(expr, capacity)?),
        "lfu" => expr.keys(&[]).map(|()| Box::new(Lfu::default()))?,
        "clock" => expr.keys(&[]).map(|()| Box::new(Clock::default()))?,
        "lru-wsr" | "ccf-lru" | "ad-lru" => Box::new(SecondChance::new(expr, capacity)?),
        "lru-2" => Box::new(Lru2::new(expr, capacity)?),
        "lrfu" => Box::new(Lrfu::new(expr)?),
        "mq" => Box::new(Mq::new(expr, capacity)?),
        "s3-fifo" => Box::new(S3Fifo::new(expr, capacity)?),
        "co-active" => Box::new(CoActive::new(expr, capacity)?),
        "reserve" => Box::new(Reserve::new(expr, capacity)?),
        "frd" => Box::new(Frd::new(expr, capacity)?),
        "w-tinylfu" => Box::new(WTinyLfu::new(expr, capacity, exact_counts)?),
        "lcr" | "ref" => Box::new(Window::new(expr, capacity)?),
        "wow" | "cscan" => Box::new(AddressOrder::new(expr)?),
        "sieve" => expr.keys(&[]).map(|()| Box::new(Sieve::default()))?,
        "2q" => Box::new(TwoQ::new(expr, capacity)?),
        "arc" => expr
            .keys(&["ghost-bytes"])
            .map(|()| Box::new(Arc::new(capacity)))?,
        "lirs" if expr.word("variant", &["stack", "two_queue"])? == "two_queue" => {
            Box::new(TwoQueue::new(expr, capacity)?)
        }
        "lirs" => Box::new(Lirs::new(expr, capacity)?),
        "req-block" => Box::new(ReqBlock::new(expr)?),
        "bplru" => Box::new(Bplru::new(expr)?),
        "fab" => Box::new(Fab::new(expr)?),
        "pud-lru" => Box::new(PudLru::new(expr)?),
        "bpac" => Box::new(Bpac::new(expr)?),
        "lb-clock" => Box::new(LbClock::new(expr)?),
        "vbbms" => Box::new(Vbbms::new(expr, capacity)?),
        "belady" => Box::new(Belady::new(expr)?),
        "best-of" => Box::new(BestOf::new(expr, capacity, &with_capacity)?),
        "ecr-eps" | "cflru-eps" => Box::new(ChipLru::new(expr)?),
        "prober" => Box::new(Prober::new(expr, page, inner(capacity)?)?),
        "gcar" => Box::new(Gcar::new(expr, inner(capacity)?)?),
        "ecr"
            if ["req-block", "bplru", "fab", "vbbms"]
                .iter()
                .any(|g| expr.has(g)) =>
        {
            Box::new(EcrGroups::new(expr, inner(capacity)?)?)
        }
        "ecr" => {
            let share = expr.word("inner-capacity", &["share", "total"])? == "share";
            let nominal = if share {
                (capacity / chips).max(1)
            } else {
                capacity
            };
            let each: Result<Vec<_>, String> = (0..chips).map(|_| inner(nominal)).collect();
            Box::new(Ecr::new(expr, each?)?)
        }
        other => return Err(format!("no model of `{other}`")),
    })
}
