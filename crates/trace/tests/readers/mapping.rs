//! Tables of all kinds under a mapping, with a name or without, and under the guess that is made without one.

use destage_trace::{Cell, Frame, LoadOptions, TimeUnit, TraceMeta, load_frame};
use destage_types::RequestFlags;

use crate::common::{overlay, read, read_with, refused, said, says};

/// The rows of a trace, `ns kind sector sectors`.
fn told(format: &str, text: &str) -> (String, TraceMeta) {
    let trace = read_with(format, text, &overlay());
    let trace = trace.unwrap_or_else(|error| panic!("{error}\n{text}"));
    (said(&trace), trace.meta)
}

fn under(mapping: &str) -> LoadOptions {
    let columns = Some(mapping.parse().unwrap());
    LoadOptions {
        columns,
        ..overlay()
    }
}

/// Names, files and their requests.
#[rustfmt::skip]
const NAMED: [(&str, &str, &str); 7] = [
    (
        "nvme",
        "# tracer: nop\n\
        a-1 [001] .... 100.000100: nvme_setup_cmd: nvme0: disk=nvme0n1, qid=2, cmd=(nvme_cmd_write slba=2048, len=15, ctrl=0x0)\n\
        a-1 [001] .... 100.000200: nvme_sq: nvme0: disk=nvme0n1, qid=2\n\
        a-1 [001] .... 100.000300: nvme_setup_cmd: nvme0: disk=nvme0n1, qid=2, cmd=(nvme_cmd_dsm nr=0, attributes=4)\n\
        a-1 [001] .... 100.000350: nvme_setup_cmd: nvme0: disk=nvme0n1, qid=2, cmd=(nvme_cmd_flush cdw10=00 00 00)\n",
        "0 W 2048 16, 250000 F 0 0",
    ),
    (
        "lttng",
        "[09:00:00.1] (+?.?) h block_rq_issue: { cpu_id = 1 }, { dev = 8, sector = 16, nr_sector = 8, bytes = 0, rwbs = 33, comm = \"a\" }\n\
         [09:00:00.3] (+0.2) h block_rq_issue: { cpu_id = 1 }, { dev = 8, sector = 32, nr_sector = 8, bytes = 0, rwbs = 0, comm = \"a\" }\n",
        "0 W 16 8, 200000000 R 32 8",
    ),
    (
        "wpa",
        "IO Type;Priority;Init Time (s);IO Time (µs);Size (B);Min Offset;Max Offset;Disk\n\
         Read;Normal;0,100000000;80,000;4.096;0x0000000000100000;0x0000000000100FFF;1\n\
         Flush;Normal;1.000,100500000;1.000,000;0;0x0000000000000000;0x0000000000000000;1\n",
        "0 R 2048 8, 1000000500000 F 0 0",
    ),
    (
        "baleen",
        "# block_id io_offset io_size op_time op_name user_namespace\n7 0 4096 1.5 1 1\n9 8192 4096 2.0 4 1\n",
        "0 R 0 8, 500000000 W 16 8",
    ),
    (
        "xperf",
        "  IO Type,  Start Time,   End Time,  IO Size,  Byte Offset,  Disk, Filename\n\
            Write,         100,        250,     4096,      1048576,     0, \"C:\\x, y\"\n",
        "0 W 2048 8",
    ),
    (
        "io-tracer",
        "timestamp,pid,command,sector,operation,size,latency_ms,nr_sectors\n\
        2025-03-02 09:00:00.000100,77,dbd,2048,write,8192,0.4,16\n2025-03-02 09:00:00.000350,77,dbd,0,flush,0,0.9,0\n",
        "0 W 2048 16, 250000 F 0 0",
    ),
    (
        "thesios",
        "filename,file_offset,application,c_time,io_zone,op_type,request_io_size_bytes,start_time\n\
        f1,4096,a,1.0,WARM,READ,512,1700000000.25\nf2,0,a,1.0,WARM,WRITE,512,1700000000.75\n",
        "0 R 8 1, 500000000 W 0 1",
    ),
];

#[test]
fn named_mappings_read_their_files() {
    for (name, text, rows) in NAMED {
        for format in [name, ""] {
            let (found, meta) = told(format, text);
            assert_eq!(found, rows, "{name} as `{format}`");
            assert_eq!(meta.format, "table");
        }
    }
    let (_, meta) = told("baleen", NAMED[3].1);
    assert_eq!(meta.time_unit, Some(TimeUnit::Seconds));
    let names: Vec<&str> = meta.volumes.iter().map(|v| &*v.name).collect();
    assert_eq!(names, ["7", "9"]);
}

#[test]
fn mappings_of_a_file_have_names() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mine.toml");
    let lab = "[lab]\ncolumns = \"time=3:ms,op=1,offset=2:sectors,size==4096,separator=;\"\n";
    let named = "[named]\nnames = \"what where\"\ncolumns = \"op=what,offset=where,size==512\"\n";
    std::fs::write(&path, format!("{lab}{named}")).unwrap();
    let format = |name: &str| format!("{}:{name}", path.display());
    let (rows, _) = told(&format("lab"), "read;8;1.5\nwrite;0;2\n");
    assert_eq!(rows, "0 R 8 8, 500000 W 0 8");
    // Names of columns that have their places.
    assert_eq!(told(&format("named"), "r,512,x\n").0, "0 R 1 1");
    let no = refused(&format("other"), "x");
    says(no, "it has no [other]; it has: lab");
    let none = format("lab").replace("mine", "none");
    says(refused(&none, "x"), "No such file");
    std::fs::write(&path, "[lab]\ncolumns = \"lba=2\"\n").unwrap();
    says(refused(&format("lab"), "x"), "`lba=2` names no column");
}

/// Mappings, tables, and their requests with their flags.
#[rustfmt::skip]
const READ: [(&str, &str, &str); 6] = [
    (
        "op=1,offset=2,size==4096,fua=3,preflush=flag",
        "what,where,f,flag\nW,0,1,0\nW,0,,preflush\nR,0,true,1\nW,0,YES,True\nW,0,fua,no\nF,0,1,1\n",
        "0 W 0 8 fua, 1000 W 0 8 preflush, 2000 R 0 8, 3000 W 0 8 fua+preflush, 4000 W 0 8 fua, 5000 F 0 0",
    ),
    (
        "time=1:date-mdy,op=2,offset=3:hex,size=4",
        "3/2/2025 9:00:00 AM,W,1000,4K\n3/2/2025 9:00:01 AM,R,0xa000,1MiB\n",
        "0 W 8 8, 1000000000 R 80 2048",
    ),
    (
        "time=1:date-dmy,op==W,offset=2:sectors,size==512",
        "02.03.2025 09:00:00,8\n02.03.2025 09:00:00.5,16\n",
        "0 W 8 1, 500000000 W 16 1",
    ),
    (
        "op=1:x=WF,y=FW,z=FWF,v=D,*=-,offset=2,size==4096",
        "x,0\ny,0\nz,0\nv,0\nother,0\n",
        "0 W 0 8 fua, 1000 W 0 8 preflush, 2000 W 0 8 fua+preflush, 3000 T 0 8",
    ),
    (
        "op=1,offset=2,size==4096",
        "FUA,0\nWFS,0\nRA,0\nFWS,0\n",
        "0 W 0 8 fua, 1000 W 0 8 fua, 2000 R 0 8, 3000 W 0 8 preflush",
    ),
    ("op==R,offset=1,size==4096", "0\n8192\n", "0 R 0 8, 1000 R 16 8"),
];

#[test]
fn units_and_words_of_mappings() {
    for (mapping, text, rows) in READ {
        let trace = read_with("", text, &under(mapping)).unwrap();
        let flags = trace.requests.records().iter().map(|r| match r.flags {
            RequestFlags::FUA => " fua",
            RequestFlags::PREFLUSH => " preflush",
            RequestFlags::OF_WRITES => " fua+preflush",
            _ => "",
        });
        let said = said(&trace);
        let found = said
            .split(", ")
            .zip(flags)
            .map(|(row, flags)| format!("{row}{flags}"));
        assert_eq!(found.collect::<Vec<_>>().join(", "), rows, "{mapping}");
    }
}

/// Mappings, tables, and what is wrong with them.
#[rustfmt::skip]
const WRONG: [(&str, &str, &str); 9] = [
    (
        "op=size",
        "when,kind,lba,size\n1,R,8,4096\n",
        "no column is known as size; op= takes `size`: name another column for op, or one for size, too",
    ),
    ("op=1,offset=2,size==512,fua=3", "R,0,1\nW,0,2\n", "line 2, column 3 (fua): `2` is no flag"),
    (
        "op=what,offset=lba,size=where",
        "when,what,where\n1,R,4096\n",
        "it has no column `lba` for offset; its columns: when, what, where",
    ),
    (
        "op=what,offset=where",
        "when,what,where\n1,R,4096\n",
        "no column is known as size; its columns: when, what, where; size=NAME says",
    ),
    ("op=2,offset=3,size=4,header=yes,time=1", "when,what,where\n1,R,4096\n", "it has no column `4` for size"),
    (
        "time=1,op=2,offset=3,size==4096",
        "1,0,5\n2,1,6\n",
        "line 1, column 2 (op): `0` is no kind of request unless --trace-columns",
    ),
    ("time=1:date,op=2,offset=3,size==4096", "x,R,5\n", "column 1 (time): `x` is no date"),
    ("op=op,offset=lba,size==512,line='op=<op> lba=<lba>'", "a\nb\n", "no line fits line="),
    ("time=a,op=b,offset=c,size=d", "{\"a\": 1}\n", "it has no column `b` for op; its columns: a"),
];

#[test]
fn tables_that_no_mapping_fits_are_refused_with_their_columns() {
    for (mapping, text, part) in WRONG {
        let error = read_with("", text, &under(mapping)).unwrap_err();
        says(error.to_string(), part);
    }
}

/// The first two rows and the number of volumes of a table that is told by its values, and the doubt.
fn guessed(n: u64, row: impl Fn(u64) -> String) -> (String, usize, String) {
    let text: String = (0..n).map(|i| row(i) + "\n").collect();
    let (rows, meta) = told("", &text);
    let two: Vec<&str> = rows.split(", ").take(2).collect();
    let doubts = [meta.format_doubt, meta.time_doubt].map(Option::unwrap_or_default);
    let doubt = doubts.join("; ");
    (two.join(", "), meta.volumes.len(), doubt)
}

#[test]
fn tables_are_told_by_the_values_of_their_columns() {
    // Row numbers in front are no volumes.
    let place = |i| i * 7 % 40 * 4_096;
    let index = |i| format!("{i},{}.00025,W,{},4096", i / 4, place(i));
    let (rows, volumes, doubt) = guessed(40, index);
    assert_eq!((&*rows, volumes), ("0 W 0 8, 0 W 56 8", 1));
    says(doubt, "as `k5cloud`, 40 requests are of 40 volumes");
    // Times in us, and a process.
    let process = |i| format!("{},{},W,{},4096", i * 250, 47 - i % 2, place(i));
    let (rows, volumes, doubt) = guessed(40, process);
    assert_eq!((&*rows, volumes), ("0 W 0 8, 250000 W 56 8", 1));
    says(doubt, "taken for us");
    // MSR without its last column, and between blanks.
    for gap in [",", " "] {
        let row = |i| {
            format!(
                "{},usr,0,Read,{},4096",
                128_166_372_000_000_000 + i * 2_500,
                i * 4_096
            )
        };
        let (rows, _, doubt) = guessed(9, |i| row(i).replace(',', gap));
        assert_eq!(rows, "0 R 0 8, 250000 R 8 8");
        assert_ne!(doubt, "");
    }
    // Kinds in numbers may be either.
    let numbers = "1,0,4096,512,8\n2,1,8192,512,9\n5,1,0,512,7\n7,0,512,512,1\n";
    says(refused("", numbers), "no known trace format fits");
}

/// Formats, and two spellings of the same lines.
#[rustfmt::skip]
const SPELLED: [(&str, &str, &str); 8] = [
    ("msr", "5,usr,0,R,4096.0,8192,1", "5,usr,0,Read,4096,8192,1"),
    ("msr", "\"5\",\"usr\",\"0\",\"Read\",\"4096\",\"8192\",\"1\"", "5,usr,0,Read,4096,8192,1"),
    ("tencent", "1538323200,0,8,R,1283\n1538323201,16,8,W,1283", "1538323200,0,8,0,1283\n1538323201,16,8,1,1283"),
    ("disksim", "1.5e-02 0 8 8 1\n2.65e-01 0 16 8 0", "0.015 0 8 8 1\n0.265 0 16 8 0"),
    ("disksim", "0.000000 0 0x0 8 0\n0.250000 0 0x8 8 1", "0.000000 0 0 8 0\n0.250000 0 8 8 1"),
    ("spc", "0;0;4096;r;0,000000\n0;16;4096;w;0,250000", "0,0,4096,r,0.000000\n0,16,4096,w,0.250000"),
    // One odd line among others.
    (
        "spc",
        "0,0,4096,r,0.5\n0,16,4096,write,0.75\n0,32,4.096e3,w,1.5",
        "0,0,4096,r,0.5\n0,16,4096,w,0.75\n0,32,4096,w,1.5",
    ),
    ("table", "arrival_ns,op,start_sector,sectors\n0,R,0,8", "arrival_ns,op,start_sector,sectors\n0,R,0,8"),
];

#[test]
fn all_readers_of_text_take_all_spellings() {
    for (format, text, usual) in SPELLED {
        let (found, meta) = told("", text);
        assert_eq!(
            (found, meta.format),
            (told(format, usual).0, format),
            "{text}"
        );
    }
    assert!(read("destage", SPELLED[7].1).is_err());
}

struct Columns(Vec<(&'static str, Option<TimeUnit>, Vec<Cell<'static>>)>);

impl Frame for Columns {
    fn columns(&self) -> Vec<(String, Option<TimeUnit>)> {
        let columns = self.0.iter();
        columns
            .map(|(name, unit, _)| (name.to_string(), *unit))
            .collect()
    }

    fn rows(&self) -> usize {
        self.0[0].2.len()
    }

    fn cell(&self, row: usize, column: usize) -> Cell<'_> {
        self.0[column].2[row]
    }
}

#[test]
fn frames_are_read_as_tables() {
    let texts = |words: [&'static str; 3]| words.map(|word| Cell::Text(word.as_bytes())).to_vec();
    let numbers = |numbers: [i128; 3]| numbers.map(Cell::Integer).to_vec();
    let lba = vec![Cell::Real(8.0), Cell::Integer(16), Cell::Null];
    let frame = Columns(vec![
        ("when", Some(TimeUnit::Microseconds), numbers([5, 7, 9])),
        ("what", None, texts(["read", "W", "flush"])),
        ("lba", None, lba),
        ("n", None, numbers([8, 16, 0])),
        ("dev", None, texts(["a", "b", "a"])),
        ("forced", None, numbers([1, 1, 0])),
    ]);
    let load = |mapping: &str| load_frame("frame", &frame, &under(mapping));
    let trace = load("op=what,size=n:sectors").unwrap();
    assert_eq!(said(&trace), "0 R 8 8, 2000 W 16 16, 4000 F 0 0");
    let streams = trace.requests.records().iter().map(|r| r.stream);
    assert!(streams.eq([0, 1, 0]));
    // Flags are those of writes.
    let flagged = load("op=what,size=n:sectors,fua=forced").unwrap();
    let fua = flagged
        .requests
        .records()
        .iter()
        .map(|r| r.flags.any(RequestFlags::FUA));
    assert!(fua.eq([false, true, false]));
    let printed = trace.meta.mapping.unwrap();
    let whole = "time=when:us,op=what,offset=lba:sectors,size=n:sectors,volume=dev";
    assert_eq!(printed, whole);
    let again = load(&printed).unwrap();
    assert_eq!(again.requests.records(), trace.requests.records());
    let error = |mapping: &str| load(mapping).unwrap_err().to_string();
    let known = "no column is known as size; its columns: when, what, lba, n, dev, forced";
    says(error("op=what"), known);
    let kind = "frame: row 1, column 4 (op): `8` is no kind of request";
    says(error("op=n,size==512"), kind);
}
