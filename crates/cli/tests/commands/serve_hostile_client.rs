//! A hostile client: a process of its own, which does to a server whatever holds others up, until it is ended.

use rustix::net::{AddressFamily, SocketFlags, SocketType};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddrV4, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

const READ: u16 = 0;
const WRITE: u16 = 1;
const FLUSH: u16 = 3;
const TRIM: u16 = 4;
const CACHE: u16 = 5;
const WRITE_ZEROES: u16 = 6;
const NO_HOLE: u16 = 2;
/// The most that one request can name.
const LONGEST: u32 = u32::MAX - 511;
/// Where it writes; below that is the data of others.
const FIRST: u64 = 64 << 20;

/// The attacked sockets: those in this folder, and two ports.
#[derive(Clone)]
pub struct Targets {
    pub folder: PathBuf,
    /// NBD with TLS.
    pub encrypted: String,
    /// `--ui`.
    pub page: String,
}

/// An attack on a connection to the socket.
type Attack = fn(&Path) -> std::io::Result<()>;

/// Attacks `targets` in every way at once. Never returns.
pub fn attack(targets: &Targets) -> ! {
    let socket = targets.folder.join("s");
    let plain: [(usize, Attack); 7] = [
        (16, write_slowly),
        (3, take_no_replies),
        (2, vanish),
        (2, move_all),
        (2, flush),
        (6, stay_silent),
        (1, half_negotiations),
    ];
    for (count, kind) in plain {
        for _ in 0..count {
            let socket = socket.clone();
            again(move || kind(&socket));
        }
    }
    let (control, encrypted) = (targets.folder.join("c"), targets.encrypted.clone());
    let page = targets.page.clone();
    again(move || half_orders(&control));
    again(move || half_handshakes(&encrypted));
    again(move || half_pages(&page));
    let mut end = Vec::new();
    // The test closes the pipe when it is over, or has failed.
    let _ = std::io::stdin().read_to_end(&mut end);
    std::process::exit(0);
}

fn again(mut kind: impl FnMut() -> std::io::Result<()> + Send + 'static) {
    std::thread::spawn(move || {
        loop {
            // Servers defend themselves: connections break.
            let _ = kind();
            std::thread::sleep(Duration::from_millis(20));
        }
    });
}

fn connected(socket: &Path) -> std::io::Result<UnixStream> {
    let mut stream = UnixStream::connect(socket)?;
    stream.set_read_timeout(Some(Duration::from_secs(5)))?;
    stream.set_write_timeout(Some(Duration::from_secs(2)))?;
    stream.read_exact(&mut [0; 18])?;
    stream.write_all(b"\0\0\0\x03IHAVEOPT\0\0\0\x01\0\0\0\0")?;
    stream.read_exact(&mut [0; 10])?;
    Ok(stream)
}

fn head(flags: u16, command: u16, offset: u64, length: u32) -> Vec<u8> {
    let mut wire = 0x2560_9513_u32.to_be_bytes().to_vec();
    wire.extend(flags.to_be_bytes());
    wire.extend(command.to_be_bytes());
    wire.extend(7_u64.to_be_bytes());
    wire.extend(offset.to_be_bytes());
    wire.extend(length.to_be_bytes());
    wire
}

/// The head of a long WRITE, and its data byte by byte.
fn write_slowly(socket: &Path) -> std::io::Result<()> {
    let mut stream = connected(socket)?;
    stream.write_all(&head(0, WRITE, FIRST, 32 << 20))?;
    loop {
        stream.write_all(&[1])?;
        std::thread::sleep(Duration::from_millis(200));
    }
}

/// Long READs whose data nobody takes.
fn take_no_replies(socket: &Path) -> std::io::Result<()> {
    let mut stream = connected(socket)?;
    for i in 0..64_u64 {
        stream.write_all(&head(0, READ, FIRST + (i << 25), 32 << 20))?;
    }
    std::thread::sleep(Duration::from_secs(4));
    Ok(())
}

/// Much work, and nobody who waits for it.
fn vanish(socket: &Path) -> std::io::Result<()> {
    let mut stream = connected(socket)?;
    let mut all = Vec::new();
    for i in 0..1000_u64 {
        all.extend(head(0, READ, FIRST + (i << 20), 1 << 20));
        all.extend(head(0, CACHE, FIRST, LONGEST));
        all.extend(head(NO_HOLE, WRITE_ZEROES, FIRST, LONGEST));
    }
    stream.write_all(&all)
}

/// Requests that name 4 GiB each.
fn move_all(socket: &Path) -> std::io::Result<()> {
    let mut stream = connected(socket)?;
    for (flags, command) in [
        (NO_HOLE, WRITE_ZEROES),
        (0, CACHE),
        (0, TRIM),
        (0, WRITE_ZEROES),
    ] {
        stream.write_all(&head(flags, command, FIRST, LONGEST))?;
    }
    stream.read_exact(&mut [0; 64])
}

/// Writes that fill the cache, and FLUSHes between them.
fn flush(socket: &Path) -> std::io::Result<()> {
    let mut stream = connected(socket)?;
    for round in 0..256_u64 {
        for i in 0..16 {
            let at = FIRST + (((round * 16 + i) % 256) << 16);
            stream.write_all(&head(0, WRITE, at, 64 << 10))?;
            stream.write_all(&[round as u8; 64 << 10])?;
        }
        stream.write_all(&[head(0, FLUSH, 0, 0), head(0, FLUSH, 0, 0)].concat())?;
        stream.read_exact(&mut [0; 18 * 16])?;
    }
    Ok(())
}

/// A connection that only is there.
fn stay_silent(socket: &Path) -> std::io::Result<()> {
    let mut stream = connected(socket)?;
    stream.set_read_timeout(Some(Duration::from_secs(60)))?;
    stream.read_exact(&mut [0])
}

fn half_negotiations(socket: &Path) -> std::io::Result<()> {
    let half = || {
        let mut stream = UnixStream::connect(socket)?;
        stream.write_all(b"\0\0\0\x03IHAVE")?;
        Ok(stream)
    };
    let held: std::io::Result<Vec<UnixStream>> = (0..100).map(|_| half()).collect();
    std::thread::sleep(Duration::from_secs(1));
    held.map(drop)
}

fn half_orders(control: &Path) -> std::io::Result<()> {
    let half = || {
        let mut stream = UnixStream::connect(control)?;
        stream.write_all(b"{\"comm")?;
        Ok(stream)
    };
    let held: std::io::Result<Vec<UnixStream>> = (0..20).map(|_| half()).collect();
    std::thread::sleep(Duration::from_secs(1));
    held.map(drop)
}

/// A connection that another machine could have made: the server takes addresses for clients.
fn from_another_address(to: &str) -> std::io::Result<TcpStream> {
    let (family, kind) = (AddressFamily::INET, SocketType::STREAM);
    let socket = rustix::net::socket_with(family, kind, SocketFlags::CLOEXEC, None)?;
    rustix::net::bind(&socket, &SocketAddrV4::new(Ipv4Addr::new(127, 0, 0, 2), 0))?;
    let to: SocketAddrV4 = to.parse().expect("an address");
    rustix::net::connect(&socket, &to)?;
    Ok(TcpStream::from(socket))
}

fn half_handshakes(address: &str) -> std::io::Result<()> {
    let half = || {
        let mut stream = from_another_address(address)?;
        stream.set_read_timeout(Some(Duration::from_secs(5)))?;
        stream.read_exact(&mut [0; 18])?;
        stream.write_all(b"\0\0\0\x03IHAVEOPT\0\0\0\x05\0\0\0\0")?;
        stream.read_exact(&mut [0; 20])?;
        // The beginning of a ClientHello.
        stream.write_all(&[22, 3, 1, 2, 0, 1])?;
        Ok(stream)
    };
    let held: std::io::Result<Vec<TcpStream>> = (0..300).map(|_| half()).collect();
    std::thread::sleep(Duration::from_secs(1));
    held.map(drop)
}

fn half_pages(address: &str) -> std::io::Result<()> {
    let half = || {
        let mut stream = from_another_address(address)?;
        stream.write_all(b"GET / HT")?;
        Ok(stream)
    };
    let held: std::io::Result<Vec<TcpStream>> = (0..50).map(|_| half()).collect();
    std::thread::sleep(Duration::from_secs(1));
    held.map(drop)
}
