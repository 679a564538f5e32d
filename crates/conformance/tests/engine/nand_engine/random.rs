//! Random arrays and what is asked of them.

use super::*;

/// Features that a run may contain, so that each is also seen without the others.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mix {
    pub(super) classes: bool,
    pub(super) dependencies: bool,
    pub(super) marks: bool,
    pub(super) cancels: bool,
    pub(super) notices: bool,
    pub(super) copybacks: bool,
    pub(super) planes: bool,
    pub(super) jobs: bool,
    pub(super) background_jobs: bool,
    /// Typical gap between arrivals, in units of the shortest phase.
    pub(super) gap: u64,
}

pub(super) fn random_timing(random: &mut SplitMix64) -> Timing {
    let scale: &[u64] = match random.below(4) {
        0 => &[0, 0, 1],
        1 => &[0, 1, 2, 3],
        2 => &[1, 2, 4, 8],
        _ => &[5, 10, 50, 200],
    };
    let mut t = || Nanos(random.pick(scale));
    Timing {
        t_cmd_read: t(),
        t_cmd_program: t(),
        t_cmd_erase: t(),
        t_read: t(),
        t_program: t(),
        t_erase: t(),
        t_ready: t(),
    }
}

pub(super) fn random_config(random: &mut SplitMix64) -> ArrayConfig {
    let (channels, chips_per_channel) = random.pick(&[
        (1, 1),
        (1, 4),
        (2, 1),
        (2, 3),
        (3, 2),
        (1, 9),
        (4, 4),
        (70, 1),
        (2, 90),
    ]);
    let timing = random_timing(random);
    ArrayConfig {
        channels,
        chips_per_channel,
        timing,
        queue: random.pick(&[QueueOrder::Fifo, QueueOrder::ReadFirst]),
        watch_idle: random.chance(50),
        suspension: random.chance(50).then(|| Suspension {
            pause: Nanos::ZERO,
            programs: random.chance(60),
            resume: Nanos(random.pick(&[0, 0, 1, 3, 20])),
        }),
        late_times: random.chance(30),
    }
}

pub(super) fn random_command(
    random: &mut SplitMix64,
    config: &ArrayConfig,
    mix: &Mix,
    ids: &[OpId],
) -> FlashCommand {
    let chips = u64::from(config.channels * config.chips_per_channel);
    // Large arrays are used in a corner, so that queues form there too.
    let chip =
        ChipId(random.below(chips.min(24)) as u32 * (chips.div_ceil(24)) as u32 % chips as u32);
    let kind = random.pick(&[
        OpKind::Read,
        OpKind::Read,
        OpKind::Program,
        OpKind::Program,
        OpKind::Erase,
        OpKind::Copyback,
    ]);
    let kind = match kind {
        OpKind::Copyback if !mix.copybacks => OpKind::Erase,
        kind => kind,
    };
    let transfer = Nanos(random.pick(&[0, 1, 2, 3, 7]));
    let mut command = FlashCommand::new(kind, chip, transfer, ids.len() as u32);
    if mix.planes && random.chance(40) {
        command.planes = 1 + random.below(4) as u32;
    }
    command.bytes = random.below(5000) as u32;
    if mix.classes {
        command.class = random.pick(&Class::ALL);
    }
    if random.chance(10) {
        command.array = Some(Nanos(random.below(12)));
    }
    if mix.dependencies && random.chance(35) && !ids.is_empty() {
        let back = random.below(ids.len().min(8) as u64) as usize;
        command = command.after(ids[ids.len() - 1 - back]);
        if random.chance(30) {
            let back = random.below(ids.len().min(20) as u64) as usize;
            command = command.after(ids[ids.len() - 1 - back]);
        }
    }
    command.in_order = mix.marks && random.chance(30);
    command.notify_end = mix.notices && random.chance(30);
    command
}

/// A job of any kind for one chip, with a trigger behind it now and then: collections as they are,
/// and runs of anything.
pub(super) fn random_job(
    random: &mut SplitMix64,
    config: &ArrayConfig,
    mix: &Mix,
    ids: &[OpId],
) -> (JobKind, Vec<FlashCommand>) {
    let kind = match random.chance(50) && mix.background_jobs {
        true => JobKind::Background,
        false => JobKind::Foreground,
    };
    let head = random_command(random, config, mix, ids);
    let mut commands = Vec::new();
    let mut add = |random: &mut SplitMix64, kind: Option<OpKind>| {
        let any = random_command(random, config, mix, &[]);
        commands.push(FlashCommand {
            chip: head.chip,
            kind: kind.unwrap_or(any.kind),
            token: (ids.len() + commands.len()) as u32,
            ..any
        });
    };
    if random.chance(70) {
        let copy = mix.copybacks && random.chance(50);
        for _ in 0..random.below(4) {
            if copy {
                add(random, Some(OpKind::Copyback));
            } else {
                add(random, Some(OpKind::Read));
                add(random, Some(OpKind::Program));
            }
        }
        add(random, Some(OpKind::Erase));
    } else {
        for _ in 0..1 + random.below(6) {
            add(random, None);
        }
    }
    (commands[0].after, commands[0].and_after) = (head.after, head.and_after);
    (kind, commands)
}
