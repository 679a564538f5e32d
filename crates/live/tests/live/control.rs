//! The control socket, whatever comes in.

use destage_live::control::{ControlCommand, ControlReply, ControlRequest, ControlSocket};
use destage_live::control::{MAX_LINE_BYTES, ask};
use serde_json::{Map, Value};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Tells the scheme that it was given, and refuses the rest.
fn echo(request: ControlRequest) -> ControlReply {
    match request.command {
        ControlCommand::Scheme { scheme, .. } => {
            Ok(Map::from_iter([("scheme".to_owned(), scheme.into())]))
        }
        _ => Err("not this one".to_owned()),
    }
}

fn place() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("ctl");
    (folder, path)
}

fn connect(path: &Path) -> UnixStream {
    let stream = UnixStream::connect(path).expect("a connection");
    let patience = Some(Duration::from_secs(20));
    stream.set_read_timeout(patience).expect("a timeout");
    stream
}

fn scheme(text: &str) -> ControlRequest {
    ControlRequest {
        export: None,
        command: ControlCommand::Scheme {
            scheme: text.to_owned(),
            cache: None,
        },
    }
}

#[track_caller]
fn assert_answers(path: &Path) {
    let told = ask(path, &scheme("lru")).expect("a reply").expect("done");
    assert_eq!(told["scheme"], "lru");
}

#[test]
fn each_line_is_answered_by_one() {
    let (_folder, path) = place();
    let _control = ControlSocket::open(&path, echo).expect("a socket");
    let mode = path.metadata().expect("a file").permissions().mode();
    assert_eq!(mode & 0o777, 0o600, "nobody else's");
    let mut stream = connect(&path);
    let mut replies = BufReader::new(stream.try_clone().expect("cloned")).lines();
    let mut reply = || -> Value {
        let line = replies.next().expect("a line").expect("text");
        serde_json::from_str(&line).expect("JSON")
    };
    let good = scheme("arc").line();
    // Two lines at once, one in two halves, and bad ones in between.
    let text = format!("{good}\n{{\"command\":\"rest\"}}\n{}", &good[..9]);
    stream.write_all(text.as_bytes()).expect("sent");
    assert_eq!(reply()["scheme"], "arc");
    let refused = reply();
    assert_eq!(refused["ok"], false);
    assert!(refused["error"].as_str().expect("text").contains("`reset`"));
    let rest = format!("{}\n\n\u{0}\n{{\"command\":\"stats\"}}\n", &good[9..]);
    stream.write_all(rest.as_bytes()).expect("sent");
    assert_eq!(reply()["ok"], true);
    for fault in ["no JSON object", "no JSON object", "not this one"] {
        let refused = reply();
        assert!(refused["error"].as_str().expect("text").contains(fault));
    }
}

#[test]
fn hostile_connections_leave_others_alone() {
    let (_folder, path) = place();
    let control = ControlSocket::open(&path, echo).expect("a socket");
    // A line without end is refused as soon as it is too long, and nothing more is read.
    let mut endless = connect(&path);
    let bytes = vec![b'['; MAX_LINE_BYTES + 1];
    endless.write_all(&bytes).expect("taken");
    let mut told = String::new();
    endless.read_to_string(&mut told).expect("the end");
    assert!(
        told.contains("65536 bytes") && told.contains("\"ok\":false"),
        "{told}"
    );
    // The longest that may be is read, and is no JSON.
    let mut longest = connect(&path);
    longest.write_all(&bytes[..MAX_LINE_BYTES]).expect("taken");
    longest.write_all(b"\n").expect("taken");
    let mut line = String::new();
    BufReader::new(&longest)
        .read_line(&mut line)
        .expect("a reply");
    assert!(line.contains("no JSON object"), "{line}");
    drop(longest);
    // Half a line, then gone; and connections that say nothing at all.
    connect(&path).write_all(b"{\"comm").expect("taken");
    assert_answers(&path);
    let mut silent: Vec<UnixStream> = (0..12).map(|_| connect(&path)).collect();
    assert_answers(&path);
    silent.extend((0..10).map(|_| connect(&path)));
    // There are too many: the oldest give way, so nobody is locked out.
    assert_answers(&path);
    let mut nothing = String::new();
    silent[0].read_to_string(&mut nothing).expect("the end");
    assert_eq!(nothing, "");
    drop(silent);
    assert_answers(&path);
    // The end waits for nobody who is silent.
    let waiting = connect(&path);
    drop(control);
    assert!(!path.exists());
    drop(waiting);
}

#[test]
fn a_half_line_has_ten_seconds() {
    let (_folder, path) = place();
    let _control = ControlSocket::open(&path, echo).expect("a socket");
    let mut slow = connect(&path);
    let begun = std::time::Instant::now();
    let mut sent = 0;
    // A byte a second is not enough.
    while slow.write_all(b"{").is_ok() && sent < 20 {
        std::thread::sleep(Duration::from_secs(1));
        sent += 1;
    }
    let taken = begun.elapsed().as_secs();
    assert!((9..19).contains(&taken), "{taken} s");
    assert_answers(&path);
}

#[test]
fn a_socket_that_is_in_use_stays_and_a_stale_one_goes() {
    let (folder, path) = place();
    let first = ControlSocket::open(&path, echo).expect("a socket");
    assert!(ControlSocket::open(&path, echo).is_err(), "it is in use");
    assert_answers(&path);
    drop(first);
    drop(UnixListener::bind(&path).expect("a socket nobody listens at"));
    let _again = ControlSocket::open(&path, echo).expect("it was stale");
    assert_answers(&path);
    let file = folder.path().join("file");
    std::fs::write(&file, "mine").expect("written");
    assert!(ControlSocket::open(&file, echo).is_err());
    assert_eq!(std::fs::read(&file).expect("it stays"), b"mine");
}
