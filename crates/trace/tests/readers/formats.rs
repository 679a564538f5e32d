//! Each format: what its columns mean, and what hostile input gives.

use crate::common::{
    GROUPS, HEADER, arrivals, cases, overlay, read, read_with, refused, refuses, skipping,
};
use destage_trace::TraceError;
use destage_types::request::NO_PREV;
use destage_types::{Extent, Op, RequestFlags, Tag};

#[test]
fn msr_columns() {
    let text = "128166372003061629,hm,1,Write,9056014336,2048,2833\n\
                128166372003061630,hm,1,Read,511,2,0\n\
                128166372003061700,usr,2,READ,0,512,-4\n";
    let trace = read_with("", text, &overlay()).unwrap();
    let r = trace.requests.records();
    assert_eq!(arrivals(&trace.requests), [0, 100, 7_100]);
    assert_eq!(
        (r[0].op, r[0].start_sector, r[0].sectors),
        (Op::Write, 9_056_014_336 / 512, 4)
    );
    assert_eq!((r[1].op, r[1].start_sector, r[1].sectors), (Op::Read, 0, 2));
    assert_eq!((r[2].op, r[2].start_sector, r[2].sectors), (Op::Read, 0, 1));
    assert_eq!([r[0].stream, r[1].stream, r[2].stream], [1, 1, 65_536 + 2]);
    assert_eq!(trace.meta.unaligned_requests, 1);
    assert_eq!(trace.meta.format, "msr");
    assert_eq!(trace.meta.name, "trace");
    let names: Vec<&str> = trace.meta.volumes.iter().map(|v| &*v.name).collect();
    assert_eq!(names, ["hm_1", "usr_2"]);
}

#[test]
fn msr_sources_that_share_a_beginning_are_told_apart() {
    let long = "a-host-with-a-long-name";
    let names = ["h,1", "h,11", "hh,1", "h,1", long, "h,1"];
    let text: String = names
        .iter()
        .map(|name| {
            if name.contains(',') {
                format!("1,{name},Read,0,512,0\n")
            } else {
                format!("1,{name},3,Read,0,512,0\n")
            }
        })
        .collect();
    let trace = read("msr", text).unwrap();
    let streams: Vec<u32> = trace.requests.records().iter().map(|r| r.stream).collect();
    assert_eq!(streams, [1, 11, 65_537, 1, 2 * 65_536 + 3, 1]);
}

#[test]
fn block_list_columns_and_errors() {
    let trace = read("", "# loop\n7\n  0\n68719476735\n").unwrap();
    let r = trace.requests.records();
    assert_eq!([r[0].start_sector, r[1].start_sector], [56, 0]);
    assert_eq!(r[2].start_sector + u64::from(r[2].sectors), (1 << 48) / 512);
    assert!(r.iter().all(|r| r.op == Op::Read && r.sectors == 8));
    assert_eq!(arrivals(&trace.requests), [0, 1_000, 2_000]);
    assert!(!trace.meta.timed);
    for bad in [
        "-7",
        "68719476736",
        "99999999999999999999",
        "1,2",
        "7 8",
        "x",
        "1\0",
        "0xg",
    ] {
        let message = refused("block-list", format!("1\n{bad}\n"));
        assert!(
            message.starts_with("trace.csv: line 2, column 1 (block): `"),
            "{message}"
        );
    }
    // Negative numbers and numbers too large are of the format, but no blocks.
    refuses("", "-7\n", "`-7` is negative");
    let trace = read_with("block-list", "1\nx\n2\n", &skipping()).unwrap();
    assert_eq!(
        arrivals(&trace.requests),
        [0, 1_000],
        "skipped lines take no time"
    );
}

#[test]
fn destage_columns() {
    let text = format!(
        "{GROUPS}500,W,7,10,3,80;-1;96,1,data,\n\
         600,R,8,8,0,-1,0,,\n\
         700,T,0,4294967295,,,,,\n\
         800,F,0,0,0,,0,,\n\
         900,W,0,8,2,,1,node,a\n\
         900,W,100,16,2,8;-1;16,1,node,a\n\
         900,W,64,8,2,,1,node,a\n\
         900,R,5,1,2,,0,gc,b\n\
         950,R,6,1,2,,0,meta,\n"
    );
    let trace = read("", text).unwrap();
    assert_eq!(trace.meta.format, "destage");
    let batch = &trace.requests;
    assert_eq!(arrivals(batch), [0, 100, 200, 300, 400, 400, 450]);
    let head = |i| batch.get(i).head;
    assert_eq!(batch.get(0).prev, [80, NO_PREV, 96]);
    assert_eq!(
        (head(0).stream, head(0).is_atomic(), head(0).tag),
        (3, true, Tag::Data)
    );
    assert_eq!(batch.get(1).prev, []);
    assert_eq!((head(2).op, head(2).sectors), (Op::Trim, u32::MAX));
    assert_eq!((head(3).op, head(3).sectors), (Op::Flush, 0));
    let extents: Vec<Extent> = batch.get(4).extents().collect();
    assert_eq!(
        extents.iter().map(|e| e.start_sector).collect::<Vec<_>>(),
        [0, 100, 64]
    );
    assert_eq!(batch.get(4).prev, [NO_PREV, 8, NO_PREV, 16, NO_PREV]);
    assert_eq!((head(5).tag, head(6).tag), (Tag::Gc, Tag::Meta));
}

#[test]
fn destage_groups_must_agree_and_be_consecutive() {
    let first = "0,W,0,8,0,,0,,g";
    // A space ends a line.
    let rows = "
        FIRST 1,W,8,8,0,,0,,g => line 3, column 9 (group): `g` joins lines that
        FIRST 0,R,8,8,0,,0,,g => line 3, column 9 (group): `g` joins
        FIRST 0,W,8,8,1,,0,,g => line 3, column 9 (group): `g` joins
        FIRST 0,W,8,8,0,,1,,g => line 3, column 9 (group): `g` joins
        FIRST 0,W,8,8,0,,0,gc,g => line 3, column 9 (group): `g` joins
        FIRST 0,W,8,8,0,,0,, FIRST => line 4, column 9 (group): `g` was used
        0,F,0,0,0,,0,,g => line 2, column 9 (group): `g` is given, but a flush
        0,W,0,8,0,,0,inode, => line 2, column 8 (tag): `inode` is no tag
        0,W,0,8,0,0,0,,g 0,W,0,2097152,0,,0,,g => line 3, column 9 (group): `g` is longer than 1 GiB
    ";
    for (lines, expected) in cases(rows) {
        let text = format!("{lines}\n")
            .replace("FIRST", first)
            .replace(' ', "\n");
        let message = refused("", format!("{GROUPS}{text}"));
        assert!(
            message.starts_with(&format!("trace.csv: {expected}")),
            "{message}"
        );
    }
    // A file with `group` alone: position 8 is the group, not the tag.
    let text = format!("{},group\n0,F,0,0,0,,0,7\n", HEADER.trim_end());
    refuses("", text, "column 8 (group): `7`");
}

#[test]
fn a_wrong_header_is_an_error() {
    let row = "0,W,0,8,0,,0\n";
    let message = refused(
        "",
        format!("arrival_ns,op,sector,sectors,stream,prev,atomic\n{row}"),
    );
    assert!(message.starts_with("trace.csv: line 1, column 3 (start_sector): `sector`"));
    refuses("destage", row, "line 1, column 1 (arrival_ns): `0`");
    refuses(
        "",
        format!("{},size\n{row}", HEADER.trim_end()),
        "line 1, column 8",
    );
    refuses(
        "",
        format!("{},tag,tag\n{row}", HEADER.trim_end()),
        "line 1, column 9",
    );
    refuses("", "arrival_ns,op\n", "is no complete header");
    assert!(matches!(read("", HEADER), Err(TraceError::Empty { .. })));
}

/// A file with some columns of this program has all that they say, or is refused. (With `flags` and without `prev` it was
/// a table, whose writes had no flags.)
#[test]
fn some_columns_of_this_program_are_read_or_refused() {
    let columns = [
        ("stream", "3"),
        ("prev", ""),
        ("atomic", "1"),
        ("tag", "node"),
        ("group", ""),
        ("flags", "fua"),
    ];
    let mut reads = 0;
    for set in 0..1_u32 << columns.len() {
        let chosen = || {
            (0..columns.len())
                .filter(move |at| set & 1 << at != 0)
                .map(|at| columns[at])
        };
        let names: String = chosen().map(|column| format!(",{}", column.0)).collect();
        let values: String = chosen().map(|column| format!(",{}", column.1)).collect();
        let text = format!(
            "arrival_ns,op,start_sector,sectors{names}\n0,W,0,8{values}\n9,W,8,8{values}\n"
        );
        let Ok(trace) = read("", &text) else {
            let message = refused("", text);
            // Rows of five columns may be those of another program.
            let refusals = [
                "also where they are empty",
                "several trace formats fit: destage, alibaba",
            ];
            assert!(
                refusals.iter().any(|part| message.contains(part)),
                "{names}: {message}"
            );
            continue;
        };
        let request = trace.requests.records()[0];
        let has = |name: &str| names.contains(name);
        // A table has no streams.
        let stream = if has("prev") { 3 } else { 0 };
        assert_eq!(request.stream, stream, "{names}");
        assert_eq!(
            request.flags.any(RequestFlags::FUA),
            has("flags"),
            "{names}"
        );
        reads += 1;
    }
    // The first four or five alone, and all seven with any of the others.
    assert_eq!(reads, 10);
}

#[test]
fn a_line_cut_before_its_type_does_not_borrow_that_of_the_next() {
    refuses(
        "msr",
        "1,h,0\nRead,0,512,0\n",
        "line 1, column 4 (type): `` is missing",
    );
}

/// Records and tables name the unit of the times.
#[test]
fn every_format_with_times_says_their_unit() {
    for &format in destage_trace::FORMATS.iter() {
        let unit = format.time_unit();
        assert_eq!(unit.is_some(), format.timed, "{}", format.name);
    }
}
