//! gzip members and xz streams in a row, decoded as one. The decoders could do that themselves, but
//! take whatever follows the last one for a damaged next one.

use std::io::{self, BufRead, Read};

/// Decoders `D` of what the bytes `R` hold, one behind the other.
pub(crate) struct Members<R, D> {
    /// `None` behind the last one.
    decoder: Option<D>,
    /// First byte of a member.
    magic: u8,
    start: fn(R) -> io::Result<D>,
    end: fn(D) -> R,
}

impl<R: BufRead, D: Read> Members<R, D> {
    pub fn new(
        bytes: R,
        magic: u8,
        start: fn(R) -> io::Result<D>,
        end: fn(D) -> R,
    ) -> io::Result<Members<R, D>> {
        let decoder = Some(start(bytes)?);
        Ok(Members {
            decoder,
            magic,
            start,
            end,
        })
    }

    /// The member after the end of another one, if there is one.
    fn next(&self, mut bytes: R) -> io::Result<Option<D>> {
        let (padding, first) = skip_zeros(&mut bytes)?;
        match first {
            // xz allows zeros in fours as padding, and gzip passes over them.
            None if padding.is_multiple_of(4) => Ok(None),
            Some(byte) if byte == self.magic && padding.is_multiple_of(4) => {
                (self.start)(bytes).map(Some)
            }
            _ => {
                let why = "trailing data behind the end of the compressed data";
                Err(io::Error::new(io::ErrorKind::InvalidData, why))
            }
        }
    }
}

/// Steps over zeros and counts them; what byte stands behind them?
fn skip_zeros(bytes: &mut impl BufRead) -> io::Result<(u64, Option<u8>)> {
    let mut zeros = 0;
    loop {
        let buffer = match bytes.fill_buf() {
            Ok(buffer) => buffer,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            Err(e) => return Err(e),
        };
        let here = buffer.iter().take_while(|&&b| b == 0).count();
        let (first, ended) = (buffer.get(here).copied(), buffer.is_empty());
        bytes.consume(here);
        zeros += here as u64;
        if first.is_some() || ended {
            return Ok((zeros, first));
        }
    }
}

impl<R: BufRead, D: Read> Read for Members<R, D> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        while let Some(decoder) = &mut self.decoder {
            let n = decoder.read(buffer)?;
            if n > 0 {
                return Ok(n);
            }
            if let Some(ended) = self.decoder.take() {
                self.decoder = self.next((self.end)(ended))?;
            }
        }
        Ok(0)
    }
}
