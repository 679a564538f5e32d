//! A medium that fails: its clients are told, and those of other exports do not notice.

use crate::serving::{Client, FLUSH, READ, Serving, Setting, WRITE};
use destage_live::store::{Medium, MemoryMedium};
use std::io;
use std::os::unix::net::UnixStream;

/// As a disk that is full beyond the first 64 KiB.
struct FullDisk(MemoryMedium);

const FREE: u64 = 64 << 10;

impl Medium for FullDisk {
    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.0.read(offset, out)
    }

    fn write(&mut self, offset: u64, data: &[u8]) -> io::Result<()> {
        if offset + data.len() as u64 > FREE {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.0.write(offset, data)
    }

    fn discard(&mut self, offset: u64, bytes: u64) -> io::Result<()> {
        self.0.discard(offset, bytes)
    }

    fn allocation(&self, offset: u64, bytes: u64) -> io::Result<(bool, u64)> {
        self.0.allocation(offset, bytes)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.0.sync()
    }
}

const EIO: u32 = 5;

fn write(client: &mut Client<UnixStream>, offset: u64) -> u32 {
    client.request(0, WRITE, offset, 4096, &[7; 4096]);
    client.simple()
}

fn flush(client: &mut Client<UnixStream>) -> u32 {
    client.request(0, FLUSH, 0, 0, b"");
    client.simple()
}

#[test]
fn clients_of_a_full_disk_get_errors_and_other_exports_live_on() {
    let serving = Serving::start(Setting {
        exports: vec![("full", false), ("well", false)],
        medium: |name| match name {
            "full" => Box::new(FullDisk(MemoryMedium::default())),
            _ => Box::new(MemoryMedium::default()),
        },
        ..Setting::default()
    });
    let (mut full, mut well) = (serving.connected("full"), serving.connected("well"));
    assert_eq!(
        (write(&mut full, 0), flush(&mut full)),
        (0, 0),
        "there is room"
    );
    // The cache takes it; that it cannot be kept is known when it leaves, and said by the FLUSH.
    assert_eq!(write(&mut full, FREE), 0);
    assert_eq!(
        flush(&mut full),
        EIO,
        "what was lost is not said to be there"
    );
    assert_eq!(write(&mut full, 0), EIO);
    full.request(0, READ, 0, 4096, b"");
    assert_eq!(full.simple(), EIO);
    assert_eq!(
        flush(&mut serving.connected("full")),
        EIO,
        "nor to later clients"
    );

    assert_eq!((write(&mut well, FREE), flush(&mut well)), (0, 0));
    assert_eq!(well.read(FREE, 4096), [7; 4096]);

    let reports = serving.server.stop().expect("an end");
    let failures: Vec<bool> = reports.iter().map(|r| r.failure.is_some()).collect();
    assert_eq!(failures, [true, false]);
}
