//! `destage trace import-ftrace`: every kind of bad input with its message and exit code, and what
//! is counted and said instead of stopping.

mod common;

use common::{Bench, Done};

fn line(us: u64, event: &str) -> String {
    format!("  app-7  [000] {:.6}: {event}\n", us as f64 / 1e6)
}

fn page(us: u64, index: u64, old: u64, new: u64) -> String {
    let event = format!(
        "f2fs_submit_page_write: dev = (8,0), ino = 4, page_index = {index:#x}, oldaddr = \
         {old:#x}, newaddr = {new:#x}, rw = WRITE(S), type = HOT_DATA"
    );
    line(us, &event)
}

fn issue(us: u64, dev: &str, block: u64) -> String {
    let event = format!("block_rq_issue: {dev} WS 4096 () {} + 8 [app]", block * 8);
    line(us, &event)
}

/// Two good updates.
fn good() -> String {
    page(1, 0, 0x10, 0x20)
        + &issue(2, "8,0", 0x20)
        + &page(3, 0, 0x20, 0x24)
        + &issue(4, "8,0", 0x24)
}

fn import(text: &str, args: &[&str]) -> Done {
    let bench = Bench::new();
    bench.file("raw.ftrace", text);
    bench.destage(&[&["trace", "import-ftrace", "raw.ftrace"], args].concat())
}

#[track_caller]
fn refused(text: &str, args: &[&str], parts: &[&str]) {
    import(text, args).fails(2, parts);
}

#[test]
fn good_text_is_imported() {
    let done = import(&good(), &["--strict"]).ok();
    let rows: Vec<&str> = done.stdout.lines().skip(1).collect();
    assert_eq!(rows.len(), 2, "{}", done.stdout);
    for (row, prev) in rows.iter().zip(["128", "256"]) {
        assert!(row.contains(&format!(",{prev},")), "{row}");
    }
    for part in [
        "2 blocks: 2 moved",
        "check data   1 agree, 0 contradict, 1 first seen",
    ] {
        assert!(done.stderr.contains(part), "{}", done.stderr);
    }
}

#[test]
fn truncated_text() {
    let whole = good();
    let text = &whole[..whole.len() - 20];
    let parts = [
        "raw.ftrace: line 4:",
        "cut off or mixed",
        "--skip-bad-lines",
    ];
    refused(text, &[], &parts);
    let said = import(text, &["--skip-bad-lines"]).ok().stderr;
    assert!(said.contains("1 lines skipped"), "{said}");
    assert!(
        said.contains("1 page events that no request wrote"),
        "{said}"
    );
}

#[test]
fn interleaved_text() {
    let mixed = good() + page(5, 0, 0x24, 0x28).trim_end() + &issue(6, "8,0", 0x28);
    refused(
        &mixed,
        &[],
        &["line 5:", "holds a second event", "cut off or mixed"],
    );
    let broken = mixed.replace("rw = WRITE(S), type = HOT_DATA  app-7", "rw = WRI  app-7");
    refused(&broken, &[], &["line 5:", "cut off or mixed"]);
    let said = import(&broken, &["--skip-bad-lines"]).ok().stderr;
    assert!(said.contains("1 lines skipped"), "{said}");
}

#[test]
fn text_of_something_else() {
    refused(
        "<html>\n",
        &[],
        &["line 1: `<html>` is no event", "--skip-bad-lines"],
    );
    refused("", &[], &["no request of the block layer in 0 lines"]);
    refused(
        "# tracer: nop\n",
        &[],
        &["no request of the block layer in 1 lines"],
    );
    let pages = page(1, 0, 0x10, 0x20);
    refused(
        &pages,
        &[],
        &["no request of the block layer", "block_rq_issue"],
    );
    Bench::new()
        .destage(&["trace", "import-ftrace", "none.ftrace"])
        .fails(2, &["none.ftrace"]);
}

#[test]
fn unknown_events_are_left_out_and_counted() {
    let text = good() + &line(5, "sched_switch: prev_comm=app next_comm=idle");
    let said = import(&text, &[]).ok().stderr;
    assert!(
        said.contains("1 unknown events sched_switch left out"),
        "{said}"
    );
}

#[test]
fn events_of_another_device() {
    let text = good() + &issue(5, "9,0", 0x40);
    refused(
        &text,
        &[],
        &[
            "several devices: 8,0 (2 requests), 9,0 (1 requests)",
            "--device",
        ],
    );
    let said = import(&text, &["--device", "8,0"]).ok().stderr;
    assert!(said.contains("1 requests of device 9,0 left out"), "{said}");
    refused(
        &text,
        &["--device", "7,1"],
        &[
            "no request of device 7,1",
            "8,0 (2 requests), 9,0 (1 requests)",
        ],
    );
    let part = good().replace("(8,0)", "(8,1)");
    refused(
        &part,
        &["--device", "8,0"],
        &["no page event", "F2FS is on 8,1: say fs=MAJOR,MINOR"],
    );
    let wrong = ["--device", "8,0:fs=8,1:start=24"];
    refused(
        &part,
        &wrong,
        &["is the first sector of the partition right (start=SECTOR)?"],
    );
}

#[test]
fn blocks_of_another_size() {
    let bio = "f2fs_submit_write_bio: dev = (8,0)/(8,0), rw = WRITE(S), DATA, sector = 1024, \
               size = 16384";
    let text = page(1, 0, 0x10, 0x20) + &line(2, bio) + &issue(3, "8,0", 0x80);
    refused(
        &text,
        &[],
        &[
            "line 2: the file system has blocks of 16384 bytes",
            "4096 bytes",
        ],
    );
    let bench = Bench::new();
    bench.file("raw.ftrace", good());
    bench.file(
        "map.txt",
        "File size of x is 4096 (4 blocks of 1024 bytes)\n0: 0.. 3: 8.. 11: 4:\n",
    );
    let args = [
        "trace",
        "import-ftrace",
        "raw.ftrace",
        "--fiemap",
        "4=map.txt",
    ];
    bench
        .destage(&args)
        .fails(2, &["map.txt: line 1: the blocks must have 4096 bytes"]);
}

#[test]
fn pairs_that_contradict_the_map() {
    let text = good() + &page(5, 0, 0x20, 0x28) + &issue(6, "8,0", 0x28);
    let said = import(&text, &[]).ok().stderr;
    assert!(
        said.contains("check data   1 agree, 1 contradict, 1 first seen"),
        "{said}"
    );
    refused(
        &text,
        &["--strict"],
        &[
            "line 5: block 0 of inode 4 says its old block is 0x20",
            "last at 0x24",
            "--strict",
        ],
    );
    // The seed is part of what is known.
    let bench = Bench::new();
    bench.file("raw.ftrace", good());
    bench.file("map.txt", "0: 0.. 0: 99.. 99: 1:\n");
    let args = [
        "trace",
        "import-ftrace",
        "raw.ftrace",
        "--strict",
        "--fiemap",
        "4=map.txt",
    ];
    bench
        .destage(&args)
        .fails(2, &["line 1: block 0 of inode 4", "last at 0x63"]);
}

#[test]
fn lost_events() {
    for lost in [
        "CPU:0 [LOST 12 EVENTS]\n",
        "# entries-in-buffer/entries-written: 10/22   #P:2\n",
    ] {
        let text = good() + lost;
        let parts = [
            "line 5: the kernel lost 12 events",
            "larger buffer",
            "--allow-lost",
        ];
        refused(&text, &[], &parts);
        let said = import(&text, &["--allow-lost"]).ok().stderr;
        assert!(said.contains("12 lost events"), "{said}");
    }
}

#[test]
fn bad_options() {
    refused(
        &good(),
        &["--device", "8"],
        &["`8` is no device; allowed: MAJOR,MINOR"],
    );
    refused(
        &good(),
        &["--device", "8,0:at=1"],
        &["`at=1` is neither fs="],
    );
    refused(&good(), &["--fiemap", "x"], &["`x` is not INODE=FILE"]);
    refused(&good(), &["--fiemap", "4=none.txt"], &["none.txt"]);
    refused(&good(), &["--stream", "queue"], &["block_bio_queue"]);
}

fn model(fs: &str, requests: &str) -> Done {
    let bench = Bench::new();
    bench.file("t.csv", common::csv(requests));
    bench.destage(&["run", "t.csv", "--host-fs", fs])
}

#[test]
fn models_that_cannot_be() {
    let many: Vec<String> = (0..64).map(|i| format!("W{i}")).collect();
    let many = many.join(" ");
    model("lfs(segment=8,blocks=32)", &many).fails(
        2,
        &[
            "a volume of 32 blocks of 4 KiB is smaller than what the trace",
            "64 blocks",
            "volume=",
        ],
    );
    // 10 units of 8 blocks, of which 2 are kept free and one is open.
    model("lfs(segment=8,blocks=80,fill=0.9)", "W1 W2").fails(
        2,
        &[
            "72 used blocks are more than cleaning can serve",
            "lower fill=",
        ],
    );
    model("lfs(segment=8,blocks=80)", &many).fails(2, &["more than cleaning can serve"]);
    for (fs, part) in [
        (
            "ext4",
            "no host file system `ext4`; known: inplace, lfs, f2fs",
        ),
        ("inplace(x=1)", "`inplace` takes no options"),
        ("lfs(fil=1)", "no option `fil`; did you mean `fill`?"),
        ("lfs(fill=1.5)", "fill=1.5: allowed: a share from 0 to 1"),
        ("lfs(trim=often)", "trim=often: allowed: none, idle, sync"),
        ("lfs(volume=16)", "volume"),
        ("lfs(segment", "lacks its closing parenthesis"),
        ("f2fs(reserve=1)", "needs at least 3 free units"),
    ] {
        model(fs, "W1").fails(2, &[part]);
    }
    let paired = Bench::new();
    paired.file(
        "p.csv",
        "arrival_ns,op,start_sector,sectors,stream,prev,atomic\n0,W,80,8,0,8,0\n",
    );
    let again = paired.destage(&["run", "p.csv", "--host-fs", "lfs"]);
    again.fails(2, &["its writes name old addresses", "needs no model"]);
}
