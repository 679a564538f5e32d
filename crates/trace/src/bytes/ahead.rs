//! Hashing and unpacking on threads of their own, so that lines are read while the next bytes are hashed and unpacked.

use std::io::{self, Read};
use std::sync::mpsc::{Receiver, Sender, channel, sync_channel};
use std::thread::Builder;

/// Bytes of a piece, and how many pieces there are.
const PIECE: usize = 256 << 10;
const PIECES: usize = 4;

/// The bytes of another reader, which a thread reads ahead of need.
///
/// Nobody waits for the thread. It ends when its reader does, or with the first piece that nobody takes.
pub(crate) struct ReadAhead {
    full: Receiver<io::Result<Vec<u8>>>,
    empty: Sender<Vec<u8>>,
    piece: Vec<u8>,
    /// Bytes of the piece that were taken.
    taken: usize,
    /// The thread has sent the end or an error, and sends nothing more.
    ended: bool,
}

impl ReadAhead {
    pub fn start(thread: &str, mut reader: impl Read + Send + 'static) -> io::Result<ReadAhead> {
        let (send, full) = sync_channel(PIECES);
        let (empty, emptied) = channel();
        for _ in 0..PIECES {
            // The receiver is held right here.
            let _ = empty.send(Vec::new());
        }
        let read_all = move || {
            for piece in emptied {
                let read = fill(&mut reader, piece);
                let last = !matches!(&read, Ok(piece) if !piece.is_empty());
                if send.send(read).is_err() || last {
                    break;
                }
            }
        };
        let thread = Builder::new().name(thread.to_owned());
        thread.spawn(read_all)?;
        Ok(ReadAhead {
            full,
            empty,
            piece: Vec::new(),
            taken: 0,
            ended: false,
        })
    }

    /// Replaces a piece that is used up by the next one from the thread.
    fn next(&mut self) -> io::Result<()> {
        let piece = std::mem::take(&mut self.piece);
        self.taken = 0;
        // At the end the thread wants none back.
        let _ = self.empty.send(piece);
        let died = |_| io::Error::other("the thread that reads it ended early");
        let next = self.full.recv().map_err(died)?;
        self.ended = !matches!(&next, Ok(piece) if !piece.is_empty());
        self.piece = next?;
        Ok(())
    }
}

/// The next bytes in `piece`; none at the end.
fn fill(reader: &mut dyn Read, mut piece: Vec<u8>) -> io::Result<Vec<u8>> {
    piece.resize(PIECE, 0);
    loop {
        match reader.read(&mut piece) {
            Ok(n) => {
                piece.truncate(n);
                return Ok(piece);
            }
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
}

impl Read for ReadAhead {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.taken == self.piece.len() && !self.ended {
            self.next()?;
        }
        let rest = &self.piece[self.taken..];
        let n = rest.len().min(buffer.len());
        buffer[..n].copy_from_slice(&rest[..n]);
        self.taken += n;
        Ok(n)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives a byte at a time, is interrupted now and then, and fails at last.
    struct Slow(u8);

    impl Read for Slow {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.0 += 1;
            match self.0 {
                100 => Err(io::ErrorKind::InvalidData.into()),
                n if n % 7 == 0 => Err(io::ErrorKind::Interrupted.into()),
                n => {
                    buffer[0] = n;
                    Ok(1)
                }
            }
        }
    }

    #[test]
    fn bytes_come_in_order_and_end_as_they_do() {
        let bytes: Vec<u8> = (0..3 * PIECE + 7).map(|n| (n % 251) as u8).collect();
        let mut ahead = ReadAhead::start("test", io::Cursor::new(bytes.clone())).unwrap();
        let mut read = Vec::new();
        ahead.read_to_end(&mut read).unwrap();
        assert_eq!(read, bytes);
        assert_eq!(ahead.read(&mut [0]).unwrap(), 0);
    }

    #[test]
    fn an_error_follows_the_bytes_in_front_of_it() {
        let mut ahead = ReadAhead::start("test", Slow(0)).unwrap();
        let mut read = Vec::new();
        let error = ahead.read_to_end(&mut read).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
        assert_eq!(read, (1..100).filter(|n| n % 7 != 0).collect::<Vec<u8>>());
    }

    #[test]
    fn a_reader_that_is_dropped_stops_the_thread() {
        let (watch, ended) = channel::<()>();
        struct Endless {
            _alive: Sender<()>,
        }
        impl Read for Endless {
            fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
                Ok(buffer.len())
            }
        }
        drop(ReadAhead::start("test", Endless { _alive: watch }).unwrap());
        // The sender goes with the thread.
        assert!(ended.recv().is_err());
    }
}
