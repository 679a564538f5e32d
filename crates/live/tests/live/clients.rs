//! Clients that people use. Where one is not installed, the test says so.

use crate::serving::{Serving, Setting};
use destage_live::server::Pace;
use std::path::Path;
use std::process::Command;

/// Is there such a program? Debian's package is named where there is not.
fn installed(program: &str, package: &str) -> bool {
    let found = Command::new(program).arg("--version").output().is_ok();
    if !found {
        eprintln!("SKIPPED: no `{program}` here (Debian: apt install {package})");
    }
    found
}

fn run(program: &str, args: &[&str]) -> String {
    let done = Command::new(program)
        .args(args)
        .output()
        .expect("a program");
    let shown = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (out, err) = (shown(&done.stdout), shown(&done.stderr));
    assert!(done.status.success(), "{program} {args:?}: {out}\n{err}");
    out + &err
}

fn noise(path: &Path, bytes: usize) {
    let mut random = destage_types::rng::SplitMix64::new(4);
    let mut data: Vec<u8> = Vec::with_capacity(bytes);
    while data.len() < bytes {
        // Some chunks are zeros, which copies make holes of.
        match random.below(4) {
            0 => data.extend([0; 65536]),
            _ => (0..8192).for_each(|_| data.extend(random.next_u64().to_le_bytes())),
        }
    }
    data.truncate(bytes);
    std::fs::write(path, data).expect("written");
}

#[test]
fn nbdinfo_and_nbdcopy() {
    if !installed("nbdcopy", "libnbd-bin") || !installed("nbdinfo", "libnbd-bin") {
        return;
    }
    let serving = Serving::start(Setting::default());
    let uri = serving.uri();
    let told = run("nbdinfo", &[&uri]);
    for word in [
        "67108864",
        "can_multi_conn: true",
        "can_fua: true",
        "can_df: true",
        "base:allocation",
    ] {
        assert!(told.contains(word), "{word}: {told}");
    }
    assert!(run("nbdinfo", &["--list", &uri]).contains("a model"));
    let folder = tempfile::tempdir().expect("a folder");
    let (from, to) = (folder.path().join("from"), folder.path().join("to"));
    noise(&from, crate::serving::CAPACITY as usize);
    let (from_text, to_text) = (from.display().to_string(), to.display().to_string());
    run("nbdcopy", &["--flush", &from_text, &uri]);
    assert!(run("nbdinfo", &["--map", &uri]).contains("hole,zero"));
    let tcp = format!("nbd://127.0.0.1:{}", serving.port);
    run("nbdcopy", &[&tcp, &to_text]);
    let same = std::fs::read(&from).expect("read") == std::fs::read(&to).expect("read");
    assert!(same, "what was copied in comes out");
    serving.server.stop().expect("an end");
}

#[test]
fn libnbd() {
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
    let serving = Serving::start(Setting {
        pace: Pace::Wall { scale: 1.0 },
        ..Setting::default()
    });
    let script = "import nbd
h = nbd.NBD()
h.add_meta_context('base:allocation')
h.connect_uri(URI)
assert h.get_structured_replies_negotiated() and h.get_block_size(nbd.SIZE_PREFERRED) == 4096
h.set_strict_mode(0)
h.pwrite(b'x' * 4096, 8192, nbd.CMD_FLAG_FUA)
assert h.pread(4096, 8192) == b'x' * 4096
runs = []
h.block_status(65536, 0, lambda name, offset, entries, err: runs.extend(entries))
assert runs == [8192, 3, 4096, 0, 53248, 3] or runs == [16384, 0, 49152, 3], runs
h.trim(4096, 8192)
assert h.pread(4096, 8192) == bytes(4096)
h.zero(65536, 0, nbd.CMD_FLAG_NO_HOLE)
h.cache(65536, 0)
h.flush()
for call, code in [(lambda: h.pread(512, h.get_size()), 'EINVAL'), (lambda: h.pwrite(bytes(512), h.get_size()), 'ENOSPC')]:
    try:
        call()
        raise SystemExit('served')
    except nbd.Error as e:
        assert e.errno == code, e
h.shutdown()
";
    let script = script.replace("URI", &format!("{:?}", serving.uri()));
    run(python, &["-c", &script]);
    serving.server.stop().expect("an end");
}

#[test]
fn qemu() {
    if !installed("qemu-img", "qemu-utils") || !installed("qemu-io", "qemu-utils") {
        return;
    }
    let serving = Serving::start(Setting::default());
    let uri = serving.uri();
    assert!(run("qemu-img", &["info", &uri]).contains("64 MiB"));
    let commands = [
        "write -P 17 4096 128k",
        "write -f -P 18 1M 4k",
        "read -P 17 4096 128k",
        "write -z 8192 4096",
        "read -P 0 8192 4096",
        "discard 1M 64k",
        "aio_write -P 19 2M 1M",
        "aio_write -P 20 4M 1M",
        "aio_flush",
        "read -P 19 2M 1M",
        "flush",
    ];
    let mut args = vec!["-f", "raw", &uri];
    commands.iter().for_each(|c| args.extend(["-c", c]));
    let told = run("qemu-io", &args);
    assert!(!told.contains("failed"), "{told}");
    run(
        "qemu-img",
        &["compare", "-f", "raw", "-F", "raw", &uri, &uri],
    );
    serving.server.stop().expect("an end");
}

#[test]
fn fio_verifies_what_several_jobs_write_at_depth_32() {
    let engines = Command::new("fio").arg("--enghelp").output();
    let has_nbd = engines.is_ok_and(|o| String::from_utf8_lossy(&o.stdout).contains("nbd"));
    if !has_nbd {
        return eprintln!("SKIPPED: no `fio` with the engine nbd here (Debian: apt install fio)");
    }
    for pace in [Pace::Unpaced, Pace::Wall { scale: 1.0 }] {
        let serving = Serving::start(Setting {
            pace,
            ..Setting::default()
        });
        let folder = tempfile::tempdir().expect("a folder");
        let uri = format!("--uri={}", serving.uri());
        let told = run(
            "fio",
            &[
                "--name=verify",
                "--ioengine=nbd",
                &uri,
                "--rw=randrw",
                "--bsrange=4k-64k",
                "--iodepth=32",
                "--numjobs=3",
                "--size=8m",
                "--offset_increment=16m",
                "--verify=crc32c",
                "--verify_backlog=64",
                "--verify_fatal=1",
                "--fsync=50",
                "--thread=0",
                "--group_reporting",
                &format!("--aux-path={}", folder.path().display()),
            ],
        );
        assert!(told.contains("err= 0"), "{told}");
        serving.server.stop().expect("an end");
    }
}
