//! Decoders in Rust alone.

use super::{XZ_MEMORY, ZSTD_WINDOW_LOG};
use crate::bytes::container::XZ;
use crate::bytes::members::Members;
use lzma_rust2::XzReader;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};
use std::io::{self, BufRead, Read};

/// The content of xz streams.
pub(crate) fn xz(bytes: impl BufRead + Send + 'static) -> io::Result<Box<dyn Read + Send>> {
    let start = |bytes| {
        let limit_kib = (XZ_MEMORY >> 10) as u32;
        Ok(XzReader::new_mem_limit(bytes, false, limit_kib))
    };
    let members = Members::new(bytes, XZ[0], start, XzReader::into_inner)?;
    Ok(Box::new(members))
}

/// The content of zstd frames.
pub(crate) fn zstd(bytes: impl BufRead + Send + 'static) -> io::Result<Box<dyn Read + Send>> {
    let mut decoder = FrameDecoder::new();
    decoder.set_max_window_size(1 << ZSTD_WINDOW_LOG);
    let mut frames = ZstdFrames {
        bytes,
        decoder,
        state: State::Between,
    };
    frames.start()?;
    Ok(Box::new(frames))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Between,
    Inside,
    End,
}

/// zstd frames, one behind the other.
struct ZstdFrames<R> {
    bytes: R,
    decoder: FrameDecoder,
    state: State,
}

impl<R: BufRead> ZstdFrames<R> {
    /// Reads the header of the next frame that holds data.
    fn start(&mut self) -> io::Result<()> {
        loop {
            if self.bytes.fill_buf()?.is_empty() {
                self.state = State::End;
                return Ok(());
            }
            match self.decoder.reset(&mut self.bytes) {
                Ok(()) => {
                    self.state = State::Inside;
                    return Ok(());
                }
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                    length,
                    ..
                })) => self.skip(u64::from(length))?,
                Err(error) => return Err(damaged(error)),
            }
        }
    }

    fn skip(&mut self, length: u64) -> io::Result<()> {
        let skipped = io::copy(&mut self.bytes.by_ref().take(length), &mut io::sink())?;
        match skipped == length {
            true => Ok(()),
            false => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }

    /// Ends a frame; the decoder leaves the comparison of its checksum to its caller.
    fn end(&mut self) -> io::Result<()> {
        let said = self.decoder.get_checksum_from_data();
        if said.is_some() && said != self.decoder.get_calculated_checksum() {
            return Err(damaged("the checksum of the data is wrong"));
        }
        self.state = State::Between;
        self.start()
    }
}

fn damaged(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}

impl<R: BufRead> Read for ZstdFrames<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.state == State::Inside && !buffer.is_empty() {
            let decoder = &mut self.decoder;
            if decoder.can_collect() > 0 {
                return decoder.read(buffer);
            }
            if decoder.is_finished() {
                self.end()?;
                continue;
            }
            let one = BlockDecodingStrategy::UptoBlocks(1);
            let decoded = decoder.decode_blocks(&mut self.bytes, one);
            decoded.map_err(damaged)?;
        }
        Ok(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytes::container::Container;
    use crate::writers::CompressedWriter;
    use destage_types::rng::SplitMix64;
    use std::io::{BufReader, Cursor, Write};

    type Open = fn(Cursor<Vec<u8>>) -> io::Result<Box<dyn Read + Send>>;
    const KINDS: [(Container, Open); 2] = [(Container::Zstd, zstd), (Container::Xz, xz)];

    fn compressed(container: Container, content: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        let mut writer = CompressedWriter::new(container, &mut out).unwrap();
        writer.write_all(content).unwrap();
        writer.finish().unwrap();
        out
    }

    fn read(open: Open, bytes: Vec<u8>) -> io::Result<Vec<u8>> {
        let mut content = Vec::new();
        open(Cursor::new(bytes))?.read_to_end(&mut content)?;
        Ok(content)
    }

    fn content() -> Vec<u8> {
        let lines = (0..40_000u64).map(|i| format!("{i},{}\n", i * i % 977));
        lines.collect::<String>().into_bytes()
    }

    #[test]
    fn what_the_c_libraries_write_is_read_frame_by_frame() {
        let content = content();
        for (container, open) in KINDS {
            let mut both = compressed(container, &content);
            both.extend(compressed(container, b"more\n"));
            let expected = [&content[..], b"more\n"].concat();
            assert!(read(open, both).unwrap() == expected, "{container}");
        }
        // A skippable frame of 3 B, as parallel writers put in front.
        let mut skipped = b"\x50\x2a\x4d\x18\x03\0\0\0abc".to_vec();
        skipped.extend(compressed(Container::Zstd, b"x"));
        assert_eq!(read(zstd, skipped).unwrap(), b"x");
    }

    #[test]
    fn damage_is_an_error() {
        for (container, open) in KINDS {
            let whole = compressed(container, &content());
            for cut in [whole.len() - 1, whole.len() / 2, 7] {
                assert!(read(open, whole[..cut].to_vec()).is_err(), "{container}");
            }
            let mut changed = whole.clone();
            let middle = changed.len() / 2;
            changed[middle] ^= 1;
            assert!(read(open, changed).is_err(), "{container}");
            let mut trailing = whole;
            trailing.extend(b"trailing");
            assert!(read(open, trailing).is_err(), "{container}");
        }
    }

    /// Where these decoders run, nothing can catch a panic.
    #[test]
    fn mutants_do_not_panic() {
        let mut random = SplitMix64::new(1);
        for (container, open) in KINDS {
            let whole = compressed(container, &content()[..20_000]);
            for _ in 0..600 {
                let mut bytes = whole.clone();
                for _ in 0..=random.below(3) {
                    let at = random.below(bytes.len() as u64) as usize;
                    bytes[at] = random.below(256) as u8;
                }
                let _ = read(open, bytes);
            }
        }
    }

    #[test]
    fn small_reads_give_the_same() {
        let content = content();
        for (container, open) in KINDS {
            let bytes = Cursor::new(compressed(container, &content));
            let mut small = BufReader::with_capacity(7, open(bytes).unwrap());
            let mut found = Vec::new();
            small.read_to_end(&mut found).unwrap();
            assert!(found == content, "{container}");
        }
    }
}
