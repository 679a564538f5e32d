//! Devices drawn at random, for the runs that are compared with slow models.

use destage_conformance::reference::rng::SplitMix64;
use destage_conformance::timed::device;
use destage_device::config::DeviceConfig;

/// Keys of a device of some 500 pages, so that it collects garbage all the time.
fn collecting(rng: &mut SplitMix64, planes: u64, units: &[&str]) -> Vec<String> {
    let mut sets = Vec::new();
    let mut set = |key: &str, value: String| sets.push(format!("{key}={value}"));
    let pages = rng.pick(&[3, 4, 8]);
    set("pages_per_block", pages.to_string());
    set(
        "blocks_per_plane",
        520u64.div_ceil(planes * pages).max(9).to_string(),
    );
    set("op", rng.pick(&["0.5", "0.55"]).to_owned());
    set("frontier", rng.pick(units).to_owned());
    set("gc_unit", rng.pick(units).to_owned());
    let modes = ["foreground", "foreground", "background"];
    set("gc_mode", rng.pick(&modes).to_owned());
    let policies = ["greedy", "greedy", "cost-benefit", "d-choices", "random"];
    set("gc_policy", rng.pick(&policies).to_owned());
    set("gc_choices", rng.pick(&["1", "2", "5"]).to_owned());
    set("gc_threshold", rng.pick(&["0", "0.1", "0.3"]).to_owned());
    let triggers = ["program", "operation", "immediate"];
    set("gc_trigger", rng.pick(&triggers).to_owned());
    set("gc_stop", rng.pick(&["one", "watermark"]).to_owned());
    set("gc_stop_blocks", rng.pick(&["0", "1", "2"]).to_owned());
    set(
        "gc_threshold_unit",
        rng.pick(&["pages", "blocks"]).to_owned(),
    );
    set("copyback", rng.chance(40).to_string());
    let levelling = rng.pick(&["off", "dynamic", "static"]);
    set("wear_levelling", levelling.to_owned());
    set("wear_threshold", rng.pick(&["1", "2", "5"]).to_owned());
    let held = [
        "{trace=false, fill=1, overwrite=0}",
        "{trace=true, fill=0.7, overwrite=0}",
    ];
    set("precondition", rng.pick(&held).to_owned());
    sets
}

/// Suspension, and programs that take longer on some pages than on others.
fn array_settings(rng: &mut SplitMix64, program: u64, scale: u64, suspends: u64) -> Vec<String> {
    let mut sets = Vec::new();
    if rng.chance(suspends) {
        let suspend = rng.pick(&["erase", "program+erase", "program+erase"]);
        sets.push(format!("suspend={suspend}"));
        let resume = rng.pick(&[0, 0, scale, scale * 7]);
        sets.push(format!("t_resume={resume}ns"));
    }
    if rng.chance(40) {
        let types = 2 + rng.below(3);
        let times: Vec<String> = (1..=types)
            .map(|i| {
                format!(
                    "{}ns",
                    program * rng.pick(&[1, i, 2 * i]) / rng.pick(&[1, 2])
                )
            })
            .collect();
        sets.push(format!("t_program={}", times.join(",")));
    }
    sets
}

/// Features that are drawn separately, so that devices without them stay as they are.
pub struct Features {
    /// Planes of a die that share operations.
    pub joins: Option<u32>,
    pub in_flash: Option<SplitMix64>,
    pub array: SplitMix64,
    /// Percent of the devices that suspend operations.
    pub suspends: u64,
}

/// A device drawn at random, and the time of a program.
pub fn random_device(
    rng: &mut SplitMix64,
    spp: u32,
    any_order: bool,
    anywhere: bool,
    collects: bool,
    features: Features,
) -> (DeviceConfig, u64) {
    let Features {
        joins,
        mut in_flash,
        mut array,
        suspends,
    } = features;
    let mut sets: Vec<String> = Vec::new();
    let mut set = |key: &str, value: String| sets.push(format!("{key}={value}"));
    let (channels, chips) = rng.pick(&[(1, 1), (1, 1), (1, 3), (2, 1), (2, 2), (3, 2), (4, 1)]);
    set("channels", channels.to_string());
    set("chips_per_channel", chips.to_string());
    let (dies, mut planes) = (rng.pick(&[1, 1, 2]), rng.pick(&[1, 1, 2]));
    if let Some(more) = joins {
        planes = u64::from(more);
        set("multi_plane", "on".to_owned());
    }
    set("dies_per_chip", dies.to_string());
    set("planes_per_die", planes.to_string());
    set("blocks_per_plane", "4096".to_owned());
    set("pages_per_block", rng.pick(&[2, 3, 8]).to_string());
    set("page_bytes", (spp * 512).to_string());
    set("op", "0.5".to_owned());
    let per = rng.pick(&["chip", "die"]);
    set("queue_per", per.to_owned());
    let frontiers = if per == "chip" { 3 } else { 2 };
    let frontier = rng.pick(&["plane", "die", "chip"][..frontiers]);
    set("frontier", frontier.to_owned());
    set("gc_unit", frontier.to_owned());
    // Enough space for every run.
    set("gc_mode", "off".to_owned());
    set("summary_page", rng.chance(30).to_string());
    set("queue", rng.pick(&["fifo", "read-first"]).to_owned());
    if any_order && rng.chance(40) {
        let order = rng.pick(&[
            r#"["plane","channel","chip","die"]"#,
            r#"["chip","die","plane","channel"]"#,
            r#"["die","channel","plane","chip"]"#,
        ]);
        set("allocation_order", order.to_owned());
    }
    if anywhere && rng.chance(20) {
        // There a cached page has no chip of its own.
        in_flash = None;
        set("allocation", "dynamic".to_owned());
    }
    let scale = match rng.pick(&[0, 1, 10, 1000]) {
        0 if collects => 10,
        scale => scale,
    };
    let program = scale * (1 + rng.below(30));
    let mut time = |key: &str, value: u64| sets.push(format!("{key}={value}ns"));
    time("t_program", program);
    let slow_read = scale * (1 + rng.below(9));
    time("t_read", rng.pick(&[0, scale, slow_read]));
    time("t_erase", scale * 40);
    for key in [
        "t_cmd_read",
        "t_cmd_program",
        "t_cmd_erase",
        "t_ready",
        "t_dram",
    ] {
        let at_most = scale * rng.pick(&[0, 0, 1, 3]);
        time(key, rng.below(at_most + 1));
    }
    let mut set = |key: &str, value: &str| sets.push(format!("{key}={value}"));
    let byte = rng.pick(&["0", "0", "0.001ns", "0.83ns", "3ns"]);
    set("t_byte", if scale == 0 { "0" } else { byte });
    set("sector_bytes", rng.pick(&["512", "528"]));
    set("dram", rng.pick(&["per_request", "per_page"]));
    let waits = ["program_done", "program_done", "transfer_done", "issue"];
    set("evict_wait", rng.pick(&waits));
    set("evict_wait_read", rng.pick(&["issue", "same"]));
    let fill = rng.pick(&[
        "\"trace\"",
        "{trace=false, fill=0, overwrite=0}",
        "{trace=true, fill=0.001, overwrite=0}",
        "{trace=false, fill=0.004, overwrite=0}",
    ]);
    set("precondition", fill);
    if collects {
        let planes = channels * chips * dies * planes;
        let units = &["plane", "die", "chip"][..frontiers];
        sets.extend(collecting(rng, planes, units));
    }
    sets.extend(array_settings(&mut array, program, scale, suspends));
    if let Some(rng) = &mut in_flash {
        let read = scale * rng.below(5);
        let programs = [0, scale, scale * rng.below(20)];
        sets.push(format!(
            "cache_region={{size=\"1GiB\", t_read=\"{read}ns\", t_program=\"{}ns\", evict_read={}}}",
            rng.pick(&programs),
            rng.chance(70)
        ));
    }
    (device(&sets), program.max(1))
}
