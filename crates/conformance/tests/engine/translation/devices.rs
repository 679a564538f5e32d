//! Small devices of every kind.

use destage_conformance::timed::runs::device_of;
use destage_device::config::DeviceConfig;
use proptest::prelude::*;

/// Shapes with room for GC whatever the frontier, and the least over-provisioning of some.
pub const SHAPES: [&str; 7] = [
    "channels=2 chips_per_channel=2 dies_per_chip=2 planes_per_die=2 blocks_per_plane=4 \
     pages_per_block=4 op=0.5",
    "channels=1 chips_per_channel=1 dies_per_chip=1 planes_per_die=1 blocks_per_plane=2 \
     pages_per_block=2 op=0.75",
    "channels=1 chips_per_channel=1 dies_per_chip=1 planes_per_die=1 blocks_per_plane=6 \
     pages_per_block=1 op=0.17",
    "channels=1 chips_per_channel=1 dies_per_chip=1 planes_per_die=1 blocks_per_plane=5 \
     pages_per_block=4 op=0.25",
    "channels=3 chips_per_channel=1 dies_per_chip=2 planes_per_die=3 blocks_per_plane=4 \
     pages_per_block=3 op=0.6",
    "channels=1 chips_per_channel=2 dies_per_chip=1 planes_per_die=4 blocks_per_plane=4 \
     pages_per_block=8 op=0.5",
    "channels=2 chips_per_channel=1 dies_per_chip=3 planes_per_die=1 blocks_per_plane=9 \
     pages_per_block=5 op=0.4",
];

/// Shapes that leave no room for GC.
const TIGHT: [&str; 5] = [
    "channels=2 chips_per_channel=2 dies_per_chip=2 planes_per_die=2 blocks_per_plane=3 \
     pages_per_block=4 op=0.25",
    "channels=1 chips_per_channel=1 dies_per_chip=1 planes_per_die=1 blocks_per_plane=1 \
     pages_per_block=1 op=0",
    "channels=1 chips_per_channel=1 dies_per_chip=1 planes_per_die=1 blocks_per_plane=5 \
     pages_per_block=3 op=0.34",
    "channels=3 chips_per_channel=1 dies_per_chip=2 planes_per_die=3 blocks_per_plane=2 \
     pages_per_block=2 op=0.5",
    "channels=1 chips_per_channel=2 dies_per_chip=1 planes_per_die=4 blocks_per_plane=2 \
     pages_per_block=5 op=0.2",
];

pub fn orders() -> Vec<String> {
    let axes = ["channel", "chip", "die", "plane"];
    let mut orders = Vec::new();
    for n in 0..256 {
        let digits = [n % 4, n / 4 % 4, n / 16 % 4, n / 64];
        if (0..4).all(|axis| digits.contains(&axis)) {
            orders.push(digits.map(|d| axes[d]).join(","));
        }
    }
    orders
}

fn one_of(values: &'static [&'static str]) -> impl Strategy<Value = &'static str> {
    proptest::sample::select(values)
}

/// Frontiers, queues, the order of allocation and summary pages.
fn any_layout() -> impl Strategy<Value = (String, bool)> {
    let kind = one_of(&[
        "frontier=plane queue_per=die",
        "frontier=plane queue_per=chip",
        "frontier=die queue_per=die",
        "frontier=die queue_per=chip",
        "frontier=chip queue_per=chip",
    ]);
    let order = proptest::sample::select(orders());
    (kind, order, any::<bool>())
        .prop_map(|(kind, order, summary)| (format!("{kind} allocation_order={order}"), summary))
}

pub fn any_collecting_device() -> impl Strategy<Value = DeviceConfig> {
    let policy = one_of(&["greedy", "cost-benefit", "d-choices gc_choices=3", "random"]);
    let unit = one_of(&["plane", "die", "chip"]);
    let wear = one_of(&[
        "off",
        "dynamic",
        "static wear_threshold=1",
        "static wear_threshold=4",
    ]);
    let threshold = one_of(&["0", "0.1", "0.4", "1"]);
    let base = one_of(&["total", "spare"]);
    let mode = one_of(&["foreground", "background"]);
    let counts = one_of(&["pages", "blocks"]);
    let trigger = one_of(&["program", "operation", "immediate"]);
    let stop = one_of(&[
        "one",
        "watermark",
        "watermark gc_stop_blocks=0",
        "watermark gc_stop_blocks=2",
    ]);
    let when = (threshold, base, counts, trigger, stop).prop_map(|(t, b, c, r, s)| {
        format!(
            "gc_threshold={t} gc_threshold_base={b} gc_threshold_unit={c} gc_trigger={r} \
             gc_stop={s}"
        )
    });
    let gc = (policy, unit, wear, mode, when).prop_map(|(p, u, w, m, when)| {
        format!("gc_policy={p} gc_unit={u} wear_levelling={w} gc_mode={m} {when}")
    });
    (0..SHAPES.len(), any_layout(), gc).prop_map(|(shape, (layout, summary), gc)| {
        // Blocks of one or two pages, or the least spare space, have no room for summaries.
        let summary = summary && !(1..=3).contains(&shape);
        device_of(&format!(
            "{} {layout} {gc} summary_page={summary}",
            SHAPES[shape]
        ))
    })
}

fn any_device_without_gc() -> impl Strategy<Value = DeviceConfig> {
    let wear = one_of(&["off", "dynamic"]);
    (0..TIGHT.len(), any_layout(), wear).prop_map(|(shape, (layout, summary), wear)| {
        let summary = summary && shape % 3 == 0;
        device_of(&format!(
            "{} {layout} gc_mode=off wear_levelling={wear} summary_page={summary}",
            TIGHT[shape]
        ))
    })
}

pub fn any_device() -> impl Strategy<Value = DeviceConfig> {
    prop_oneof![4 => any_collecting_device(), 1 => any_device_without_gc()]
}
