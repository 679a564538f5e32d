//! `destage serve` when the file with its data cannot take any more.

use crate::common::{Bench, contains};
use crate::serve::{Client, FLUSH, READ, WRITE, end, serve, started, stop};
use std::process::Command;

const EIO: u32 = 5;
/// Bytes that the file can take, as on a disk that is full then.
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

    // Durable data of before are there.
    let (server, _) = started(&bench, serving(options, ""));
    let mut client = Client::new(&bench.path("s"));
    assert_eq!(client.ask(READ, 0, 4096, &[]), (0, page.to_vec()));
    stop(server);
}

#[test]
fn files_that_another_server_uses_are_refused() {
    let bench = Bench::new();
    let first = "--socket s --control c --backing disk --record r.bin --cache 1MiB --no-delay";
    let (server, _) = serve(&bench, first);
    bench.refuses(
        "
        serve --socket t --backing disk | locked
        serve --socket t --record disk | locked
        serve --socket t --record r.bin | another command is writing it
        serve --socket t --backing r.bin | another command is writing it
        serve --socket s --backing new | in use
        serve --socket t --control c --record new.bin | in use
        ",
    );
    let (second, _) = serve(&bench, "--socket t --control d --cache 1MiB");
    for file in ["disk", "r.bin"] {
        let done = bench.destage(format!("ctl --control d snapshot {file}"));
        done.fails(1, &["refused", file]);
    }
    // A server that does not start leaves nothing behind.
    let left = std::fs::read_dir(bench.dir.path()).unwrap();
    let mut names: Vec<String> = left
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| !name.starts_with(".r.bin."))
        .collect();
    names.sort_unstable();
    assert_eq!(names, ["c", "d", "disk", "s", "t"]);
    stop(second);
    Client::new(&bench.path("s")).request(WRITE, 0, 4096, &[1; 4096]);
    stop(server);
    assert!(bench.path("r.bin").exists());
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
