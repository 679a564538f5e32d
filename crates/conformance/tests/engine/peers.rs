//! Host requests through a device take the times that two other simulators give, SSDsim and the
//! flash part of MQSim, to the nanosecond.
//!
//! 8 channels x 2 chips of one die and one plane, 4 KiB pages, tR 75 us, tPROG 750 us, 3 ns/B, no
//! cache, DRAM in no time (the peers' host part is left out).

use destage_conformance::timed::TimedRun;
use destage_conformance::timed::runs::{device_of, outcome, sectors, times};
use destage_types::Op;

const T_READ: u64 = 75_000;
const T_PROGRAM: u64 = 750_000;
/// A page on the bus.
const X: u64 = 12_288;

struct Peer {
    channels: u64,
    chips: u64,
    sets: String,
}

impl Peer {
    fn new(channels: u64, chips: u64, own: &str) -> Peer {
        Peer {
            channels,
            chips,
            sets: format!(
                "channels={channels} chips_per_channel={chips} dies_per_chip=1 planes_per_die=1 \
                 pages_per_block=64 page_bytes=4096 t_read=75us t_program=750us t_erase=3.8ms \
                 t_byte=3ns t_dram=0 precondition=trace {own}"
            ),
        }
    }

    /// Commands are 7 cycles of 3 ns; a write ends with its last transfer.
    fn ssdsim(channels: u64, chips: u64) -> Peer {
        Peer::new(channels, chips, "t_cmd=21ns evict_wait=transfer_done")
    }

    fn mqsim(channels: u64, chips: u64) -> Peer {
        let own = "t_cmd_read=290ns t_cmd_program=361ns t_cmd_erase=220ns t_ready=20ns \
                   evict_wait=program_done";
        Peer::new(channels, chips, own)
    }

    /// Response times of (operation, first sector, sectors, arrival) on a device at rest.
    fn times(&self, requests: &[(Op, u64, u32, u64)]) -> Vec<u64> {
        let run = TimedRun::new("none", 1, device_of(&self.sets));
        times(&outcome(&run, &sectors(requests)))
    }

    /// One request of whole KiB.
    fn one(&self, op: Op, kib: u32) -> u64 {
        self.times(&[(op, 0, kib * 2, 0)])[0]
    }

    fn pages(&self, op: Op, rounds: u64) -> u64 {
        self.one(op, (self.channels * self.chips * rounds * 4) as u32)
    }
}

#[test]
fn reads_of_one_round() {
    let (ssdsim, mqsim) = (Peer::ssdsim(8, 2), Peer::mqsim(8, 2));
    for kib in [4, 8, 16, 32] {
        assert_eq!(ssdsim.one(Op::Read, kib), 87_309);
        assert_eq!(mqsim.one(Op::Read, kib), 87_598);
    }
    assert_eq!(ssdsim.times(&[(Op::Read, 0, 3, 0)]), [79_629], "1.5 KiB");
    for sectors in 1..=8 {
        let bytes = u64::from(sectors) * 512;
        let partial = ssdsim.times(&[(Op::Read, 8, sectors, 0)]);
        assert_eq!(partial, [21 + T_READ + bytes * 3]);
    }
}

#[test]
fn reads_of_many_rounds() {
    for (channels, chips) in [(8, 2), (1, 1), (2, 4), (1, 3)] {
        for rounds in 1..=5 {
            let time = Peer::mqsim(channels, chips).pages(Op::Read, rounds);
            assert_eq!(time, rounds * (290 + T_READ + 20 + chips * X));
        }
    }
}

#[test]
fn writes() {
    let (ssdsim, mqsim) = (Peer::ssdsim(8, 2), Peer::mqsim(8, 2));
    for (kib, transferred, programmed) in [
        (4, 12_309, 762_649),
        (8, 12_309, 762_649),
        (16, 12_309, 762_649),
        (32, 12_309, 762_649),
        (64, 24_618, 775_298),
        (128, 786_927, 1_537_947),
        (256, 2_311_545, 3_063_245),
    ] {
        assert_eq!(ssdsim.one(Op::Write, kib), transferred, "{kib} KiB");
        assert_eq!(mqsim.one(Op::Write, kib), programmed, "{kib} KiB");
    }
    for (channels, chips) in [(8, 2), (1, 1), (2, 4), (1, 3)] {
        for n in 1..=5 {
            let rounds = chips + n - 1;
            let time = Peer::ssdsim(channels, chips).pages(Op::Write, n);
            assert_eq!(time, rounds * (21 + X) + (n - 1) * T_PROGRAM);
            let time = Peer::mqsim(channels, chips).pages(Op::Write, n);
            assert_eq!(time, n * T_PROGRAM + rounds * (361 + X));
        }
    }
}

#[test]
fn two_requests_at_one_instant() {
    // Pages 0 and 8: channel 0, one chip and the other.
    let mqsim = Peer::mqsim(8, 2);
    let reads = mqsim.times(&[(Op::Read, 0, 8, 0), (Op::Read, 8 * 8, 8, 0)]);
    assert_eq!(reads, [87_598, 87_598 + X]);
    // Pages 0 and 16: the same chip.
    let writes = mqsim.times(&[(Op::Write, 0, 8, 0), (Op::Write, 16 * 8, 8, 0)]);
    assert_eq!(writes, [762_649, 762_649 + T_PROGRAM + 361 + X]);
}

#[test]
fn a_read_behind_a_write_on_the_same_chip() {
    for d in [0, 1, 5_000, 12_649, 400_000, 762_649, 900_000] {
        let times = Peer::mqsim(8, 2).times(&[(Op::Write, 0, 8, 0), (Op::Read, 16 * 8, 8, d)]);
        let rest = 762_649u64.saturating_sub(d);
        assert_eq!(times, [762_649, rest + 87_598], "d = {d}");
    }
}

/// Three blocks of 8 pages hold 15 logical pages. Two writes leave block 0 with six valid pages
/// and one block free; the third write collects block 0, of which TRIM has left `k`.
fn collecting(mut peer: Peer, more: &str, k: u64, read_after: Option<u64>) -> Vec<u64> {
    peer.sets += " pages_per_block=8 blocks_per_plane=3 op=0.375 gc_threshold=0 \
                  precondition={trace=false,fill=1,overwrite=0} ";
    peer.sets += more;
    let mut requests = vec![
        (Op::Trim, 16, 8 * (6 - k) as u32, 0),
        (Op::Write, 0, 8, 10_000_000),
        (Op::Write, 8, 8, 20_000_000),
        (Op::Write, 0, 8, 30_000_000),
    ];
    if k == 6 {
        requests.remove(0);
    }
    let before = requests.len() - 1;
    if let Some(d) = read_after {
        requests.push((Op::Read, 8 * 8, 8, 30_000_000 + d));
    }
    peer.times(&requests)[before..].to_vec()
}

#[test]
fn a_collection_in_front_of_a_write() {
    for k in 0..=6 {
        let ssdsim = Peer::ssdsim(1, 1);
        let collection = k * (2 * 21 + T_READ + T_PROGRAM + 2 * X) + 3_800_000;
        let times = collecting(ssdsim, "t_cmd_erase=0", k, None);
        assert_eq!(times, [collection + 21 + X], "{k} pages");
        let page = 290 + T_READ + 20 + X + 361 + X + T_PROGRAM;
        let collection = k * page + 220 + 3_800_000;
        let times = collecting(Peer::mqsim(1, 1), "", k, None);
        assert_eq!(times, [collection + 762_649], "{k} pages");
    }
}

#[test]
fn a_collection_in_front_of_a_read() {
    let page = 290 + T_READ + 20 + X + 361 + X + T_PROGRAM;
    let collection = 3 * page + 220 + 3_800_000;
    for d in [1, 100_000, page, page + 1, 3 * page + 7, collection + 5] {
        // A job runs as one, and the program behind it goes before the read.
        let times = collecting(Peer::mqsim(1, 1), "", 3, Some(d));
        assert_eq!(
            times,
            [collection + 762_649, collection + 762_649 - d + 87_598]
        );
        // The read goes first: before the job has started there is nothing to pass.
        let first = "queue=read-first";
        let times = collecting(Peer::mqsim(1, 1), first, 3, Some(d));
        let ends = match d {
            d if d < collection => [collection + 87_598 + 762_649, collection + 87_598 - d],
            _ => [collection + 762_649, collection + 762_649 + 87_598 - d],
        };
        assert_eq!(times, ends, "read-first, d = {d}");
    }
}

#[test]
fn a_collection_by_copyback() {
    for k in 0..=6 {
        let times = collecting(Peer::mqsim(1, 1), "copyback=on", k, None);
        let collection = k * (T_READ + 20 + T_PROGRAM) + 220 + 3_800_000;
        assert_eq!(times, [collection + 762_649], "{k} pages");
    }
}
