//! Keys of drives with units: what does not go together is refused, and the message names both.

use super::*;

const DRIVE: [&str; 12] = [
    "page_bytes=16384",
    "pages_per_block=48",
    "blocks_per_plane=400",
    "op=0.2",
    "queue_per=die",
    "frontier=die",
    "gc_unit=die",
    "allocation=dynamic",
    "gc_mode=paced",
    "gc_high=7",
    "gc_low=2",
    "buffer=bounded",
];

pub(super) fn drive(more: &[&str]) -> Result<EffectiveDevice, ConfigError> {
    let all: Vec<String> = DRIVE
        .iter()
        .chain(more)
        .map(|set| (*set).to_owned())
        .collect();
    EffectiveDevice::from_preset("default", &all)
}

#[test]
fn what_contradicts_another_key_is_refused_with_both_names() {
    let cases: &[(&[&str], &str, &str)] = &[
        (&["gc_mode=foreground"], "gc_mode", "needs gc_mode = paced"),
        (
            &["gc_mode=off", "gc_streams=own"],
            "gc_streams",
            "gc_mode = paced",
        ),
        (
            &["gc_mode=off", "gc_hold=true"],
            "gc_hold",
            "gc_mode = paced",
        ),
        (
            &["gc_hold=true", "gc_high=5"],
            "gc_hold",
            "gc_high - gc_low",
        ),
        (
            &["gc_unit=drive", "allocation=static"],
            "gc_unit",
            "allocation",
        ),
        (
            &["gc_unit=drive", "planes_per_die=2"],
            "gc_unit",
            "frontier must be plane",
        ),
        (
            &["program_planes=all", "planes_per_die=256"],
            "program_planes",
            "256 planes of a die, at most 255",
        ),
        (
            &["gc_unit=plane", "planes_per_die=2"],
            "gc_unit",
            "or frontier = plane",
        ),
        (
            &["wear_levelling=static"],
            "wear_levelling",
            "dynamic or off",
        ),
        (&["frontier=drive"], "frontier", "gc_unit takes drive"),
        (&["gc_streams=two-region"], "gc_streams", "destage waf"),
        (&["gc_streams=in-place"], "gc_mode = paced", "destage waf"),
    ];
    for (sets, one, other) in cases {
        let message = drive(sets).unwrap_err().to_string();
        assert!(
            message.contains(one) && message.contains(other),
            "{sets:?}: {message}"
        );
    }
    assert!(drive(&[]).is_ok());
    assert!(drive(&["gc_unit=drive", "frontier=plane", "gc_hold=true"]).is_ok());
}

#[test]
fn keys_that_ask_for_units_say_so() {
    for (set, name) in [
        (
            "cache_persistence=nvm",
            "cache_persistence = nvm needs gc_mode",
        ),
        ("t_read=46us,70us,115us", "a list for t_read needs gc_mode"),
        (
            "read_retry=[{share=0.1,time=\"40us\"}]",
            "read_retry needs gc_mode",
        ),
        (
            "read_retry_suspended=[{share=0.1,time=\"40us\"}]",
            "read_retry_suspended needs gc_mode",
        ),
    ] {
        let message = EffectiveDevice::from_preset("default", &[set.to_owned()]).unwrap_err();
        assert!(message.to_string().contains(name), "{message}");
        assert!(drive(&[set]).is_ok());
    }
}

#[test]
fn faults_of_steps_say_which() {
    for (steps, reason) in [
        ("[]", "1 to 16 steps"),
        ("[{share=0.1}]", "read_retry.0.time"),
        (
            "[{share=0.1,time=\"1us\"},{share=2,time=\"1us\"}]",
            "read_retry.1.share",
        ),
        ("[{share=0.1,tim=\"1us\"}]", "time"),
        ("[7]", "list of tables"),
        ("40us", "list of tables"),
    ] {
        let message = drive(&[&format!("read_retry={steps}")])
            .unwrap_err()
            .to_string();
        assert!(message.contains(reason), "{steps}: {message}");
    }
    assert_eq!(
        drive(&["read_retry=off"]).unwrap().config().read_retry,
        None
    );
}
