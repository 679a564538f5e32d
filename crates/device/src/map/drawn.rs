//! Keys that the random devices of several tests draw.

use crate::config::{ConfigError, DeviceConfig, EffectiveDevice};
use destage_types::rng::SplitMix64;

pub fn pick<'a>(rng: &mut SplitMix64, of: &[&'a str]) -> &'a str {
    of[rng.below(of.len() as u64) as usize]
}

/// Counts of all levels above blocks, the order of allocation, and the choice of victims.
pub fn common_keys(rng: &mut SplitMix64) -> String {
    let orders = [
        r#"["channel","chip","die","plane"]"#,
        r#"["plane","die","chip","channel"]"#,
        r#"["die","channel","plane","chip"]"#,
    ];
    let policies = ["greedy", "d-choices", "random", "cost-benefit"];
    let [channels, chips, dies, planes] = [2, 3, 2, 3].map(|most| 1 + rng.below(most));
    format!(
        "channels={channels} chips_per_channel={chips} dies_per_chip={dies} planes_per_die={planes} \
         allocation_order={} gc_policy={}",
        pick(rng, &orders),
        pick(rng, &policies)
    )
}

/// The device of these keys.
pub fn device(keys: &str) -> Result<DeviceConfig, ConfigError> {
    let keys: Vec<String> = keys.split_whitespace().map(str::to_owned).collect();
    EffectiveDevice::from_preset("default", &keys).map(EffectiveDevice::into_config)
}
