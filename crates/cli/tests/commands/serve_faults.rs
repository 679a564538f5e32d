//! `destage serve` when the file with its data cannot take any more.

use crate::common::{Bench, contains};
use crate::serve::{Client, FLUSH, READ, WRITE, end, started, stop};
use std::process::Command;

const EIO: u32 = 5;
/// What the file can take, as with a disk that is full then.
const FREE: u64 = 1 << 20;

#[test]
fn a_full_disk_is_an_error_for_the_client_and_for_the_end() {
    let bench = Bench::new();
    let options = "--socket s --backing disk --no-delay --cache 1MiB";
    // A file that is as long as the device: writes beyond the limit fail, not the start.
    let (server, _) = started(&bench, serving(options, ""));
    stop(server);
    assert!(bench.path("disk").metadata().unwrap().len() > FREE);

    let limit = format!("trap '' XFSZ; ulimit -f {};", FREE >> 9);
    let (server, _) = started(&bench, serving(options, &limit));
    let mut client = Client::new(&bench.path("s"));
    let page = [7; 4096];
    assert_eq!(client.ask(WRITE, 0, 4096, &page).0, 0);
    assert_eq!(client.ask(FLUSH, 0, 0, &[]).0, 0);
    // The cache takes it, and a FLUSH does not say that it is there.
    assert_eq!(client.ask(WRITE, FREE, 4096, &page).0, 0);
    assert_eq!(client.ask(FLUSH, 0, 0, &[]).0, EIO);
    assert_eq!(client.ask(WRITE, 0, 4096, &page).0, EIO);
    assert_eq!(client.ask(READ, 0, 4096, &[]).0, EIO);
    let (code, _, said) = end(server, "TERM");
    assert_eq!(code, Some(1), "{said}");
    contains(&said, "error: ");
    contains(&said, "the data: ");

    // What was durable before is there.
    let (server, _) = started(&bench, serving(options, ""));
    let mut client = Client::new(&bench.path("s"));
    assert_eq!(client.ask(READ, 0, 4096, &[]), (0, page.to_vec()));
    stop(server);
}

/// The command that serves, after what a shell does first.
fn serving(options: &str, first: &str) -> Command {
    let mut shell = Command::new("sh");
    let binary = env!("CARGO_BIN_EXE_destage");
    shell
        .arg("-c")
        .arg(format!("{first} exec '{binary}' serve {options}"));
    shell
}
