//! Logs of a run: `--log-evictions` and `--log-requests`.

use crate::RunError;
use crate::cache::observe::{Event, Observer};
use destage_record::Completion;
use destage_trace::{TraceError, Workload, WorkloadPass};
use destage_types::{Lpn, Op};
use std::collections::{BTreeMap, VecDeque};
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
pub const REQUEST_COLUMNS: [(&str, &str); 7] = [
    ("request", "index in the decoded trace, from 0"),
    ("op", "R (read), W (write), T (trim) or F (flush)"),
    ("arrival_ns", "when it arrives, in ns"),
    ("complete_ns", "when it is complete, in ns"),
    ("pages", "pages that it touches"),
    ("hit_pages", "those of them that hit"),
    (
        "stream",
        "number of its stream: a part of a generated workload, a volume; 0 if the trace has one",
    ),
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
pub struct RequestLog<'a> {
    out: BufWriter<Box<dyn Write + Send>>,
    /// Requests that are complete before an earlier one.
    waiting: BTreeMap<u64, Completion>,
    next: u64,
    streams: Streams<'a>,
}

/// The streams of requests, in the order of the trace: completions do not say theirs.
struct Streams<'a> {
    pass: WorkloadPass<'a>,
    /// Of the requests that were read last.
    read: VecDeque<u32>,
}

impl Streams<'_> {
    fn next(&mut self) -> Result<u32, TraceError> {
        while self.read.is_empty() {
            let block = self.pass.next(BLOCK)?;
            let block = block.expect("a workload holds the requests it says");
            self.read
                .extend(block.records.iter().map(|head| head.stream));
        }
        Ok(self.read.pop_front().unwrap_or(0))
    }
}

/// Requests whose streams are read at once.
const BLOCK: u64 = 1 << 10;

impl<'a> RequestLog<'a> {
    /// Logs requests of `workload` from `first` on to `out`, header first.
    ///
    /// # Errors
    /// The header cannot be written, or the trace cannot be read again.
    pub fn new(
        out: Box<dyn Write + Send>,
        first: u64,
        workload: Workload<'a>,
    ) -> Result<RequestLog<'a>, RunError> {
        let mut out = BufWriter::new(out);
        writeln!(out, "{}", REQUEST_COLUMNS.map(|column| column.0).join(","))?;
        let mut streams = Streams {
            pass: workload.pass()?,
            read: VecDeque::new(),
        };
        for _ in 0..first {
            streams.next()?;
        }
        Ok(RequestLog {
            out,
            waiting: BTreeMap::new(),
            next: first,
            streams,
        })
    }

    /// A request is complete.
    ///
    /// # Errors
    /// A row cannot be written, or the trace cannot be read again.
    pub fn add(&mut self, done: Completion) -> Result<(), RunError> {
        self.waiting.insert(done.index, done);
        while let Some(c) = self.waiting.remove(&self.next) {
            self.next += 1;
            let stream = self.streams.next()?;
            let op = match c.op {
                Op::Read => 'R',
                Op::Write => 'W',
                Op::Trim => 'T',
                Op::Flush => 'F',
            };
            let (arrival, complete) = (c.arrival, c.complete);
            writeln!(
                self.out,
                "{},{op},{arrival},{complete},{},{},{stream}",
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
