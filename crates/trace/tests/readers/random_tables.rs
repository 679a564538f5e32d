//! Random tables in random dialects are read as their mapping says, and never silently as others.

use destage_trace::{Source, Trace, TraceError, load};
use destage_types::rng::SplitMix64;
use destage_types::{HostRequest, Nanos, Op, RequestFlags};

use crate::common::{cases_of, given, overlay};
use crate::parquet::{Column, file};

fn one<T: Copy>(random: &mut SplitMix64, of: &[T]) -> T {
    of[random.below(of.len() as u64) as usize]
}

use Op::{Flush, Read, Trim, Write};
const OPS: [Op; 6] = [Read, Write, Read, Write, Trim, Flush];
const FUA: RequestFlags = RequestFlags::FUA;
const PREFLUSH: RequestFlags = RequestFlags::PREFLUSH;
const FLAGS: [RequestFlags; 3] = [RequestFlags::NONE, FUA, PREFLUSH];

/// Requests of one load, at whole units of time; their streams are numbers of `VOLUMES`.
pub fn requests(random: &mut SplitMix64, unit_ns: u64) -> Vec<HostRequest> {
    let step = unit_ns.min([u64::MAX, 1_000][random.below(2) as usize]);
    let mut ns = step * random.below(3) * 1_000;
    let count = 3 + random.below(60);
    let request = |_| {
        ns += step * (1 + random.below(200_000 / step.min(1_000)));
        let op = one(random, &OPS);
        let (sector, sectors) = (random.below(1 << 24) * 8, (1 + random.below(32) as u32) * 8);
        let (sector, sectors) = if op == Flush {
            (0, 0)
        } else {
            (sector, sectors)
        };
        let mut request = HostRequest::new(Nanos(ns / unit_ns * unit_ns), op, sector, sectors);
        request.stream = random.below(3) as u32;
        if op == Write {
            request.flags = one(random, &FLAGS);
        }
        request
    };
    (0..count).map(request).collect()
}

const VOLUMES: [&str; 3] = ["sda", "nvme0n1", "7"];
const KINDS: [[&str; 4]; 3] = [
    ["R", "W", "T", "F"],
    ["read", "WRITE", "discard", "Flush"],
    ["0", "1", "2", "9"],
];
/// Rule behind a column of addresses or sizes, names of both, bytes of its unit, and what is added.
#[rustfmt::skip]
const UNITS: [(&str, [&str; 2], u64, u64); 5] = [
    ("", ["offset", "size"], 1, 0),
    (":sectors", ["start_sector", "nr_sectors"], 512, 0),
    ("*512", ["lba", "sectors"], 512, 0),
    (":blocks", ["first", "n"], 4_096, 0),
    ("*512+512", ["last", "nlb"], 512, 512),
];
/// Separators, and their words in a mapping.
const DIALECTS: [(&str, &str); 8] = [
    (",", "comma"),
    (";", "semicolon"),
    ("\t", "tab"),
    ("|", "|"),
    (" ", "blank"),
    (",", "comma"),
    ("", "json"),
    ("", "parquet"),
];

/// Units of times, and their ns.
const TIMES: [(&str, u64); 4] = [
    ("ns", 1),
    ("us", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
];

/// One column of a table: its key, name, rule behind the column, values, and whether they are numbers.
struct Made(&'static str, &'static str, &'static str, Vec<String>, bool);

/// How a table spells its numbers.
#[derive(Clone, Copy)]
struct Spelling {
    comma: bool,
    plain: bool,
}

impl Spelling {
    fn mark(self) -> &'static str {
        if self.comma { "," } else { "." }
    }

    fn number(self, random: &mut SplitMix64, n: u64) -> String {
        let gap = if self.comma { "." } else { "," };
        match random.below(12) {
            _ if self.plain => n.to_string(),
            0 => format!("{n}{}0", self.mark()),
            1 => format!("{n:#x}"),
            2 if !self.comma => format!("{n:e}"),
            3 if n > 999 && n < 1_000_000 => format!("{}{gap}{:03}", n / 1_000, n % 1_000),
            _ => n.to_string(),
        }
    }
}

/// A time behind which its unit stands.
fn with_unit(random: &mut SplitMix64, ns: u64) -> String {
    match random.below(4) {
        0 => format!("{ns}ns"),
        1 => format!("{}.{:03} us", ns / 1_000, ns % 1_000),
        2 => format!("{}.{:06}ms", ns / 1_000_000, ns % 1_000_000),
        _ => format!("{}.{:09}s", ns / 1_000_000_000, ns % 1_000_000_000),
    }
}

/// The ends of requests in place of their sizes: the key, the name, the bytes of its unit, and the rule behind it.
#[rustfmt::skip]
const ENDS: [(&str, &str, u64, &str); 4] = [
    ("end", "end_offset", 1, ""),
    ("last", "last_byte", 1, ""),
    ("end", "end_lba", 512, ":sectors"),
    ("last", "last_lba", 512, "*512"),
];

/// The columns of a table, in random units, words and order.
fn columns(
    random: &mut SplitMix64,
    load: &[HostRequest],
    (unit, ns): (&str, u64),
    spelling: Spelling,
) -> Vec<Made> {
    let (name, rule) = match unit {
        "ns" => ("arrival_ns", ":ns"),
        "us" => ("time_us", ":us"),
        "ms" => ("time_ms", ":ms"),
        _ => ("time_s", ":s"),
    };
    let worded = !spelling.comma && random.below(6) == 0;
    let fraction = ns > 1 && random.below(2) == 0;
    let digits = ns.ilog10() as usize;
    let time = |r: &HostRequest| match (r.arrival.0 / ns, r.arrival.0 % ns) {
        (whole, rest) if fraction => format!("{whole}{}{rest:0digits$}", spelling.mark()),
        (whole, _) => spelling.number(random, whole),
    };
    let mut made = vec![match worded {
        false => Made("time", name, rule, load.iter().map(time).collect(), true),
        true => {
            let times = load.iter().map(|r| with_unit(random, r.arrival.0));
            Made("time", "when", ":date", times.collect(), false)
        }
    }];
    let words = one(random, &KINDS);
    let rule = ["", ":0=R,1=W,2=T,9=F"][usize::from(words[0] == "0")];
    let all = |value: &dyn Fn(&HostRequest) -> String| load.iter().map(value).collect::<Vec<_>>();
    let kinds = all(&|r| words[r.op as usize].to_owned());
    let name = one(random, &["op", "IO Type"]);
    made.push(Made("op", name, rule, kinds, false));
    for (i, key) in ["offset", "size"].into_iter().enumerate() {
        let (rule, names, each, plus) = match random.below(8) {
            0 if !spelling.plain => (":hex", ["hexaddr", "hexlen"], 1, 0),
            _ => UNITS[random.below(4 + i as u64) as usize],
        };
        let value = |r: &HostRequest| match [r.start_sector, u64::from(r.sectors)][i] * 512 {
            _ if r.op == Flush => "0".to_owned(),
            bytes if rule == ":hex" => format!("{bytes:x}"),
            bytes => spelling.number(random, (bytes - plus) / each),
        };
        let values = load.iter().map(value).collect();
        made.push(Made(key, names[i], rule, values, true));
    }
    if random.below(6) == 0 {
        let (key, name, each, rule) = one(random, &ENDS);
        let end = |r: &HostRequest| match r.start_sector + u64::from(r.sectors) {
            0 => "0".to_owned(),
            end => spelling.number(random, end * 512 / each - u64::from(key == "last")),
        };
        made.pop();
        made.push(Made(key, name, rule, load.iter().map(end).collect(), true));
    }
    if random.below(2) == 0 {
        let names = all(&|r| VOLUMES[r.stream as usize].to_owned());
        made.push(Made("volume", "disk", "", names, false));
    }
    let flags = [("fua", FUA), ("preflush", PREFLUSH)];
    let words = one(random, &[["0", "1"], ["false", "True"], ["no", "YES"]]);
    for (key, flag) in flags.into_iter().filter(|_| random.below(3) == 0) {
        let of = all(&|r| words[usize::from(r.flags.any(flag))].to_owned());
        made.push(Made(key, key, "", of, words[0] == "0"));
    }
    for name in ["index", "latency_us", "pid"] {
        if random.below(3) == 0 {
            let counts = name == "index";
            let value = |i| if counts { i as u64 } else { random.below(900) };
            let values = (0..load.len()).map(value).map(|n| n.to_string()).collect();
            made.push(Made("", name, "", values, true));
        }
    }
    for i in (1..made.len()).rev() {
        made.swap(i, random.below(i as u64 + 1) as usize);
    }
    made
}

/// The bytes of a table, and the mapping that reads it.
pub fn table(
    random: &mut SplitMix64,
    load: &[HostRequest],
    unit: (&str, u64),
) -> (Vec<u8>, String) {
    let (separator, word) = one(random, &DIALECTS);
    let comma = matches!(word, "semicolon" | "tab" | "|") && random.below(3) == 0;
    let plain = separator.is_empty();
    let made = columns(random, load, unit, Spelling { comma, plain });
    let header = plain || random.below(2) == 0;
    let place = |i: usize, name: &str| match header {
        true => name.to_owned(),
        false => (i + 1).to_string(),
    };
    let used = made.iter().enumerate().filter(|made| !made.1.0.is_empty());
    let rule = |(i, made): (usize, &Made)| format!("{}={}{}", made.0, place(i, made.1), made.2);
    let mut mapping = used.map(rule).collect::<Vec<_>>().join(",");
    if word == "parquet" {
        return (parquet(random, &made), mapping.replace(' ', "_"));
    }
    mapping += &format!(",separator={word}");
    let quotes = random.below(4) == 0;
    if plain {
        let member = |row: usize, Made(_, name, _, values, is_number): &Made| match is_number {
            true if !quotes => format!("\"{name}\": {}", values[row]),
            _ => format!("\"{name}\": \"{}\"", values[row]),
        };
        let mut text = String::new();
        for row in 0..load.len() {
            let members: Vec<String> = made.iter().map(|made| member(row, made)).collect();
            text += &format!("{{{}}}\n", members.join(", "));
        }
        return (text.into_bytes(), mapping);
    }
    let decimal = if comma { ",decimal=comma" } else { "" };
    let skip = random.below(3) * u64::from(word != "blank" && random.below(3) == 0);
    let yes = if header { "yes" } else { "no" };
    mapping += &format!("{decimal},header={yes},skip={skip}");
    let end = one(random, &["\n", "\r\n"]);
    let field = |text: &str| match quotes || text.contains(separator) {
        true => format!("\"{text}\""),
        false => text.to_owned(),
    };
    let line = |fields: Vec<String>| fields.join(separator) + end;
    let mut text = format!("some words in front{end}").repeat(skip as usize);
    if header {
        // Names in a comment are names, too.
        let blanks = word == "blank" && made.iter().any(|made| made.1.contains(' '));
        let commented = skip == 0 && !blanks && random.below(4) == 0;
        let names = made.iter().map(|made| match commented {
            true => made.1.to_owned(),
            false => field(made.1),
        });
        if commented {
            text += one(random, &["#", "# "]);
        }
        text += &line(names.collect());
    }
    for row in 0..load.len() {
        text += &line(made.iter().map(|made| field(&made.3[row])).collect());
    }
    (text.into_bytes(), mapping)
}

/// The same columns in Parquet: numbers as numbers or as texts.
fn parquet(random: &mut SplitMix64, made: &[Made]) -> Vec<u8> {
    let (mut schema, mut columns) = (String::new(), Vec::new());
    for Made(key, name, _, values, is_number) in made {
        let whole: Option<Vec<i64>> = values.iter().map(|v| v.parse().ok()).collect();
        let (kind, column) = match (whole.filter(|_| *is_number), random.below(3)) {
            (Some(whole), 0 | 1) => {
                let whole = whole.into_iter().map(Some);
                ("optional int64", Column::Int64(whole.collect()))
            }
            (Some(whole), _) if *key != "time" => {
                let whole = whole.into_iter().map(|n| n as f64);
                ("required double", Column::Double(whole.collect()))
            }
            _ => {
                let texts = values.iter().map(String::as_str);
                ("required binary", Column::Text(texts.collect()))
            }
        };
        let of_text = kind.ends_with("binary");
        let text = if of_text { " (UTF8)" } else { "" };
        schema += &format!("{kind} {}{text};", name.replace(' ', "_"));
        columns.push(column);
    }
    let schema = format!("message t {{ {schema} }}");
    file(&schema, Default::default(), &[&columns])
}

pub fn mapped(bytes: &[u8], mapping: Option<&str>) -> Result<Trace, TraceError> {
    let options = mapping.map_or_else(overlay, given);
    load(Source::bytes("x", bytes.to_vec()), &options)
}

/// The requests that a table holds under a mapping, volumes numbered as they appear, if there are any.
fn wanted(load: &[HostRequest], mapping: &str, volumes: bool) -> Vec<HostRequest> {
    let fua = FUA.only_if(mapping.contains("fua="));
    let flags = fua.and(PREFLUSH.only_if(mapping.contains("preflush=")));
    let mut seen: Vec<u32> = Vec::new();
    let mut load = load.to_vec();
    let first = load[0].arrival.0;
    for request in &mut load {
        request.arrival.0 -= first;
        request.flags = request.flags.among(flags);
        let known = seen.iter().position(|stream| *stream == request.stream);
        seen.extend(known.is_none().then_some(request.stream));
        let number = known.unwrap_or(seen.len() - 1) as u32;
        request.stream = if volumes { number } else { 0 };
    }
    load
}

/// A table under its mapping is the load it was made of, and under the guess either that, or an error, or a doubt.
#[test]
fn random_tables_are_read_as_their_mapping_says_and_never_silently_as_others() {
    let cases = cases_of(1_500, 30_000);
    // Of tables without and with flags: all, and those that are read without a doubt.
    let mut read = [[0; 2]; 2];
    for case in 0..cases {
        let random = &mut SplitMix64::new(case);
        let unit = one(random, &TIMES);
        let load = requests(random, unit.1);
        let (bytes, mapping) = table(random, &load, unit);
        let text = String::from_utf8_lossy(&bytes);
        let show = || format!("case {case}: {mapping}\n{text}");
        let flagged = mapping.contains("fua=") || mapping.contains("preflush=");
        let [all, same] = &mut read[usize::from(flagged)];
        *all += 1;
        let under = |mapping: &str| {
            mapped(&bytes, Some(mapping)).unwrap_or_else(|error| panic!("{error}\n{}", show()))
        };
        let trace = under(&mapping);
        let expected = wanted(&load, &mapping, mapping.contains("volume="));
        assert_eq!(trace.requests.records(), expected, "{}", show());
        // What is printed reads the same.
        let printed = trace.meta.mapping.unwrap();
        let again = under(&printed);
        assert_eq!(again.requests.records(), expected, "{printed}: {}", show());
        let Ok(guess) = mapped(&bytes, None) else {
            continue;
        };
        if guess.meta.format_doubt.is_some() || guess.meta.time_doubt.is_some() {
            continue;
        }
        let several = guess.meta.volumes.len() > 1;
        let expected = wanted(&load, &mapping, several && mapping.contains("volume="));
        let mut records = guess.requests.records().to_vec();
        let one = records.iter_mut().filter(|_| !several);
        one.for_each(|request| request.stream = 0);
        let (format, guessed) = (guess.meta.format, guess.meta.mapping);
        assert_eq!(records, expected, "{guessed:?} ({format}): {}", show());
        *same += 1;
    }
    // The law would hold if everything was refused.
    let [[plain, same], [flagged, of_flagged]] = read;
    assert!(8 * same > plain, "{same} of {plain}");
    assert!(9 * of_flagged > flagged, "{of_flagged} of {flagged}");
}
