//! Logs of a run: `--log-evictions` and `--log-requests`.

use crate::cache::observe::{Event, Observer};
use destage_record::Completion;
use destage_types::{Lpn, Op};
use std::collections::BTreeMap;
use std::io::{BufWriter, Write};

/// The fields of an object of `--log-evictions`, and what they mean.
pub const EVICTION_FIELDS: [(&str, &str); 5] = [
    (
        "request",
        "index of the request that needs room, 0 for the first of the trace",
    ),
    ("flush", "LPNs of dirty pages, which are written to flash"),
    ("drop", "LPNs of clean pages"),
    (
        "discard",
        "LPNs of pages that the request supersedes without an eviction: one object per request, \
         with nothing else",
    ),
    (
        "inflight",
        "LPNs of pages whose write-back is under way; only if there are some",
    ),
];

/// The columns of `--log-requests`, and what they mean.
pub const REQUEST_COLUMNS: [(&str, &str); 6] = [
    ("request", "index in the decoded trace, from 0"),
    ("op", "R (read), W (write), T (trim) or F (flush)"),
    ("arrival_ns", "when it arrives, in ns"),
    ("complete_ns", "when it is complete, in ns"),
    ("pages", "pages that it touches"),
    ("hit_pages", "those of them that hit"),
];

/// `--log-evictions`: one JSON object per eviction, in the order in which they happen.
///
/// Writes `{"request":17,"flush":[3,4],"drop":[9],"discard":[]}` lines, whose fields are [`EVICTION_FIELDS`].
pub struct EvictionLog {
    out: BufWriter<Box<dyn Write + Send>>,
    request: u64,
    discarded: Vec<Lpn>,
    failed: Option<std::io::Error>,
}

impl EvictionLog {
    /// Logs to `out`. The first write error ends the log and is told by `finish`.
    pub fn new(out: Box<dyn Write + Send>) -> EvictionLog {
        EvictionLog {
            out: BufWriter::new(out),
            request: 0,
            discarded: Vec::new(),
            failed: None,
        }
    }

    fn line(&mut self, flush: &[Lpn], drop: &[Lpn], discard: &[Lpn], inflight: &[Lpn]) {
        if self.failed.is_some() {
            return;
        }
        let numbers = |lpns: &[Lpn]| lpns.iter().map(|l| l.0).collect::<Vec<u64>>();
        let mut object = serde_json::json!({
            "request": self.request,
            "flush": numbers(flush),
            "drop": numbers(drop),
            "discard": numbers(discard),
        });
        if !inflight.is_empty() {
            object["inflight"] = numbers(inflight).into();
        }
        self.failed = writeln!(self.out, "{object}").err();
    }
}

impl Observer for EvictionLog {
    fn request(&mut self, index: u64) {
        self.request = index;
    }

    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Evicted {
                flush,
                drop,
                inflight,
                ..
            } => {
                self.line(flush, drop, &[], inflight);
            }
            Event::Invalidated(lpns) => self.discarded.extend_from_slice(lpns),
            Event::Discarded(lpn) => self.discarded.push(lpn),
            Event::Bypassed(_)
            | Event::FlashRead(_)
            | Event::Remapped { .. }
            | Event::WriteBack { .. } => {}
        }
    }

    fn request_done(&mut self) {
        if !self.discarded.is_empty() {
            let discarded = std::mem::take(&mut self.discarded);
            self.line(&[], &[], &discarded, &[]);
            self.discarded = discarded;
            self.discarded.clear();
        }
    }

    fn finish(&mut self) -> std::io::Result<()> {
        match self.failed.take() {
            Some(error) => Err(error),
            None => self.out.flush(),
        }
    }
}

/// `--log-requests`: one CSV row per request, in request order.
///
/// Its columns are [`REQUEST_COLUMNS`].
pub struct RequestLog {
    out: BufWriter<Box<dyn Write + Send>>,
    /// Requests that are complete before an earlier one.
    waiting: BTreeMap<u64, Completion>,
    next: u64,
}

impl RequestLog {
    /// Logs requests from `first` on to `out`, header first.
    ///
    /// # Errors
    /// The header cannot be written.
    pub fn new(out: Box<dyn Write + Send>, first: u64) -> std::io::Result<RequestLog> {
        let mut out = BufWriter::new(out);
        writeln!(out, "{}", REQUEST_COLUMNS.map(|column| column.0).join(","))?;
        Ok(RequestLog {
            out,
            waiting: BTreeMap::new(),
            next: first,
        })
    }

    /// A request is complete.
    ///
    /// # Errors
    /// A row cannot be written.
    pub fn add(&mut self, done: Completion) -> std::io::Result<()> {
        self.waiting.insert(done.index, done);
        while let Some(c) = self.waiting.remove(&self.next) {
            self.next += 1;
            let op = match c.op {
                Op::Read => 'R',
                Op::Write => 'W',
                Op::Trim => 'T',
                Op::Flush => 'F',
            };
            let (arrival, complete) = (c.arrival, c.complete);
            writeln!(
                self.out,
                "{},{op},{arrival},{complete},{},{}",
                c.index, c.pages, c.hits
            )?;
        }
        Ok(())
    }

    /// Every request was added: writes out what is buffered.
    ///
    /// # Errors
    /// The last rows cannot be written.
    ///
    /// # Panics
    /// A request was not added: rows behind it would be missing without a word.
    pub fn finish(&mut self) -> std::io::Result<()> {
        let missing = self.next;
        assert!(self.waiting.is_empty(), "request {missing} never completed");
        self.out.flush()
    }
}
