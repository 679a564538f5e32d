//! How a trace file is compressed, told by its first bytes.

use std::fmt;
use std::io::{self, BufReader, Read};

use flate2::bufread::GzDecoder;
use serde::{Deserialize, Serialize};

use crate::bytes::ahead::ReadAhead;
use crate::bytes::decoders;
use crate::bytes::members::Members;
use crate::bytes::source::Raw;

/// Compression of a trace file. Several frames, members or streams in a row are read as one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub enum Container {
    /// Not compressed.
    #[default]
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

/// Buffer between the file and a decompressor.
const BUFFER: usize = 256 << 10;
/// Length of the longest magic.
const MAGIC: usize = 6;

const GZIP: &[u8] = b"\x1f\x8b";
pub(super) const XZ: &[u8] = b"\xfd7zXZ\0";

/// Magics of what is not read, to say so instead of "no format fits".
const REFUSED: [(&[u8], &str); 9] = [
    (b"BZh", "bzip2"),
    (b"PK\x03\x04", "zip"),
    (b"\x04\x22\x4d\x18", "lz4"),
    (b"7z\xbc\xaf\x27\x1c", "7z"),
    (b"\x5d\0\0", "lzma"),
    (b"\x1f\x9d", "compress (.Z)"),
    (b"Rar!", "rar"),
    (b"\x89LZO", "lzop"),
    (b"\xff\x06\0\0sN", "snappy"),
];

/// Is it that magic, or its beginning and all there is of the file? One byte says too little.
fn is(head: &[u8], magic: &[u8]) -> bool {
    head.starts_with(magic) || head.len() > 1 && magic.starts_with(head)
}

fn detect(head: &[u8]) -> Result<Container, &'static str> {
    if let Some((_, name)) = REFUSED.iter().find(|(magic, _)| head.starts_with(magic)) {
        return Err(name);
    }
    // A parallel zstd writer may start with a skippable frame (0x184D2A50 to 0x184D2A5F).
    let skippable = head.len() >= 4 && head[0] & 0xf0 == 0x50 && head[1..4] == *b"\x2a\x4d\x18";
    Ok(match head {
        _ if skippable || is(head, b"\x28\xb5\x2f\xfd") => Container::Zstd,
        _ if is(head, GZIP) => Container::Gzip,
        _ if is(head, XZ) => Container::Xz,
        _ => Container::Plain,
    })
}

/// Bytes by which an archive is known: the header of a tar archive.
pub(crate) const HEAD: usize = 512;

/// The kind of the decompressed bytes that begin with `head`, if they have to be unpacked once
/// more.
pub(crate) fn packed(container: Container, head: &[u8]) -> Option<&'static str> {
    if is_tar(head) {
        return Some("tar archive");
    }
    let twice = container != Container::Plain && detect(head) != Ok(Container::Plain);
    (twice && head.len() >= MAGIC).then_some("a compressed file inside a compressed file")
}

/// A header of a tar archive has a checksum in octal digits; old ones have no magic.
fn is_tar(head: &[u8]) -> bool {
    const SUM: std::ops::Range<usize> = 148..156;
    let Some(head) = head.get(..HEAD) else {
        return false;
    };
    let sum = |(at, &byte)| u32::from(if SUM.contains(&at) { b' ' } else { byte });
    let sum: u32 = head.iter().enumerate().map(sum).sum();
    let digits = std::str::from_utf8(&head[SUM]).unwrap_or("");
    let digits = digits.trim_matches(['\0', ' ']);
    head[0] != 0 && u32::from_str_radix(digits, 8) == Ok(sum)
}

/// The content of a raw stream: the kind, and the decompressed bytes; or the name of a kind that is
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
        Container::Gzip => {
            let start = |all| Ok(GzDecoder::new(all));
            let (bytes, end) = (buffered(all), GzDecoder::into_inner);
            Box::new(Members::new(bytes, GZIP[0], start, end)?)
        }
        Container::Zstd => decoders::zstd(buffered(all))?,
        Container::Xz => decoders::xz(buffered(all))?,
    };
    // A browser has no thread for it.
    let alone = container == Container::Plain || cfg!(target_family = "wasm");
    let plain = match alone {
        true => plain,
        false => Box::new(ReadAhead::start("trace-unpack", plain)?),
    };
    Ok(Ok((container, plain)))
}
