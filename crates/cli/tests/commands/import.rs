//! `destage trace import-ftrace`: every kind of bad input with its message and exit code, and what
//! is counted and said instead of stopping.

use crate::common::{Bench, Done, HEAD, csv, unframed};

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

fn import(text: &str, args: &str) -> Done {
    let bench = Bench::new();
    bench.file("raw.ftrace", text);
    bench.destage(format!("trace import-ftrace raw.ftrace {args}"))
}

/// The text is refused, and what stands between bars in `parts` is said.
#[track_caller]
fn refused(text: &str, args: &str, parts: &str) {
    let parts: Vec<&str> = parts.split(" | ").collect();
    import(text, args).fails(2, &parts);
}

#[test]
fn good_text_is_imported() {
    let done = import(&good(), "--strict").ok();
    let stdout = unframed(&done.stdout);
    let rows: Vec<&str> = stdout.lines().skip(1).collect();
    assert_eq!(rows.len(), 2, "{}", done.stdout);
    for (row, prev) in rows.iter().zip(["128", "256"]) {
        assert!(row.contains(&format!(",{prev},")), "{row}");
    }
    for part in [
        "2 blocks: 2 moved",
        "check data   1 agree, 0 contradict, 1 first seen",
    ] {
        done.says(part);
    }
}

#[test]
fn truncated_text() {
    let whole = good();
    let text = &whole[..whole.len() - 20];
    let parts = "raw.ftrace: line 4: | cut off or mixed | --skip-bad-lines";
    refused(text, "", parts);
    let skipped = import(text, "--skip-bad-lines").ok();
    skipped.says("1 lines skipped");
    skipped.says("1 page events that no request wrote");
}

#[test]
fn interleaved_text() {
    let mixed = good() + page(5, 0, 0x24, 0x28).trim_end() + &issue(6, "8,0", 0x28);
    refused(
        &mixed,
        "",
        "line 5: | holds a second event | cut off or mixed",
    );
    let broken = mixed.replace("rw = WRITE(S), type = HOT_DATA  app-7", "rw = WRI  app-7");
    refused(&broken, "", "line 5: | cut off or mixed");
    import(&broken, "--skip-bad-lines")
        .ok()
        .says("1 lines skipped");
}

#[test]
fn text_of_something_else() {
    refused(
        "<html>\n",
        "",
        "line 1: `<html>` is no event | --skip-bad-lines",
    );
    refused("", "", "no request of the block layer in 0 lines");
    refused(
        "# tracer: nop\n",
        "",
        "no request of the block layer in 1 lines",
    );
    let pages = page(1, 0, 0x10, 0x20);
    refused(&pages, "", "no request of the block layer | block_rq_issue");
}

#[test]
fn unknown_events_are_left_out_and_counted() {
    let text = good() + &line(5, "sched_switch: prev_comm=app next_comm=idle");
    import(&text, "")
        .ok()
        .says("1 unknown events sched_switch left out");
}

#[test]
fn events_of_another_device() {
    let text = good() + &issue(5, "9,0", 0x40);
    refused(
        &text,
        "",
        "several devices: 8,0 (2 requests), 9,0 (1 requests) | --device",
    );
    import(&text, "--device 8,0")
        .ok()
        .says("1 requests of device 9,0 left out");
    refused(
        &text,
        "--device 7,1",
        "no request of device 7,1 | 8,0 (2 requests), 9,0 (1 requests)",
    );
    let part = good().replace("(8,0)", "(8,1)");
    refused(
        &part,
        "--device 8,0",
        "no page event | F2FS is on 8,1: say fs=MAJOR,MINOR",
    );
    let wrong = "--device 8,0:fs=8,1:start=24";
    refused(
        &part,
        wrong,
        "is the first sector of the partition right (start=SECTOR)?",
    );
}

#[test]
fn blocks_of_another_size() {
    let bio = "f2fs_submit_write_bio: dev = (8,0)/(8,0), rw = WRITE(S), DATA, sector = 1024, \
               size = 16384";
    let text = page(1, 0, 0x10, 0x20) + &line(2, bio) + &issue(3, "8,0", 0x80);
    refused(
        &text,
        "",
        "line 2: the file system has blocks of 16384 bytes | 4096 bytes",
    );
    let bench = Bench::new();
    bench.file("raw.ftrace", good());
    bench.file(
        "map.txt",
        "File size of x is 4096 (4 blocks of 1024 bytes)\n0: 0.. 3: 8.. 11: 4:\n",
    );
    bench.refuses(
        "
        trace import-ftrace raw.ftrace --fiemap 4=map.txt
          | map.txt: line 1: the blocks must have 4096 bytes
        ",
    );
}

#[test]
fn pairs_that_contradict_the_map() {
    let text = good() + &page(5, 0, 0x20, 0x28) + &issue(6, "8,0", 0x28);
    import(&text, "")
        .ok()
        .says("check data   1 agree, 1 contradict, 1 first seen");
    refused(
        &text,
        "--strict",
        "line 5: block 0 of inode 4 says its old block is 0x20 | last at 0x24 | --strict",
    );
    // The seed is part of what is known.
    let bench = Bench::new();
    bench.file("raw.ftrace", good());
    bench.file("map.txt", "0: 0.. 0: 99.. 99: 1:\n");
    bench.refuses(
        "
        trace import-ftrace raw.ftrace --strict --fiemap 4=map.txt
          | line 1: block 0 of inode 4 | last at 0x63
        ",
    );
}

#[test]
fn lost_events() {
    for lost in [
        "CPU:0 [LOST 12 EVENTS]\n",
        "# entries-in-buffer/entries-written: 10/22   #P:2\n",
    ] {
        let text = good() + lost;
        let parts = "line 5: the kernel lost 12 events | larger buffer | --allow-lost";
        refused(&text, "", parts);
        import(&text, "--allow-lost").ok().says("12 lost events");
    }
}

#[test]
fn bad_options() {
    let bench = Bench::new();
    bench.file("raw.ftrace", good());
    bench.refuses(
        "
        trace import-ftrace none.ftrace | none.ftrace
        trace import-ftrace raw.ftrace --device 8 | `8` is no device; allowed: MAJOR,MINOR
        trace import-ftrace raw.ftrace --device 8,0:at=1 | `at=1` is neither fs=
        trace import-ftrace raw.ftrace --fiemap x | `x` is not INODE=FILE
        trace import-ftrace raw.ftrace --fiemap 4=none.txt | none.txt
        trace import-ftrace raw.ftrace --stream queue | block_bio_queue
        ",
    );
}

#[test]
fn models_that_cannot_be() {
    let many: Vec<String> = (0..64).map(|i| format!("W{i}")).collect();
    let bench = Bench::with(csv("W1 W2"));
    bench.file("many.csv", csv(&many.join(" ")));
    bench.file("pairs.csv", format!("{HEAD}0,W,80,8,0,8,0\n"));
    // 80 blocks are 10 units of 8 blocks, of which 2 are kept free and one is open.
    bench.refuses(
        "
        run many.csv --host-fs lfs(segment=8,blocks=32)
          | a volume of 32 blocks of 4 KiB is smaller than what the trace | 64 blocks | volume=
        run t.csv --host-fs lfs(segment=8,blocks=80,fill=0.9)
          | 72 used blocks are more than cleaning can serve | lower fill=
        run many.csv --host-fs lfs(segment=8,blocks=80) | more than cleaning can serve
        run t.csv --host-fs ext4 | no host file system `ext4`; known: inplace, lfs, f2fs
        run t.csv --host-fs inplace(x=1) | `inplace` takes no options
        run t.csv --host-fs lfs(fil=1) | no option `fil`; did you mean `fill`?
        run t.csv --host-fs lfs(fill=1.5) | fill=1.5: allowed: a share from 0 to 1
        run t.csv --host-fs lfs(trim=often) | trim=often: allowed: none, idle, sync
        run t.csv --host-fs lfs(volume=16) | volume
        run t.csv --host-fs lfs(segment | lacks its closing parenthesis
        run t.csv --host-fs f2fs(reserve=1) | needs at least 3 free units
        run pairs.csv --host-fs lfs | its writes name old addresses | needs no model
        ",
    );
}
