//! A hostile client delays others by a second at most. It tries for `DESTAGE_HOSTILE_SECONDS`.

use crate::common::Bench;
use crate::serve::{Client, READ, WRITE, started};
use crate::serve_clients::{authority, certificates};
use crate::serve_hostile_client::{Targets, attack};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The longest that anything of another client may take.
const PATIENCE: Duration = Duration::from_secs(1);
/// `--memory` of each server, in MiB.
const MEMORY_MIB: u64 = 512;
/// Set in the process of the hostile client: its targets.
const HOSTILE: &str = "DESTAGE_HOSTILE";

pub fn seconds() -> u64 {
    let said = std::env::var("DESTAGE_HOSTILE_SECONDS");
    said.map_or(3, |text| {
        text.parse().expect("DESTAGE_HOSTILE_SECONDS is a number")
    })
}

/// The most memory that a process had, in MiB.
pub fn peak_mib(process: &Child) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", process.id())).unwrap();
    let line = status
        .lines()
        .find_map(|l| l.strip_prefix("VmHWM:"))
        .unwrap();
    line.split_whitespace()
        .next()
        .unwrap()
        .parse::<u64>()
        .unwrap()
        / 1024
}

/// A server under `--memory`, and its address.
fn server(bench: &Bench, options: &str) -> (Child, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_destage"));
    command.args(["serve", "--memory", &format!("{MEMORY_MIB}MiB")]);
    command.args(options.split_whitespace());
    started(bench, command)
}

/// The longest wait so far, and what was waited for.
#[derive(Default)]
struct Waits {
    longest: Duration,
    of: &'static str,
}

impl Waits {
    /// Does something that waits for the server.
    fn time<T>(&mut self, of: &'static str, work: impl FnOnce() -> T) -> T {
        let begun = Instant::now();
        let done = work();
        if begun.elapsed() > self.longest {
            (self.longest, self.of) = (begun.elapsed(), of);
        }
        done
    }
}

/// Does `work` until `end`.
fn until(end: Instant, mut work: impl FnMut(u64, &mut Waits)) -> Waits {
    let mut waits = Waits::default();
    for round in 0.. {
        if Instant::now() > end {
            break;
        }
        work(round, &mut waits);
        std::thread::sleep(Duration::from_millis(10));
    }
    waits
}

/// A client that stays, and asks for little.
fn small_requests(socket: &Path, end: Instant) -> Waits {
    let mut client = Client::new(socket);
    until(end, |round, waits| {
        let at = (round % 256) << 12;
        let data = [round as u8; 4096];
        waits.time("WRITE", || client.request(WRITE, at, 4096, &data));
        let read = waits.time("READ", || client.request(READ, at, 4096, &[]));
        assert_eq!(read, data);
    })
}

/// Clients that come, move 2 MiB there and back, and go.
fn long_requests(socket: &Path, end: Instant) -> Waits {
    let data: Vec<u8> = (0..2 << 20).map(|i| (i >> 9) as u8).collect();
    until(end, |_, waits| {
        let mut client = waits.time("connection", || Client::new(socket));
        waits.time("WRITE", || client.request(WRITE, 4 << 20, 2 << 20, &data));
        let read = waits.time("READ", || client.request(READ, 4 << 20, 2 << 20, &[]));
        assert!(read == data);
    })
}

/// Clients that come over TLS, read a page, and go.
fn encrypted_clients(address: &str, config: &Arc<ClientConfig>, end: Instant) -> Waits {
    let visit = || {
        let mut plain = TcpStream::connect(address).unwrap();
        plain.read_exact(&mut [0; 18]).unwrap();
        plain
            .write_all(b"\0\0\0\x03IHAVEOPT\0\0\0\x05\0\0\0\0")
            .unwrap();
        plain.read_exact(&mut [0; 20]).unwrap();
        let name = ServerName::try_from("localhost").unwrap();
        let connection = ClientConnection::new(Arc::clone(config), name).unwrap();
        let mut tls = StreamOwned::new(connection, plain);
        tls.write_all(b"IHAVEOPT\0\0\0\x01\0\0\0\0").unwrap();
        tls.read_exact(&mut [0; 10]).unwrap();
        let mut wire = 0x2560_9513_u32.to_be_bytes().to_vec();
        wire.extend([0; 20]);
        wire.extend(4096_u32.to_be_bytes());
        tls.write_all(&wire).unwrap();
        let mut page = vec![1; 16 + 4096];
        tls.read_exact(&mut page).unwrap();
        assert!(page[16..].iter().all(|&byte| byte == 0));
    };
    until(end, |_, waits| waits.time("handshake and READ", visit))
}

fn pages(address: &str, end: Instant) -> Waits {
    let visit = || {
        let mut stream = TcpStream::connect(address).unwrap();
        stream
            .write_all(b"GET /stats HTTP/1.1\r\nHost: localhost\r\n\r\n")
            .unwrap();
        let mut reply = String::new();
        stream.read_to_string(&mut reply).unwrap();
        assert!(reply.starts_with("HTTP/1.1 200"), "{reply:.100}");
    };
    until(end, |_, waits| waits.time("GET", visit))
}

fn orders(control: &Path, end: Instant) -> Waits {
    let visit = || {
        let mut stream = UnixStream::connect(control).unwrap();
        stream.write_all(b"{\"command\":\"stats\"}\n").unwrap();
        let mut reply = String::new();
        BufReader::new(stream).read_line(&mut reply).unwrap();
        assert!(reply.starts_with("{\"ok\":true"), "{reply:.100}");
    };
    until(end, |_, waits| {
        waits.time("stats", visit);
        // Each order stops the export while its record is made.
        std::thread::sleep(Duration::from_millis(200));
    })
}

fn client_config(folder: &Path) -> Arc<ClientConfig> {
    let certificate = |name: &str| CertificateDer::from_pem_file(folder.join(name)).unwrap();
    let mut roots = RootCertStore::empty();
    roots.add(certificate("ca-cert.pem")).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider);
    let config = config.with_safe_default_protocol_versions().unwrap();
    let chain = vec![certificate("client-cert.pem")];
    let key = PrivateKeyDer::from_pem_file(folder.join("client-key.pem")).unwrap();
    let config = config
        .with_root_certificates(roots)
        .with_client_auth_cert(chain, key);
    Arc::new(config.unwrap())
}

/// Another process that attacks `targets`.
fn hostile(targets: &Targets) -> Child {
    let name = "serve_hostile::a_hostile_client_leaves_others_alone_and_memory_in_its_limit";
    let folder = targets.folder.display();
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name])
        .env(
            HOSTILE,
            format!("{folder} {} {}", targets.encrypted, targets.page),
        )
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

#[test]
fn a_hostile_client_leaves_others_alone_and_memory_in_its_limit() {
    if let Ok(targets) = std::env::var(HOSTILE) {
        let parts: Vec<&str> = targets.split(' ').collect();
        attack(&Targets {
            folder: parts[0].into(),
            encrypted: parts[1].to_owned(),
            page: parts[2].to_owned(),
        });
    }
    let bench = Bench::new();
    let ours = authority();
    certificates(&ours, &bench.path("server"), "server");
    certificates(&ours, &bench.path("client"), "client");
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let page = port.local_addr().unwrap().to_string();
    drop(port);
    let (plain, _) = server(&bench, &format!("--socket s --control c --ui {page}"));
    let (tls, uri) = server(&bench, "--tcp 127.0.0.1:0 --tls server");
    let encrypted = uri.strip_prefix("nbds://").expect(&uri).to_owned();
    let (socket, control) = (bench.path("s"), bench.path("c"));
    // Their data are there: what the hostile one writes takes no space from them.
    let mut first = Client::new(&socket);
    (0..8).for_each(|i| _ = first.request(WRITE, i << 20, 1 << 20, &[9; 1 << 20]));
    let config = client_config(&bench.path("client"));
    let mut enemy = hostile(&Targets {
        folder: bench.dir.path().to_owned(),
        encrypted: encrypted.clone(),
        page: page.clone(),
    });
    // Until it has begun.
    std::thread::sleep(Duration::from_secs(1));
    let end = Instant::now() + Duration::from_secs(seconds());
    let waits = std::thread::scope(|scope| {
        let threads = [
            (
                "small requests",
                scope.spawn(|| small_requests(&socket, end)),
            ),
            ("long requests", scope.spawn(|| long_requests(&socket, end))),
            (
                "TLS",
                scope.spawn(|| encrypted_clients(&encrypted, &config, end)),
            ),
            ("live page", scope.spawn(|| pages(&page, end))),
            ("orders", scope.spawn(|| orders(&control, end))),
        ];
        threads.map(|(name, thread)| (name, thread.join().expect(name)))
    });
    let peaks = [&plain, &tls].map(peak_mib);
    for (name, waits) in &waits {
        println!("{name}: {:?} for {}", waits.longest, waits.of);
    }
    println!("peaks of memory: {peaks:?} MiB");
    let begun = Instant::now();
    for server in [plain, tls] {
        let (code, _, said) = crate::serve::end(server, "TERM");
        assert_eq!(code, Some(0), "{said}");
    }
    let ended = begun.elapsed();
    println!("both servers ended in {ended:?}");
    drop(enemy.stdin.take());
    enemy.wait().unwrap();
    for (name, waits) in waits {
        let Waits { longest, of } = waits;
        assert!(longest <= PATIENCE, "{name}: {longest:?} for {of}");
    }
    assert!(peaks.iter().all(|&peak| peak <= MEMORY_MIB), "{peaks:?}");
    assert!(ended < Duration::from_secs(10), "{ended:?}");
}
