//! The clock of a user-mode kernel that another process keeps: messages of
//! `include/uapi/linux/um_timetravel.h`.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;

/// Bytes of a message: operation, number, time.
const MESSAGE_BYTES: usize = 16;

/// Time of day at which simulated time begins, in ns since 1970, the same at every start.
const EPOCH_NS: u64 = 1_700_000_000_000_000_000;

const ACK: u32 = 0;
const START: u32 = 1;
const REQUEST: u32 = 2;
const WAIT: u32 = 3;
const GET: u32 = 4;
const UPDATE: u32 = 5;
const RUN: u32 = 6;
const GET_TIME_OF_DAY: u32 = 8;

/// The side of the calendar: when the kernel wants to run, and whether it runs.
#[derive(Debug)]
pub struct Calendar {
    kernel: UnixStream,
    /// Simulated time in ns.
    now: u64,
    /// When the kernel wants to run next.
    wanted: Option<u64>,
    /// Does it wait for its turn?
    waiting: bool,
    turns: u32,
}

impl Calendar {
    /// The calendar of the kernel at the other end, at time 0.
    pub fn new(kernel: UnixStream) -> Calendar {
        Calendar {
            kernel,
            now: 0,
            wanted: None,
            waiting: false,
            turns: 0,
        }
    }

    /// The other end, to wait for what it says.
    pub fn kernel(&self) -> &UnixStream {
        &self.kernel
    }

    /// Simulated time in ns.
    pub fn now(&self) -> u64 {
        self.now
    }

    /// When the kernel wants to run, if it waits for that; `None` while it runs.
    pub fn waits_until(&self) -> Option<Option<u64>> {
        self.waiting.then_some(self.wanted)
    }

    /// Takes a message of the kernel, which is there or will be. Was it the answer to a turn?
    ///
    /// # Errors
    /// The kernel is gone ([`io::ErrorKind::UnexpectedEof`]), or speaks another protocol.
    pub fn hear(&mut self) -> io::Result<bool> {
        let mut message = [0; MESSAGE_BYTES];
        self.kernel.read_exact(&mut message)?;
        let word = |at: usize| u32::from_ne_bytes(*message[at..].first_chunk().expect("4 bytes"));
        let (operation, number) = (word(0), word(4));
        let time = u64::from_ne_bytes(*message[8..].first_chunk().expect("8 bytes"));
        let mut answer = 0;
        match operation {
            ACK => return Ok(true),
            START => {}
            REQUEST => self.wanted = Some(time),
            WAIT => self.waiting = true,
            GET => answer = self.now,
            UPDATE => self.now = self.now.max(time),
            GET_TIME_OF_DAY => answer = EPOCH_NS,
            other => {
                let text = format!("operation {other} of um_timetravel.h is not known here");
                return Err(io::Error::new(io::ErrorKind::InvalidData, text));
            }
        }
        self.say(ACK, number, answer)?;
        Ok(false)
    }

    /// Something else happens at `to`, while the kernel waits.
    pub fn pass(&mut self, to: u64) {
        self.now = self.now.max(to);
    }

    /// The kernel's turn: time goes on to when it wants to run, and it runs.
    ///
    /// # Errors
    /// Those of [`Calendar::hear`].
    pub fn run(&mut self) -> io::Result<()> {
        if let Some(wanted) = self.wanted.take() {
            self.pass(wanted);
        }
        self.waiting = false;
        self.turns = self.turns.wrapping_add(1);
        self.say(RUN, self.turns, self.now)?;
        while !self.hear()? {}
        Ok(())
    }

    fn say(&mut self, operation: u32, number: u32, time: u64) -> io::Result<()> {
        let mut message = [0; MESSAGE_BYTES];
        message[..4].copy_from_slice(&operation.to_ne_bytes());
        message[4..8].copy_from_slice(&number.to_ne_bytes());
        message[8..].copy_from_slice(&time.to_ne_bytes());
        self.kernel.write_all(&message)
    }
}
