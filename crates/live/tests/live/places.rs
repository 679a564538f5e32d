//! Where servers listen: what they leave behind, and what they leave alone.

use crate::serving::{Client, Serving, Setting};
use destage_live::server::{ListenAt, Server, ServerLimits};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

fn server_at(places: &[&Path]) -> Result<Server, String> {
    let places: Vec<ListenAt> = places
        .iter()
        .map(|p| ListenAt::Unix(p.to_path_buf()))
        .collect();
    let started = Server::start(Vec::new(), &places, None, ServerLimits::default());
    started.map_err(|error| error.to_string())
}

#[test]
fn a_server_at_the_path_of_another_one_does_not_hang_it() {
    let first = Serving::start(Setting::default());
    assert!(server_at(&[&first.path]).is_err_and(|e| e.contains("in use")));
    std::fs::remove_file(&first.path).expect("removed");
    let second = server_at(&[&first.path]).expect("the path is free");
    let path = first.path.clone();
    let begun = Instant::now();
    // The folder stays.
    let Serving {
        server, _folder, ..
    } = first;
    server.stop().expect("an end");
    assert!(begun.elapsed() < Duration::from_secs(5));
    let stream = UnixStream::connect(&path).expect("the other server's socket is there");
    let mut client = Client { stream };
    client.greet();
    second.stop().expect("an end");
    assert!(!path.exists());
}

#[test]
fn a_server_that_does_not_start_leaves_no_socket() {
    let folder = tempfile::tempdir().expect("a folder");
    let (good, bad) = (folder.path().join("s"), folder.path().join("none/s"));
    assert!(server_at(&[&good, &bad]).is_err_and(|e| e.contains("none/s")));
    assert!(!good.exists());
    // That of a server that was killed is replaced.
    drop(std::os::unix::net::UnixListener::bind(&good).expect("bound"));
    assert!(good.exists());
    server_at(&[&good])
        .expect("nobody listens there")
        .stop()
        .expect("an end");
    assert!(!good.exists());
}
