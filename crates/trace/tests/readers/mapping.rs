//! Tables of all kinds under a mapping, and under the guess that is made without one.

use destage_trace::{
    Cell, Frame, LoadOptions, Mapping, Source, TimeUnit, Trace, TraceError, load, load_frame,
};
use destage_types::rng::SplitMix64;
use destage_types::{HostRequest, Nanos, Op};

use crate::common::{overlay, read, read_with, refused, says};
use crate::parquet::{Column, file};

/// A request as a table has it.
#[derive(Clone, Copy)]
struct Wanted {
    ns: u64,
    op: Op,
    sector: u64,
    sectors: u64,
    volume: usize,
}

const VOLUMES: [&str; 3] = ["sda", "nvme0n1", "7"];

fn one<'a, T: ?Sized>(random: &mut SplitMix64, of: &[&'a T]) -> &'a T {
    of[random.below(of.len() as u64) as usize]
}

/// Requests of one load: 4 KiB and more, some us apart.
fn requests(random: &mut SplitMix64, unit_ns: u64) -> Vec<Wanted> {
    let mut ns = unit_ns * random.below(3) * 1_000;
    let n = 3 + random.below(60);
    let load = (0..n).map(|_| {
        ns += unit_ns * (1 + random.below(200_000 / unit_ns.min(1_000)));
        Wanted {
            ns,
            op: [
                Op::Read,
                Op::Write,
                Op::Read,
                Op::Write,
                Op::Trim,
                Op::Flush,
            ][random.below(6) as usize],
            sector: random.below(1 << 24) * 8,
            sectors: (1 + random.below(32)) * 8,
            volume: random.below(3) as usize,
        }
    });
    load.collect()
}

/// One column of a table: its key, name, rule behind the column, and values.
struct Made {
    key: &'static str,
    name: String,
    rule: String,
    values: Vec<String>,
    is_number: bool,
}

/// A number in one of its spellings.
fn spelled(random: &mut SplitMix64, number: u64, comma: bool, thousands: bool) -> String {
    let mark = if comma { "," } else { "." };
    match random.below(12) {
        0 => format!("{number}{mark}0"),
        1 => format!("{number:#x}"),
        2 if !comma => format!("{number:e}"),
        3 if thousands && number > 999 && number < 1_000_000 => {
            let gap = if comma { "." } else { "," };
            format!("{}{gap}{:03}", number / 1_000, number % 1_000)
        }
        _ => number.to_string(),
    }
}

/// The columns of a table, in random units and words. `plain`: numbers are spelled as usual.
fn columns(
    random: &mut SplitMix64,
    load: &[Wanted],
    unit: (&str, u64),
    comma: bool,
    plain: bool,
) -> Vec<Made> {
    let thousands = !plain;
    let number = |random: &mut SplitMix64, n: u64| match plain {
        true => n.to_string(),
        false => spelled(random, n, comma, thousands),
    };
    let mut made = Vec::new();
    let fraction = unit.1 > 1 && random.below(2) == 0;
    let times = load.iter().map(|w| match fraction {
        true => {
            let digits = unit.1.ilog10() as usize;
            format!(
                "{}{}{:0digits$}",
                w.ns / unit.1,
                if comma { "," } else { "." },
                w.ns % unit.1
            )
        }
        false => number(random, w.ns / unit.1),
    });
    let values = times.collect();
    let name = if unit.0 == "ns" || unit.0 == "100ns" {
        "arrival_ns".to_owned()
    } else {
        format!("time_{}", unit.0)
    };
    let name = if unit.0 == "100ns" {
        "Timestamp".to_owned()
    } else {
        name
    };
    made.push(Made {
        key: "time",
        name,
        rule: format!(":{}", unit.0),
        values,
        is_number: true,
    });
    let words: &[[&str; 4]] = &[
        ["R", "W", "T", "F"],
        ["read", "WRITE", "discard", "Flush"],
        ["0", "1", "2", "9"],
    ];
    let words = &words[random.below(3) as usize];
    let rule = if words[0] == "0" {
        ":0=R,1=W,2=T,9=F"
    } else {
        ""
    };
    let values = load
        .iter()
        .map(|w| words[w.op as usize].to_owned())
        .collect();
    made.push(Made {
        key: "op",
        name: one(random, &["op", "IO Type"]).to_owned(),
        rule: rule.to_owned(),
        values,
        is_number: false,
    });
    for (key, sectors) in [("offset", true), ("size", false)] {
        let units: &[(&str, &str, u64, u64)] = &[
            ("", if sectors { "offset" } else { "size" }, 1, 0),
            (
                ":sectors",
                if sectors {
                    "start_sector"
                } else {
                    "nr_sectors"
                },
                512,
                0,
            ),
            ("*512", if sectors { "lba" } else { "sectors" }, 512, 0),
            (":blocks", if sectors { "first" } else { "n" }, 4_096, 0),
            ("*512+512", if sectors { "last" } else { "nlb" }, 512, 512),
        ];
        let (rule, name, each, plus) = units[random.below(if sectors { 4 } else { 5 }) as usize];
        let value = |w: &Wanted| {
            if sectors {
                w.sector * 512
            } else {
                w.sectors * 512
            }
        };
        let values = load.iter().map(|w| match w.op {
            Op::Flush => "0".to_owned(),
            _ => number(random, (value(w) - plus) / each),
        });
        let values = values.collect();
        made.push(Made {
            key,
            name: name.to_owned(),
            rule: rule.to_owned(),
            values,
            is_number: true,
        });
    }
    if random.below(2) == 0 {
        let values = load.iter().map(|w| VOLUMES[w.volume].to_owned()).collect();
        made.push(Made {
            key: "volume",
            name: "disk".to_owned(),
            rule: String::new(),
            values,
            is_number: false,
        });
    }
    for (key, name) in [("", "index"), ("", "latency_us"), ("", "pid")] {
        if random.below(3) == 0 {
            let values = (0..load.len()).map(|i| {
                if name == "index" {
                    i as u64
                } else {
                    random.below(900)
                }
            });
            let values = values.map(|n| n.to_string()).collect();
            made.push(Made {
                key,
                name: name.to_owned(),
                rule: String::new(),
                values,
                is_number: true,
            });
        }
    }
    for i in (1..made.len()).rev() {
        made.swap(i, random.below(i as u64 + 1) as usize);
    }
    made
}

/// The bytes of a table, and the mapping that reads it.
fn table(random: &mut SplitMix64, load: &[Wanted], unit: (&str, u64)) -> (Vec<u8>, String) {
    let kind = random.below(8);
    let (separator, word) = [
        (",", "comma"),
        (";", "semicolon"),
        ("\t", "tab"),
        ("|", "|"),
        (" ", "blank"),
        (",", "comma"),
        ("", "json"),
        ("", "parquet"),
    ][kind as usize];
    let comma = matches!(word, "semicolon" | "tab" | "|") && random.below(3) == 0;
    let made = columns(
        random,
        load,
        unit,
        comma,
        matches!(word, "json" | "parquet"),
    );
    let header = separator.is_empty() || random.below(2) == 0;
    let mut mapping: Vec<String> = made
        .iter()
        .enumerate()
        .filter(|(_, column)| !column.key.is_empty())
        .map(|(i, column)| {
            let place = if header {
                column.name.clone()
            } else {
                (i + 1).to_string()
            };
            format!("{}={place}{}", column.key, column.rule)
        })
        .collect();
    if word == "parquet" {
        return (parquet(random, &made), mapping.join(","));
    }
    mapping.push(format!("separator={word}"));
    if comma {
        mapping.push("decimal=comma".to_owned());
    }
    let mut text = String::new();
    if !separator.is_empty() {
        mapping.push(format!("header={}", if header { "yes" } else { "no" }));
        for _ in 0..random.below(3) * u64::from(word != "blank") * u64::from(random.below(3) == 0) {
            text += "some words in front\n";
        }
        let skipped = text.lines().count();
        if skipped > 0 {
            mapping.push(format!("skip={skipped}"));
        }
    }
    let quotes = random.below(4) == 0;
    let quoted = |field: &str| match quotes || field.contains(separator) {
        true => format!("\"{field}\""),
        false => field.to_owned(),
    };
    if separator.is_empty() {
        for row in 0..load.len() {
            let members: Vec<String> = made
                .iter()
                .map(|column| {
                    let value = &column.values[row];
                    let text = !column.is_number || quotes;
                    format!(
                        "\"{}\": {}",
                        column.name,
                        if text {
                            format!("\"{value}\"")
                        } else {
                            value.clone()
                        }
                    )
                })
                .collect();
            text += &format!("{{{}}}\n", members.join(", "));
        }
        return (text.into_bytes(), mapping.join(","));
    }
    let line = |fields: Vec<String>| {
        fields.join(separator) + if random.below(1) == 0 { "\n" } else { "\r\n" }
    };
    let mut lines = line;
    if header {
        text += &lines(made.iter().map(|column| quoted(&column.name)).collect());
    }
    for row in 0..load.len() {
        text += &lines(
            made.iter()
                .map(|column| quoted(&column.values[row]))
                .collect(),
        );
    }
    (text.into_bytes(), mapping.join(","))
}

/// The same columns in Parquet: numbers as numbers or as texts.
fn parquet(random: &mut SplitMix64, made: &[Made]) -> Vec<u8> {
    enum Owned {
        Whole(Vec<Option<i64>>),
        Real(Vec<f64>),
        Text(Vec<String>),
    }
    let columns: Vec<Owned> = made
        .iter()
        .map(|column| {
            let whole: Option<Vec<Option<i64>>> = column
                .values
                .iter()
                .map(|v| v.parse().ok().map(Some))
                .collect();
            match (whole, random.below(3)) {
                (Some(whole), 0 | 1) if column.is_number => Owned::Whole(whole),
                (Some(whole), _) if column.is_number && column.key != "time" => {
                    Owned::Real(whole.into_iter().map(|n| n.unwrap() as f64).collect())
                }
                _ => Owned::Text(column.values.clone()),
            }
        })
        .collect();
    let fields: Vec<String> = made
        .iter()
        .zip(&columns)
        .map(|(column, values)| {
            let name = column.name.replace(' ', "_");
            match values {
                Owned::Whole(_) => format!("optional int64 {name};"),
                Owned::Real(_) => format!("required double {name};"),
                Owned::Text(_) => format!("required binary {name} (UTF8);"),
            }
        })
        .collect();
    let texts: Vec<Vec<&str>> = columns
        .iter()
        .map(|column| match column {
            Owned::Text(values) => values.iter().map(String::as_str).collect(),
            _ => Vec::new(),
        })
        .collect();
    let columns: Vec<Column<'_>> = columns
        .iter()
        .zip(&texts)
        .map(|(column, texts)| match column {
            Owned::Whole(values) => Column::Int64(values),
            Owned::Real(values) => Column::Double(values),
            Owned::Text(_) => Column::Text(texts),
        })
        .collect();
    file(
        &format!("message t {{ {} }}", fields.join(" ")),
        Default::default(),
        &[&columns],
    )
}

fn mapped(bytes: &[u8], mapping: Option<&str>) -> Result<Trace, TraceError> {
    let columns = mapping.map(|text| {
        text.parse::<Mapping>()
            .unwrap_or_else(|why| panic!("{text}: {why}"))
    });
    load(
        Source::bytes("x", bytes.to_vec()),
        &LoadOptions {
            columns,
            ..overlay()
        },
    )
}

/// The requests that a table holds, volumes numbered as they appear.
fn wanted(load: &[Wanted], volumes: bool) -> Vec<HostRequest> {
    let mut seen: Vec<usize> = Vec::new();
    let request = |w: &Wanted| {
        let (sector, sectors) = if w.op == Op::Flush {
            (0, 0)
        } else {
            (w.sector, w.sectors as u32)
        };
        let mut request = HostRequest::new(Nanos(w.ns - load[0].ns), w.op, sector, sectors);
        if volumes {
            let known = seen.iter().position(|v| *v == w.volume);
            request.stream = known.unwrap_or_else(|| {
                seen.push(w.volume);
                seen.len() - 1
            }) as u32;
        }
        request
    };
    load.iter().map(request).collect()
}

/// A table under its mapping is the load it was made of, and under the guess either that, or an error, or a doubt.
#[test]
fn random_tables_are_read_as_their_mapping_says_and_never_silently_as_others() {
    let cases = if std::env::var_os("DESTAGE_FULL").is_some() {
        30_000
    } else {
        1_500
    };
    let (mut same, mut doubted, mut refused) = (0, 0, 0);
    for case in 0..cases {
        let random = &mut SplitMix64::new(case);
        let unit = [
            ("ns", 1),
            ("us", 1_000),
            ("ms", 1_000_000),
            ("s", 1_000_000_000),
        ][random.below(4) as usize];
        let fine = unit.1.min(1_000);
        let coarse = random.below(2) == 0;
        let load = requests(random, if coarse { unit.1 } else { fine });
        // Whole numbers of a unit hold whole units.
        let load: Vec<Wanted> = load
            .iter()
            .map(|w| Wanted {
                ns: w.ns / unit.1 * unit.1,
                ..*w
            })
            .collect();
        let (bytes, mapping) = table(random, &load, unit);
        let show = || {
            format!(
                "case {case}: {mapping}\n{}",
                String::from_utf8_lossy(&bytes)
            )
        };
        let mapping = match bytes.starts_with(b"PAR1") {
            true => mapping.replace("IO Type", "IO_Type"),
            false => mapping.clone(),
        };
        let trace =
            mapped(&bytes, Some(&mapping)).unwrap_or_else(|error| panic!("{error}\n{}", show()));
        let volumes = mapping.contains("volume=");
        assert_eq!(
            trace.requests.records(),
            wanted(&load, volumes),
            "{}",
            show()
        );
        // What is printed reads the same.
        let printed = trace.meta.mapping.unwrap();
        let again = mapped(&bytes, Some(&printed))
            .unwrap_or_else(|error| panic!("{printed}: {error}\n{}", show()));
        assert_eq!(
            again.requests.records(),
            trace.requests.records(),
            "{printed}: {}",
            show()
        );
        match mapped(&bytes, None) {
            Err(_) => refused += 1,
            Ok(guess) if guess.meta.format_doubt.is_some() || guess.meta.time_doubt.is_some() => {
                doubted += 1
            }
            Ok(guess) => {
                let no_volumes = |r: &HostRequest| {
                    let mut r = *r;
                    r.stream = 0;
                    r
                };
                let records = guess.requests.records();
                let found: Vec<HostRequest> = match guess.meta.volumes.len() {
                    0 | 1 => wanted(&load, false),
                    _ => wanted(&load, volumes),
                };
                let records: Vec<HostRequest> = match guess.meta.volumes.len() {
                    0 | 1 => records.iter().map(no_volumes).collect(),
                    _ => records.to_vec(),
                };
                assert_eq!(
                    records,
                    found,
                    "guess {:?} ({}): {}",
                    guess.meta.mapping,
                    guess.meta.format,
                    show()
                );
                same += 1;
            }
        }
    }
    // The law would hold if everything was refused.
    assert!(
        same > cases / 8,
        "same {same}, doubted {doubted}, refused {refused}"
    );
}

/// The rows of a trace: arrival in ns, kind, sector, sectors.
fn told(format: &str, text: &str) -> (Vec<(u64, Op, u64, u32)>, destage_trace::TraceMeta) {
    let trace =
        read_with(format, text, &overlay()).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let rows = trace.requests.records().iter();
    (
        rows.map(|r| (r.arrival.0, r.op, r.start_sector, r.sectors))
            .collect(),
        trace.meta,
    )
}

#[test]
fn named_mappings_read_their_files() {
    const NVME: &str = "# tracer: nop\n\
        a-1 [001] .... 100.000100: nvme_setup_cmd: nvme0: disk=nvme0n1, qid=2, cmd=(nvme_cmd_write slba=2048, len=15, ctrl=0x0)\n\
        a-1 [001] .... 100.000200: nvme_sq: nvme0: disk=nvme0n1, qid=2\n\
        a-1 [001] .... 100.000300: nvme_setup_cmd: nvme0: disk=nvme0n1, qid=2, cmd=(nvme_cmd_dsm nr=0, attributes=4)\n\
        a-1 [001] .... 100.000350: nvme_setup_cmd: nvme0: disk=nvme0n1, qid=2, cmd=(nvme_cmd_flush cdw10=00 00 00)\n";
    const LTTNG: &str = "[09:00:00.1] (+?.?) h block_rq_issue: { cpu_id = 1 }, { dev = 8, sector = 16, nr_sector = 8, bytes = 0, rwbs = 33, comm = \"a\" }\n\
         [09:00:00.3] (+0.2) h block_rq_issue: { cpu_id = 1 }, { dev = 8, sector = 32, nr_sector = 8, bytes = 0, rwbs = 0, comm = \"a\" }\n";
    const WPA: &str = "IO Type;Priority;Init Time (s);IO Time (µs);Size (B);Min Offset;Max Offset;Disk\n\
        Read;Normal;0,100000000;80,000;4.096;0x0000000000100000;0x0000000000100FFF;1\n\
        Flush;Normal;1.000,100500000;1.000,000;0;0x0000000000000000;0x0000000000000000;1\n";
    const BALEEN: &str = "# block_id io_offset io_size op_time op_name user_namespace\n7 0 4096 1.5 1 1\n9 8192 4096 2.0 4 1\n";
    const XPERF: &str = "  IO Type,  Start Time,   End Time,  IO Size,  Byte Offset,  Disk, Filename\n\
            Write,         100,        250,     4096,      1048576,     0, \"C:\\x, y\"\n";
    const TRACER: &str = "timestamp,pid,command,sector,operation,size,latency_ms,nr_sectors\n\
        2025-03-02 09:00:00.000100,77,dbd,2048,write,8192,0.4,16\n2025-03-02 09:00:00.000350,77,dbd,0,flush,0,0.9,0\n";
    const THESIOS: &str = "filename,file_offset,application,c_time,io_zone,op_type,request_io_size_bytes,start_time\n\
        f1,4096,a,1.0,WARM,READ,512,1700000000.25\nf2,0,a,1.0,WARM,WRITE,512,1700000000.75\n";
    for (name, text, rows) in [
        (
            "nvme",
            NVME,
            vec![(0, Op::Write, 2_048, 16), (250_000, Op::Flush, 0, 0)],
        ),
        (
            "lttng",
            LTTNG,
            vec![(0, Op::Write, 16, 8), (200_000_000, Op::Read, 32, 8)],
        ),
        (
            "wpa",
            WPA,
            vec![
                (0, Op::Read, 2_048, 8),
                (1_000_000_500_000, Op::Flush, 0, 0),
            ],
        ),
        (
            "baleen",
            BALEEN,
            vec![(0, Op::Read, 0, 8), (500_000_000, Op::Write, 16, 8)],
        ),
        ("xperf", XPERF, vec![(0, Op::Write, 2_048, 8)]),
        (
            "io-tracer",
            TRACER,
            vec![(0, Op::Write, 2_048, 16), (250_000, Op::Flush, 0, 0)],
        ),
        (
            "thesios",
            THESIOS,
            vec![(0, Op::Read, 8, 1), (500_000_000, Op::Write, 0, 1)],
        ),
    ] {
        for format in [name, ""] {
            let (found, meta) = told(format, text);
            assert_eq!(found, rows, "{name} as `{format}`");
            assert_eq!(meta.format, "table");
        }
    }
    let (_, meta) = told("baleen", BALEEN);
    assert_eq!(meta.time_unit, Some(TimeUnit::Seconds));
    let names: Vec<&str> = meta.volumes.iter().map(|v| &*v.name).collect();
    assert_eq!(names, ["7", "9"]);
}

#[test]
fn mappings_of_a_file_have_names() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mine.toml");
    std::fs::write(
        &path,
        "[lab]\ncolumns = \"time=3:ms,op=1,offset=2:sectors,size==4096,separator=;\"\n",
    )
    .unwrap();
    let format = |name: &str| format!("{}:{name}", path.display());
    let (rows, _) = told(&format("lab"), "read;8;1.5\nwrite;0;2\n");
    assert_eq!(rows, [(0, Op::Read, 8, 8), (500_000, Op::Write, 0, 8)]);
    says(
        refused(&format("other"), "x"),
        "it has no [other]; it has: lab",
    );
    says(
        refused(&format("lab").replace("mine", "none"), "x"),
        "No such file",
    );
    std::fs::write(&path, "[lab]\ncolumns = \"lba=2\"\n").unwrap();
    says(refused(&format("lab"), "x"), "`lba=2` names no column");
}

#[test]
fn tables_that_no_mapping_fits_are_refused_with_their_columns() {
    let table = |mapping: &str, text: &str| {
        let columns = Some(mapping.parse().unwrap());
        read_with(
            "",
            text,
            &LoadOptions {
                columns,
                ..overlay()
            },
        )
        .unwrap_err()
        .to_string()
    };
    let text = "when,what,where\n1,R,4096\n";
    says(
        table("op=what,offset=lba,size=where", text),
        "it has no column `lba` for offset; its columns: when, what, where",
    );
    says(
        table("op=what,offset=where", text),
        "no column is known as size; its columns: when, what, where; size=NAME says",
    );
    says(
        table("op=2,offset=3,size=4,header=yes,time=1", text),
        "it has no column `4` for size",
    );
    says(
        table("time=1,op=2,offset=3,size==4096", "1,0,5\n2,1,6\n"),
        "line 1, column 2 (op): `0` is no kind of request unless --trace-columns",
    );
    says(
        table("time=1:date,op=2,offset=3,size==4096", "x,R,5\n"),
        "column 1 (time): `x` is no date",
    );
    says(
        table(
            "op=op,offset=lba,size==512,line='op=<op> lba=<lba>'",
            "a\nb\n",
        ),
        "no line fits line=",
    );
    says(
        table("time=a,op=b,offset=c,size=d", "{\"a\": 1}\n"),
        "it has no column `b` for op; its columns: a",
    );
}

#[test]
fn tables_are_told_by_the_values_of_their_columns() {
    // Row numbers in front are no volumes.
    let rows: String = (0..40)
        .map(|i| format!("{i},{}.00025,W,{},4096\n", i / 4, i * 7 % 40 * 4_096))
        .collect();
    let (found, meta) = told("", &rows);
    assert_eq!(
        (found[4].0, found[1].2, meta.volumes.len()),
        (1_000_000_000, 56, 1)
    );
    says(
        meta.time_doubt.unwrap(),
        "--trace-columns 'time=2:s,op=3,offset=4,size=5,separator=comma,header=no' says the same",
    );
    // Times in us, and a process.
    let rows: String = (0..40)
        .map(|i| format!("{},{},W,{},4096\n", i * 250, 47 - i % 2, i * 7 % 40 * 4_096))
        .collect();
    let (found, meta) = told("", &rows);
    assert_eq!((found[1].0, meta.volumes.len()), (250_000, 1));
    says(meta.time_doubt.unwrap(), "taken for us");
    // MSR without its last column, and between blanks.
    for gap in [",", " "] {
        let rows: String = (0..9)
            .map(|i| {
                format!(
                    "{},usr,0,Read,{},4096\n",
                    128_166_372_000_000_000u64 + i * 2_500,
                    i * 4_096
                )
            })
            .collect();
        let (found, meta) = told("", &rows.replace(',', gap));
        assert_eq!((found[1], found.len()), ((250_000, Op::Read, 8, 8), 9));
        assert!(meta.time_doubt.is_some());
    }
    // Kinds in numbers may be either.
    says(
        refused(
            "",
            "1,0,4096,512,8\n2,1,8192,512,9\n5,1,0,512,7\n7,0,512,512,1\n",
        ),
        "no known trace format fits",
    );
}

#[test]
fn all_readers_of_text_take_all_spellings() {
    let same = |format: &str, text: &str, usual: &str| {
        let (found, meta) = told("", text);
        let (wanted, _) = told(format, usual);
        assert_eq!((found, meta.format), (wanted, format), "{text}");
    };
    same(
        "msr",
        "5,usr,0,R,4096.0,8192,1\n",
        "5,usr,0,Read,4096,8192,1\n",
    );
    same(
        "msr",
        "\"5\",\"usr\",\"0\",\"Read\",\"4096\",\"8192\",\"1\"\n",
        "5,usr,0,Read,4096,8192,1\n",
    );
    same(
        "tencent",
        "1538323200,0,8,R,1283\n1538323201,16,8,W,1283\n",
        "1538323200,0,8,0,1283\n1538323201,16,8,1,1283\n",
    );
    same(
        "disksim",
        "1.5e-02 0 8 8 1\n2.65e-01 0 16 8 0\n",
        "0.015 0 8 8 1\n0.265 0 16 8 0\n",
    );
    same(
        "disksim",
        "0.000000 0 0x0 8 0\n0.250000 0 0x8 8 1\n",
        "0.000000 0 0 8 0\n0.250000 0 8 8 1\n",
    );
    same(
        "spc",
        "0;0;4096;r;0,000000\n0;16;4096;w;0,250000\n",
        "0,0,4096,r,0.000000\n0,16,4096,w,0.250000\n",
    );
    // One odd line among others.
    same(
        "spc",
        "0,0,4096,r,0.5\n0,16,4096,write,0.75\n0,32,4.096e3,w,1.5\n",
        "0,0,4096,r,0.5\n0,16,4096,w,0.75\n0,32,4096,w,1.5\n",
    );
    same(
        "table",
        "arrival_ns,op,start_sector,sectors\n0,R,0,8\n",
        "arrival_ns,op,start_sector,sectors\n0,R,0,8\n",
    );
    assert!(read("destage", "arrival_ns,op,start_sector,sectors\n0,R,0,8\n").is_err());
}

struct Columns(Vec<(&'static str, Option<TimeUnit>, Vec<Cell<'static>>)>);

impl Frame for Columns {
    fn columns(&self) -> Vec<(String, Option<TimeUnit>)> {
        let column = |(name, unit, _): &(&str, Option<TimeUnit>, _)| (name.to_string(), *unit);
        self.0.iter().map(column).collect()
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
    let text = |word: &'static str| Cell::Text(word.as_bytes());
    let numbers = |numbers: [i128; 3]| numbers.map(Cell::Integer).to_vec();
    let frame = Columns(vec![
        ("when", Some(TimeUnit::Microseconds), numbers([5, 7, 9])),
        ("what", None, vec![text("read"), text("W"), text("flush")]),
        (
            "lba",
            None,
            vec![Cell::Real(8.0), Cell::Integer(16), Cell::Null],
        ),
        ("n", None, numbers([8, 16, 0])),
        ("dev", None, vec![text("a"), text("b"), text("a")]),
    ]);
    let load = |mapping: &str| {
        let columns = Some(mapping.parse().unwrap());
        load_frame(
            "frame",
            &frame,
            &LoadOptions {
                columns,
                ..overlay()
            },
        )
    };
    let trace = load("op=what,size=n:sectors").unwrap();
    let rows = trace.requests.records().iter();
    let rows: Vec<_> = rows
        .map(|r| (r.arrival.0, r.op, r.start_sector, r.sectors, r.stream))
        .collect();
    let expected = [
        (0, Op::Read, 8, 8, 0),
        (2_000, Op::Write, 16, 16, 1),
        (4_000, Op::Flush, 0, 0, 0),
    ];
    assert_eq!(rows, expected);
    let printed = trace.meta.mapping.unwrap();
    assert_eq!(
        printed,
        "time=when:us,op=what,offset=lba:sectors,size=n:sectors,volume=dev"
    );
    assert_eq!(
        load(&printed).unwrap().requests.records(),
        trace.requests.records()
    );
    says(
        load("op=what").unwrap_err().to_string(),
        "no column is known as size; its columns: when, what, lba, n, dev",
    );
    says(
        load("op=n,size==512").unwrap_err().to_string(),
        "frame: row 1, column 4 (op): `8` is no kind of request",
    );
}
