//! Every request is answered while the server idles: random servers, clients, requests, and orders between them, each
//! followed by silence. It tries for `DESTAGE_HOSTILE_SECONDS`.

use crate::common::Bench;
use crate::serve::{FLUSH, READ, WRITE, serve, stop};
use crate::serve_hostile::seconds;
use destage_types::rng::SplitMix64;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The longest that a reply takes to come.
const PATIENCE: Duration = Duration::from_secs(10);
const TRIM: u16 = 4;
const CACHE: u16 = 5;
const WRITE_ZEROES: u16 = 6;
const FUA: u16 = 1;
const NO_HOLE: u16 = 2;
/// Bytes that requests touch.
const TOUCHED: u64 = 4 << 20;

/// Drives on sale, with tables that are made at once.
const DRIVES: [&str; 4] = [
    "enterprise-tlc-1t",
    "consumer-tlc-1t",
    "sata-tlc-500g",
    "qlc-2t",
];
const SMALL: [&str; 2] = ["blocks_per_plane=400", "pages_per_block=24"];
const OF_DRIVES: [&str; 4] = [
    "drain(fifo)",
    "drain(lru,low=0.25,high=0.25)",
    "lru",
    "cflru",
];
const OF_PAGES: [&str; 5] = ["lru", "none", "req-block", "cac(lru)", "prober(lirs)"];
const PACES: [&str; 4] = [
    "no-delay = true",
    "no-delay = true",
    "time-scale = 1",
    "time-scale = 30",
];

fn pick<'a>(random: &mut SplitMix64, of: &[&'a str]) -> &'a str {
    of[random.below(of.len() as u64) as usize]
}

/// An export in TOML, and the schemes that its device can have.
fn export(random: &mut SplitMix64, name: &str) -> (String, &'static [&'static str]) {
    let device = match random.below(2) {
        0 => "default",
        _ => pick(random, &DRIVES),
    };
    let is_drive = device != "default";
    let schemes: &[&str] = if is_drive { &OF_DRIVES } else { &OF_PAGES };
    let (caches, kinds, sets): (&[&str], &[&str], &[&str]) = match is_drive {
        true => (&["16MiB", "64MiB"], &[""], &SMALL),
        false => (
            &["32KiB", "1MiB"],
            &["", "cache-kind = \"nvm\"", "cache-kind = \"dram\""],
            &[],
        ),
    };
    let toml = format!(
        "[[export]]\nname = {name:?}\ndevice = {device:?}\nset = {sets:?}\nscheme = {:?}\ncache = {:?}\n{}\n{}\n",
        pick(random, schemes),
        pick(random, caches),
        pick(random, kinds),
        pick(random, &PACES),
    );
    (toml, schemes)
}

/// A client that sends many requests at once.
struct Client {
    stream: UnixStream,
    /// Bytes that follow the head of each reply that has not come, and the command.
    waiting: BTreeMap<u64, (usize, u16)>,
    sent: u64,
}

impl Client {
    fn new(socket: &Path, export: &str) -> Client {
        let mut stream = UnixStream::connect(socket).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.read_exact(&mut [0; 18]).unwrap();
        let length = (export.len() as u32).to_be_bytes();
        let hello: [&[u8]; 4] = [
            b"\0\0\0\x03IHAVEOPT\0\0\0\x01",
            &length,
            export.as_bytes(),
            &[],
        ];
        stream.write_all(&hello.concat()).unwrap();
        stream.read_exact(&mut [0; 10]).unwrap();
        Client {
            stream,
            waiting: BTreeMap::new(),
            sent: 0,
        }
    }

    /// The bytes of `count` random requests, which are to be answered.
    fn ask(&mut self, random: &mut SplitMix64, count: u64, flushes_only: bool) -> Vec<u8> {
        let mut wire = Vec::new();
        for _ in 0..count {
            let bytes = match random.below(20) {
                0 => 1 << 21,
                n => 512 << (n % 8),
            };
            let offset = random.below((TOUCHED - bytes) / 512) * 512;
            let fua = random.below(4) as u16 / 3 * FUA;
            let (flags, command) = match random.below(8) {
                _ if flushes_only => (0, FLUSH),
                0..=2 => (fua, WRITE),
                3 => (0, READ),
                4 => (0, FLUSH),
                5 => (0, TRIM),
                6 => (fua | (random.below(2) as u16 * NO_HOLE), WRITE_ZEROES),
                _ => (0, CACHE),
            };
            let (offset, bytes) = if command == FLUSH {
                (0, 0)
            } else {
                (offset, bytes)
            };
            wire.extend(0x2560_9513_u32.to_be_bytes());
            wire.extend([flags.to_be_bytes(), command.to_be_bytes()].concat());
            wire.extend(self.sent.to_be_bytes());
            wire.extend(offset.to_be_bytes());
            wire.extend((bytes as u32).to_be_bytes());
            if command == WRITE {
                wire.resize(wire.len() + bytes as usize, 1);
            }
            let data = if command == READ { bytes as usize } else { 0 };
            self.waiting.insert(self.sent, (data, command));
            self.sent += 1;
        }
        wire
    }

    /// Takes the replies to all that was asked.
    fn take(&mut self) -> std::io::Result<()> {
        while !self.waiting.is_empty() {
            let mut head = [0; 16];
            self.stream.read_exact(&mut head)?;
            let error = u32::from_be_bytes(head[4..8].try_into().unwrap());
            assert_eq!(error, 0, "an error");
            let cookie = u64::from_be_bytes(head[8..].try_into().unwrap());
            let (data, _) = self.waiting.remove(&cookie).expect("a reply to nothing");
            self.stream.read_exact(&mut vec![0; data])?;
        }
        Ok(())
    }

    /// Sends `wire` and takes all replies; false if the connection ended.
    fn serve(&mut self, wire: &[u8]) -> Result<bool, String> {
        let mut sender = self.stream.try_clone().unwrap();
        let told = std::thread::scope(|scope| {
            // A connection that was closed takes nothing.
            scope.spawn(move || _ = sender.write_all(wire));
            let told = self.take();
            if told.is_err() {
                let _ = self.stream.shutdown(std::net::Shutdown::Both);
            }
            told
        });
        match told {
            Ok(()) => Ok(true),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                Err(format!(
                    "never answered (number, data and command): {:?}",
                    self.waiting
                ))
            }
            Err(_) => Ok(false),
        }
    }
}

/// A server of three exports.
struct Server {
    socket: PathBuf,
    control: PathBuf,
    schemes: Vec<&'static [&'static str]>,
}

impl Server {
    /// Sends a random order, and waits for its reply. Did it cut the power?
    fn order(&self, random: &mut SplitMix64) -> Result<bool, String> {
        let export = random.below(3) as usize;
        let scheme = pick(random, self.schemes[export]);
        let order = match random.below(6) {
            0 => "\"command\":\"reset\"".to_owned(),
            1 => "\"command\":\"stats\"".to_owned(),
            2 => "\"command\":\"power-cut\"".to_owned(),
            _ => format!("\"command\":\"scheme\",\"scheme\":{scheme:?}"),
        };
        let mut stream = UnixStream::connect(&self.control).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let line = format!("{{{order},\"export\":\"{export}\"}}\n");
        stream.write_all(line.as_bytes()).unwrap();
        let mut reply = String::new();
        match BufReader::new(stream).read_line(&mut reply) {
            // A change of scheme while another one goes on is refused.
            Ok(_) if reply.starts_with("{\"ok\":true") || line.contains("scheme") => {
                Ok(line.contains("power-cut"))
            }
            other => Err(format!("{line}: {other:?} {reply}")),
        }
    }

    /// Some clients ask at the same time, and perhaps there is an order. How many requests were answered?
    fn round(&self, random: &mut SplitMix64, clients: &mut Vec<Client>) -> Result<u64, String> {
        while (clients.len() as u64) < 1 + random.below(6) {
            let export = random.below(3).to_string();
            clients.push(Client::new(&self.socket, &export));
        }
        if random.below(4) == 0 {
            // Its requests are dropped, and those of others are answered.
            let mut vanishes = Client::new(&self.socket, "0");
            let wire = vanishes.ask(random, 20, false);
            let _ = vanishes.stream.write_all(&wire);
        }
        let flushes_only = random.below(3) == 0;
        let wires: Vec<Vec<u8>> = clients
            .iter_mut()
            .map(|client| {
                let count = 1 + random.below(16);
                client.ask(random, count, flushes_only)
            })
            .collect();
        let asked: usize = clients.iter().map(|client| client.waiting.len()).sum();
        let is_ordered = random.below(3) == 0;
        let (served, is_cut) = std::thread::scope(|scope| {
            let work = clients.iter_mut().zip(&wires);
            let threads: Vec<_> = work
                .map(|(client, wire)| scope.spawn(|| client.serve(wire)))
                .collect();
            let is_cut = is_ordered && self.order(random)?;
            let served = threads
                .into_iter()
                .map(|thread| thread.join().expect("a client"));
            Ok::<_, String>((served.collect::<Result<Vec<bool>, String>>()?, is_cut))
        })?;
        if served.contains(&false) && !is_cut {
            return Err("a connection ended".to_owned());
        }
        if is_cut {
            // Those of the export have ended, now or before.
            clients.clear();
        }
        Ok(asked as u64)
    }
}

/// Serves random clients for some rounds. How many requests were answered?
fn session(seed: u64) -> u64 {
    let mut random = SplitMix64::new(seed);
    let bench = Bench::new();
    let exports: Vec<_> = (0..3)
        .map(|n| export(&mut random, &n.to_string()))
        .collect();
    let text: String = exports.iter().map(|export| export.0.as_str()).collect();
    bench.file("three.toml", &text);
    let (child, address) = serve(&bench, "--config three.toml --socket s --control c");
    if address.is_empty() {
        let said = child.wait_with_output().unwrap().stderr;
        panic!("{text}{}", String::from_utf8_lossy(&said));
    }
    let server = Server {
        socket: bench.path("s"),
        control: bench.path("c"),
        schemes: exports.into_iter().map(|export| export.1).collect(),
    };
    let (mut clients, mut answered) = (Vec::new(), 0);
    for round in 0..8 {
        match server.round(&mut random, &mut clients) {
            Ok(count) => answered += count,
            Err(fault) => {
                stop(child);
                panic!("seed {seed}, round {round}: {fault}\n{text}");
            }
        }
    }
    drop(clients);
    stop(child);
    answered
}

#[test]
fn every_request_is_answered_while_the_server_idles() {
    let end = Instant::now() + Duration::from_secs(seconds());
    let (mut sessions, mut answered) = (0, 0);
    while Instant::now() < end {
        answered += session(sessions);
        sessions += 1;
    }
    println!("{answered} requests of {sessions} servers were answered");
}
