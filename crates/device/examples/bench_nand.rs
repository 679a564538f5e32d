//! Operations per CPU-second of the event engine: random operations on 8 channels with 4 dies each,
//! at two loads, with both event containers. `cargo run --release --example bench_nand -p
//! destage-device [operations]`

use cpu_time::ProcessTime;
use destage_device::nand::{
    ArrayConfig, BusTransfer, Class, Discipline, EventHeap, EventQueue, EventTree, FlashCommand,
    Nand, Notice, Timing,
};
use destage_types::{ChipId, Nanos, Picos};

const CHANNELS: u32 = 8;
const DIES: u32 = 4;

#[derive(Default)]
struct NoticeSums {
    waits: u64,
    last_end: u64,
    ended: u64,
}

impl NoticeSums {
    fn take<E: EventQueue>(&mut self, nand: &mut Nand<E>) {
        for notice in nand.drain_notices() {
            match notice {
                Notice::Timed { times, .. } => {
                    self.waits = self.waits.wrapping_add(times.start.0);
                    self.last_end = self.last_end.max(times.end.0);
                }
                Notice::Ended { .. } => self.ended += 1,
                Notice::Started { .. } | Notice::Idle { .. } => {}
            }
        }
    }
}

fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let z = (*state ^ (*state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// Arrival and command of every operation: 70 % programs, gaps uniform around `mean_gap`.
fn workload(operations: usize, mean_gap: u64, notify: bool) -> Vec<(Nanos, FlashCommand)> {
    let page = BusTransfer::new(Picos(3_000)).bytes(4096);
    let (mut state, mut now, mut sum) = (1, 0, 0);
    let mut work = Vec::with_capacity(operations);
    for token in 0..operations as u32 {
        let z = next(&mut state);
        now += (z & 0xffff) * 2 * mean_gap / 0xffff;
        let chip = ChipId((z >> 16) as u32 % (CHANNELS * DIES));
        let mut command = if (z >> 48) % 10 < 7 {
            FlashCommand::program(chip, page, token)
        } else {
            FlashCommand::read(chip, page, token)
        };
        command.notify_end = notify;
        sum += now;
        work.push((Nanos(now), command));
    }
    assert!(sum > 0, "the workload lies in time");
    work
}

fn measure<E: EventQueue>(name: &str, mean_gap: u64, notify: bool, work: &[(Nanos, FlashCommand)]) {
    let timing = Timing {
        t_cmd_read: Nanos(290),
        t_cmd_program: Nanos(361),
        t_cmd_erase: Nanos(220),
        t_cmd_copyback: Nanos(0),
        t_read: Nanos(75_000),
        t_program: Nanos(750_000),
        t_erase: Nanos(3_800_000),
        t_ready: Nanos(20),
    };
    let config = ArrayConfig {
        channels: CHANNELS,
        chips_per_channel: DIES,
        dies: 1,
        timing,
        discipline: Discipline::Fifo,
        watch_idle: notify,
        suspension: None,
        late_times: false,
    };
    let mut nand = Nand::<E>::with_events(&config);
    let mut sum = NoticeSums::default();
    let start = ProcessTime::now();
    for &(at, command) in work {
        nand.advance(at);
        nand.submit(at, command);
        sum.take(&mut nand);
    }
    while nand.step(Nanos::NEVER).is_some() {
        sum.take(&mut nand);
    }
    let cpu = start.elapsed().as_secs_f64();
    let busy: u64 = (0..CHANNELS * DIES)
        .map(|chip| nand.chip_stats(ChipId(chip)).busy.0)
        .sum();
    println!(
        "{name:<5} gap {mean_gap:>6} ns, notices {notify:<5}: die load {:>5.1} %, \
         backlog <= {:>6}, host ops {:>9}, {:>6.2} M operations per CPU-second (check {:016x})",
        busy as f64 / (sum.last_end as f64 * f64::from(CHANNELS * DIES)) * 100.0,
        nand.backlog_capacity(),
        nand.stats().of_class(Class::Host),
        work.len() as f64 / cpu / 1e6,
        sum.waits,
    );
}

fn main() {
    let operations = match std::env::args().nth(1) {
        Some(count) => count
            .parse()
            .expect("the argument is a number of operations"),
        None => 4_000_000,
    };
    for mean_gap in [35_400, 20_250] {
        for notify in [false, true] {
            let work = workload(operations, mean_gap, notify);
            measure::<EventHeap>("heap", mean_gap, notify, &work);
            measure::<EventTree>("tree", mean_gap, notify, &work);
        }
    }
}
