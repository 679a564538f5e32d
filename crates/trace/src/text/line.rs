//! The frame that all line-oriented formats share: finding lines, comments, bad lines, arrivals.

use destage_types::RequestBatch;

use crate::bytes::input::{BOM, Input, MAX_LINE, ends_with_cr};
use crate::error::{BadLine, FieldFault, TraceError, shown};
use crate::options::LoadOptions;
use crate::readers::{FormatInfo, ReadCounts, ReaderFacts, TraceReader};
pub(crate) use crate::sink::RequestSink;
use crate::sink::{Intake, LISTS};
use crate::text::fields::RawLine;
use crate::text::unusual::unusual;

/// The parts of a reader that one line-oriented format defines.
pub(crate) trait LineFormat: ReaderFacts + Send {
    /// Nanoseconds of one unit of the arrival column; 1 for formats without one.
    const TICK_NS: u64;

    /// Reads one line and pushes at most one request, or a second one by [`RequestSink::push_second`].
    /// A line that fails must push nothing.
    fn line(&mut self, line: RawLine<'_>, sink: &mut RequestSink<'_>) -> Result<(), FieldFault>;

    /// The field at `position` of a line, for messages.
    fn field<'a>(&self, text: &'a [u8], position: usize, info: &FormatInfo) -> &'a [u8] {
        info.separator.split(text).nth(position).unwrap_or(b"")
    }

    /// Reads a comment, without the `#`. Most formats give them no meaning.
    fn comment(&mut self, _text: &[u8]) -> Result<(), FieldFault> {
        Ok(())
    }

    /// The line that follows is the last one and has no line end. Some formats can tell whether it
    /// was cut off.
    fn last_line_is_open(&mut self) {}

    /// Pushes the request that was held back for further lines, if there is one, and checks that the trace
    /// is whole, where the format can tell.
    fn finish(&mut self, _sink: &mut RequestSink<'_>) -> Result<(), FieldFault> {
        Ok(())
    }
}

/// Reads any [`LineFormat`].
pub(crate) struct LineReader<F> {
    info: &'static FormatInfo,
    format: F,
    input: Input,
    options: LoadOptions,
    intake: Intake,
    /// Requests and bytes of lists that the batch may hold.
    goal: (usize, u64),
    /// Bytes of the window known to hold no line end.
    scanned: usize,
    /// Inside a line that is too long, up to its end.
    discarding: bool,
    /// Is it known which byte ends a line?
    line_end_known: bool,
    state: State,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// Lines may follow.
    Lines,
    /// All lines are read; the format may hold a request back.
    Last,
    /// Nothing follows, or an error came up.
    End,
}

impl<F: LineFormat> LineReader<F> {
    pub fn new(
        info: &'static FormatInfo,
        format: F,
        mut input: Input,
        options: LoadOptions,
    ) -> Self {
        if input.window().starts_with(BOM) {
            input.consume(BOM.len()); // It is no part of the first line.
        }
        let mut columns = info.columns.iter();
        let tick_ns = columns.find_map(|column| column.tick_ns(options.time_unit));
        let intake = Intake::new(tick_ns.unwrap_or(F::TICK_NS), options.restarts);
        LineReader {
            info,
            format,
            input,
            options,
            intake,
            goal: (0, 0),
            scanned: 0,
            discarding: false,
            line_end_known: false,
            state: State::Lines,
        }
    }

    /// Looks for the end of the first line: a CR that no LF follows ends all lines of the file.
    fn find_line_end(&mut self) -> Result<(), TraceError> {
        let mut seen = 0;
        while !self.line_end_known {
            let window = self.input.window();
            match ends_with_cr(window, seen) {
                Some(cr) => {
                    self.line_end_known = true;
                    if cr {
                        self.input.end_lines_at_cr();
                    }
                }
                None => {
                    // A CR may be the last byte so far.
                    seen = window.len().saturating_sub(1);
                    self.line_end_known = window.len() > MAX_LINE || !self.input.fill()?;
                }
            }
        }
        Ok(())
    }

    /// Parses the complete lines of the window until `out` is full.
    fn buffered_lines(&mut self, out: &mut RequestBatch) -> Result<(), TraceError> {
        if self.discarding && !self.discard_line() {
            return Ok(());
        }
        while out.len() < self.goal.0 {
            let (padded, len) = (self.input.padded(), self.input.window().len());
            let mut sink = self.intake.sink(out, self.goal.0, self.goal.1);
            let (mut start, mut scanned) = (0, self.scanned);
            let mut bad = None;
            while sink.out.len() < sink.goal {
                let Some(n) = memchr::memchr(b'\n', &padded[start + scanned..len]) else {
                    scanned = len - start;
                    break;
                };
                let line = &padded[start..];
                let end = scanned + n;
                scanned = 0;
                sink.intake.counts.lines += 1;
                if let Err(fault) = parse(&mut self.format, line, end, &mut sink)
                    && let Err(fault) =
                        unusual(self.info, &mut self.format, &line[..end], fault, &mut sink)
                {
                    bad = Some((fault, end));
                    break;
                }
                start += end + 1;
            }
            self.goal.0 = sink.goal;
            self.scanned = scanned;
            self.input.consume(start);
            let Some((fault, end)) = bad else { break };
            self.bad_line(fault, end)?;
            self.input.consume(end + 1);
        }
        Ok(())
    }

    /// Drops the rest of a line that is too long. False if its end is not in the window.
    #[cold]
    fn discard_line(&mut self) -> bool {
        let window = self.input.window();
        let end = memchr::memchr(b'\n', window);
        let len = end.map_or(window.len(), |n| n + 1);
        self.input.consume(len);
        self.scanned = 0;
        self.discarding = end.is_none();
        end.is_some()
    }

    #[cold]
    fn bad_line(&mut self, fault: FieldFault, len: usize) -> Result<(), TraceError> {
        let text = self.input.window()[..len].trim_ascii_end();
        let describe = |line| {
            let position = usize::from(fault.column);
            let place = (fault.column != FieldFault::LINE).then_some(position);
            let column = place.and(self.info.columns.get(usize::from(fault.known)));
            let field = |position| self.format.field(text, position, self.info);
            BadLine {
                file: self.input.file().to_owned(),
                unit: "line",
                line,
                column: place.map(|place| (place + 1, column.map_or("", |c| c.name))),
                value: shown(place.map_or(text, field)),
                reason: fault.why,
                allowed: match (column, self.options.time_unit) {
                    (Some(column), Some(unit)) if column.is_time() => format!("a number of {unit}"),
                    (Some(column), _) => column.allowed.to_owned(),
                    (None, _) => self.info.line_shape(),
                },
            }
        };
        let skip = self.options.skip_bad_lines;
        self.intake.counts.bad(skip, describe)
    }

    /// The window holds no line end: gets more bytes, or deals with the end of the trace.
    fn refill(&mut self) -> Result<(), TraceError> {
        let len = self.input.window().len();
        if len > MAX_LINE {
            self.intake.counts.lines += 1;
            self.discarding = true;
            let long = FieldFault::line("is a line of over 16 MiB");
            return self.bad_line(long, len);
        }
        if self.input.fill()? {
            return Ok(());
        }
        if self.input.window().is_empty() {
            self.state = State::Last;
        } else {
            self.format.last_line_is_open();
            self.input.end_last_line();
        }
        Ok(())
    }

    fn step(&mut self, out: &mut RequestBatch) -> Result<(), TraceError> {
        self.find_line_end()?;
        self.buffered_lines(out)?;
        match out.len() < self.goal.0 {
            true => self.refill(),
            false => Ok(()),
        }
    }

    fn last_request(&mut self, out: &mut RequestBatch) -> Result<(), TraceError> {
        let goal = out.len() + 1;
        let mut sink = self.intake.sink(out, goal, self.goal.1);
        match self.format.finish(&mut sink) {
            Ok(()) => Ok(()),
            Err(fault) => self.bad_line(fault, 0),
        }
    }
}

/// Parses the first `len` bytes of `padded`, unless they are a comment or blank.
#[inline(always)]
fn parse<F: LineFormat>(
    format: &mut F,
    padded: &[u8],
    len: usize,
    sink: &mut RequestSink<'_>,
) -> Result<(), FieldFault> {
    let mut end = len;
    while end > 0 && matches!(padded[end - 1], b'\r' | b' ' | b'\t') {
        end -= 1;
    }
    if end == 0 {
        return Ok(());
    }
    if padded[0] == b'#' {
        return format.comment(&padded[1..end]);
    }
    format.line(RawLine::new(padded, end), sink)
}

impl<F: LineFormat> TraceReader for LineReader<F> {
    fn next_batch(&mut self, out: &mut RequestBatch, max: usize) -> Result<usize, TraceError> {
        let before = out.len();
        let goal = before.saturating_add(max);
        self.goal = (goal, out.side_memory() + LISTS);
        if out.len() < goal {
            self.intake.give_extra(out);
        }
        while out.len() < self.goal.0 && self.state == State::Lines {
            if let Err(error) = self.step(out) {
                self.state = State::End;
                return Err(error);
            }
        }
        if self.state == State::Last && out.len() < self.goal.0 {
            self.state = State::End;
            self.last_request(out)?;
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
