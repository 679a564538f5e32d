//! Kernel event text: what becomes of each event, and what bad text gives.

use destage_fsmodel::ftrace::{
    DeviceSpec, Import, ImportError, ImportOptions, RequestEvent, import,
};
use destage_trace::Source;
use destage_types::request::NO_PREV;
use destage_types::{Op, RequestFlags, Tag};

fn line(us: u64, task: &str, event: &str) -> String {
    format!(
        " {task} [000] {}.{:06}: {event}\n",
        us / 1_000_000,
        us % 1_000_000
    )
}

/// An event of an application.
fn app(us: u64, event: &str) -> String {
    line(us, "app-7", event)
}

fn page(us: u64, ino: u64, index: u64, old: u64, new: u64, kind: &str) -> String {
    let event = format!(
        "f2fs_submit_page_write: dev = (8,1), ino = {ino}, page_index = {index:#x}, \
         oldaddr = {old:#x}, newaddr = {new:#x}, rw = WRITE(S), type = {kind}"
    );
    app(us, &event)
}

/// A request for blocks of partition 8,1, which starts at sector 2048 of 8,0.
fn issue(us: u64, rwbs: &str, block: u64, blocks: u64) -> String {
    let (sector, sectors) = (2048 + block * 8, blocks * 8);
    let event = format!(
        "block_rq_issue: 8,0 {rwbs} {} () {sector} + {sectors} [app]",
        sectors * 512
    );
    app(us, &event)
}

fn with(text: &str, change: impl FnOnce(&mut ImportOptions)) -> Result<Import, ImportError> {
    let mut options = ImportOptions {
        devices: vec!["8,0:8,1:2048"].into_iter().map(device).collect(),
        ..ImportOptions::default()
    };
    change(&mut options);
    import(vec![Source::bytes("raw.ftrace", text.to_owned())], options)
}

fn device(text: &str) -> DeviceSpec {
    let mut parts = text.split(':');
    let mut dev = || parts.next().map(|d| d.parse().unwrap());
    let (dev, fs) = (dev().unwrap(), dev());
    let start = parts.next().map(|s| s.parse().unwrap());
    DeviceSpec { dev, fs, start }
}

fn run(text: &str) -> Import {
    with(text, |_| {}).unwrap()
}

#[track_caller]
fn refused(text: &str, change: impl FnOnce(&mut ImportOptions)) -> String {
    match with(text, change) {
        Ok(import) => panic!("imported {} requests", import.requests.len()),
        Err(error) => error.to_string(),
    }
}

#[track_caller]
fn says(text: &str, part: &str) {
    assert!(text.contains(part), "{text}");
}

#[test]
fn pages_give_requests_their_old_addresses() {
    let text = page(1, 4, 0, 0x10, 0x20, "HOT_DATA")
        + &page(1, 4, 1, 0xffff_ffff, 0x21, "HOT_DATA")
        + &page(2, 9, 9, 0x31, 0x22, "WARM_NODE")
        + &issue(3, "WS", 0x20, 3)
        + &page(4, 2, 7, 7, 7, "HOT_META")
        + &issue(5, "FF", 0, 0).replace("2048 + 0", "0 + 0")
        + &issue(5, "WSM", 7, 1)
        + &issue(6, "R", 0x20, 1)
        + &issue(7, "DS", 0x10, 2);
    let Import { requests, report } = run(&text);
    let all: Vec<_> = requests.iter().collect();
    let kinds: Vec<_> = all
        .iter()
        .map(|r| (r.head.op, r.head.tag, r.head.start_sector))
        .collect();
    assert_eq!(
        kinds,
        [
            (Op::Write, Tag::Data, 0x100),
            (Op::Write, Tag::Node, 0x110),
            (Op::Flush, Tag::None, 0),
            (Op::Write, Tag::Meta, 0x38),
            (Op::Read, Tag::Data, 0x100),
            (Op::Trim, Tag::None, 0x80),
        ]
    );
    assert_eq!(all[0].prev, [0x80, NO_PREV]);
    assert_eq!((all[1].prev, all[3].prev), (&[0x188][..], &[0x38][..]));
    assert_eq!(all[3].head.arrival.0, 2_000);
    assert_eq!((report.split, report.requests), (1, [1, 2, 1, 1]));
    assert_eq!(
        (report.data.moved, report.data.first, report.meta.in_place),
        (1, 1, 1)
    );
}

#[test]
fn newer_names_give_the_same() {
    let text = page(1, 4, 0, 0x10, 0x20, "HOT_DATA") + &issue(3, "WS", 0x20, 1);
    let new = text
        .replace("submit_page", "submit_folio")
        .replace("page_index", "folio_index");
    let new = new.replace(" [app]", " be,0,4 [app]");
    assert_eq!(
        run(&text).requests.get(0).prev,
        run(&new).requests.get(0).prev
    );
}

#[test]
fn commits_pair_atomic_writes_afterwards() {
    let commit = "f2fs_replace_atomic_write_block: dev = (8,1), ino = 4, cow_ino = 9, index = 0, \
                  old_addr = 0x10, new_addr = 0x20, recovery = 0";
    let text = page(1, 4, 0, 0xffff_ffff, 0x20, "HOT_DATA")
        + &issue(2, "WS", 0x20, 1)
        + &app(3, commit)
        + &page(4, 4, 0, 0x20, 0x24, "HOT_DATA")
        + &issue(5, "WS", 0x24, 1);
    let Import { requests, report } = with(&text, |o| o.strict = true).unwrap();
    let first = requests.get(0);
    assert_eq!((first.prev, first.head.is_atomic()), (&[0x80][..], true));
    let second = requests.get(1);
    assert_eq!(
        (second.prev, second.head.is_atomic()),
        (&[0x100][..], false)
    );
    assert_eq!((report.atomic, report.checks[0].agreed), (1, 1));
}

#[test]
fn direct_writes_follow_the_mapping() {
    let enter = |us, rw| {
        let event =
            format!("f2fs_direct_IO_enter: dev = (8,1), ino = 4 pos = 0 len = 4096 rw = {rw}");
        app(us, &event)
    };
    let map = |us, block: u64| {
        let event = format!(
            "f2fs_map_blocks: dev = (8,1), ino = 4, file offset = 5, start blkaddr = {block:#x}, \
             len = 0x1, flags = 16, seg_type = 1, may_create = 1, multidevice = 0, flag = 3, err = 0"
        );
        app(us, &event)
    };
    let text = enter(1, 1)
        + &map(2, 0x40)
        + &issue(3, "WS", 0x40, 1)
        + &enter(4, 1)
        + &map(5, 0x41)
        + &issue(6, "WS", 0x41, 1)
        + &enter(7, 0)
        + &map(8, 0x41)
        + &issue(9, "R", 0x41, 1)
        + &enter(10, 1)
        + &map(11, 0x42)
        + &issue(12, "WS", 0x42, 1);
    let prev = |import: &Import| -> Vec<Vec<u64>> {
        import.requests.iter().map(|r| r.prev.to_vec()).collect()
    };
    let bare = run(&text);
    assert_eq!(prev(&bare), [vec![], vec![0x200], vec![], vec![0x208]]);
    assert_eq!(bare.report.direct_unknown, 1);
    let seed = || Source::bytes("f.txt", "0: 0.. 9: 16.. 25: 10:\n".to_owned());
    let seeded = with(&text, |o| o.seeds = vec![(4, seed())]).unwrap();
    assert_eq!(prev(&seeded)[0], [21 * 8]);
    assert_eq!(seeded.report.direct_unknown, 0);
}

#[test]
fn cleaning_is_told_by_the_events_around_it() {
    let gc = |us, what: &str| {
        let event = format!("f2fs_gc_{what}: dev = (8,1), gc_type = x");
        app(us, &event)
    };
    let text = gc(1, "begin")
        + &page(2, 4, 0, 0x10, 0x20, "COLD_DATA")
        + &gc(3, "end")
        + &page(4, 4, 1, 0x11, 0x21, "HOT_DATA")
        + &issue(5, "WS", 0x20, 2)
        + &line(
            6,
            "f2fs_gc-8:1-9",
            "f2fs_gc_begin: dev = (8,1), gc_type = x",
        );
    let Import { requests, report } = run(&text);
    let tags: Vec<_> = requests.records().iter().map(|r| r.tag).collect();
    assert_eq!(tags, [Tag::Gc, Tag::Data]);
    assert_eq!(report.gc_runs, (1, 1));
}

#[test]
fn other_devices_are_left_out_and_several_are_streams() {
    let other = |text: String| text.replace("8,0", "9,0").replace("(8,1)", "(9,0)");
    let ours = page(1, 4, 0, 0x10, 0x20, "HOT_DATA") + &issue(2, "WS", 0x20, 1);
    let theirs = other(page(3, 4, 0, 0x510, 0x520, "HOT_DATA") + &issue(4, "WS", 0x520 - 256, 1));
    let text = ours + &theirs;
    let one = run(&text);
    assert_eq!(one.requests.len(), 1);
    assert_eq!(
        one.report
            .other_devices
            .into_iter()
            .map(|d| d.1)
            .sum::<u64>(),
        1
    );
    let both = with(&text, |o| o.devices.push(device("9,0"))).unwrap();
    let second = both.requests.get(1);
    assert_eq!(second.head.stream, 1);
    assert_eq!(
        second.head.start_sector,
        2048 + 0x520 * 8,
        "behind 1 MiB of the first device"
    );
    assert_eq!(second.prev, [2048 + 0x510 * 8]);
    let none = refused(&text, |o| o.devices.clear());
    says(&none, "several devices: 8,0 (1 requests), 9,0 (1 requests)");
    let absent = refused(&text, |o| o.devices = vec![device("7,0")]);
    says(&absent, "no request of device 7,0");
}

#[test]
fn remap_events_tell_the_partition() {
    let remap = app(1, "block_bio_remap: 8,0 WS 2304 + 8 <- (8,1) 256");
    let text = page(1, 4, 0, 0x10, 0x20, "HOT_DATA") + &remap + &issue(2, "WS", 0x20, 1);
    let import = with(&text, |o| o.devices.clear()).unwrap();
    assert_eq!(import.requests.get(0).prev, [0x80]);
    let wrong = text.replace(&remap, "");
    let error = refused(&wrong, |o| o.devices = vec![device("8,0")]);
    says(&error, "no page event");
    says(&error, "F2FS is on 8,1");
    let error = refused(&wrong, |o| o.devices = vec![device("8,0:8,1:2056")]);
    says(&error, "start=SECTOR");
}

#[test]
fn bios_may_be_the_stream() {
    let queue = |us, rwbs, rest| {
        let event = format!("block_bio_queue: 8,0 {rwbs} {rest} [app]");
        app(us, &event)
    };
    let text = page(1, 4, 0, 0x10, 0x20, "HOT_DATA") + &queue(2, "FWFS", "2304 + 8");
    let import = with(&text, |o| o.requests = RequestEvent::Queue).unwrap();
    let kinds: Vec<_> = import
        .requests
        .records()
        .iter()
        .map(|r| (r.op, r.flags))
        .collect();
    assert_eq!(kinds, [(Op::Write, RequestFlags::OF_WRITES)]);
    assert_eq!((import.report.fua, import.report.preflush), (1, 1));
    let error = refused(&text, |_| {});
    assert!(
        error.contains("no request of the block layer") || error.contains("no request of device"),
        "{error}"
    );
}

#[test]
fn bad_text_is_named() {
    let good = page(1, 4, 0, 0x10, 0x20, "HOT_DATA") + &issue(2, "WS", 0x20, 1);
    let cut = good.clone() + &page(3, 4, 0, 0x20, 0x24, "HOT_DATA")[..90];
    let mixed = good.clone()
        + &page(3, 4, 0, 0x20, 0x24, "HOT_DATA")
            .replace("newaddr = 0x24", "newaddr = 0x app-7 [000] 3.0: x: y");
    for text in [&cut, &mixed, &(good.clone() + "<html>\n")] {
        let error = refused(text, |_| {});
        says(&error, "raw.ftrace: line 3:");
        says(&error, "cut off or mixed");
        let import = with(text, |o| o.skip_bad_lines = true).unwrap();
        assert_eq!((import.requests.len(), import.report.skipped_lines), (1, 1));
    }
    let unknown = good.clone() + &app(3, "sched_switch: prev_comm=x");
    assert_eq!(run(&unknown).report.unknown_events["sched_switch"], 1);
    for lost in [
        "CPU:0 [LOST 5 EVENTS]\n",
        "# entries-in-buffer/entries-written: 5/10   #P:1\n",
    ] {
        let text = good.clone() + lost;
        let error = refused(&text, |_| {});
        says(&error, "line 3: the kernel lost 5 events");
        assert_eq!(with(&text, |o| o.allow_lost = true).unwrap().report.lost, 5);
    }
    let empty = refused("# tracer: nop\n", |o| o.devices.clear());
    says(&empty, "no request of the block layer in 1 lines");
}

#[test]
fn contradictions_stop_a_strict_import() {
    let text = page(1, 4, 0, 0x10, 0x20, "HOT_DATA")
        + &issue(2, "WS", 0x20, 1)
        + &page(3, 4, 0, 0x10, 0x24, "HOT_DATA")
        + &issue(4, "WS", 0x24, 1);
    assert_eq!(run(&text).report.checks[0].contradicted, 1);
    let error = refused(&text, |o| o.strict = true);
    says(
        &error,
        "line 3: block 0 of inode 4 says its old block is 0x10",
    );
    says(&error, "last at 0x20");
}

#[test]
fn other_block_sizes_and_late_events_are_refused() {
    let bio = "f2fs_submit_write_bio: dev = (8,1)/(8,1), rw = WRITE(S), DATA, sector = 1024, size = 16384";
    let text = page(1, 4, 0, 0x10, 0x20, "HOT_DATA") + &app(2, bio);
    let error = refused(&text, |_| {});
    says(&error, "line 2: the file system has blocks of 16384 bytes");
    let late =
        issue(1, "WS", 0x30, 1) + &page(2, 4, 0, 0x10, 0x20, "HOT_DATA") + &issue(3, "WS", 0x20, 1);
    let error = refused(&late, |_| {});
    says(&error, "line 2: the first event of F2FS follows 1 writes");
    let import = with(&late, |o| o.f2fs = Some(true)).unwrap();
    assert_eq!((import.report.unmatched, import.report.data.moved), (1, 1));
}

#[test]
fn a_block_cut_by_the_driver_goes_with_its_end() {
    let cut = |us, sector, sectors| {
        let event = format!("block_rq_issue: 8,0 WS 0 () {sector} + {sectors} [app]");
        app(us, &event)
    };
    let text = page(1, 4, 0, 0x10, 0x20, "HOT_DATA")
        + &page(1, 4, 1, 0x11, 0x21, "HOT_DATA")
        + &cut(2, 2304, 13)
        + &cut(3, 2317, 3);
    let Import { requests, report } = run(&text);
    let starts: Vec<_> = requests
        .records()
        .iter()
        .map(|r| (r.start_sector, r.sectors))
        .collect();
    assert_eq!((starts, report.cut), (vec![(0x100, 8), (0x108, 8)], 2));
}

/// One line names four billion blocks; what is remembered is one run.
#[test]
fn lengths_in_a_line_take_no_memory() {
    let map = |us, offset: u64, start: u64, len: u64| {
        let event = format!(
            "f2fs_map_blocks: dev = (8,1), ino = 4, file offset = {offset}, start blkaddr = \
             {start:#x}, len = {len:#x}, flags = 2, seg_type = 8, may_create = 1, multidevice = 0, \
             flag = 3, err = 0"
        );
        app(us, &event)
    };
    let direct = app(
        1,
        "f2fs_direct_IO_enter: dev = (8,1), ino = 4 pos = 0 len = 4096 rw = 1",
    );
    let text = direct.clone()
        + &map(2, 0, 0x1000, 0xffff_ffff)
        + &map(3, 7, 0x0009_0000_0000, 0xffff_ffff)
        + &issue(4, "WS", 0x0009_0000_0000, 3);
    let import = run(&text);
    assert_eq!(
        import.requests.get(0).prev,
        [0x1007 * 8, 0x1008 * 8, 0x1009 * 8]
    );
    assert_eq!(import.report.direct_unknown, 0xffff_ffff + 7);
    assert_eq!(import.report.unissued, 2 * 0xffff_ffff - 3);
    let wide = map(2, 0, 1 << 60, 0xffff_ffff);
    says(
        &refused(&(direct.clone() + &wide), |_| {}),
        "behind the largest address",
    );
    let long = direct + &map(2, 0, 0x1000, 0xffff_ffff) + &issue(3, "WS", 0x1000, (1 << 18) + 1);
    says(&refused(&long, |_| {}), "longer than 1 GiB");
}

#[test]
fn an_import_beyond_its_memory_names_the_line() {
    let pages: String = (0..20).map(|i| issue(i, "WS", 8 * i, 8)).collect();
    let error = refused(&pages, |o| o.memory = Some(2_000));
    says(&error, "raw.ftrace: line 14");
    says(&error, "2000 bytes");
}
