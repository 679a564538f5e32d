//! The buffer between the decompressed bytes and a reader.

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use crate::bytes::container::{self, Container};
use crate::bytes::source::Raw;
use crate::error::TraceError;

/// Bytes behind the data that may be read (not used): lets number parsing load whole words.
pub(crate) const PAD: usize = 16;
/// First size of the buffer; it grows only for longer lines.
const START: usize = 256 << 10;
/// The longest line. A write of 1 GiB with one old address per block needs 4 MiB.
pub(crate) const MAX_LINE: usize = 16 << 20;
/// Byte-order mark, which may stand in front of a text.
pub(crate) const BOM: &[u8] = b"\xef\xbb\xbf";
/// The first bytes that detection may look at.
const MAX_SAMPLE: usize = 4 << 20;

/// Decompressed bytes of a trace with a window that a reader looks at.
pub struct Input {
    reader: Box<dyn Read + Send>,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    eof: bool,
    /// Do lines end with CR alone? Readers are given LF.
    cr: bool,
    file: String,
    container: Container,
    /// The file that has these very bytes.
    path: Option<PathBuf>,
}

impl Input {
    pub(crate) fn open(raw: Raw, file: String) -> Result<Input, TraceError> {
        let path = raw.path().map(Path::to_owned);
        let (container, reader) = match container::open(raw) {
            Ok(Ok(pair)) => pair,
            Ok(Err(container)) => return Err(TraceError::Container { file, container }),
            Err(source) => return Err(TraceError::Io { file, source }),
        };
        let mut input = Input {
            reader,
            buffer: vec![0; START + PAD],
            start: 0,
            end: 0,
            eof: false,
            cr: false,
            file,
            container,
            path: path.filter(|_| container == Container::Plain),
        };
        while input.end < container::HEAD && input.fill()? {}
        match container::packed(container, input.window()) {
            Some(what) => Err(TraceError::Foreign {
                file: input.file,
                what,
                advice: "unpack it and read what it holds",
            }),
            None => Ok(input),
        }
    }

    pub(crate) fn file(&self) -> &str {
        &self.file
    }

    /// The error about a file that is no good one of a format.
    #[cold]
    pub(crate) fn malformed(&self, format: &'static str, reason: impl ToString) -> TraceError {
        let (file, reason) = (self.file.clone(), reason.to_string());
        TraceError::Malformed {
            file,
            format,
            reason,
        }
    }

    pub(crate) fn container(&self) -> Container {
        self.container
    }

    /// The file that has these very bytes and can be read anywhere; `None` for pipes and compressed files.
    // Only the reader of Parquet asks.
    #[cfg_attr(target_family = "wasm", allow(dead_code))]
    pub(crate) fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// Bytes that are buffered and not consumed.
    #[inline]
    pub(crate) fn window(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// The window and the [`PAD`] bytes behind it; the pad holds no digit.
    #[inline]
    pub(crate) fn padded(&self) -> &[u8] {
        &self.buffer[self.start..self.end + PAD]
    }

    #[inline]
    pub(crate) fn consume(&mut self, bytes: usize) {
        self.start += bytes;
        debug_assert!(self.start <= self.end);
    }

    /// Adds bytes to the window, growing the buffer if it is full of them. False at the end.
    pub(crate) fn fill(&mut self) -> Result<bool, TraceError> {
        if self.eof {
            return Ok(false);
        }
        let room = self.buffer.len() - PAD;
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        } else if self.start > 0 && self.end == room {
            self.buffer.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
        } else if self.end == room {
            self.buffer.resize(2 * room + PAD, 0);
        }
        let room = self.buffer.len() - PAD;
        let n = loop {
            match self.reader.read(&mut self.buffer[self.end..room]) {
                Ok(n) => break n,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(source) => return Err(self.refused(source)),
            }
        };
        if self.cr {
            lf_for_cr(&mut self.buffer[self.end..self.end + n]);
        }
        self.end += n;
        self.buffer[self.end..self.end + PAD].fill(0);
        self.eof = n == 0;
        Ok(n > 0)
    }

    /// From here on lines end with CR, for which readers are given LF.
    pub(crate) fn end_lines_at_cr(&mut self) {
        self.cr = true;
        lf_for_cr(&mut self.buffer[self.start..self.end]);
    }

    /// Puts the line end behind the last line that the file lacks there.
    pub(crate) fn end_last_line(&mut self) {
        self.buffer.insert(self.end, b'\n');
        self.end += 1;
    }

    fn refused(&mut self, source: io::Error) -> TraceError {
        self.eof = true;
        let (file, container) = (self.file.clone(), self.container);
        // Errors of the system carry its number; all others come from a decompressor.
        match source.raw_os_error().is_some() || container == Container::Plain {
            true => TraceError::Io { file, source },
            false => TraceError::Damaged {
                file,
                container,
                source,
            },
        }
    }

    /// Buffers the first `lines` lines, or as much as fits, and returns the window.
    pub(crate) fn sample(&mut self, lines: usize) -> Result<&[u8], TraceError> {
        let (mut seen, mut newlines) = (0, 0);
        loop {
            newlines += memchr::memchr_iter(b'\n', &self.window()[seen..]).count();
            seen = self.window().len();
            if newlines >= lines || seen >= MAX_SAMPLE || !self.fill()? {
                return Ok(self.window());
            }
        }
    }

    /// Is everything in the window?
    pub(crate) fn at_end(&self) -> bool {
        self.eof
    }
}

fn lf_for_cr(bytes: &mut [u8]) {
    for byte in bytes.iter_mut().filter(|byte| **byte == b'\r') {
        *byte = b'\n';
    }
}

/// Does the first line end with a CR alone? `None`: it goes on behind `text`, whose first `seen`
/// bytes hold no line end.
pub(crate) fn ends_with_cr(text: &[u8], seen: usize) -> Option<bool> {
    let end = seen + memchr::memchr2(b'\n', b'\r', &text[seen..])?;
    match text[end] {
        b'\n' => Some(false),
        _ => text.get(end + 1).map(|&next| next != b'\n'),
    }
}
