//! Tests of the model itself.

mod cases;
mod collection;
mod handles;
mod host;
mod inside;
mod laws;
mod mapping;
mod random;
mod slc;
mod write_amplification;

use super::*;

/// Requests in mapping units of 4 KiB: "t op lpn count stream"; F is a write with FUA, P one with a preflush, T is
/// TRIM.
fn trace(lines: &[&str]) -> Vec<DriveRequest> {
    let parse = |line: &&str| {
        let words: Vec<&str> = line.split(' ').collect();
        let number = |i: usize| {
            words
                .get(i)
                .map_or(0, |w| w.parse::<u64>().expect("a number"))
        };
        DriveRequest {
            at: number(0),
            op: match words[1] {
                "R" => DriveOp::Read,
                "W" | "P" => DriveOp::Write,
                "F" => DriveOp::WriteFua,
                "T" => DriveOp::Trim,
                _ => DriveOp::Flush,
            },
            offset: number(2) * 4096,
            bytes: number(3) * 4096,
            stream: number(4) as usize,
            preflush: words[1] == "P",
            prev: [None; 4],
            atomic: false,
        }
    };
    lines.iter().map(parse).collect()
}

fn run(config: DriveConfig, lines: &[&str]) -> DriveOutcome {
    let model = DriveModel::new(config).expect("legal keys");
    model.run(&trace(lines)).expect("it fits")
}

fn done(outcome: &DriveOutcome) -> Vec<u64> {
    outcome.times.iter().map(|t| t.completed).collect()
}
