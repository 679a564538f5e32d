//! Delays of one client by another, and long requests in pieces.

use crate::serving::{Client, FLUSH, READ, Serving, Setting, WRITE};
use destage_live::server::{Pace, ServerLimits};
use destage_live::store::{Medium, MemoryBudget, MemoryMedium};
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

const TRIM: u16 = 4;
const CACHE: u16 = 5;
const MIB: u32 = 1 << 20;

/// A device at a tenth of its speed: 22 MB/s.
fn slow() -> Serving {
    Serving::start(Setting {
        pace: Pace::Wall { scale: 0.1 },
        ..Setting::default()
    })
}

/// Asks for 2 GiB of the device's work at once.
fn ask_for_much(client: &mut Client<UnixStream>) {
    let pages: Vec<u8> = vec![1; 48 << 20];
    client.request(0, WRITE, 0, 24 << 20, &pages[..24 << 20]);
    for i in 0..64 {
        client.request(0, CACHE, (i % 8) << 20, 32 << 20, b"");
    }
}

#[test]
fn a_client_that_asks_for_little_does_not_wait_for_one_that_asks_for_much() {
    let serving = slow();
    let mut greedy = serving.connected("");
    let mut modest = serving.connected("");
    modest.request(0, WRITE, 0, 4096, &[1; 4096]);
    assert_eq!(modest.simple(), 0);
    ask_for_much(&mut greedy);
    for _ in 0..20 {
        let begun = Instant::now();
        modest.request(0, READ, 0, 4096, b"");
        assert_eq!(modest.simple(), 0);
        modest.take(4096);
        // The device holds 4 MiB of others: a fifth of a second at this speed.
        assert!(
            begun.elapsed() < Duration::from_secs(1),
            "{:?}",
            begun.elapsed()
        );
    }
    drop((greedy, modest));
    serving.server.stop().expect("an end");
}

#[test]
fn requests_of_a_client_that_has_gone_are_dropped() {
    let serving = slow();
    let mut gone = serving.connected("");
    ask_for_much(&mut gone);
    drop(gone);
    let begun = Instant::now();
    let mut next = serving.connected("");
    next.request(0, FLUSH, 0, 0, b"");
    assert_eq!(next.simple(), 0);
    drop(next);
    let reports = serving.server.stop().expect("an end");
    // Two minutes of work were asked for.
    assert!(
        begun.elapsed() < Duration::from_secs(10),
        "{:?}",
        begun.elapsed()
    );
    assert!(reports[0].requests < 40, "{}", reports[0].requests);
}

#[test]
fn the_end_does_not_wait_for_what_the_device_was_not_given() {
    let serving = slow();
    let mut client = serving.connected("");
    ask_for_much(&mut client);
    std::thread::sleep(Duration::from_millis(100));
    let begun = Instant::now();
    let ended = std::thread::spawn(move || serving.server.stop().expect("an end"));
    // Each request has an answer: done, or that the server ends.
    let first = client.simple();
    assert!([0, 108].contains(&first), "{first}");
    drop(client);
    ended.join().expect("ended");
    assert!(
        begun.elapsed() < Duration::from_secs(5),
        "{:?}",
        begun.elapsed()
    );
}

#[test]
fn connections_that_never_begin_lock_nobody_out() {
    let limits = ServerLimits {
        connections: 8,
        beginnings: 8,
        pool: 1 << 20,
    };
    let serving = Serving::start(Setting {
        limits,
        ..Setting::default()
    });
    let half: Vec<Client<UnixStream>> = (0..20).map(|_| serving.client()).collect();
    let mut good: Vec<Client<UnixStream>> = (0..4).map(|_| serving.connected("")).collect();
    for client in &mut good {
        assert_eq!(client.read(0, 512), [0; 512]);
    }
    // One client has half of the connections at most.
    let chosen = || {
        let mut client = serving.client();
        client.greet();
        client.option(1, b"");
        let served = client.stream.read_exact(&mut [0; 10]).is_ok();
        served.then_some(client)
    };
    assert!(chosen().is_none());
    drop(half);
    good.pop();
    // The place of a client that has gone is free at once, or soon.
    let begun = Instant::now();
    let mut again = None;
    while again.is_none() && begun.elapsed() < Duration::from_secs(5) {
        again = chosen();
    }
    let mut again = again.expect("a place");
    assert_eq!(again.read(0, 512), [0; 512]);
    drop((good, again));
    serving.server.stop().expect("an end");
}

#[test]
fn slow_writers_hold_back_nobody() {
    let limits = ServerLimits {
        connections: 64,
        beginnings: 64,
        pool: 4 << 20,
    };
    let serving = Serving::start(Setting {
        limits,
        ..Setting::default()
    });
    let slow: Vec<Client<UnixStream>> = (0..16)
        .map(|_| {
            let mut client = serving.connected("");
            client.request(0, WRITE, 0, 32 << 20, &[1; 100]);
            client
        })
        .collect();
    let mut good = serving.connected("");
    let data = vec![3; 8 << 20];
    let begun = Instant::now();
    good.request(0, WRITE, 32 << 20, 8 << 20, &data);
    assert_eq!(good.simple(), 0);
    assert!(good.read(32 << 20, 8 << 20) == data);
    assert!(
        begun.elapsed() < Duration::from_secs(1),
        "{:?}",
        begun.elapsed()
    );
    drop(slow);
    serving.server.stop().expect("an end");
}

#[test]
fn long_requests_come_back_whole_and_in_order() {
    let serving = Serving::start(Setting::default());
    for structured in [false, true] {
        let mut client = serving.client();
        client.greet();
        if structured {
            client.option(8, b"");
            assert_eq!(client.option_reply().0, 1);
        }
        client.choose("");
        let data: Vec<u8> = (0..7 * MIB).map(|i| (i / 512 % 251) as u8).collect();
        client.request(0, WRITE, 512, 7 * MIB, &data);
        // The reply to the second request does not come between the pieces of the first.
        client.request(0, READ, 512, 7 * MIB, b"");
        client.request(0, READ, 512, 512, b"");
        let heads = if structured {
            [20, 20 + 8, 20 + 8]
        } else {
            [16; 3]
        };
        client.take(heads[0]);
        client.take(heads[1]);
        assert!(client.take(data.len()) == data, "{structured}");
        client.take(heads[2]);
        assert!(client.take(512) == data[..512]);
        client.request(0, TRIM, 0, 64 * MIB, b"");
        client.take(heads[0]);
    }
    serving.server.stop().expect("an end");
}

/// Fails to read from 2 MiB on.
struct BadEnd(MemoryMedium);

impl Medium for BadEnd {
    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        if offset >= 2 << 20 {
            Err(io::ErrorKind::InvalidData.into())
        } else {
            self.0.read(offset, out)
        }
    }

    fn write(&mut self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.0.write(offset, data)
    }

    fn discard(&mut self, offset: u64, bytes: u64) -> io::Result<()> {
        self.0.discard(offset, bytes)
    }

    fn allocation(&self, offset: u64, bytes: u64) -> io::Result<(bool, u64)> {
        self.0.allocation(offset, bytes)
    }

    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_long_read_that_fails_never_looks_like_one_that_succeeds() {
    let serving = Serving::start(Setting {
        medium: |_| Box::new(BadEnd(MemoryMedium::default())),
        ..Setting::default()
    });
    let mut client = serving.connected("");
    client.request(0, READ, 2 << 20, 3 * MIB, b"");
    assert_eq!(client.simple(), 5, "it fails at its beginning");
    // The length was said when its third piece fails: only the connection can tell.
    client.request(0, READ, 0, 3 * MIB, b"");
    let mut told = Vec::new();
    let _ = client.stream.read_to_end(&mut told);
    assert!(told.len() < 16 + (3 << 20), "{}", told.len());
    assert_eq!(serving.connected("").read(0, 512), [0; 512]);
    serving.server.stop().expect("an end");
}

#[test]
fn writes_beyond_the_memory_for_data_are_refused_and_others_go_on() {
    let serving = Serving::start(Setting {
        medium: |_| Box::new(MemoryMedium::new(MemoryBudget::new(4 << 20))),
        ..Setting::default()
    });
    let mut client = serving.connected("");
    let data = vec![6; 2 << 20];
    client.request(0, WRITE, 0, 2 * MIB, &data);
    assert_eq!(client.simple(), 0);
    client.request(0, WRITE, 16 << 20, 8 * MIB, &vec![7; 8 << 20]);
    assert_eq!(client.simple(), 28);
    client.request(0, FLUSH, 0, 0, b"");
    assert_eq!(client.simple(), 0, "nothing that was taken is lost");
    client.request(0, WRITE, 0, 2 * MIB, &data);
    assert_eq!(client.simple(), 0, "space that it has");
    client.request(0, TRIM, 16 << 20, 8 * MIB, b"");
    assert_eq!(client.simple(), 0);
    client.request(0, WRITE, 32 << 20, MIB, &data[..1 << 20]);
    assert_eq!(client.simple(), 0, "space comes back");
    assert!(client.read(0, 2 * MIB) == data);
    client.stream.flush().expect("flushed");
    serving.server.stop().expect("an end");
}
