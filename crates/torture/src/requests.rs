//! Random traces, and the own CSV that the program reads.

use destage_conformance::reference::rng::SplitMix64;
use destage_conformance::reference::{Profile, SlowRequest};
use destage_conformance::timed::hosted_swarm;
use destage_types::{Op, RequestFlags};
use std::fmt::Write;

/// Sectors of 4 KiB, the block of old addresses.
pub const BLOCK: u32 = 8;

/// One request of a trace.
#[derive(Clone, Debug)]
pub struct Request {
    /// The request of the host.
    pub host: SlowRequest,
    /// Number of its source.
    pub stream: u32,
    /// Its origin in a file system.
    pub tag: &'static str,
}

/// A trace of bursts and gaps, ties, all kinds of requests, some long or unaligned; with old
/// addresses if the scheme is `mapped`, and sometimes without need.
pub fn draw(rng: &mut SplitMix64, mapped: bool) -> Vec<Request> {
    let length = rng.pick(&[1, 3, 30, 100, 100, 300, 1000]);
    let mut profile = Profile::new(length, BLOCK).pages(rng.pick(&[1, 16, 64, 64, 400, 3000]));
    profile.longest = rng.pick(&[1, 4, 12, 12, 300]);
    profile.partial = rng.chance(60);
    profile.trim = rng.chance(60);
    profile.flush = rng.chance(60);
    profile.forced = rng.chance(50);
    profile.extents = rng.chance(20);
    profile.prev = rng.chance(if mapped { 80 } else { 5 });
    let unit = rng.pick(&[1, 1000, 7_000, 600_000]);
    let streams = rng.pick(&[1, 1, 1, 2, 5]);
    let tagged = rng.chance(15);
    let hosts = hosted_swarm(rng.next_u64(), profile, unit);
    let mut requests: Vec<Request> = hosts
        .into_iter()
        .map(|host| Request {
            host,
            stream: rng.below(streams) as u32,
            tag: if tagged {
                rng.pick(&["", "data", "node", "meta", "gc"])
            } else {
                ""
            },
        })
        .collect();
    from_zero(&mut requests);
    requests
}

/// Moves the first arrival to 0, which is what readers do.
pub fn from_zero(requests: &mut [Request]) {
    let first = requests.first().map_or(0, |r| r.host.arrival);
    requests.iter_mut().for_each(|r| r.host.arrival -= first);
}

/// One past the last sector.
pub fn end(requests: &[Request]) -> u64 {
    let extents = requests.iter().flat_map(|r| &r.host.extents);
    let ends = extents.map(|&(start, sectors)| start + u64::from(sectors));
    ends.max().unwrap_or(0)
}

/// Blocks that an extent touches.
fn blocks(start: u64, sectors: u32) -> usize {
    let last = start + u64::from(sectors) - 1;
    (last / u64::from(BLOCK) - start / u64::from(BLOCK) + 1) as usize
}

fn flags_text(flags: RequestFlags) -> &'static str {
    match [RequestFlags::FUA, RequestFlags::PREFLUSH].map(|flag| flags.any(flag)) {
        [false, false] => "",
        [true, false] => "fua",
        [false, true] => "preflush",
        [true, true] => "fua+preflush",
    }
}

/// The trace as own CSV.
pub fn csv(requests: &[Request]) -> String {
    let mut text =
        "arrival_ns,op,start_sector,sectors,stream,prev,atomic,tag,group,flags\n".to_owned();
    for (number, request) in requests.iter().enumerate() {
        let host = &request.host;
        let op = match host.op {
            Op::Read => 'R',
            Op::Write => 'W',
            Op::Trim => 'T',
            Op::Flush => 'F',
        };
        let group = match host.extents.len() {
            0 | 1 => String::new(),
            _ => number.to_string(),
        };
        let (at, stream, tag) = (host.arrival, request.stream, request.tag);
        let atomic = u8::from(host.atomic);
        let flags = flags_text(host.flags);
        let mut prev = host.prev.as_slice();
        let nothing = [(0, 0)];
        let extents = match host.op {
            Op::Flush => &nothing[..],
            _ => &host.extents,
        };
        for &(start, sectors) in extents {
            let here = if prev.is_empty() {
                0
            } else {
                blocks(start, sectors)
            };
            let (own, rest) = prev.split_at(here);
            prev = rest;
            let old = |p: &Option<u64>| p.map_or_else(|| "-1".to_owned(), |s| s.to_string());
            let own: Vec<String> = own.iter().map(old).collect();
            let own = own.join(";");
            writeln!(
                text,
                "{at},{op},{start},{sectors},{stream},{own},{atomic},{tag},{group},{flags}"
            )
            .expect("strings take all");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_of_every_kind_as_csv() {
        let plain = |host| Request {
            host,
            stream: 0,
            tag: "",
        };
        let mut write = SlowRequest::new(Op::Write, 4, 8);
        write.prev = vec![Some(80), None];
        write.flags = RequestFlags::OF_WRITES;
        let mut two = SlowRequest::new(Op::Read, 0, 8).at(70);
        two.extents.push((64, 3));
        let flush = SlowRequest::new(Op::Flush, 0, 0);
        let trace = [
            Request {
                tag: "node",
                stream: 3,
                ..plain(write)
            },
            plain(two),
            plain(flush),
        ];
        let text = csv(&trace);
        let lines: Vec<&str> = text.lines().skip(1).collect();
        assert_eq!(
            lines,
            [
                "0,W,4,8,3,80;-1,0,node,,fua+preflush",
                "70,R,0,8,0,,0,,1,",
                "70,R,64,3,0,,0,,1,",
                "0,F,0,0,0,,0,,,"
            ]
        );
        assert_eq!(end(&trace), 67);
    }
}
