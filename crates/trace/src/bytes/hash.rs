//! SHA-256 of a file as stored, on its own thread so that reading is not slowed.

use std::io;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread::{Builder, JoinHandle};

use sha2::{Digest, Sha256};

/// Bytes handed over at once, and how many such pieces are on their way at most.
const PIECE: usize = 256 << 10;
const PIECES: usize = 4;

const ALIVE: &str = "the hash thread lives until its channel is closed";

pub(crate) struct HashThread {
    current: Vec<u8>,
    full: SyncSender<Vec<u8>>,
    empty: Receiver<Vec<u8>>,
    thread: JoinHandle<String>,
}

impl HashThread {
    pub fn start() -> io::Result<HashThread> {
        let (full, received) = sync_channel::<Vec<u8>>(PIECES);
        let (give_back, empty) = channel();
        for _ in 0..PIECES {
            let sent = give_back.send(Vec::new());
            sent.expect("the receiver is held right here");
        }
        let thread = Builder::new()
            .name("trace-sha256".to_owned())
            .spawn(move || hash_all(&received, &give_back))?;
        let current = Vec::with_capacity(PIECE);
        Ok(HashThread {
            current,
            full,
            empty,
            thread,
        })
    }

    pub fn update(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let (now, later) = bytes.split_at(bytes.len().min(PIECE - self.current.len()));
            self.current.extend_from_slice(now);
            bytes = later;
            if self.current.len() == PIECE {
                let mut next = self.empty.recv().expect(ALIVE);
                next.clear();
                next.reserve(PIECE);
                let piece = std::mem::replace(&mut self.current, next);
                self.full.send(piece).expect(ALIVE);
            }
        }
    }

    /// The hash in lower-case hexadecimal digits.
    pub fn finish(self) -> String {
        self.full.send(self.current).expect(ALIVE);
        drop(self.full);
        self.thread.join().expect("hashing bytes does not panic")
    }
}

fn hash_all(received: &Receiver<Vec<u8>>, give_back: &Sender<Vec<u8>>) -> String {
    let mut hasher = Sha256::new();
    for piece in received {
        hasher.update(&piece);
        // The reader may have finished already and no longer want the buffer.
        let _ = give_back.send(piece);
    }
    let digest = hasher.finalize();
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sha256(bytes: &[u8], step: usize) -> String {
        let mut hash = HashThread::start().unwrap();
        bytes.chunks(step).for_each(|piece| hash.update(piece));
        hash.finish()
    }

    #[test]
    fn known_digests() {
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(sha256(b"abc", 1), abc);
        // FIPS 180-2 appendix B.3: a million times the letter a.
        let million = "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0";
        assert_eq!(sha256(&vec![b'a'; 1_000_000], 70_001), million);
        assert_eq!(sha256(&vec![b'a'; 1_000_000], 1_000_000), million);
    }
}
