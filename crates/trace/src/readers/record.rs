//! The frame of binary formats that are nothing but records of one size.

use destage_types::RequestBatch;

use crate::bytes::input::Input;
use crate::error::{BadLine, FieldFault, TraceError};
use crate::readers::{FormatInfo, LoadOptions, ReadCounts, ReaderFacts, TraceReader};
use crate::sink::{Intake, RequestSink};

/// Bytes that a format may look at before the first record.
const HEAD: usize = 4_096;

/// The parts of a reader that one format of records defines.
pub(crate) trait RecordFormat: ReaderFacts + Send {
    /// Nanoseconds of one unit of the arrival field.
    const TICK_NS: u64;

    /// Looks at the first bytes, for formats in several versions.
    ///
    /// # Errors
    /// Why they are not of the format.
    fn start(&mut self, _head: &[u8]) -> Result<(), &'static str> {
        Ok(())
    }

    /// Bytes of a record.
    fn size(&self) -> usize;

    /// Reads one record and pushes at most one request. A record that fails must push nothing.
    fn record(&mut self, bytes: &[u8], sink: &mut RequestSink<'_>) -> Result<(), FieldFault>;

    /// The field of a column, for messages.
    fn field(&self, bytes: &[u8], column: usize) -> String;
}

/// Reads any [`RecordFormat`].
pub(crate) struct RecordReader<F> {
    info: &'static FormatInfo,
    format: F,
    input: Input,
    options: LoadOptions,
    intake: Intake,
    started: bool,
    ended: bool,
}

impl<F: RecordFormat> RecordReader<F> {
    pub fn new(info: &'static FormatInfo, format: F, input: Input, options: LoadOptions) -> Self {
        let intake = Intake::new(F::TICK_NS, options.restarts);
        RecordReader {
            info,
            format,
            input,
            options,
            intake,
            started: false,
            ended: false,
        }
    }

    fn start(&mut self) -> Result<(), TraceError> {
        self.started = true;
        while self.input.window().len() < HEAD && self.input.fill()? {}
        let window = self.input.window();
        let head = &window[..window.len().min(HEAD)];
        let started = self.format.start(head);
        started.map_err(|reason| self.input.malformed(self.info.name, reason))
    }

    fn read(&mut self, out: &mut RequestBatch, goal: usize) -> Result<(), TraceError> {
        if !self.started {
            self.start()?;
        }
        let size = self.format.size();
        while out.len() < goal {
            let len = self.input.window().len();
            if len < size {
                if self.input.fill()? {
                    continue;
                }
                self.ended = true;
                if len > 0 {
                    self.intake.counts.lines += 1;
                    self.input.consume(len);
                    let cut = FieldFault::line("the record is cut off");
                    self.bad(cut, format!("{len} bytes"))?;
                }
                return Ok(());
            }
            if let Some(fault) = self.buffered(out, goal, size) {
                let bytes = &self.input.window()[..size];
                let value = match fault.column {
                    FieldFault::LINE => format!("{size} bytes"),
                    column => self.format.field(bytes, usize::from(column)),
                };
                self.bad(fault, value)?;
                self.input.consume(size);
            }
        }
        Ok(())
    }

    /// Reads the whole records of the window up to the first bad one.
    fn buffered(&mut self, out: &mut RequestBatch, goal: usize, size: usize) -> Option<FieldFault> {
        // No such format has lists.
        let mut sink = self.intake.sink(out, goal, u64::MAX);
        let (mut read, mut bad) = (0, None);
        for bytes in self.input.window().chunks_exact(size) {
            if sink.out.len() >= goal {
                break;
            }
            sink.intake.counts.lines += 1;
            if let Err(fault) = self.format.record(bytes, &mut sink) {
                bad = Some(fault);
                break;
            }
            read += size;
        }
        self.input.consume(read);
        bad
    }

    fn bad(&mut self, fault: FieldFault, value: String) -> Result<(), TraceError> {
        let column = self.info.columns.get(usize::from(fault.column));
        let skip = self.options.skip_bad_lines;
        self.intake.counts.bad(skip, |line| BadLine {
            file: self.input.file().to_owned(),
            unit: "record",
            line,
            column: column.map(|c| (usize::from(fault.column) + 1, c.name)),
            value,
            reason: fault.why,
            allowed: column.map_or_else(|| self.info.line_shape(), |c| c.allowed.to_owned()),
        })
    }
}

impl<F: RecordFormat> TraceReader for RecordReader<F> {
    fn next_batch(&mut self, out: &mut RequestBatch, max: usize) -> Result<usize, TraceError> {
        let before = out.len();
        if !self.ended {
            let result = self.read(out, before.saturating_add(max));
            self.ended |= result.is_err();
            result?;
        }
        Ok(out.len() - before)
    }

    fn counts(&self) -> &ReadCounts {
        &self.intake.counts
    }

    fn facts(&self) -> &dyn ReaderFacts {
        &self.format
    }
}

/// The little-endian number of `N` bytes at `at`.
///
/// # Panics
/// If the record is shorter than that.
pub(crate) fn le<const N: usize>(bytes: &[u8], at: usize) -> u64 {
    let mut word = [0; 8];
    word[..N].copy_from_slice(&bytes[at..at + N]);
    u64::from_le_bytes(word)
}
