//! Groups of lines and columns of own files, and what holds for every format.

use crate::common::{GROUPS, cases, read, refused};
use destage_types::RequestFlags;

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
}

/// A file with some columns of this program has all that they say, or is refused. (With `flags` and without `prev` it was
/// a table, whose writes had no flags.)
#[test]
fn some_columns_of_this_program_are_read_or_refused() {
    let columns = [
        "stream 3",
        "prev ",
        "atomic 1",
        "tag node",
        "group ",
        "flags fua",
    ];
    let columns = columns.map(|column| column.split_once(' ').unwrap());
    let mut reads = 0;
    for set in 0..1_u32 << columns.len() {
        let chosen = || {
            (0..columns.len())
                .filter(|at| set & 1 << at != 0)
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
            let place = message.contains("also where they are empty");
            let several = message.contains("several trace formats fit: destage, alibaba");
            assert!(place || several, "{names}: {message}");
            continue;
        };
        let request = trace.requests.records()[0];
        let has = |name: &str| names.contains(name);
        // A table has no streams.
        let stream = if has("prev") { 3 } else { 0 };
        assert_eq!(request.stream, stream, "{names}");
        let fua = request.flags.any(RequestFlags::FUA);
        assert_eq!(fua, has("flags"), "{names}");
        reads += 1;
    }
    // The first four or five alone, and all seven with any of the others.
    assert_eq!(reads, 10);
}

/// Records and tables name the unit of the times.
#[test]
fn every_format_with_times_says_their_unit() {
    for &format in destage_trace::FORMATS.iter() {
        let unit = format.time_unit();
        assert_eq!(unit.is_some(), format.timed, "{}", format.name);
    }
}
