//! The lab, and a kernel that is a few lines here: it drives its disk by hand, and asks for the time.

use destage_device::config::EffectiveDevice;
use destage_lab::{Lab, LabEnd};
use destage_live::device::{DataDevice, SimulatedSsd};
use destage_live::store::{CacheKind, MemoryMedium, Store};
use destage_scheme::Expr;
use destage_sim::RunSpec;
use destage_types::ByteSize;
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use std::fs::File;
use std::io::{self, IoSlice, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::FileExt;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::thread::JoinHandle;
use std::time::Duration;

const DISK_BYTES: u64 = 64 << 20;

/// The default device with a cache of 64 pages.
fn small_device() -> SimulatedSsd {
    let device = EffectiveDevice::from_preset("default", &[]).expect("a device");
    let device = device.config().clone();
    let spec = RunSpec {
        page: device.geometry.page,
        device: Some(Arc::new(device)),
        ..RunSpec::cache_only(Expr::parse("lru").expect("a scheme"), ByteSize(64 << 12))
    };
    SimulatedSsd::new(&spec, "test").expect("a device")
}

// Operations of um_timetravel.h.
const ACK: u32 = 0;
const START: u32 = 1;
const REQUEST: u32 = 2;
const WAIT: u32 = 3;
const GET: u32 = 4;
const RUN: u32 = 6;
// Requests of virtio-blk, and what is answered.
const READ: u32 = 0;
const WRITE: u32 = 1;
const FLUSH: u32 = 4;
const GET_ID: u32 = 8;
const DISCARD: u32 = 11;
const OK: u8 = 0;
const IOERR: u8 = 1;

// Where things lie in the guest's memory.
const MEMORY_BYTES: u64 = 1 << 20;
const DESCRIPTORS: u64 = 0;
const AVAILABLE: u64 = 0x1000;
const USED: u64 = 0x2000;
const HEADER: u64 = 0x3000;
const STATUS: u64 = 0x3100;
const DATA: u64 = 0x4000;
const ENTRIES: u16 = 16;

struct FakeKernel {
    calendar: UnixStream,
    disk: UnixStream,
    back: UnixStream,
    memory: File,
    requests: u16,
}

/// A message of vhost-user.
fn message(request: u32, flags: u32, payload: &[u8]) -> Vec<u8> {
    let head = [request, flags, payload.len() as u32];
    let mut bytes: Vec<u8> = head.iter().flat_map(|word| word.to_ne_bytes()).collect();
    bytes.extend(payload);
    bytes
}

fn longs(numbers: &[u64]) -> Vec<u8> {
    numbers.iter().flat_map(|n| n.to_ne_bytes()).collect()
}

fn words(numbers: &[u32]) -> Vec<u8> {
    numbers.iter().flat_map(|n| n.to_ne_bytes()).collect()
}

impl FakeKernel {
    fn boot(folder: &std::path::Path) -> FakeKernel {
        let memory = tempfile::tempfile_in(folder).expect("a file");
        memory.set_len(MEMORY_BYTES).expect("its size");
        let calendar = UnixStream::connect(folder.join("calendar")).expect("the calendar");
        let disk = UnixStream::connect(folder.join("disk")).expect("the disk");
        let (back, its_end) = UnixStream::pair().expect("a pair");
        for stream in [&calendar, &disk, &back] {
            let patience = Some(Duration::from_secs(20));
            stream.set_read_timeout(patience).expect("a timeout");
        }
        let mut kernel = FakeKernel {
            calendar,
            disk,
            back,
            memory,
            requests: 0,
        };
        kernel.tell(START, 0);
        let features = kernel.ask(1, &[], &[]);
        assert_eq!(features.len(), 8, "features");
        let region = longs(&[0, MEMORY_BYTES, 0, 0]);
        let table = [words(&[1, 0]), region].concat();
        let memory = kernel.memory.try_clone().expect("a file");
        kernel.ask(5, &table, &[memory.as_fd()]);
        kernel.ask(8, &words(&[0, u32::from(ENTRIES)]), &[]);
        let places = longs(&[DESCRIPTORS, USED, AVAILABLE, 0]);
        kernel.ask(9, &[words(&[0, 0]), places].concat(), &[]);
        kernel.ask(21, &[], &[its_end.as_fd()]);
        kernel
    }

    /// Says something to the calendar; the time in its answer.
    fn tell(&mut self, operation: u32, time: u64) -> u64 {
        let text = [words(&[operation, 7]), longs(&[time])].concat();
        self.calendar
            .write_all(&text)
            .expect("the calendar is there");
        let (answer, number, time) = self.heard();
        assert_eq!((answer, number), (ACK, 7));
        time
    }

    fn heard(&mut self) -> (u32, u32, u64) {
        let mut answer = [0; 16];
        self.calendar.read_exact(&mut answer).expect("an answer");
        let word = |at: usize| u32::from_ne_bytes(answer[at..at + 4].try_into().expect("4"));
        let time = u64::from_ne_bytes(answer[8..].try_into().expect("8"));
        (word(0), word(4), time)
    }

    /// Sends a request of vhost-user that wants an answer; its payload.
    fn ask(&mut self, request: u32, payload: &[u8], fds: &[BorrowedFd<'_>]) -> Vec<u8> {
        let text = message(request, 1 | 8, payload);
        let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        if !fds.is_empty() {
            assert!(ancillary.push(SendAncillaryMessage::ScmRights(fds)));
        }
        let parts = [IoSlice::new(&text)];
        sendmsg(&self.disk, &parts, &mut ancillary, SendFlags::empty()).expect("the disk is there");
        let mut header = [0; 12];
        self.disk.read_exact(&mut header).expect("an answer");
        let size = u32::from_ne_bytes(header[8..].try_into().expect("4"));
        let mut answer = vec![0; size as usize];
        self.disk.read_exact(&mut answer).expect("its payload");
        answer
    }

    /// Puts a request into the ring and notifies the disk.
    fn start(&mut self, kind: u32, sector: u64, out: &[u8], into: u32) {
        let put = |bytes: &[u8], at| self.memory.write_all_at(bytes, at).expect("memory");
        put(&[words(&[kind, 0]), longs(&[sector])].concat(), HEADER);
        put(out, DATA);
        put(&[0xff], STATUS);
        let (next, write) = (1u16, 2u16);
        let mut pieces = vec![(HEADER, 16, next)];
        if !out.is_empty() {
            pieces.push((DATA, out.len() as u32, next));
        }
        if into > 0 {
            pieces.push((DATA, into, next | write));
        }
        pieces.push((STATUS, 1, write));
        for (i, &(at, bytes, flags)) in pieces.iter().enumerate() {
            let entry = [
                longs(&[at]),
                words(&[bytes]),
                flags.to_ne_bytes().to_vec(),
                (i as u16 + 1).to_ne_bytes().to_vec(),
            ];
            put(&entry.concat(), DESCRIPTORS + 16 * i as u64);
        }
        let slot = u64::from(self.requests % ENTRIES);
        put(&0u16.to_ne_bytes(), AVAILABLE + 4 + 2 * slot);
        self.requests += 1;
        put(&self.requests.to_ne_bytes(), AVAILABLE + 2);
        self.ask(35, &words(&[0, 0]), &[]);
    }

    /// Does one request to its end: status, data, and when it was done.
    fn io(&mut self, kind: u32, sector: u64, out: &[u8], into: u32) -> (u8, Vec<u8>, u64) {
        self.start(kind, sector, out, into);
        self.tell(REQUEST, u64::MAX >> 2);
        self.tell(WAIT, 0);
        let mut interrupt = [0; 20];
        self.back.read_exact(&mut interrupt).expect("an interrupt");
        let now = self.tell(GET, 0);
        self.tell(REQUEST, now);
        let answer = message(4, 1 | 4, &longs(&[0]));
        self.back.write_all(&answer).expect("the lab is there");
        let (operation, number, at) = self.heard();
        assert_eq!((operation, at), (RUN, now), "its turn is at once");
        let answer = [words(&[ACK, number]), longs(&[at])].concat();
        self.calendar.write_all(&answer).expect("the lab is there");
        let get = |at, bytes| {
            let mut piece = vec![0; bytes];
            self.memory.read_exact_at(&mut piece, at).expect("memory");
            piece
        };
        let used = get(USED + 2, 2);
        assert_eq!(used, self.requests.to_ne_bytes(), "one answer for each");
        (get(STATUS, 1)[0], get(DATA, into as usize), now)
    }
}

type Signs = Receiver<(u64, u64)>;

/// A lab with a kernel in it, and the signs that the lab sees.
fn lab() -> (FakeKernel, JoinHandle<io::Result<LabEnd>>, Signs) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().to_owned();
    let [calendar, disk] = ["calendar", "disk"].map(|name| path.join(name));
    let (ready, is_ready) = channel();
    let (sign, signs) = channel();
    let lab = std::thread::spawn(move || {
        let medium = Box::new(MemoryMedium::default());
        let store = Store::new(medium, CacheKind::Dram, 4096);
        let device = DataDevice::new(small_device(), store, Vec::new());
        let lab = Lab::open(&calendar, &disk, device, DISK_BYTES).expect("a lab");
        ready.send(()).expect("somebody waits");
        lab.run(&mut || true, &mut |_, now, n| {
            sign.send((now.0, n)).expect("somebody waits");
        })
    });
    is_ready.recv().expect("a lab");
    (FakeKernel::boot(&path), lab, signs)
}

#[test]
fn data_come_back_and_time_goes_by_only_on_the_device() {
    let (mut kernel, lab, _) = lab();
    let config = kernel.ask(24, &words(&[0, 8, 0, 0, 0]), &[]);
    assert_eq!(config[12..], (DISK_BYTES / 512).to_le_bytes());
    let at_once = kernel.ask(24, &words(&[36, 4, 0, 0]), &[]);
    assert_eq!(at_once[12..], words(&[(DISK_BYTES / 512) as u32]));
    let data: Vec<u8> = (0..8192u32).map(|i| (i % 251) as u8).collect();
    let (status, _, written) = kernel.io(WRITE, 24, &data, 0);
    assert_eq!(status, OK);
    let (status, back, read) = kernel.io(READ, 24, &[], 8192);
    assert_eq!((status, &back), (OK, &data));
    let (status, _, flushed) = kernel.io(FLUSH, 0, &[], 0);
    assert_eq!(status, OK);
    // Two programs of 4 KiB on two chips take as long as one, far more than the cache.
    assert!(0 < written && written < read, "{written} {read}");
    assert!(flushed - read > 100 * (read - written), "{read} {flushed}");
    let discard = [longs(&[24]), words(&[16, 0])].concat();
    assert_eq!(kernel.io(DISCARD, 0, &discard, 0).0, OK);
    let (_, back, end) = kernel.io(READ, 24, &[], 8192);
    assert_eq!(back, [0; 8192]);
    drop(kernel);
    let end_of_lab = lab.join().expect("no panic").expect("an end");
    end_of_lab.data.expect("nothing is lost");
    assert_eq!((end_of_lab.requests, end_of_lab.end.0), (5, end));
}

#[test]
fn a_program_that_reads_the_name_gives_a_sign() {
    let (mut kernel, lab, signs) = lab();
    let (status, name, _) = kernel.io(GET_ID, 0, &[], 20);
    assert_eq!((status, &name[..8]), (OK, b"destage\0".as_slice()));
    kernel.io(WRITE, 0, &[1; 4096], 0);
    let (_, _, now) = kernel.io(GET_ID, 0, &[], 20);
    drop(kernel);
    assert_eq!(signs.iter().collect::<Vec<_>>(), [(0, 0), (now, 1)]);
    let end = lab.join().expect("no panic").expect("an end");
    assert_eq!(end.requests, 1, "a sign is no request");
}

#[test]
fn what_the_disk_cannot_do_is_an_error_of_the_request() {
    let (mut kernel, lab, _) = lab();
    for (kind, sector, out, into) in [
        (WRITE, DISK_BYTES / 512, vec![1; 512], 0),
        (READ, DISK_BYTES / 512 - 1, vec![], 1024),
        (READ, u64::MAX, vec![], 512),
        (WRITE, 0, vec![1; 100], 0),
        (99, 0, vec![], 0),
    ] {
        let (status, _, _) = kernel.io(kind, sector, &out, into);
        assert_eq!(status, IOERR, "{kind} {sector}");
    }
    assert_eq!(kernel.io(WRITE, 0, &[1; 512], 0).0, OK, "it goes on");
    drop(kernel);
    lab.join().expect("no panic").expect("an end");
}

#[test]
fn a_kernel_that_speaks_otherwise_ends_the_lab() {
    let (mut kernel, lab, _) = lab();
    let text = [words(&[77, 0]), longs(&[0])].concat();
    kernel.calendar.write_all(&text).expect("it is there");
    let error = lab.join().expect("no panic").err().expect("an error");
    assert!(error.to_string().contains("operation 77"), "{error}");

    let (mut kernel, lab, _) = self::lab();
    kernel
        .disk
        .write_all(&message(1, 2, &[]))
        .expect("it is there");
    let error = lab.join().expect("no panic").err().expect("an error");
    assert!(error.to_string().contains("flags 0x2"), "{error}");
}

#[test]
fn a_kernel_that_waits_for_nothing_is_told_so() {
    let (mut kernel, lab, _) = lab();
    kernel.tell(WAIT, 0);
    let error = lab.join().expect("no panic").err().expect("an error");
    assert!(error.to_string().contains("waits for ever"), "{error}");
}
