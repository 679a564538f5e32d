//! Active write-back (Prober 3.4): the rules of its layers, and what they have queued or in flight.

use super::expr::SlowExpr;
use super::occasions::Asked;

/// A write-back that is queued or in flight.
#[derive(Clone, Debug)]
pub(super) struct Flight {
    pub token: u32,
    /// The cached page it belongs to, under its present address; none once that page left or was
    /// flushed.
    pub page: Option<u64>,
    /// The idle channel for which it was queued.
    pub channel: Option<usize>,
    /// Changed since it started.
    pub stale: bool,
    /// Handed over in the host's class: it counts as started at once.
    pub host: bool,
}

/// Counters that only a device has.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[allow(missing_docs)] // the names are those of the result record
pub struct DeviceCounts {
    pub background_cancels: u64,
    pub background_stale: u64,
    pub inflight_evictions: u64,
    pub unmapped_reads: u64,
}

/// The layers `awb` and `eager`.
pub struct WriteBack {
    pub(super) depth: usize,
    /// LDR alone, or then the base too.
    pub(super) ldr_only: bool,
    pub(super) wait_for_partial: bool,
    pub(super) keep_clean: bool,
    pub(super) cancel_on_reads: bool,
    /// Does the layer `idle-clean` choose? Then nothing else here matters but what is in flight.
    pub(super) ahead: bool,
    /// `eager`: frames that must be in use, and how many victims are looked at.
    pub(super) eager: Option<(usize, usize)>,
    /// The layer that is asked on other occasions than idle channels.
    pub(super) asked: Option<Asked>,
    pub(super) flights: Vec<Flight>,
}

impl WriteBack {
    /// Parameters as `expr` has them.
    ///
    /// # Errors
    /// An unknown parameter or a bad value.
    pub fn new(expr: &SlowExpr) -> Result<WriteBack, String> {
        expr.keys(&["scope", "depth", "partial", "after", "cancel-on"])?;
        let prober = expr.has("prober");
        let scopes = match prober {
            true => ["ldr", "ldr_then_base"],
            false => ["ldr_then_base", "ldr"],
        };
        Ok(WriteBack {
            depth: expr.number("depth", 2, 1)? as usize,
            ldr_only: expr.word("scope", &scopes)? == "ldr",
            wait_for_partial: expr.word("partial", &["wait", "write"])? == "wait",
            keep_clean: expr.word("after", &["remove", "keep_clean"])? == "keep_clean",
            cancel_on_reads: expr.word("cancel-on", &["any", "write"])? == "any",
            ahead: false,
            eager: None,
            asked: None,
            flights: Vec::new(),
        })
    }

    /// `idle-clean`, whose rules stand in [`Ahead`](super::ahead::Ahead).
    pub fn ahead() -> WriteBack {
        WriteBack {
            depth: usize::MAX,
            ldr_only: false,
            wait_for_partial: false,
            keep_clean: true,
            cancel_on_reads: true,
            ahead: true,
            eager: None,
            asked: None,
            flights: Vec::new(),
        }
    }

    /// `eager` (Prober section 5.2) in a cache of `capacity` pages.
    ///
    /// # Errors
    /// An unknown parameter or a bad value.
    pub fn eager(expr: &SlowExpr, capacity: usize) -> Result<WriteBack, String> {
        expr.keys(&["w"])?;
        let window = expr.number("w", (capacity / 8).max(1) as u64, 1)? as usize;
        Ok(WriteBack {
            depth: 2,
            eager: Some((capacity.saturating_sub(1), window)),
            ..WriteBack::of_scheme()
        })
    }

    /// That of a scheme that chooses by itself, page by page for idle chips.
    pub fn of_scheme() -> WriteBack {
        WriteBack {
            ahead: false,
            ..WriteBack::ahead()
        }
    }

    /// A layer that is asked on other occasions than idle channels.
    pub fn asked(asked: Asked) -> WriteBack {
        WriteBack {
            asked: Some(asked),
            ..WriteBack::of_scheme()
        }
    }

    /// Write-backs of a channel that are queued or in flight.
    pub(super) fn outstanding(&self, channel: usize) -> usize {
        let here = |f: &&Flight| f.channel == Some(channel);
        self.flights.iter().filter(here).count()
    }

    /// Is a write-back of the page queued or in flight?
    pub(super) fn is_busy(&self, lpn: u64) -> bool {
        self.of_page(lpn).is_some()
    }

    /// Place of the write-back of the page.
    pub(super) fn of_page(&self, lpn: u64) -> Option<usize> {
        self.flights.iter().position(|f| f.page == Some(lpn))
    }
}
