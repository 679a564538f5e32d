//! Compresses what is written. The same input gives the same bytes: no time, no name, one thread.

use std::io::{self, Write};
use std::path::Path;

use flate2::GzBuilder;
use flate2::write::GzEncoder;
use liblzma::stream::{Check, Stream};
use liblzma::write::XzEncoder;
use zstd::Encoder;

use crate::bytes::container::Container;

/// The usual level of `zstd`.
const ZSTD_LEVEL: i32 = 3;
/// That of `xz` takes 94 MiB of memory, this one 32 MiB for a file that is little larger.
const XZ_LEVEL: u32 = 3;

/// An output that is plain or compressed as the end of its file name says.
pub struct CompressedWriter<W: Write>(Inner<W>);

enum Inner<W: Write> {
    Plain(W),
    Zstd(Encoder<'static, W>),
    Gzip(GzEncoder<W>),
    Xz(XzEncoder<W>),
}

impl Container {
    /// How a file of this name is written: `.zst`, `.gz` and `.xz` are compressed, others plain.
    pub fn of_name(file: &Path) -> Container {
        match file.extension().and_then(|extension| extension.to_str()) {
            Some("zst") => Container::Zstd,
            Some("gz") => Container::Gzip,
            Some("xz") => Container::Xz,
            _ => Container::Plain,
        }
    }
}

impl<W: Write> CompressedWriter<W> {
    /// Writes to `out` as `container` says.
    ///
    /// # Errors
    /// The compressor cannot be set up.
    pub fn new(container: Container, out: W) -> io::Result<CompressedWriter<W>> {
        Ok(CompressedWriter(match container {
            Container::Plain => Inner::Plain(out),
            Container::Zstd => {
                let mut encoder = Encoder::new(out, ZSTD_LEVEL)?;
                encoder.include_checksum(true)?;
                Inner::Zstd(encoder)
            }
            Container::Gzip => {
                Inner::Gzip(GzBuilder::new().write(out, flate2::Compression::default()))
            }
            Container::Xz => {
                let stream = Stream::new_easy_encoder(XZ_LEVEL, Check::Crc64)?;
                Inner::Xz(XzEncoder::new_stream(out, stream))
            }
        }))
    }

    /// Ends the file; without that, what was written is cut off.
    ///
    /// # Errors
    /// Writing fails.
    pub fn finish(self) -> io::Result<()> {
        let mut out = match self.0 {
            Inner::Plain(out) => out,
            Inner::Zstd(encoder) => encoder.finish()?,
            Inner::Gzip(encoder) => encoder.finish()?,
            Inner::Xz(encoder) => encoder.finish()?,
        };
        out.flush()
    }
}

impl<W: Write> Write for CompressedWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.0 {
            Inner::Plain(out) => out.write(bytes),
            Inner::Zstd(encoder) => encoder.write(bytes),
            Inner::Gzip(encoder) => encoder.write(bytes),
            Inner::Xz(encoder) => encoder.write(bytes),
        }
    }

    /// Compressors keep what they have until [`CompressedWriter::finish`]: a block that ends early is a
    /// larger file.
    fn flush(&mut self) -> io::Result<()> {
        match &mut self.0 {
            Inner::Plain(out) => out.flush(),
            _ => Ok(()),
        }
    }
}
