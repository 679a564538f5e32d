//! `serve --memory`: what a server may take is kept, or refused with a reason.

use crate::common::Bench;
use crate::serve::{Client, FLUSH, READ, WRITE, serve, stop};
use crate::serve_hostile::peak_mib;

const TRIM: u16 = 4;
const WRITE_ZEROES: u16 = 6;
const NO_HOLE: u16 = 2;
const ENOSPC: u32 = 28;
const LONGEST: u32 = u32::MAX - 511;

#[test]
fn what_cannot_fit_is_refused_before_it_is_served() {
    let bench = Bench::new();
    bench.refuses(
        "
        serve --socket s --cache 6GiB --memory 512MiB | --memory 512MiB
        serve --socket s --cache 6GiB --memory 512MiB --data none | tables
        serve --socket s --memory 64MiB | smaller cache or device
        ",
    );
    assert!(!bench.path("s").exists());
    let (server, _) = serve(
        &bench,
        "--socket s --control c --cache 1MiB --memory 512MiB",
    );
    let more = bench.destage("ctl --control c scheme lru --cache 4GiB");
    more.fails(1, &["--memory"]);
    bench
        .destage("ctl --control c scheme lru --cache 2MiB")
        .ok();
    stop(server);
}

#[test]
fn zeros_of_4_gib_take_no_more_than_the_limit() {
    let bench = Bench::new();
    let options = "--socket s --no-delay --memory 512MiB --cache 16MiB";
    for (data, zeros) in [("memory", ENOSPC), ("none", 0)] {
        let (server, _) = serve(&bench, format!("{options} --data {data}"));
        let mut client = Client::new(&bench.path("s"));
        assert_eq!(client.ask(WRITE, 0, 4096, &[7; 4096]).0, 0);
        assert_eq!(
            client.flagged(NO_HOLE, WRITE_ZEROES, 1 << 20, LONGEST),
            zeros
        );
        if data == "memory" {
            // Stored data are there, can be written, and space comes back.
            assert_eq!(client.ask(WRITE, 0, 4096, &[8; 4096]).0, 0);
            assert_eq!(client.request(READ, 0, 4096, &[]), [8; 4096]);
            let more = vec![8; 1 << 20];
            assert_eq!(client.ask(WRITE, 8 << 30, 1 << 20, &more).0, ENOSPC);
            assert_eq!(client.ask(FLUSH, 0, 0, &[]).0, 0);
            assert_eq!(client.ask(TRIM, 1 << 20, LONGEST, &[]).0, 0);
            assert_eq!(client.ask(WRITE, 8 << 30, 1 << 20, &more).0, 0);
        }
        let peak = peak_mib(&server);
        println!("{data}: {peak} MiB");
        assert!(peak <= 512, "{data}: {peak} MiB");
        stop(server);
    }
}

#[test]
fn a_large_cache_keeps_to_the_limit() {
    let bench = Bench::new();
    let options = "--socket s --no-delay --memory 1GiB --cache 256MiB --backing disk";
    let (server, _) = serve(&bench, options);
    let mut client = Client::new(&bench.path("s"));
    let data = vec![5; 1 << 20];
    for mib in 0..640_u64 {
        client.request(WRITE, (mib % 300) << 20, 1 << 20, &data);
    }
    client.request(FLUSH, 0, 0, &[]);
    let peak = peak_mib(&server);
    println!("{peak} MiB");
    assert!((256..=1024).contains(&peak), "{peak} MiB");
    stop(server);
}
