//! How a trace file is compressed, told by its first bytes.

use std::fmt;
use std::io::{self, BufReader, Read};

use liblzma::stream::{CONCATENATED, Stream};

use crate::source::Raw;

/// Compression of a trace file. Several frames, members or streams in a row are read as one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Container {
    /// Not compressed.
    Plain,
    /// Zstandard, RFC 8878.
    Zstd,
    /// gzip, RFC 1952.
    Gzip,
    /// xz (LZMA2).
    Xz,
}

impl fmt::Display for Container {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Container::Plain => "plain",
            Container::Zstd => "zstd",
            Container::Gzip => "gzip",
            Container::Xz => "xz",
        })
    }
}

/// Window of a zstd frame, as a power of two: 128 MiB, all that `zstd` writes without `--long`.
const ZSTD_WINDOW_LOG: u32 = 27;
/// Memory an xz stream may ask for; `xz -9` needs 65 MiB.
const XZ_MEMORY: u64 = 256 << 20;
/// Buffer between the file and a decompressor.
const BUFFER: usize = 256 << 10;
/// Length of the longest magic.
const MAGIC: usize = 6;

/// Magics of what is not read, to say so instead of "no format fits".
const REFUSED: [(&[u8], &str); 4] = [
    (b"BZh", "bzip2"),
    (b"PK\x03\x04", "zip"),
    (b"\x04\x22\x4d\x18", "lz4"),
    (b"7z\xbc\xaf\x27\x1c", "7z"),
];

fn detect(head: &[u8]) -> Result<Container, &'static str> {
    if let Some((_, name)) = REFUSED.iter().find(|(magic, _)| head.starts_with(magic)) {
        return Err(name);
    }
    // A parallel zstd writer may start with a skippable frame (0x184D2A50 to 0x184D2A5F).
    let skippable = head.len() >= 4 && head[0] & 0xf0 == 0x50 && head[1..4] == *b"\x2a\x4d\x18";
    Ok(match head {
        _ if skippable || head.starts_with(b"\x28\xb5\x2f\xfd") => Container::Zstd,
        _ if head.starts_with(b"\x1f\x8b") => Container::Gzip,
        _ if head.starts_with(b"\xfd7zXZ\0") => Container::Xz,
        _ => Container::Plain,
    })
}

/// What a raw stream holds: the kind, and the decompressed bytes; or the name of a kind that is
/// not read.
pub(crate) type Opened = Result<(Container, Box<dyn Read + Send>), &'static str>;

pub(crate) fn open(mut raw: Raw) -> io::Result<Opened> {
    let mut head = Vec::with_capacity(MAGIC);
    raw.by_ref().take(MAGIC as u64).read_to_end(&mut head)?;
    let container = match detect(&head) {
        Ok(container) => container,
        Err(name) => return Ok(Err(name)),
    };
    let all = io::Cursor::new(head).chain(raw);
    let buffered = |all| BufReader::with_capacity(BUFFER, all);
    let plain: Box<dyn Read + Send> = match container {
        Container::Plain => Box::new(all),
        Container::Gzip => Box::new(flate2::bufread::MultiGzDecoder::new(buffered(all))),
        Container::Zstd => {
            let mut decoder = zstd::stream::read::Decoder::with_buffer(buffered(all))?;
            decoder.window_log_max(ZSTD_WINDOW_LOG)?;
            Box::new(decoder)
        }
        Container::Xz => {
            let stream = Stream::new_stream_decoder(XZ_MEMORY, CONCATENATED)?;
            Box::new(liblzma::bufread::XzDecoder::new_stream(
                buffered(all),
                stream,
            ))
        }
    };
    Ok(Ok((container, plain)))
}
