//! Telling formats apart by their content.

use crate::common::{read, refused, refuses, says};
use destage_trace::FORMATS;

#[track_caller]
fn is(format: &str, text: &str) {
    assert_eq!(read("", text).unwrap().meta.format, format, "{text}");
}

#[test]
fn numbers_in_columns() {
    is("block-list", "4096\n8192\n");
    is("replayer", "0.000 0 4096 512 1\n1.5 0 0 1024 0\n");
    // As the program writes it itself, and whole ms that would be 9 GB per ns.
    is("ssdsim", "0 0 4096 512 1\n1 0 0 1024 0\n");
    is(
        "replayer",
        "0 0 200626176 4096 0\n223 0 3159347200 36864 1\n",
    );
    is("disksim", "0.000 0 4096 512 1\n1.5 0 1 1024 0\n");
    is("ssdsim", "0 0 4096 512 1\n15 0 1 1024 0\n");
    is("ssdsim", "0 0 4096 512 1 ab12\n");
    is("disksim", "1 0 8 8 1\n1.5 0 8 8 0\n");
    is("tencent", "0,4096,512,1,0\n");
    is("alibaba", "0,R,4096,512,1\n");
    is("spc", "0,4096,512,R,1\n");
    is("systor17", "0.5,0.1,R,0,0,512\n");
    is("msr", "0,h,0,Read,0,512,1\n");
    is("diskmon", "0 0.1 0.1 0 Read 8 8\n");
}

#[test]
fn comments_and_a_few_bad_lines_do_not_hide_a_format() {
    is("ssdsim", "# ns dev sector sectors op\n\n0 0 1 1 1\n");
    refuses(
        "",
        "0.5 0 1 1 1\n0.6 0 1 1 9\n0.7 0 1 1 0\n",
        "line 2, column 5 (flags): `9`",
    );
    refuses(
        "",
        "0 0 1 1 1\n5 0 -1 1 1\n7 0 1 1 0\n",
        "line 2, column 3 (sector): `-1` is negative",
    );
    refuses(
        "",
        "0 0 99999999999999999999999 1 1\n5 0 1 1 1\n",
        "line 1, column 3 (sector)",
    );
}

#[test]
fn a_format_behind_too_many_comments_cannot_be_told() {
    for line in ["# nothing yet\n", "\n"] {
        let text = line.repeat(2_000) + "4096\n8192\n";
        let message = refused("", &text);
        let told = "cannot be told: the first 1000 lines are blank or comments";
        says(&message, told);
        assert_eq!(read("block-list", &text).unwrap().meta.requests, 2);
    }
    is("block-list", &("#\n".repeat(999) + "4096\n"));
}

#[test]
fn what_fits_nothing_is_said_to() {
    for text in [
        "1 2\n",
        "1 2 3 4\n",
        "1 2 3 4 5 6 7\n",
        "0.5 0 8 8 1 ab12\n",
        "1,2,3\n",
        "1,2,3,4\n",
        "fio version 4 iolog\n",
        "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0",
        "a text of more than twenty-four bytes, which is the length of a record, and then some",
    ] {
        let message = refused("", text);
        says(&message, "no known trace format fits");
        says(&message, "systor17");
    }
    refuses("", "", "holds no line but comments");
    refuses("", "# nothing\n\n", "holds no line but comments");
}

#[test]
fn every_format_reads_its_example_from_every_container() {
    for &format in FORMATS.iter() {
        let plain = read("", format.example).unwrap();
        for packed in [
            crate::common::zst(format.example),
            crate::common::gz(format.example),
            crate::common::xz(format.example),
        ] {
            let trace = read("", &packed).unwrap();
            assert_eq!(trace.meta.format, format.name);
            assert_eq!(trace.requests.records(), plain.requests.records());
            // Cut off in the middle of the compressed bytes.
            assert!(read("", &packed[..packed.len() - 5]).is_err());
        }
    }
}
