//! `destage serve`: a server that clients of NBD use, until it is told to end.

use crate::common::{Bench, words};
use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// The server of `destage serve OPTIONS`, and its address.
pub fn serve(bench: &Bench, options: impl AsRef<str>) -> (Child, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_destage"));
    command.arg("serve").args(words(options.as_ref()));
    started(bench, command)
}

/// The server that `command` starts, and its address.
pub fn started(bench: &Bench, mut command: Command) -> (Child, String) {
    let mut child = command
        .current_dir(bench.dir.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut address = String::new();
    // Byte by byte: what follows stays in the pipe.
    let said = child.stdout.as_mut().unwrap();
    let mut byte = [0];
    while said.read(&mut byte).unwrap() == 1 && byte[0] != b'\n' {
        address.push(char::from(byte[0]));
    }
    (child, address)
}

fn signal(child: &Child, name: &str) {
    let sent = Command::new("kill")
        .args(["-s", name, &child.id().to_string()])
        .status();
    assert!(sent.unwrap().success());
}

/// Tells the server to end, and gives what it said then.
pub fn end(child: Child, name: &str) -> (Option<i32>, String, String) {
    signal(&child, name);
    let ended = child.wait_with_output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (ended.status.code(), text(ended.stdout), text(ended.stderr))
}

/// Ends the server and gives its report.
#[track_caller]
pub fn stop(server: Child) -> String {
    let (code, said, warned) = end(server, "TERM");
    assert_eq!(code, Some(0), "{warned}");
    said
}

/// A client of the oldest kind: EXPORT_NAME, then simple requests.
pub struct Client(std::os::unix::net::UnixStream);

impl Client {
    pub fn new(socket: &Path) -> Client {
        Client::of(socket, "")
    }

    /// One of the export `name`.
    pub fn of(socket: &Path, name: &str) -> Client {
        let mut stream = std::os::unix::net::UnixStream::connect(socket).unwrap();
        let mut greeting = [0; 18];
        stream.read_exact(&mut greeting).unwrap();
        assert_eq!(&greeting[..8], b"NBDMAGIC");
        let mut hello = vec![0, 0, 0, 3];
        hello.extend(b"IHAVEOPT");
        hello.extend([0, 0, 0, 1]);
        hello.extend((name.len() as u32).to_be_bytes());
        hello.extend(name.as_bytes());
        stream.write_all(&hello).unwrap();
        let mut export = [0; 10];
        stream.read_exact(&mut export).unwrap();
        Client(stream)
    }

    pub fn request(&mut self, command: u16, offset: u64, bytes: u32, data: &[u8]) -> Vec<u8> {
        let (error, read) = self.ask(command, offset, bytes, data);
        assert_eq!(error, 0, "an error");
        read
    }

    /// The error of a request, and what a READ without one gives.
    pub fn ask(&mut self, command: u16, offset: u64, bytes: u32, data: &[u8]) -> (u32, Vec<u8>) {
        let error = self.send(0, command, offset, bytes, data);
        let comes = command == READ && error == 0;
        let mut read = vec![0; if comes { bytes as usize } else { 0 }];
        self.0.read_exact(&mut read).unwrap();
        (error, read)
    }

    /// The error of a request with `flags` and without data.
    pub fn flagged(&mut self, flags: u16, command: u16, offset: u64, bytes: u32) -> u32 {
        self.send(flags, command, offset, bytes, &[])
    }

    fn send(&mut self, flags: u16, command: u16, offset: u64, bytes: u32, data: &[u8]) -> u32 {
        let mut wire = 0x2560_9513_u32.to_be_bytes().to_vec();
        wire.extend(flags.to_be_bytes());
        wire.extend(command.to_be_bytes());
        wire.extend(7_u64.to_be_bytes());
        wire.extend(offset.to_be_bytes());
        wire.extend(bytes.to_be_bytes());
        wire.extend(data);
        self.0.write_all(&wire).unwrap();
        let mut reply = [0; 16];
        self.0.read_exact(&mut reply).unwrap();
        u32::from_be_bytes(reply[4..8].try_into().unwrap())
    }
}

pub const READ: u16 = 0;
pub const WRITE: u16 = 1;
pub const FLUSH: u16 = 3;

#[test]
fn data_come_back_and_the_end_has_the_record_of_what_was_served() {
    let bench = Bench::new();
    let options = "--scheme lru --cache 1MiB --socket s --backing disk";
    let recording = format!("{options} --record served.bin --no-delay");
    let (child, address) = serve(&bench, recording);
    assert_eq!(address, "nbd+unix:///?socket=s");
    let mut client = Client::new(&bench.path("s"));
    for page in 0..64_u8 {
        client.request(WRITE, u64::from(page) << 12, 4096, &[page; 4096]);
    }
    assert_eq!(client.request(READ, 5 << 12, 4096, &[]), [5; 4096]);
    client.request(FLUSH, 0, 0, &[]);
    let said = stop(child);
    assert!(
        said.contains("lru") && said.contains("requests to the device: 66"),
        "{said}"
    );
    // The data outlast the server, and so does the trace, which replays alike.
    let mut bytes = vec![0; 64 << 12];
    let mut disk = File::open(bench.path("disk")).unwrap();
    disk.read_exact(&mut bytes).unwrap();
    assert!((0..64).all(|page| bytes[page << 12..(page + 1) << 12] == [page as u8; 4096]));
    let run = "run served.bin --cache 1MiB --format-out jsonl";
    let counts = &bench.destage(run).ok().records()[0]["counts"];
    // The end flushes.
    let wanted = [("requests", 67), ("write_pages", 64), ("read_page_hits", 1)];
    for (field, count) in wanted {
        assert_eq!(counts[field], count, "{field}");
    }
    let (child, _) = serve(&bench, options);
    let mut client = Client::new(&bench.path("s"));
    assert_eq!(client.request(READ, 63 << 12, 4096, &[]), [63; 4096]);
    assert_eq!(end(child, "INT").0, Some(0));
}

#[test]
fn a_power_cut_takes_what_was_not_flushed() {
    let bench = Bench::new();
    let options = "--socket s --power-cut-after 3 --no-delay";
    let (child, address) = serve(&bench, format!("{options} --name disk"));
    assert_eq!(address, "nbd+unix:///disk?socket=s");
    let refused = std::panic::catch_unwind(|| Client::new(&bench.path("s")));
    assert!(refused.is_err(), "there is no export without a name");
    stop(child);

    let (child, _) = serve(&bench, options);
    let socket = bench.path("s");
    let mut client = Client::new(&socket);
    client.request(WRITE, 0, 512, &[1; 512]);
    client.request(FLUSH, 0, 0, &[]);
    // The third request is the last: it may have no reply.
    let mut wire = 0x2560_9513_u32.to_be_bytes().to_vec();
    wire.extend([0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 7]);
    wire.extend([0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 2, 0]);
    wire.extend([2; 512]);
    client.0.write_all(&wire).unwrap();
    let mut rest = Vec::new();
    let _ = client.0.read_to_end(&mut rest);
    let mut client = Client::new(&socket);
    let read = client.request(READ, 0, 1024, &[]);
    assert_eq!(read, [[1; 512], [0; 512]].concat());
    let said = stop(child);
    assert!(said.contains("power cut: 1 pages"), "{said}");
}

#[test]
fn what_cannot_be_served_is_refused_before_anybody_can_come() {
    let bench = Bench::new();
    bench.refuses(
        "
        serve --cache 1MiB | --socket
        serve --tcp 192.0.2.1:10809 | TLS
        serve --socket s --scheme belady | knows the future
        serve --socket s --device none | none
        serve --socket s --device enterprise-tlc-1t --set cache_persistence=nvm --cache-kind dram | --cache-kind dram contradicts cache_persistence = nvm
        serve --socket s --power-cut-after 0 | above 0
        serve --socket s --tls nowhere | nowhere
        serve --socket nowhere/s | nowhere/s
        serve --socket s --backing full --data none | --data
        ",
    );
    // A file of another device keeps what it has.
    bench.file("other", [7; 512]);
    bench.refuses("serve --socket s --backing other | other | has 512 bytes");
    assert_eq!(std::fs::read(bench.path("other")).unwrap(), [7; 512]);
}
