//! Host requests through a device take the times that two other simulators give, SSDsim and the
//! flash part of MQSim, to the nanosecond. Rows about garbage collection are not here: there is
//! none yet.
//!
//! 8 channels x 2 chips of one die and one plane, 4 KiB pages, tR 75 us, tPROG 750 us, 3 ns/B, no
//! cache, DRAM in no time (the peers' host part is left out).

use destage_conformance::reference::SlowRequest;
use destage_conformance::timed::{TimedRun, compare, device};
use destage_types::Op;

const T_READ: u64 = 75_000;
const T_PROGRAM: u64 = 750_000;
/// A page on the bus.
const X: u64 = 12_288;

struct Peer {
    channels: u64,
    chips: u64,
    sets: Vec<String>,
}

impl Peer {
    fn new(channels: u64, chips: u64, own: &[&str]) -> Peer {
        let common = [
            "dies_per_chip=1",
            "planes_per_die=1",
            "pages_per_block=64",
            "page_bytes=4096",
            "t_read=75us",
            "t_program=750us",
            "t_erase=3.8ms",
            "t_byte=3ns",
            "t_dram=0",
            "precondition=trace",
        ];
        let mut sets: Vec<String> = common.iter().chain(own).map(|&s| s.to_owned()).collect();
        sets.push(format!("channels={channels}"));
        sets.push(format!("chips_per_channel={chips}"));
        Peer {
            channels,
            chips,
            sets,
        }
    }

    /// Commands are 7 cycles of 3 ns; a write ends with its last transfer.
    fn ssdsim(channels: u64, chips: u64) -> Peer {
        Peer::new(channels, chips, &["t_cmd=21ns", "evict_wait=transfer_done"])
    }

    fn mqsim(channels: u64, chips: u64) -> Peer {
        let own = [
            "t_cmd_read=290ns",
            "t_cmd_program=361ns",
            "t_cmd_erase=220ns",
            "t_ready=20ns",
            "evict_wait=program_done",
        ];
        Peer::new(channels, chips, &own)
    }

    /// Response times of (operation, first sector, sectors, arrival) on a device at rest.
    fn times(&self, requests: &[(Op, u64, u32, u64)]) -> Vec<u64> {
        let request = |&(op, start, sectors, arrival): &(Op, u64, u32, u64)| SlowRequest {
            arrival,
            ..SlowRequest::new(op, start, sectors)
        };
        let requests: Vec<SlowRequest> = requests.iter().map(request).collect();
        let run = TimedRun::new("none", 1, device(&self.sets));
        let outcome = run.real(&requests);
        compare(&outcome, &run.slow(&requests), "real and slow");
        outcome.requests.iter().map(|r| r.4 - r.3).collect()
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
