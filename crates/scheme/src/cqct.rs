//! Chip Queue Complete Time: Equations 1-4 of ECR (section 3.1), and their options.
//!
//! [`equation`] is a pure function of numbers; [`Cqct`] feeds it with what a device says of a chip.

use crate::info::{ParamInfo, Words};
use crate::{Equation1, FlashCosts, InService, View, params, words};
use destage_types::{ChipId, Nanos, Op};

/// Latencies and the block size that Equations 1-4 use.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EcrLatencies {
    /// A read of a page (L_r).
    pub read: Nanos,
    /// A program of a page (L_w).
    pub program: Nanos,
    /// A block erase (L_gc).
    pub erase: Nanos,
    /// A summary-page write (L_sp): at most L_w.
    pub summary: Nanos,
    /// Pages of a block (N_p).
    pub pages_per_block: u64,
    /// Pages that a program writes.
    pub pages_per_program: u64,
}

impl EcrLatencies {
    /// T_gc of Equation 3.
    fn collection(&self, victim_valid_pages: u64) -> Nanos {
        let programs = victim_valid_pages.div_ceil(self.pages_per_program);
        Nanos(self.erase.0 + victim_valid_pages * self.read.0 + programs * self.program.0)
    }
}

/// The parts of Equation 1.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Parts {
    /// Will the queued programs start garbage collection (S_i, Equation 2)?
    pub gc: bool,
    /// Time of one garbage collection (T_gc, Equation 3).
    pub gc_time: Nanos,
    /// Summary-page writes (N_sp, Equation 4).
    pub summaries: u64,
    /// The result (CQCT_i, Equation 1).
    pub total: Nanos,
}

/// Equations 1-4 for one chip whose greedy victim has `victim_valid_pages` valid pages (N_vp),
/// which does not matter to CQCT unless GC is predicted. A running or scheduled GC job contributes
/// what is left of it in place of S_i * T_gc.
pub fn equation(queue: &Equation1, victim_valid_pages: u64, l: &EcrLatencies) -> Parts {
    let gc = queue.predicts_gc(l.pages_per_program);
    let gc_time = l.collection(victim_valid_pages).0;
    // The copies of a predicted collection fill the frontier too, even while the job that runs
    // stands for S_i * T_gc.
    let copies = if gc { victim_valid_pages } else { 0 };
    let written = queue.writes * l.pages_per_program + copies;
    let summaries = summary_writes(written, queue.frontier_free_pages, l);
    let collecting = match queue.gc_remaining {
        Some(rest) => rest.0,
        None if gc => gc_time,
        None => 0,
    };
    let total =
        l.read.0 * queue.reads + l.program.0 * queue.writes + collecting + l.summary.0 * summaries;
    Parts {
        gc,
        gc_time: Nanos(gc_time),
        summaries,
        total: Nanos(total),
    }
}

/// Equation 4; literal also where the frontier has one free page or none left.
fn summary_writes(programs: u64, frontier_free: u64, l: &EcrLatencies) -> u64 {
    // The first summary page is due with the last data page of the frontier, a further one every
    // N_p - 1 programs. `beyond` is programs - (N_fpb - 1) without leaving the unsigned numbers.
    match (programs + 1).checked_sub(frontier_free) {
        None => 0,
        Some(beyond) => 1 + beyond / l.pages_per_block.saturating_sub(1).max(1),
    }
}

words! {
    /// Do L_r and L_w include the transfer of a page?
    pub enum Transfer {
        /// Yes.
        Included = "included",
        /// No.
        Excluded = "excluded",
    }
}

words! {
    /// How far an operation in service counts (ECR-2).
    pub enum Residual {
        /// Like one that has not started.
        Full = "full",
        /// With the time that is left of it.
        Remaining = "remaining",
    }
}

words! {
    /// Where the number comes from.
    pub enum CqctSource {
        /// Equations 1-4.
        Equation = "equation",
        /// The exact time until the chip's queue is empty.
        Oracle = "oracle",
    }
}

words! {
    /// Which program latency stands for L_w (ECR-5).
    pub enum PageLatency {
        /// One latency for all pages.
        Constant = "constant",
        /// That of the physical page that is written next.
        PerPage = "per-page",
    }
}

words! {
    /// Which pages of a chip are free (N_fp of Equation 2).
    ///
    /// The pages of queued programs have left the mapping already. Equation 2 takes them away as
    /// N_w, so they must still be in N_fp, "free pages at current time"; then GC is predicted
    /// exactly where the next program would start it.
    pub enum FreePages {
        /// All that are not programmed yet: queued programs count once, in N_w.
        Unprogrammed = "unprogrammed",
        /// Those the mapping has not given away: queued programs count twice.
        Mapping = "mapping",
    }
}

words! {
    /// How Equation 2 sees whether the queued programs make a chip collect (ECR-8).
    pub enum GcStateBy {
        /// By free pages, as it is printed.
        Page = "page",
        /// By free blocks: are they at the threshold when the queued programs are done?
        Block = "block",
    }
}

words! {
    /// How far a running or scheduled collection counts (ECR-8).
    pub enum GcResidual {
        /// With the time that is left of it.
        Remaining = "remaining",
        /// As a whole one (T_gc, Equation 3).
        Whole = "whole",
    }
}

/// Summary-page write of the DiskSim SSD extension: 13.2 us transfer, 200 us program (ECR-1).
///
/// The paper has it "only a little smaller than the latency of a normal flash write" (section 3.1),
/// so whatever is set, Equation 1 counts L_w at most. Else a device that programs faster than this
/// would be weighed by its summary pages, and one without times by nothing else.
pub const DEFAULT_SUMMARY: Nanos = Nanos(213_200);

params! {
    /// The options of CQCT, shared by the schemes that weigh chips by it.
    #[derive(Copy, Eq)]
    pub struct Cqct {
        /// read and program latencies of the cost include the page transfer
        xfer: Transfer = ParamInfo::word(Transfer::WORDS).source("Table 2"),
        /// the operation in service counts fully, or with its remaining time
        residual: Residual = ParamInfo::word(Residual::WORDS).source("ECR-2"),
        /// queue time by Eq. 1 to 4, or the exact drain time
        cqct: CqctSource = ParamInfo::word(CqctSource::WORDS).source("ECR-2"),
        /// write of a summary page, at most that of a page (L_w), counted on devices that write
        /// none as well: 0ns leaves it out
        l_sp: Nanos = ParamInfo::time(DEFAULT_SUMMARY.0).source("ECR-1"),
        /// one program latency, or that of the physical page to be written
        page_latency: PageLatency = ParamInfo::word(PageLatency::WORDS).source("ECR-5"),
        /// free pages of Eq. 2: all that are not programmed, or those left by the queued programs,
        /// which N_w then counts again
        nfp: FreePages = ParamInfo::word(FreePages::WORDS).source("3.1, Table 1"),
        /// Eq. 2 by free pages, or by free blocks, for which nfp does not matter
        gc_state: GcStateBy = ParamInfo::word(GcStateBy::WORDS).source("ECR-8"),
        /// a running collection counts with what is left of it, or with all of T_gc
        gc_residual: GcResidual = ParamInfo::word(GcResidual::WORDS).source("ECR-8"),
    }
}

impl Cqct {
    /// The defaults of the parameters.
    pub const DEFAULT: Cqct = Cqct {
        xfer: Transfer::Included,
        residual: Residual::Full,
        cqct: CqctSource::Equation,
        l_sp: DEFAULT_SUMMARY,
        page_latency: PageLatency::Constant,
        nfp: FreePages::Unprogrammed,
        gc_state: GcStateBy::Page,
        gc_residual: GcResidual::Remaining,
    };

    /// CQCT of `chip` now; zero without a device.
    pub fn of_chip(&self, chip: ChipId, v: &View) -> Nanos {
        let costs = v.device.costs();
        // A device has blocks; without one nothing is ever queued (D12).
        if self.cqct == CqctSource::Equation && costs.pages_per_block == 0 {
            return Nanos::ZERO;
        }
        if self.cqct == CqctSource::Oracle {
            return v.device.drain_time(chip);
        }
        let program = match self.page_latency {
            PageLatency::Constant => costs.program,
            PageLatency::PerPage => v.device.next_program(chip),
        };
        let l = self.latencies(&costs, program);
        let mut queue = v.device.equation_1(chip);
        let taken = queue.writes * l.pages_per_program;
        match (self.gc_state, self.nfp) {
            (GcStateBy::Page, FreePages::Mapping) => {}
            (GcStateBy::Page, FreePages::Unprogrammed) => queue.free_pages += taken,
            (GcStateBy::Block, _) => {
                // The same inequality: what the queued programs take is in neither side of it.
                let blocks = v.device.gc_blocks(chip);
                queue.free_pages = blocks.free + taken;
                queue.gc_threshold_pages = blocks.threshold;
            }
        }
        let whole = self.gc_residual == GcResidual::Whole && queue.gc_remaining.is_some();
        let copies = if whole || queue.predicts_gc(l.pages_per_program) {
            v.device.victim_valid_pages(chip)
        } else {
            0
        };
        if whole {
            queue.gc_remaining = Some(l.collection(copies));
        }
        let total = equation(&queue, copies, &l).total;
        match self.residual {
            Residual::Full => total,
            Residual::Remaining => {
                let in_service = v.device.in_service(chip);
                with_residual(total, &v.device.equation_1(chip), in_service, &l)
            }
        }
    }

    /// Is CQCT 0 for the chips that [`DeviceView::equation_1_is_zero`](crate::DeviceView::equation_1_is_zero) names and for no
    /// others? So it is by Equation 1 unless a latency is zero, or a collection about to end.
    #[inline]
    pub fn is_zero_for_idle_alone(&self, v: &View) -> bool {
        let l = self.latencies(&v.device.costs(), v.device.costs().program);
        let times = [l.read, l.program, l.erase, l.summary];
        self.cqct == CqctSource::Equation
            && self.residual == Residual::Full
            && self.page_latency == PageLatency::Constant
            && self.gc_state == GcStateBy::Page
            && l.pages_per_block > 0
            && !times.contains(&Nanos::ZERO)
            && !v.device.any_in_gc()
    }

    /// CQCT of all of `chips` chips in ascending order, as [`Cqct::of_chip`].
    pub fn each(&self, chips: usize, v: &View, mut f: impl FnMut(usize, Nanos)) {
        for first in (0..chips).step_by(64) {
            let count = (chips - first).min(64);
            let idle = match (self.cqct, self.gc_state) {
                (CqctSource::Equation, GcStateBy::Page) => v
                    .device
                    .equation_1_is_zero(ChipId(first as u32), count as u32),
                _ => 0,
            };
            for i in 0..count {
                let time = || self.of_chip(ChipId((first + i) as u32), v);
                if idle >> i & 1 == 1 {
                    debug_assert_eq!(time(), Nanos::ZERO, "an idle chip");
                    f(first + i, Nanos::ZERO);
                } else {
                    f(first + i, time());
                }
            }
        }
    }

    fn latencies(&self, costs: &FlashCosts, program: Nanos) -> EcrLatencies {
        let (read, program) = match self.xfer {
            Transfer::Included => (
                costs.read + costs.transfer,
                program + costs.program_transfer,
            ),
            Transfer::Excluded => (costs.read, program),
        };
        EcrLatencies {
            read,
            program,
            erase: costs.erase,
            summary: self.l_sp.min(program),
            pages_per_block: costs.pages_per_block,
            pages_per_program: costs.pages_per_program.max(1),
        }
    }
}

/// Counts the host operation in service with the rest of its time instead of all of it. While a
/// GC job runs, the operation in service is the job's and counts in its remaining time already.
fn with_residual(
    total: Nanos,
    queue: &Equation1,
    in_service: Option<InService>,
    l: &EcrLatencies,
) -> Nanos {
    let Some(InService { op, residual }) = in_service else {
        return total;
    };
    let (queued, whole) = match op {
        Op::Read => (queue.reads, l.read),
        _ => (queue.writes, l.program),
    };
    if queued > 0 && queue.gc_remaining.is_none() {
        total.since(whole) + residual
    } else {
        total
    }
}

#[cfg(test)]
mod tests;
