//! Exact mode: a user-mode kernel in simulated time, on a simulated SSD.
//!
//! The kernel (`time-travel=ext`) takes its clock from here and runs until it waits; then time jumps to
//! what is next, an answer of the device or what the kernel waits for. All of it is one thread, so
//! nothing is late, and the same load gives the same requests at the same times.
//!
//! Order of events at one time: the device first.

mod blk;
mod calendar;
mod vhost;

use blk::{BlkRequest, BlkRing, Held};
use calendar::Calendar;
use destage_live::device::{Answer, DataDevice, SimulatedSsd};
use destage_live::protocol::errno;
use destage_live::protocol::transmission::NbdOutcome;
use destage_types::Nanos;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use vhost::VhostMessage;

/// How often it is looked whether a kernel that has not come yet ever will.
const LOOK_AGAIN: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 50_000_000,
};

/// Name of the disk. A program in the guest that reads it gives a sign.
const DISK_NAME: &[u8] = b"destage";

/// The device in a lab.
pub type LabDevice = DataDevice<SimulatedSsd, Held>;

/// Told when a program in the guest reads the name of the disk (`/sys/block/vda/serial`): the device,
/// the time, and how many signs there were before.
pub type OnSign<'a> = &'a mut dyn FnMut(&mut LabDevice, Nanos, u64);

/// A calendar and a disk, at which one kernel comes in.
pub struct Lab {
    calendar: UnixListener,
    disk: UnixListener,
    device: LabDevice,
    ring: BlkRing,
    /// The kernel's ends, once it has come.
    guest: Option<UnixStream>,
    back: Option<UnixStream>,
    answers: Vec<Answer<Held>>,
    requests: u64,
    signs: u64,
}

/// The end of a lab.
pub struct LabEnd {
    /// The state of the data: an error if a write was lost.
    pub data: io::Result<()>,
    /// Simulated time when the kernel ended.
    pub end: Nanos,
    /// Requests of the kernel.
    pub requests: u64,
}

impl Lab {
    /// Listens at `calendar` and `disk` in a folder; the disk is `device`, of `bytes`.
    ///
    /// # Errors
    /// The sockets cannot be made.
    pub fn open(calendar: &Path, disk: &Path, device: LabDevice, bytes: u64) -> io::Result<Lab> {
        Ok(Lab {
            calendar: UnixListener::bind(calendar)?,
            disk: UnixListener::bind(disk)?,
            device,
            ring: BlkRing::new(bytes)?,
            guest: None,
            back: None,
            answers: Vec::new(),
            requests: 0,
            signs: 0,
        })
    }

    /// Lets time pass until the kernel has ended, or `alive` says that it never came.
    ///
    /// # Errors
    /// The kernel speaks another protocol, or never came.
    pub fn run(mut self, alive: &mut dyn FnMut() -> bool, sign: OnSign<'_>) -> io::Result<LabEnd> {
        let mut calendar = Calendar::new(self.accept(alive)?);
        let ended = self.serve(&mut calendar, sign);
        match ended {
            Err(error) if error.kind() != io::ErrorKind::UnexpectedEof => Err(error),
            _ => Ok(LabEnd {
                data: self.device.sync(),
                end: Nanos(calendar.now()),
                requests: self.requests,
            }),
        }
    }

    fn accept(&self, alive: &mut dyn FnMut() -> bool) -> io::Result<UnixStream> {
        while !readable([&self.calendar], Some(&LOOK_AGAIN))?[0] {
            if !alive() {
                let text = "the kernel ended before it asked for the time; was it built for \
                            time-travel=ext?";
                return Err(io::Error::new(io::ErrorKind::NotConnected, text));
            }
        }
        Ok(self.calendar.accept()?.0)
    }

    fn serve(&mut self, calendar: &mut Calendar, sign: OnSign<'_>) -> io::Result<()> {
        loop {
            let idle = calendar.waits_until();
            // Messages that the kernel sent before it waits are there already.
            let at_once = Timespec::default();
            let patience = idle.is_some().then_some(&at_once);
            let ready = match &self.guest {
                Some(guest) => readable([calendar.kernel(), guest], patience)?,
                None => {
                    let of_kernel = calendar.kernel().as_fd();
                    readable([of_kernel, self.disk.as_fd()], patience)?
                }
            };
            if ready[0] {
                calendar.hear()?;
            }
            match (ready[1], &mut self.guest) {
                (false, _) => {}
                (true, None) => self.guest = Some(self.disk.accept()?.0),
                (true, Some(guest)) => {
                    let message = VhostMessage::receive(guest)?;
                    self.hear(message, calendar.now(), sign)?;
                }
            }
            if let (Some(wanted), [false, false]) = (idle, ready) {
                self.next(wanted, calendar)?;
            }
        }
    }

    /// The kernel waits, and nothing is left to hear: time goes on to what is next.
    fn next(&mut self, wanted: Option<u64>, calendar: &mut Calendar) -> io::Result<()> {
        if !self.answers.is_empty() {
            return self.answer(calendar);
        }
        let event = self.device.next_event().map(|at| at.0);
        match event.filter(|&at| wanted.is_none_or(|wanted| at <= wanted)) {
            Some(at) => {
                calendar.pass(at);
                let now = Nanos(calendar.now());
                self.device.advance(now, &mut self.answers);
                Ok(())
            }
            None if wanted.is_some() => calendar.run(),
            None => {
                let text = "the kernel waits for ever: nothing will happen in it or on the disk";
                Err(io::Error::new(io::ErrorKind::TimedOut, text))
            }
        }
    }

    /// Hands over the answers that are there, with one interrupt.
    fn answer(&mut self, calendar: &mut Calendar) -> io::Result<()> {
        for answer in self.answers.drain(..) {
            self.ring.answer(&answer.token, &answer.outcome)?;
        }
        let none = || io::Error::new(io::ErrorKind::InvalidData, "no way to interrupt the kernel");
        let back = self.back.as_mut().ok_or_else(none)?;
        vhost::interrupt(back, 0)?;
        // The kernel may ask for the time before it answers.
        loop {
            let ready = readable([calendar.kernel(), back], None)?;
            if ready[0] {
                calendar.hear()?;
            }
            if ready[1] {
                return vhost::take_answer(back);
            }
        }
    }

    fn hear(&mut self, message: VhostMessage, now: u64, sign: OnSign<'_>) -> io::Result<()> {
        let mut message = message;
        let reply = match message.request {
            vhost::GET_FEATURES => Some(BlkRing::features().to_ne_bytes().to_vec()),
            vhost::GET_PROTOCOL_FEATURES => Some(vhost::PROTOCOL_FEATURES.to_ne_bytes().to_vec()),
            vhost::GET_CONFIG => Some(self.ring.read_config(&message)?),
            vhost::GET_VRING_BASE => Some(message.payload.clone()),
            request => {
                self.change(request, &mut message, now, sign)?;
                None
            }
        };
        let reply = reply.or_else(|| message.needs_reply.then(|| vec![0; 8]));
        match (reply, &mut self.guest) {
            (Some(payload), Some(guest)) => message.reply(guest, &payload),
            _ => Ok(()),
        }
    }

    /// Takes a message that has nothing to ask.
    fn change(
        &mut self,
        request: u32,
        message: &mut VhostMessage,
        now: u64,
        sign: OnSign<'_>,
    ) -> io::Result<()> {
        match request {
            vhost::SET_MEM_TABLE => self.ring.set_memory(message)?,
            vhost::SET_VRING_NUM => self.ring.set_entries(message)?,
            vhost::SET_VRING_ADDR => self.ring.set_places(message)?,
            vhost::SET_BACKEND_REQ_FD => self.back = message.fds.pop().map(UnixStream::from),
            vhost::VRING_KICK => self.take(Nanos(now), sign),
            // The rest of the protocol is for devices that are moved, or notified by other means.
            _ => {}
        }
        Ok(())
    }

    /// Starts all requests that are in the ring. Immediate answers are handed over when the kernel
    /// waits: now it waits for the answer to its notification, and takes no interrupt.
    fn take(&mut self, now: Nanos, sign: OnSign<'_>) {
        while let Some((request, held)) = self.ring.next() {
            let outcome = match request {
                BlkRequest::Io(request, data) => {
                    self.requests += 1;
                    self.device.submit(now, held, &request, data);
                    continue;
                }
                BlkRequest::Sign => {
                    sign(&mut self.device, now, self.signs);
                    self.signs += 1;
                    NbdOutcome::Data(0, DISK_NAME.to_vec())
                }
                BlkRequest::Refused => NbdOutcome::Failed(errno::EIO),
            };
            let (token, at) = (held, now);
            self.answers.push(Answer { token, at, outcome });
        }
        self.device.advance(now, &mut self.answers);
    }
}

/// Which of two can be read from, waiting for `patience` at most.
fn readable<const N: usize>(
    from: [impl AsFd; N],
    patience: Option<&Timespec>,
) -> io::Result<[bool; N]> {
    let mut fds: Vec<PollFd<'_>> = from
        .iter()
        .map(|fd| PollFd::new(fd, PollFlags::IN))
        .collect();
    loop {
        match poll(&mut fds, patience) {
            Ok(_) => break,
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    let ready = PollFlags::IN | PollFlags::HUP | PollFlags::ERR;
    Ok(std::array::from_fn(|i| fds[i].revents().intersects(ready)))
}
