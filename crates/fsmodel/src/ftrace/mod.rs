//! Kernel event text (ftrace) to requests with old addresses.
//!
//! F2FS says for every page it hands down where the page was and where it goes; the block layer
//! says which requests reach the device. An import joins the two: the requests are those of the
//! block layer, the old addresses those of the pages they carry. Three things need more:
//!
//! - an atomic write reaches the device before its commit names the old address, so its pair is
//!   filled in afterwards;
//! - O_DIRECT has no page event: the block of a file is known from the mapping before, and at the
//!   start from a seed (`filefrag -v`);
//! - cleaning is told by the events around it.
//!
//! ext4 writes in place and has no such events: its requests carry no pair.

mod event;
mod f2fs;
mod out;
mod report;
mod runs;
mod seed;
mod tracker;

use std::io::{BufRead, BufReader, Read};

use destage_types::RequestBatch;

use destage_trace::Source;
use destage_trace::{TraceError, shown};
pub use event::Dev;
use event::{KernelEvent, event, header};
pub use report::{ImportReport, OldAddresses, WrittenBlocks};
use tracker::Tracker;

/// A device whose requests are wanted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DeviceSpec {
    /// The device in block events.
    pub dev: Dev,
    /// The device in events of the file system, if it is another one: a partition. Block events
    /// that say where a partition lies (`block_bio_remap`) tell it, too.
    pub fs: Option<Dev>,
    /// First sector of the partition; requests in front of it are left out.
    pub start: Option<u64>,
}

/// Which block events are the requests of the trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum RequestEvent {
    /// Requests that the driver got (`block_rq_issue`): merged and split as on the real device.
    #[default]
    Issue,
    /// Requests that the file system sent (`block_bio_queue`), for devices without a request queue.
    Queue,
}

/// How to import.
#[derive(Default)]
pub struct ImportOptions {
    /// The devices wanted, in the order of their streams; none: the only one there is.
    pub devices: Vec<DeviceSpec>,
    /// Which block events are requests.
    pub requests: RequestEvent,
    /// Is the file system F2FS? `None`: told by its events.
    pub f2fs: Option<bool>,
    /// Inodes with the output of `filefrag -v` for their files, taken before the capture.
    pub seeds: Vec<(u64, Source)>,
    /// Go on although the kernel lost events.
    pub allow_lost: bool,
    /// Stop at the first old address that contradicts what is known.
    pub strict: bool,
    /// Count lines that are no events and go on.
    pub skip_bad_lines: bool,
    /// Bytes that may be remembered; `None`: any number.
    pub memory: Option<u64>,
}

/// Result of an import.
#[derive(Clone, Debug)]
pub struct Import {
    /// The requests; several devices stand one behind the other, each a stream.
    pub requests: RequestBatch,
    /// Counts of events that were found and matched.
    pub report: ImportReport,
}

/// Why a capture was not imported.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs)] // the messages say what the fields are
pub enum ImportError {
    /// A file cannot be read.
    #[error("{0}")]
    Trace(#[from] TraceError),
    /// A line is no event, or a known event without its fields: cut off, or two lines mixed.
    #[error("{file}: line {line}: `{text}` {reason}; lines may be cut off or mixed")]
    Line {
        file: String,
        line: u64,
        text: String,
        reason: &'static str,
    },
    /// The kernel lost events.
    #[error(
        "{file}: line {line}: the kernel lost {events} events here, so old addresses are \
             missing; capture again with a larger buffer"
    )]
    Lost {
        file: String,
        line: u64,
        events: u64,
    },
    /// An old address is not where the block was last written.
    #[error(
        "{file}: line {line}: {what} says its old block is {said:#x}, but it was last at \
             {known:#x}"
    )]
    Contradiction {
        file: String,
        line: u64,
        what: String,
        said: u64,
        known: u64,
    },
    /// Several devices, and none was chosen.
    #[error("the capture has requests of several devices: {known}; choose with --device")]
    Devices { known: String },
    /// A device that is not there.
    #[error("the capture has no request of device {wanted}; it has requests of {known}")]
    NoDevice { wanted: Dev, known: String },
    /// No request at all.
    #[error(
        "no request of the block layer in {lines} lines; the events `block_rq_issue` (or \
             `block_bio_queue` with --stream queue) are needed"
    )]
    Nothing { lines: u64 },
    /// The blocks of the file system are larger.
    #[error(
        "{file}: line {line}: the file system has blocks of {bytes} bytes; pairs are about \
             blocks of 4096 bytes"
    )]
    BlockSize { file: String, line: u64, bytes: u64 },
    /// Page events and block requests do not belong together.
    #[error("no page event of F2FS explains any of {blocks} written blocks{hint}")]
    NothingMatched { blocks: u64, hint: String },
    /// Events of F2FS came after requests had been taken for those of another file system.
    #[error(
        "{file}: line {line}: the first event of F2FS follows {writes} writes without any; \
             say --fs f2fs if the capture begins in the middle"
    )]
    LateF2fs {
        file: String,
        line: u64,
        writes: u64,
    },
    /// The seed is no output of `filefrag -v`.
    #[error("{file}: line {line}: {reason}")]
    Seed {
        file: String,
        line: u64,
        reason: String,
    },
    /// The requests and old addresses take too much memory.
    #[error(
        "{file}: line {line}: requests and old addresses up to here take {bytes} bytes of memory, \
             more than the {limit} bytes allowed"
    )]
    Memory {
        file: String,
        line: u64,
        bytes: u64,
        limit: u64,
    },
    /// The requests cannot be placed.
    #[error("the requests cannot be placed: {0}")]
    Place(&'static str),
}

/// Where the tracker is, for messages.
#[derive(Clone, Copy)]
struct Place<'a> {
    file: &'a str,
    line: u64,
}

/// The longest line that can be an event.
const MAX_LINE: u64 = 64 << 10;

/// Imports captures; several sources are read one after the other as one capture.
///
/// # Errors
/// Bad text, lost events, contradictions (if `strict`), or events that do not belong together.
pub fn import(sources: Vec<Source>, options: ImportOptions) -> Result<Import, ImportError> {
    let mut tracker = Tracker::new(options)?;
    for source in sources {
        read(source, &mut tracker)?;
    }
    tracker.finish()
}

fn read(source: Source, tracker: &mut Tracker) -> Result<(), ImportError> {
    let limit = tracker.options.memory.unwrap_or(u64::MAX);
    let file = source.file();
    let refused = |source| {
        ImportError::Trace(TraceError::Io {
            file: file.clone(),
            source,
        })
    };
    let mut reader = BufReader::with_capacity(256 << 10, source.decompressed()?);
    let (mut bytes, mut line) = (Vec::new(), 0);
    loop {
        bytes.clear();
        let n = reader.by_ref().take(MAX_LINE).read_until(b'\n', &mut bytes);
        if n.map_err(refused)? == 0 {
            return Ok(());
        }
        line += 1;
        tracker.report.lines += 1;
        let text = String::from_utf8_lossy(&bytes);
        let place = Place { file: &file, line };
        let text = text.trim_end();
        if let Some(events) = lost(text) {
            tracker.report.lost += events;
            if !tracker.options.allow_lost {
                let file = file.clone();
                return Err(ImportError::Lost { file, line, events });
            }
            continue;
        }
        if text.trim_start().is_empty() || text.starts_with('#') || text.starts_with("cpus=") {
            continue;
        }
        match one(text, tracker, place) {
            Err(reason) if !tracker.options.skip_bad_lines => {
                let (file, text) = (file.clone(), shown(text.as_bytes()));
                return Err(ImportError::Line {
                    file,
                    line,
                    text,
                    reason,
                });
            }
            Err(_) => tracker.report.skipped_lines += 1,
            Ok(done) => done?,
        }
        let bytes = tracker.memory();
        if bytes > limit {
            let file = file.clone();
            return Err(ImportError::Memory {
                file,
                line,
                bytes,
                limit,
            });
        }
    }
}

/// Reads one line: the outer error is one of its text.
fn one(
    text: &str,
    tracker: &mut Tracker,
    place: Place<'_>,
) -> Result<Result<(), ImportError>, &'static str> {
    let header = header(text)?;
    let event = event(header.name, header.rest)?;
    tracker.report.events += 1;
    if event == KernelEvent::Unknown {
        let count = tracker.report.unknown_events.entry(header.name.to_owned());
        *count.or_default() += 1;
        return Ok(Ok(()));
    }
    Ok(tracker.event(&header, event, place))
}

/// How many events the line says were lost: `CPU:0 [LOST 12 EVENTS]` in the stream, or a header
/// `# entries-in-buffer/entries-written: 10/22   #P:2` with two different numbers.
fn lost(line: &str) -> Option<u64> {
    if let Some((_, tail)) = line.split_once("[LOST ") {
        // Without a number the kernel does not know how many.
        let number = tail
            .split_once(" EVENTS]")
            .map(|(n, _)| n.parse().unwrap_or(1));
        return number.or_else(|| tail.starts_with("EVENTS]").then_some(1));
    }
    let (_, tail) = line.split_once("entries-in-buffer/entries-written: ")?;
    let (kept, written) = tail.split_ascii_whitespace().next()?.split_once('/')?;
    let missing = written
        .parse::<u64>()
        .ok()?
        .checked_sub(kept.parse().ok()?)?;
    (missing > 0).then_some(missing)
}

#[cfg(test)]
mod tests {
    use super::lost;

    #[test]
    fn both_ways_to_say_that_events_are_lost() {
        assert_eq!(lost("CPU:0 [LOST 12 EVENTS]"), Some(12));
        assert_eq!(lost("CPU:1 [LOST EVENTS]"), Some(1));
        assert_eq!(
            lost("# entries-in-buffer/entries-written: 10/22   #P:2"),
            Some(12)
        );
        assert_eq!(
            lost("# entries-in-buffer/entries-written: 22/22   #P:2"),
            None
        );
        assert_eq!(
            lost(" x-1 [000] 1.0: block_bio_queue: 98,0 WS 0 + 8 [LOST]"),
            None
        );
    }
}
