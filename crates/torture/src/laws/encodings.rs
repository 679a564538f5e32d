//! Laws of traces as files.

use super::Law;
use crate::case::{Case, option};
use crate::compare::{count, equal, same, want};
use crate::lab::{Fault, Lab, Verdict, records};
use crate::requests;
use destage_conformance::reference::rng::SplitMix64;
use destage_types::{Op, RequestFlags};
use std::fs;

/// Formats that are written, and what they can say: TRIM and FLUSH, and everything.
const FORMATS: [(&str, bool, bool); 4] = [
    ("destage-bin", true, true),
    ("fio", true, false),
    ("msr", false, false),
    ("ssdsim", false, false),
];

fn format_of(case: &Case) -> (&'static str, bool, bool) {
    FORMATS[(case.seed % 4) as usize]
}

/// Leaves what the format of the case can say, times in its unit.
fn sayable(case: &mut Case) {
    let (_, trims, all) = format_of(case);
    if all {
        return;
    }
    let told = |op| trims || matches!(op, Op::Read | Op::Write);
    case.requests.retain(|r| told(r.host.op));
    for request in &mut case.requests {
        request.host.extents.truncate(1);
        request.host.prev.clear();
        request.host.atomic = false;
        request.host.flags = RequestFlags::NONE;
        request.host.arrival -= request.host.arrival % 1000;
        request.tag = "";
        request.stream = 0;
    }
    requests::from_zero(&mut case.requests);
}

fn convert(lab: &Lab, case: &Case, from: &str) -> Result<String, Fault> {
    let (format, _, _) = format_of(case);
    let to = format!("other.{format}");
    lab.must(&option(&format!(
        "trace convert {from} --to {format} -o {to}"
    )))?;
    Ok(to)
}

pub const ENCODINGS: Law = Law {
    name: "encodings",
    promise: "a trace gives the same result in every format that can say it, and comes back the same",
    adapt: |case, _| sayable(case),
    check: encodings,
};

fn encodings(lab: &Lab, case: &Case) -> Verdict {
    if case.requests.is_empty() {
        return Ok(false);
    }
    let other = convert(lab, case, "trace.csv")?;
    let format = format!("--format {}", format_of(case).0);
    let own = lab.records(&case.run("trace.csv"))?;
    let coded = lab.records(&case.with(&format).run(&other))?;
    let held = same(&own, &coded, &["trace", "config"])?;
    lab.must(&option("trace convert trace.csv -o own.csv"))?;
    lab.must(&option(&format!(
        "trace convert {other} {format} -o back.csv"
    )))?;
    let (own, back) = (lab.read("own.csv")?, lab.read("back.csv")?);
    if own == back {
        Ok(held)
    } else {
        Err(Fault::law("own.csv and back.csv differ"))
    }
}

pub const VOLUMES: Law = Law {
    name: "volumes",
    promise: "--volumes split gives the records of --volumes only=NAME for every volume",
    adapt: |case, _| {
        // MSR has volumes that the command line can name.
        case.seed -= case.seed % 4;
        case.seed += 2;
        let streams: Vec<u32> = case.requests.iter().map(|r| r.stream).collect();
        sayable(case);
        for (request, stream) in case.requests.iter_mut().zip(streams) {
            request.stream = stream;
        }
        // A limit counts requests of the file, or of the one volume; a file system changes the name.
        case.without(&["--volumes", "--limit", "--host-fs"]);
    },
    check: volumes,
};

fn volumes(lab: &Lab, case: &Case) -> Verdict {
    if case.requests.is_empty() {
        return Ok(false);
    }
    let trace = convert(lab, case, "trace.csv")?;
    let Some(split) = lab.records(&case.with("--volumes split").run(&trace))? else {
        return Ok(false);
    };
    let mut total = 0;
    for record in &split {
        // other:host0_3 is the trace of volume host0_3.
        let name = record["trace"]["name"].as_str().unwrap_or_default();
        let Some((_, volume)) = name.split_once(':') else {
            return Err(Fault::law(format!("{name} names no volume")));
        };
        let only = case.with(&format!("--volumes only={volume}"));
        let Some(only) = lab.record(&only, &trace)? else {
            return Err(Fault::law(format!("volume {volume} alone is refused")));
        };
        equal(record, &only, &["trace", "config"])?;
        total += record["trace"]["requests"].as_u64().unwrap_or(0);
    }
    let plain = case.options.is_empty();
    if plain {
        want("requests of all volumes", total, case.requests.len() as u64)?;
    }
    Ok(true)
}

pub const DAMAGED: Law = Law {
    name: "damaged",
    promise: "damaged bytes are refused or read, by all commands alike",
    adapt: |case, _| sayable(case),
    check: damaged,
};

/// Texts that damage inserts, besides single bytes.
const WORDS: [&[u8]; 12] = [
    b",",
    b"\n",
    b"\r\n",
    b"-1",
    b"0",
    b"#",
    b";",
    b" ",
    b"\0",
    b"\xff\xfe",
    b"99",
    b"R,",
];

/// Numbers around the ends of what a field can hold.
const NUMBERS: [&str; 8] = [
    "4294967295",
    "4294967296",
    "9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "1000000000000000000000000000000",
    "-1",
    "-9223372036854775808",
];

/// Puts one of these in the place of the first number of the text from `at` on.
fn replace_number(bytes: &mut Vec<u8>, at: usize, number: &str) {
    let Some(start) = bytes[at..].iter().position(u8::is_ascii_digit) else {
        return;
    };
    let digits = bytes[at + start..].iter();
    let end = at + start + digits.take_while(|byte| byte.is_ascii_digit()).count();
    bytes.splice(at + start..end, number.bytes());
}

fn damage(bytes: &mut Vec<u8>, rng: &mut SplitMix64) {
    for _ in 0..=rng.below(4) {
        let at = rng.below(bytes.len() as u64 + 1) as usize;
        match rng.below(7) {
            0 => bytes.truncate(at),
            1 => drop(bytes.splice(at..at, rng.pick(&WORDS).iter().copied())),
            2 if at < bytes.len() => bytes[at] = rng.below(256) as u8,
            3 if at < bytes.len() => drop(bytes.remove(at)),
            4 | 5 => replace_number(bytes, at, rng.pick(&NUMBERS)),
            _ => {
                let end = (at + rng.below(60) as usize).min(bytes.len());
                let copy = bytes[at..end].to_vec();
                let to = rng.below(bytes.len() as u64 + 1) as usize;
                bytes.splice(to..to, copy);
            }
        }
    }
}

fn damaged(lab: &Lab, case: &Case) -> Verdict {
    if case.requests.is_empty() {
        return Ok(false);
    }
    let rng = &mut SplitMix64::new(case.seed);
    let sound = if rng.chance(30) {
        "trace.csv".to_owned()
    } else {
        convert(lab, case, "trace.csv")?
    };
    let mut bytes = fs::read(lab.path(&sound))?;
    damage(&mut bytes, rng);
    fs::write(lab.path("damaged"), bytes)?;
    let how = rng.pick(&["", " --skip-bad-lines", " --limit 3"]);
    let info = lab.run(&option(&format!("trace info damaged --json{how}")))?;
    let converted = lab.run(&option(&format!("trace convert damaged -o own.csv{how}")))?;
    lab.run(&option(&format!("trace head damaged -n 2{how}")))?;
    want("status of info and convert", info.code, converted.code)?;
    if info.code != 0 {
        return Ok(false);
    }
    let again = lab.must(&option("trace info own.csv --json"))?;
    let (info, again) = (records(&info.stdout)?, records(&again.stdout)?);
    want("requests", &info[0]["requests"], &again[0]["requests"])?;
    let mut case = case.clone();
    case.without(&["--limit"]);
    case.options.extend(
        [option(how.trim())]
            .into_iter()
            .filter(|o| !o[0].is_empty()),
    );
    let Some(record) = lab.record(&case, "damaged")? else {
        return Ok(true);
    };
    if case.options.len() == usize::from(!how.is_empty()) && case.device.is_none() {
        let requests = info[0]["requests"].as_u64();
        want(
            "requests of info and run",
            requests,
            Some(count(&record, "requests")),
        )?;
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_replaced_as_a_whole() {
        let replaced = |text: &str, at| {
            let mut bytes = text.as_bytes().to_vec();
            replace_number(&mut bytes, at, "-1");
            String::from_utf8(bytes).unwrap()
        };
        assert_eq!(replaced("12,W,345\n", 0), "-1,W,345\n");
        assert_eq!(replaced("12,W,345\n", 2), "12,W,-1\n");
        assert_eq!(replaced("12,W,345\n", 9), "12,W,345\n");
        assert_eq!(replaced("", 0), "");
    }
}
