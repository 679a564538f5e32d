//! `destage serve` with the clients that people use: over a Unix socket, TCP and TLS. A test whose
//! client is not installed says SKIPPED; `crates/live/tests/install-clients.sh` installs them all.

use crate::common::{Bench, contains};
use crate::serve::{serve, stop};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use std::path::Path;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

/// A device of 250 MiB with a cache that evicts.
const DEVICE: &str = "--set channels=1 --set chips_per_channel=1 --set blocks_per_plane=64 \
                      --scheme lru --cache 2MiB";
/// Bytes that are copied: more than the cache.
const DATA_BYTES: usize = 6 << 20;
/// A client that has not ended by then never will.
const PATIENCE: Duration = Duration::from_secs(120);

/// A server and its address; a socket `s` has its whole path in it.
fn start(bench: &Bench, options: &str) -> (Child, String) {
    let (server, uri) = serve(bench, format!("{DEVICE} {options}"));
    let socket = format!("?socket={}", bench.path("s").display());
    (server, uri.replace("?socket=s", &socket))
}

/// Are the programs there? Debian's package is named where one is not.
fn installed(programs: &[&str], package: &str) -> bool {
    let missing = |program: &&&str| Command::new(program).arg("--version").output().is_err();
    match programs.iter().find(missing) {
        Some(program) => {
            eprintln!("SKIPPED: no `{program}` here (Debian: apt install {package})");
            false
        }
        None => true,
    }
}

/// The output of a client that succeeds in time, in the folder `dir`.
#[track_caller]
fn client(dir: &Path, program: &str, args: &[&str]) -> String {
    let (out, err) = (dir.join("client.out"), dir.join("client.err"));
    let file = |path| std::fs::File::create(path).unwrap();
    let mut child = Command::new(program)
        .args(args)
        .current_dir(dir)
        .stdout(file(&out))
        .stderr(file(&err))
        .spawn()
        .unwrap();
    let begin = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break Some(status);
        }
        if begin.elapsed() > PATIENCE {
            child.kill().unwrap();
            child.wait().unwrap();
            break None;
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    let read = |path| String::from_utf8_lossy(&std::fs::read(path).unwrap()).into_owned();
    let said = read(&out) + &read(&err);
    assert!(
        status.is_some_and(|s| s.success()),
        "{program} {args:?}: {said}"
    );
    said
}

/// Data of which no two sectors are alike, with holes.
fn data() -> Vec<u8> {
    let mut bytes = vec![0; DATA_BYTES];
    for (i, sector) in bytes.chunks_mut(512).enumerate() {
        if i % 1024 < 900 {
            let mark = (i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes();
            sector
                .chunks_mut(8)
                .for_each(|word| word.copy_from_slice(&mark));
        }
    }
    bytes
}

/// Copies data to `uri` and back.
fn copy_there_and_back(bench: &Bench, uri: &str) {
    let dir = bench.dir.path();
    let data = data();
    bench.file("from", &data);
    contains(&client(dir, "nbdinfo", &[uri]), "can_multi_conn: true");
    client(dir, "nbdcopy", &["--flush", "from", uri]);
    client(dir, "nbdcopy", &[uri, "to"]);
    let back = std::fs::read(bench.path("to")).unwrap();
    assert!(back[..DATA_BYTES] == data, "what was copied in comes out");
    assert!(back[DATA_BYTES..].iter().all(|&byte| byte == 0));
}

#[test]
fn nbdcopy_over_a_socket_and_over_tcp() {
    if !installed(&["nbdinfo", "nbdcopy"], "libnbd-bin") {
        return;
    }
    let bench = Bench::new();
    for options in ["--socket s", "--tcp 127.0.0.1:0 --no-delay --name disk"] {
        let (server, uri) = start(&bench, options);
        copy_there_and_back(&bench, &uri);
        contains(&stop(server), "lru");
    }
}

/// Certificates of a new authority in `dir`: of the server, or of a client.
pub fn certificates(authority: &CertifiedIssuer<'static, KeyPair>, dir: &Path, who: &str) {
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    let certificate = params.signed_by(&key, authority).unwrap();
    std::fs::create_dir(dir).unwrap();
    let write = |name: String, text| std::fs::write(dir.join(name), text).unwrap();
    write("ca-cert.pem".to_owned(), authority.pem());
    write(format!("{who}-cert.pem"), certificate.pem());
    write(format!("{who}-key.pem"), key.serialize_pem());
}

pub fn authority() -> CertifiedIssuer<'static, KeyPair> {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

#[test]
fn nbdcopy_over_tls_with_a_certificate_and_not_without() {
    if !installed(&["nbdinfo", "nbdcopy"], "libnbd-bin") {
        return;
    }
    let bench = Bench::new();
    let (ours, others) = (authority(), authority());
    certificates(&ours, &bench.path("server"), "server");
    certificates(&ours, &bench.path("client"), "client");
    certificates(&others, &bench.path("stranger"), "client");
    let (server, uri) = start(&bench, "--tcp 127.0.0.1:0 --no-delay --tls server");
    assert!(uri.starts_with("nbds://127.0.0.1:"), "{uri}");
    let port = uri.rsplit(':').next().unwrap();
    let with = |who: &str| {
        let folder = bench.path(who);
        format!(
            "nbds://localhost:{port}/?tls-certificates={}",
            folder.display()
        )
    };
    let info = client(bench.dir.path(), "nbdinfo", &[&with("client")]);
    contains(&info, "with TLS");
    copy_there_and_back(&bench, &with("client"));
    for refused in [with("stranger"), format!("nbd://localhost:{port}")] {
        let asked = Command::new("nbdinfo").arg(&refused).output().unwrap();
        assert!(!asked.status.success(), "{refused} was served");
    }
    copy_there_and_back(&bench, &with("client"));
    stop(server);
}

#[test]
fn libnbd_from_python() {
    // Debian's module belongs to Debian's Python, which need not be the first one.
    let has_module = |python: &&str| {
        let tried = Command::new(python).args(["-c", "import nbd"]).output();
        tried.is_ok_and(|done| done.status.success())
    };
    let Some(python) = ["python3", "/usr/bin/python3"].into_iter().find(has_module) else {
        return eprintln!(
            "SKIPPED: no Python module `nbd` here (Debian: apt install python3-libnbd)"
        );
    };
    let bench = Bench::new();
    let (server, _) = start(&bench, "--socket s --name disk");
    let script = "import nbd
h = nbd.NBD()
h.set_export_name('disk')
h.connect_unix('s')
assert h.get_block_size(nbd.SIZE_PREFERRED) == 4096
page = bytes(range(256)) * 16
for n in range(600):
    h.pwrite(page, n * 4096)
h.flush()
cookies = [h.aio_pread(nbd.Buffer(4096), n * 4096) for n in range(600)]
while h.aio_in_flight():
    h.poll(-1)
assert all(h.aio_command_completed(c) for c in cookies)
assert all(h.pread(4096, n * 4096) == page for n in range(600))
h.trim(4096, 8192)
assert h.pread(4096, 8192) == bytes(4096)
h.shutdown()
";
    client(bench.dir.path(), python, &["-c", script]);
    contains(&stop(server), "replies left after their simulated time");
}

#[test]
fn qemu_reads_what_it_wrote() {
    if !installed(&["qemu-img", "qemu-io"], "qemu-utils") {
        return;
    }
    let bench = Bench::new();
    let (server, uri) = start(&bench, "--socket s --no-delay");
    let commands = [
        "write -P 17 4096 4M",
        "write -f -P 18 8M 4k",
        "read -P 17 4096 4M",
        "write -z 8192 4096",
        "read -P 0 8192 4096",
        "discard 8M 64k",
        "aio_write -P 19 16M 1M",
        "aio_flush",
        "read -P 19 16M 1M",
        "flush",
    ];
    let mut args = vec!["-f", "raw", &uri];
    commands
        .iter()
        .for_each(|command| args.extend(["-c", command]));
    let said = client(bench.dir.path(), "qemu-io", &args);
    assert!(!said.contains("failed"), "{said}");
    let convert = ["convert", "-f", "raw", "-O", "raw", &uri, "copy"];
    client(bench.dir.path(), "qemu-img", &convert);
    let compare = ["compare", "-f", "raw", "-F", "raw", &uri, "copy"];
    contains(&client(bench.dir.path(), "qemu-img", &compare), "identical");
    stop(server);
}

#[test]
fn fio_verifies_random_io_of_several_jobs_at_depth_32() {
    let engines = Command::new("fio").arg("--enghelp").output();
    if !engines.is_ok_and(|o| String::from_utf8_lossy(&o.stdout).contains("nbd")) {
        return eprintln!("SKIPPED: no `fio` with the engine nbd here (Debian: apt install fio)");
    }
    let load = "--name=verify --ioengine=nbd --rw=randrw --bsrange=512-64k --blockalign=512 \
                --iodepth=32 --numjobs=4 --size=6m --offset_increment=16m --verify=crc32c \
                --verify_backlog=64 --verify_fatal=1 --fsync=50 --group_reporting";
    let bench = Bench::new();
    for options in ["--socket s --no-delay", "--socket s", "--tcp 127.0.0.1:0"] {
        let (server, uri) = start(&bench, options);
        let uri = format!("--uri={uri}");
        let mut args: Vec<&str> = load.split_whitespace().collect();
        args.push(&uri);
        contains(&client(bench.dir.path(), "fio", &args), "err= 0");
        stop(server);
    }
}
