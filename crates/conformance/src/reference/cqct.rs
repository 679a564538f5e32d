//! The cost of a chip in the equations 1 to 4 of ECR, section 3.1, written out.

use destage_device::nand::OpKind;

use super::expr::SlowExpr;

/// Keys of the cost equation.
#[derive(Clone, Copy, Debug)]
pub struct Cost {
    with_transfer: bool,
    remaining: bool,
    oracle: bool,
    /// Are the pages of queued programs free in N_fp?
    unprogrammed: bool,
    /// Is a collection predicted by free blocks?
    by_block: bool,
    /// Does a running collection count as a whole one?
    whole_collection: bool,
    summary: u64,
    /// L_w is that of the page that is written next.
    pub per_page: bool,
}

impl Default for Cost {
    fn default() -> Cost {
        Cost::new(&SlowExpr::default()).expect("every key has a default")
    }
}

/// The state of a chip.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)] // the symbols of ECR section 3.1
pub struct Queue {
    pub drain: u64,
    pub reads: u64,
    pub writes: u64,
    /// Kind of the host operation in service.
    pub in_service: Option<OpKind>,
    pub residual: u64,
    pub t_read: u64,
    pub t_program: u64,
    /// That of the next page of the frontier.
    pub t_next_program: u64,
    pub t_erase: u64,
    pub transfer: u64,
    /// Transfers of all that a program writes, and how many pages that is.
    pub program_transfer: u64,
    pub pages_per_program: u64,
    pub pages_per_block: u64,
    pub free: u64,
    pub threshold: u64,
    pub free_blocks: u64,
    pub threshold_blocks: u64,
    pub frontier_free: u64,
    pub victim_valid: u64,
    pub gc_remaining: Option<u64>,
}

impl Cost {
    /// The keys of the chip-aware layer of an expression.
    ///
    /// # Errors
    /// A value that is none.
    pub fn new(expr: &SlowExpr) -> Result<Cost, String> {
        Ok(Cost {
            with_transfer: expr.word("xfer", &["included", "excluded"])? == "included",
            remaining: expr.word("residual", &["full", "remaining"])? == "remaining",
            oracle: expr.word("cqct", &["equation", "oracle"])? == "oracle",
            unprogrammed: expr.word("nfp", &["unprogrammed", "mapping"])? == "unprogrammed",
            by_block: expr.word("gc-state", &["page", "block"])? == "block",
            per_page: expr.word("page-latency", &["constant", "per-page"])? == "per-page",
            whole_collection: expr.word("gc-residual", &["remaining", "whole"])? == "whole",
            summary: expr.time("l-sp", 213_200)?,
        })
    }

    /// The keys of the layer of `expr` that weighs chips; the defaults if none does.
    ///
    /// # Errors
    /// A value that is none.
    pub fn of(expr: &SlowExpr) -> Result<Cost, String> {
        match &expr.inner {
            _ if ["ecr", "ecr-eps", "lcr"].contains(&expr.name.as_str()) => Cost::new(expr),
            Some(inner) => Cost::of(inner),
            None => Ok(Cost::default()),
        }
    }

    /// CQCT.
    pub fn weigh(&self, q: &Queue) -> u64 {
        if self.oracle {
            return q.drain;
        }
        let (transfer, program_transfer) = match self.with_transfer {
            true => (q.transfer, q.program_transfer),
            false => (0, 0),
        };
        let program = match self.per_page {
            true => q.t_next_program,
            false => q.t_program,
        };
        let (l_r, l_w) = (q.t_read + transfer, program + program_transfer);
        let written = q.writes * q.pages_per_program;
        let int = |x: u64| i128::from(x);
        // The mapping gave the queued programs their pages when they were queued.
        let n_fp = match self.unprogrammed {
            true => q.free + written,
            false => q.free,
        };
        let s = match self.by_block {
            // The queued programs have taken their blocks already.
            true => q.free_blocks <= q.threshold_blocks,
            false => int(n_fp) - int(written) <= int(q.threshold),
        };
        let programs = q.victim_valid.div_ceil(q.pages_per_program);
        let t_gc = q.t_erase + q.victim_valid * l_r + programs * l_w;
        let s_t_gc = match q.gc_remaining {
            Some(_) if self.whole_collection => t_gc,
            Some(rest) => rest,
            None if s => t_gc,
            None => 0,
        };
        let copies = if s { q.victim_valid } else { 0 };
        let beyond = int(written + copies) - (int(q.frontier_free) - 1);
        let n_sp = match beyond < 0 {
            true => 0,
            false => 1 + beyond as u64 / (q.pages_per_block - 1).max(1),
        };
        let queued = match (self.remaining && q.gc_remaining.is_none(), q.in_service) {
            (true, Some(OpKind::Read)) => l_r * (q.reads - 1) + q.residual + l_w * q.writes,
            (true, Some(OpKind::Program)) => l_r * q.reads + l_w * (q.writes - 1) + q.residual,
            _ => l_r * q.reads + l_w * q.writes,
        };
        queued + s_t_gc + self.summary.min(l_w) * n_sp
    }
}
