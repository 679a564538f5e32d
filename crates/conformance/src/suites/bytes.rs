//! Any bytes as a run: what a fuzzer changes are the composition, its parameters, its surroundings
//! and every request by itself.

use super::{Case, compositions, random};
use crate::drive::TestDevice;
use crate::reference::SlowRequest;
use crate::reference::rng::SplitMix64;
use destage_types::{Nanos, Op, RequestFlags};

/// Bytes that describe one request.
const REQUEST_BYTES: usize = 6;

/// Requests of one run, at most: the models are slow.
const MOST_REQUESTS: usize = 400;

/// Pages of the address space.
const PAGES: u64 = 96;

fn number<const N: usize>(data: &[u8]) -> (u64, &[u8]) {
    let (head, rest) = data.split_at(N.min(data.len()));
    let byte = |sum: u64, &b: &u8| sum << 8 | u64::from(b);
    (head.iter().fold(0, byte), rest)
}

/// One request, somewhere around the end of the last one or anywhere.
fn request(bytes: &[u8], spp: u32, mapped: bool, now: u64, end: u64) -> SlowRequest {
    let &[kind, place, length, gap, cut, old] = bytes else {
        unreachable!("requests have {REQUEST_BYTES} bytes");
    };
    let op = match kind % 8 {
        0..3 => Op::Read,
        3..6 => Op::Write,
        6 => Op::Trim,
        _ => Op::Flush,
    };
    let (size, space) = (u64::from(spp), PAGES * u64::from(spp));
    let (start, sectors) = match (op, place) {
        (Op::Flush, _) => (0, 0),
        (_, 250..) => (end % space, u64::from(cut) + 1),
        _ => {
            let cut = u64::from(cut) % size;
            let pages = 1 + u64::from(length % 9);
            let first = u64::from(place) % PAGES * size + cut;
            let left = pages * size - cut;
            (first, left - (cut / 2).min(left - 1))
        }
    };
    let sectors = sectors.min(space - start) as u32;
    let mut request = SlowRequest::new(op, start, sectors);
    request.arrival = now + u64::from(gap) * u64::from(gap) * 100;
    if op == Op::Write {
        let fua = RequestFlags::FUA.only_if(kind / 8 % 8 == 7);
        request.flags = fua.and(RequestFlags::PREFLUSH.only_if(kind / 8 >= 28));
    }
    if mapped && op == Op::Write && old < 200 {
        request.atomic = old % 5 == 0;
        let pages = request.accesses(spp).len() as u64;
        let block = |i: u64| (u64::from(old) + i) % PAGES * size;
        let kept = |i: u64| (gap >> (i % 8)) & 1 == 0;
        request.prev = (0..pages).map(|i| kept(i).then(|| block(i))).collect();
    }
    request
}

/// The run that `data` describes.
fn case(data: &[u8]) -> Case {
    let (shape, data) = number::<2>(data);
    let (seed, data) = number::<4>(data);
    let (pages, data) = number::<1>(data);
    let shapes = compositions();
    let shape = &shapes[shape as usize % shapes.len()];
    let expr = random(shape, &mut SplitMix64::new(seed));
    let mut case = Case::random(&expr, seed, 0);
    case.config.capacity += pages as u32 % 16;
    let (spp, mapped) = (case.config.page.sectors(), expr.contains("cac"));
    let (mut now, mut end) = (0, 0);
    for bytes in data.chunks_exact(REQUEST_BYTES).take(MOST_REQUESTS) {
        let request = request(bytes, spp, mapped, now, end);
        now = request.arrival;
        if let Some(&(start, sectors)) = request.extents.last() {
            end = start + u64::from(sectors);
        }
        case.requests.push(request);
    }
    case
}

/// Serves the requests that `data` describes beside the slow model and on a device with time,
/// every call checked against the contract of a scheme. `true` if there is a slow model.
///
/// # Panics
/// A promise is broken, or the model disagrees.
pub fn operations(data: &[u8]) -> bool {
    let case = case(data);
    let modelled = case.has_model();
    if modelled && let Err(difference) = case.compare() {
        panic!("{} {:?}: {difference}", case.expr, case.config);
    }
    case.run_timed(TestDevice {
        read: Nanos(25_000),
        program: Nanos(200_000),
        dram: Nanos(1000),
    });
    modelled
}
