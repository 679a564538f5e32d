//! The device's end of vhost-user, as a user-mode kernel in simulated time speaks it: notifications
//! come as messages, so that nothing happens without an answer.
//!
//! Source: the vhost-user protocol of QEMU (`docs/interop/vhost-user.rst`).

use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, recvmsg};
use std::io::{self, IoSliceMut, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use virtio_bindings::virtio_config::VIRTIO_F_VERSION_1;
use virtio_bindings::virtio_ring::VIRTIO_RING_F_INDIRECT_DESC;

/// Requests of the kernel.
pub const GET_FEATURES: u32 = 1;
pub const SET_MEM_TABLE: u32 = 5;
pub const SET_VRING_NUM: u32 = 8;
pub const SET_VRING_ADDR: u32 = 9;
pub const GET_VRING_BASE: u32 = 11;
pub const GET_PROTOCOL_FEATURES: u32 = 15;
pub const SET_BACKEND_REQ_FD: u32 = 21;
pub const GET_CONFIG: u32 = 24;
pub const VRING_KICK: u32 = 35;

/// A device's request to the kernel: an interrupt.
const VRING_CALL: u32 = 4;

/// The protocol of vhost-user has features of its own, virtio is that of version 1, and a request takes one entry of
/// the ring: otherwise it would take one for each piece of memory, and where pages lie would decide when it is full.
pub const FEATURES: u64 = 1 << 30 | 1 << VIRTIO_F_VERSION_1 | 1 << VIRTIO_RING_F_INDIRECT_DESC;

/// Answers on demand, requests of the device, configuration, notifications in band.
pub const PROTOCOL_FEATURES: u64 = 1 << 3 | 1 << 5 | 1 << 9 | 1 << 14;

const VERSION: u32 = 1;
const IS_REPLY: u32 = 1 << 2;
const NEEDS_REPLY: u32 = 1 << 3;

const HEADER_BYTES: usize = 12;

/// Longest payload: a table of 8 regions has 264 bytes, a configuration 268.
const MAX_PAYLOAD: u32 = 4096;

/// Descriptors of a message: at most those of a table of memory.
const MAX_FDS: usize = 8;

/// A request of the kernel.
#[derive(Debug)]
pub struct VhostMessage {
    pub request: u32,
    pub payload: Vec<u8>,
    pub fds: Vec<OwnedFd>,
    /// Is an answer asked for that has nothing to say?
    pub needs_reply: bool,
}

fn invalid(text: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, text.into())
}

impl VhostMessage {
    /// Takes the next request.
    ///
    /// # Errors
    /// The kernel is gone ([`io::ErrorKind::UnexpectedEof`]), or speaks another protocol.
    pub fn receive(from: &mut UnixStream) -> io::Result<VhostMessage> {
        let mut header = [0; HEADER_BYTES];
        let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_FDS))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        let parts = &mut [IoSliceMut::new(&mut header)];
        let got = recvmsg(&*from, parts, &mut ancillary, RecvFlags::CMSG_CLOEXEC)?;
        if got.flags.contains(ReturnFlags::CTRUNC) {
            return Err(invalid(format!(
                "vhost-user: more than {MAX_FDS} descriptors"
            )));
        }
        let mut fds = Vec::new();
        for message in ancillary.drain() {
            if let RecvAncillaryMessage::ScmRights(sent) = message {
                fds.extend(sent);
            }
        }
        let got = got.bytes;
        if got == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        from.read_exact(&mut header[got..])?;
        let [request, flags, size] =
            [0, 4, 8].map(|at| u32::from_ne_bytes(*header[at..].first_chunk().expect("4 bytes")));
        if flags & 3 != VERSION || size > MAX_PAYLOAD {
            return Err(invalid(format!(
                "vhost-user: request {request} with flags {flags:#x} and {size} bytes"
            )));
        }
        let mut payload = vec![0; size as usize];
        from.read_exact(&mut payload)?;
        Ok(VhostMessage {
            request,
            payload,
            fds,
            needs_reply: flags & NEEDS_REPLY != 0,
        })
    }

    /// Answers it.
    ///
    /// # Errors
    /// The kernel is gone.
    pub fn reply(&self, to: &mut UnixStream, payload: &[u8]) -> io::Result<()> {
        to.write_all(&message(self.request, VERSION | IS_REPLY, payload))
    }

    /// The number of 32 bits at `at` of the payload.
    ///
    /// # Errors
    /// The payload is too short.
    pub fn word(&self, at: usize) -> io::Result<u32> {
        self.bytes(at).map(u32::from_ne_bytes)
    }

    /// The number of 64 bits at `at` of the payload.
    ///
    /// # Errors
    /// The payload is too short.
    pub fn long(&self, at: usize) -> io::Result<u64> {
        self.bytes(at).map(u64::from_ne_bytes)
    }

    fn bytes<const N: usize>(&self, at: usize) -> io::Result<[u8; N]> {
        let bytes = self.payload.get(at..).and_then(|rest| rest.first_chunk());
        bytes.copied().ok_or_else(|| {
            let (request, bytes) = (self.request, self.payload.len());
            invalid(format!(
                "vhost-user: request {request} has only {bytes} bytes"
            ))
        })
    }
}

fn message(request: u32, flags: u32, payload: &[u8]) -> Vec<u8> {
    let head = [request, flags, payload.len() as u32];
    let mut bytes: Vec<u8> = head.iter().flat_map(|word| word.to_ne_bytes()).collect();
    bytes.extend(payload);
    bytes
}

/// Interrupts the kernel for ring `ring`; it answers with [`take_answer`].
///
/// # Errors
/// The kernel is gone.
pub fn interrupt(back: &mut UnixStream, ring: u32) -> io::Result<()> {
    let payload: Vec<u8> = [ring, 0]
        .iter()
        .flat_map(|word| word.to_ne_bytes())
        .collect();
    back.write_all(&message(VRING_CALL, VERSION | NEEDS_REPLY, &payload))
}

/// The kernel's answer to [`interrupt`].
///
/// # Errors
/// The kernel is gone.
pub fn take_answer(back: &mut UnixStream) -> io::Result<()> {
    back.read_exact(&mut [0; HEADER_BYTES + 8])
}
