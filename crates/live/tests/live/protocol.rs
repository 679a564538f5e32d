//! Answers of the server to clients that keep to the protocol, and to those that do not.

use crate::serving::{CAPACITY, FLUSH, READ, Serving, Setting, WRITE};
use destage_live::server::{Pace, PowerCutAt};
use destage_live::store::AddressPattern;
use destage_types::rng::SplitMix64;
use std::io::Write;
use std::net::Shutdown;
use std::process::Command;
use std::time::{Duration, Instant};

const TRIM: u16 = 4;
const WRITE_ZEROES: u16 = 6;
const BLOCK_STATUS: u16 = 7;

#[test]
fn faults_of_requests_have_their_error_numbers() {
    let serving = Serving::start(Setting {
        exports: vec![("", false), ("ro", true)],
        ..Setting::default()
    });
    let mut client = serving.client();
    client.greet();
    let (bytes, flags) = client.choose("");
    assert_eq!((bytes, flags & 2), (CAPACITY, 0));
    assert_eq!(flags & 128, 0, "no DF without structured replies");
    let end = CAPACITY;
    let cases = [
        (0, READ, end, 512, 22),
        (0, READ, u64::MAX - 511, 512, 22),
        (0, READ, 1, 512, 22),
        (0, READ, 0, 511, 22),
        (4, READ, 0, 512, 22),
        (0, READ, 0, 33 << 20, 22),
        (0, TRIM, end - 512, 1024, 22),
        (0, WRITE_ZEROES, end - 512, 1024, 28),
        (16, WRITE_ZEROES, 0, 512, 22),
        (0, BLOCK_STATUS, 0, 512, 22),
        (0, 99, 0, 512, 22),
        (1, FLUSH, 0, 0, 0),
        (0, READ, 0, 0, 0),
        (3, WRITE_ZEROES, 512, 65536, 0),
        (1, TRIM, 0, 1 << 20, 0),
    ];
    for (flags, command, offset, length, error) in cases {
        client.request(flags, command, offset, length, b"");
        let told = client.simple();
        assert_eq!(told, error, "{flags} {command} {offset} {length}");
    }
    client.request(0, WRITE, end - 512, 1024, &[1; 1024]);
    assert_eq!(
        client.simple(),
        28,
        "the data are skipped and the next request is found"
    );
    client.request(0, WRITE, 512, 512, &[7; 512]);
    assert_eq!(client.simple(), 0);
    assert_eq!(client.read(0, 1024), [[0; 512], [7; 512]].concat());
    let mut reader = serving.client();
    reader.greet();
    assert_eq!(reader.choose("ro").1 & 2, 2);
    reader.request(0, WRITE, 0, 512, &[1; 512]);
    assert_eq!(reader.simple(), 1);
    assert_eq!(reader.read(512, 512), [0; 512], "it is another export");
    serving.server.stop().expect("an end");
}

#[test]
fn options_are_answered_one_by_one() {
    let serving = Serving::start(Setting::default());
    let mut client = serving.client();
    client.greet();
    client.option(8, b"");
    assert_eq!(client.option_reply().0, 1);
    client.option(3, b"");
    assert_eq!(client.option_reply(), (2, b"\0\0\0\0a model".to_vec()));
    assert_eq!(client.option_reply().0, 1);
    client.option(5, b"");
    assert_eq!(
        client.option_reply().0,
        1 << 31 | 2,
        "there is no certificate"
    );
    client.option(77, b"what");
    assert_eq!(client.option_reply().0, 1 << 31 | 1);
    client.option(6, b"\0\0\0\x04none\0\0");
    assert_eq!(client.option_reply().0, 1 << 31 | 6);
    client.option(7, b"\0\0\0\x09x\0\0");
    assert_eq!(client.option_reply().0, 1 << 31 | 3);
    client.option(7, &vec![0; 100_000]);
    assert_eq!(client.option_reply().0, 1 << 31 | 9);
    client.option(2, b"");
    assert_eq!(client.option_reply().0, 1);
    assert!(client.is_closed());
    let mut unknown = serving.client();
    unknown.greet();
    unknown.option(1, b"no such export");
    assert!(unknown.is_closed());
    serving.server.stop().expect("an end");
}

#[test]
fn dying_and_hostile_clients_leave_others_alone() {
    let serving = Serving::start(Setting::default());
    let mut good = serving.connected("");
    good.request(0, WRITE, 0, 512, &[3; 512]);
    assert_eq!(good.simple(), 0);
    let mut random = SplitMix64::new(5);
    for i in 0..300 {
        let mut bad = serving.client();
        let mut noise = vec![0; random.below(200) as usize];
        noise.iter_mut().for_each(|b| *b = random.next_u64() as u8);
        if i % 3 > 0 {
            bad.greet();
            bad.choose("");
        }
        if i % 3 == 2 {
            // Dies in the middle of its data, or without waiting for what it asked.
            bad.request(0, READ, 0, 32 << 20, b"");
            bad.request(0, WRITE, 0, 1 << 20, &noise);
        }
        // The server may have closed the connection already.
        let _ = bad.stream.write_all(&noise);
    }
    assert_eq!(
        good.read(0, 512),
        [3; 512],
        "no part of an incomplete write was done"
    );
    serving.server.stop().expect("an end");
}

/// Resident memory of this process in bytes.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/statm").expect("a status");
    let pages = status.split(' ').nth(1).and_then(|n| n.parse::<u64>().ok());
    pages.expect("a number") * 4096
}

#[test]
fn a_client_that_takes_no_replies_takes_bounded_memory() {
    // Other tests take memory in the same process: this one runs alone in another.
    if std::env::var_os("DESTAGE_ALONE").is_none() {
        let this = std::env::current_exe().expect("a program");
        let name = "protocol::a_client_that_takes_no_replies_takes_bounded_memory";
        let alone = Command::new(this)
            .args(["--exact", name])
            .env("DESTAGE_ALONE", "1")
            .output();
        let done = alone.expect("a run");
        let told = String::from_utf8_lossy(&done.stdout);
        assert!(done.status.success() && told.contains("1 passed"), "{told}");
        return;
    }
    let serving = Serving::start(Setting::default());
    let before = resident();
    let mut greedy = serving.connected("");
    greedy.stream.set_nonblocking(true).expect("set");
    let until = Instant::now() + Duration::from_millis(700);
    let mut header = 0x2560_9513u32.to_be_bytes().to_vec();
    header.extend([0; 4]);
    header.extend([0; 16]);
    header.extend((4u32 << 20).to_be_bytes());
    while Instant::now() < until {
        // 4 MiB for each 28 bytes; in the end the server takes no more of them.
        if greedy.stream.write_all(&header).is_err() {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    let grown = resident().saturating_sub(before);
    assert!(grown < 400 << 20, "{grown} bytes more");
    let mut good = serving.connected("");
    good.request(0, READ, 0, 512, b"");
    assert_eq!(good.simple(), 0);
    drop(greedy);
    serving.server.stop().expect("an end");
}

#[test]
fn after_a_power_cut_connections_are_gone_and_volatile_data_too() {
    for cut in [Some(PowerCutAt::Requests(3)), None] {
        let serving = Serving::start(Setting {
            cut,
            ..Setting::default()
        });
        let mut client = serving.connected("");
        client.request(1, WRITE, 0, 4096, &[1; 4096]);
        assert_eq!(client.simple(), 0);
        client.request(0, WRITE, 0, 4096, &[2; 4096]);
        assert_eq!(client.simple(), 0);
        match cut {
            Some(_) => client.request(0, READ, 0, 512, b""),
            None => {
                let loss = serving.server.power_cut("").expect("an export");
                assert_eq!((loss.pages, loss.requests), (1, 0));
            }
        }
        assert!(client.is_closed());
        assert_eq!(serving.connected("").read(0, 512), [1; 512]);
        let reports = serving.server.stop().expect("an end");
        assert_eq!(reports[0].power_cuts.len(), 1);
        assert_eq!(reports[0].power_cuts[0].pages, 1);
    }
}

#[test]
fn replies_leave_when_the_device_is_done() {
    let serving = Serving::start(Setting {
        pace: Pace::Wall { scale: 0.01 },
        ..Setting::default()
    });
    let mut client = serving.connected("");
    let start = Instant::now();
    client.request(1, WRITE, 0, 512, &[1; 512]);
    assert_eq!(client.simple(), 0);
    // A program takes at least 100 us, a hundredth of the speed makes that 10 ms.
    assert!(start.elapsed() >= Duration::from_millis(10));
    client.stream.shutdown(Shutdown::Both).expect("closed");
    let reports = serving.server.stop().expect("an end");
    assert_eq!(reports[0].lateness.replies(), 1);
    assert!(reports[0].end.0 >= 100_000);
}

#[test]
fn a_pattern_serves_64_tib() {
    let serving = Serving::start(Setting {
        bytes: 64 << 40,
        sets: &[
            "channels=64",
            "chips_per_channel=16",
            "dies_per_chip=1",
            "planes_per_die=1",
            "blocks_per_plane=1023",
            "pages_per_block=4096",
            "page_bytes=32768",
        ],
        medium: |_| Box::new(AddressPattern),
        ..Setting::default()
    });
    let mut client = serving.client();
    client.greet();
    assert_eq!(client.choose("").0, 64 << 40);
    let at = (64 << 40) - 512;
    client.request(0, WRITE, at, 512, &[1; 512]);
    assert_eq!(client.simple(), 0);
    assert_eq!(client.read(at, 512)[504..], u64::to_le_bytes(at + 504));
    serving.server.stop().expect("an end");
}
