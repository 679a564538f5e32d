//! A server over a simulated device, and a client that sends any bytes.

use crate::model::{PAGE_BYTES, simulated};
use destage_live::device::DataDevice;
use destage_live::protocol::BlockSizes;
use destage_live::protocol::negotiation::ExportInfo;
use destage_live::server::{Export, ListenAt, Pace, PowerCutAt, Server, ServerLimits, ServerTls};
use destage_live::store::{CacheKind, Medium, MemoryMedium, Store};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

pub const CAPACITY: u64 = 64 << 20;

pub const READ: u16 = 0;
pub const WRITE: u16 = 1;
pub const FLUSH: u16 = 3;

pub struct Setting {
    pub exports: Vec<(&'static str, bool)>,
    /// That of the export of this name.
    pub medium: fn(&str) -> Box<dyn Medium>,
    pub bytes: u64,
    /// Settings in which the device differs from the default one.
    pub sets: &'static [&'static str],
    pub pace: Pace,
    pub cut: Option<PowerCutAt>,
    pub tls: Option<ServerTls>,
    pub limits: ServerLimits,
}

impl Default for Setting {
    fn default() -> Setting {
        Setting {
            exports: vec![("", false)],
            medium: |_| Box::new(MemoryMedium::default()),
            bytes: CAPACITY,
            sets: &[],
            pace: Pace::Unpaced,
            cut: None,
            tls: None,
            limits: ServerLimits::default(),
        }
    }
}

/// A server at a Unix socket in a folder of its own, and at a free port.
pub struct Serving {
    pub server: Server,
    pub path: PathBuf,
    pub port: u16,
    pub _folder: tempfile::TempDir,
}

impl Serving {
    pub fn start(setting: Setting) -> Serving {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("nbd");
        let export = |&(name, read_only): &(&str, bool)| {
            let medium = (setting.medium)(name);
            let info = ExportInfo {
                name: name.to_owned(),
                description: "a model".to_owned(),
                bytes: setting.bytes,
                read_only,
                blocks: BlockSizes::of_page(PAGE_BYTES),
            };
            let sets = setting.sets;
            let device = move || {
                let store = Store::new(medium, CacheKind::Dram, PAGE_BYTES);
                DataDevice::new(simulated(sets, "lru", 64 << 12), store, Vec::new())
            };
            Export::start(info, device, setting.pace, setting.cut).expect("an export")
        };
        let exports = setting.exports.iter().map(export).collect();
        let places = [
            ListenAt::Unix(path.clone()),
            ListenAt::Tcp("127.0.0.1:0".parse().expect("an address")),
        ];
        let server =
            Server::start(exports, &places, setting.tls, setting.limits).expect("a server");
        let port = server.addresses().find_map(|at| match at {
            ListenAt::Tcp(address) => Some(address.port()),
            ListenAt::Unix(_) => None,
        });
        Serving {
            server,
            path,
            port: port.expect("a port"),
            _folder: folder,
        }
    }

    pub fn uri(&self) -> String {
        format!("nbd+unix:///?socket={}", self.path.display())
    }

    pub fn client(&self) -> Client<UnixStream> {
        let stream = UnixStream::connect(&self.path).expect("a connection");
        let patience = Some(Duration::from_secs(20));
        stream.set_read_timeout(patience).expect("a timeout");
        Client { stream }
    }

    /// A client that has chosen `export`.
    pub fn connected(&self, export: &str) -> Client<UnixStream> {
        let mut client = self.client();
        client.greet();
        client.choose(export);
        client
    }

    pub fn tcp(&self) -> TcpStream {
        TcpStream::connect(("127.0.0.1", self.port)).expect("a connection")
    }
}

/// One connection, byte by byte.
pub struct Client<S> {
    pub stream: S,
}

impl<S: Read + Write> Client<S> {
    pub fn send(&mut self, parts: &[&[u8]]) {
        self.stream.write_all(&parts.concat()).expect("sent");
    }

    pub fn take(&mut self, n: usize) -> Vec<u8> {
        let mut out = vec![0; n];
        self.stream.read_exact(&mut out).expect("received");
        out
    }

    /// Is the connection closed from the other side, with nothing more to come?
    pub fn is_closed(&mut self) -> bool {
        let mut rest = Vec::new();
        match self.stream.read_to_end(&mut rest) {
            Ok(_) => rest.is_empty(),
            Err(e) => e.kind() == std::io::ErrorKind::ConnectionReset,
        }
    }

    pub fn greet(&mut self) {
        let greeting = self.take(18);
        assert_eq!(greeting, b"NBDMAGICIHAVEOPT\0\x03");
        self.send(&[&3u32.to_be_bytes()]);
    }

    pub fn option(&mut self, option: u32, data: &[u8]) {
        let length = (data.len() as u32).to_be_bytes();
        self.send(&[b"IHAVEOPT", &option.to_be_bytes(), &length, data]);
    }

    /// The kind and the data of a reply to an option.
    pub fn option_reply(&mut self) -> (u32, Vec<u8>) {
        let head = self.take(20);
        let at = |i: usize| u32::from_be_bytes(head[i..i + 4].try_into().expect("four bytes"));
        let data = self.take(at(16) as usize);
        (at(12), data)
    }

    /// Chooses an export by EXPORT_NAME; its size and flags.
    pub fn choose(&mut self, name: &str) -> (u64, u16) {
        self.option(1, name.as_bytes());
        let told = self.take(10);
        let bytes = u64::from_be_bytes(told[..8].try_into().expect("eight bytes"));
        (bytes, u16::from_be_bytes([told[8], told[9]]))
    }

    pub fn request(&mut self, flags: u16, command: u16, offset: u64, length: u32, data: &[u8]) {
        self.send(&[
            &0x2560_9513u32.to_be_bytes(),
            &flags.to_be_bytes(),
            &command.to_be_bytes(),
            b"a cookie",
            &offset.to_be_bytes(),
            &length.to_be_bytes(),
            data,
        ]);
    }

    /// The `n` bytes from `at` on, which can be read.
    #[track_caller]
    pub fn read(&mut self, at: u64, n: u32) -> Vec<u8> {
        self.request(0, READ, at, n, b"");
        assert_eq!(self.simple(), 0);
        self.take(n as usize)
    }

    /// The error of a simple reply.
    pub fn simple(&mut self) -> u32 {
        let reply = self.take(16);
        assert_eq!(reply[..4], 0x6744_6698u32.to_be_bytes());
        assert_eq!(&reply[8..], b"a cookie");
        u32::from_be_bytes(reply[4..8].try_into().expect("four bytes"))
    }
}
