//! When a device collects, and what is said of settings without effect.

use super::*;

#[test]
fn gc_needs_room() {
    let few = only_fault(&["blocks_per_plane=1"]);
    says(&few, "a plane has 1 (more blocks");
    let tight = ["blocks_per_plane=4", "pages_per_block=4"];
    let tight = only_fault(&tight);
    says(&tight, "leaves no space to garbage collection");
    says(&tight, "op must be about 0.3125 at least");
    for off in ["gc_mode=off", "gc_policy=none", "frontier=die"] {
        let blocks = if off == "frontier=die" {
            "blocks_per_plane=16"
        } else {
            "blocks_per_plane=1"
        };
        assert!(
            EffectiveDevice::from_preset("default", &sets(&[off, blocks])).is_ok(),
            "{off}"
        );
    }
}

/// 64 blocks of 256 pages have 1,146 spare ones; a frontier keeps 255 for copies.
#[test]
fn thresholds_that_are_never_met_are_named() {
    let notices = |more| notices(&["blocks_per_plane=64", "op=0.07"], more);
    let low = notices(&["gc_threshold=0.2"]);
    says(&low, "0.2 of spare has no effect");
    says(
        &low,
        "a plane always has more free pages than the threshold of 230, as it keeps 255",
    );
    assert_eq!(notices(&["gc_threshold=0.23"]), "");
    let two = ["planes_per_die=2", "gc_unit=die", "gc_threshold=0.2"];
    says(
        &notices(&two),
        "a die always has more free pages than the threshold of 459, as it keeps 510",
    );
    // A part of a frontier may run out.
    let part = ["planes_per_die=2", "frontier=die", "gc_threshold=0.01"];
    assert_eq!(notices(&part), "");
    assert_eq!(
        notices(&["gc_threshold=0.2", "gc_mode=off"])
            .lines()
            .count(),
        1
    );
}

/// Of 64 blocks of 256 pages in a plane 7 % are spare; a fifth of those are 0.896 blocks.
#[test]
fn thresholds_and_watermarks_in_pages_and_blocks() {
    let of = |more: &[&str]| {
        let base = ["blocks_per_plane=64", "op=0.07", "gc_threshold=0.2"];
        let device = with(&[&base, more].concat());
        let config = device.config();
        (config.gc_threshold_pages(), config.gc_watermark())
    };
    let (blocks, total) = ("gc_threshold_unit=blocks", "gc_threshold_base=total");
    let on = "gc_stop=watermark";
    assert_eq!(of(&[]), (230, None), "229.376 rounded up");
    assert_eq!(of(&[on]), (230, Some(230 + 256)));
    assert_eq!(of(&[on, "gc_stop_blocks=3"]), (230, Some(230 + 768)));
    assert_eq!(of(&[blocks]), (0, None), "rounded down");
    assert_eq!(of(&[blocks, total]), (12 * 256, None), "12.8 rounded down");
    assert_eq!(of(&[blocks, total, on]), (12 * 256, Some(13)));
    let zero = "gc_stop_blocks=0";
    assert_eq!(of(&[blocks, total, on, zero]), (12 * 256, Some(12)));
}

#[test]
fn triggers_and_watermarks_without_effect_are_told() {
    let base = ["blocks_per_plane=64", "op=0.07", "gc_threshold=0.5"];
    let notices = |more| notices(&base, more);
    assert_eq!(notices(&["gc_trigger=immediate", "gc_stop=watermark"]), "");
    let background = notices(&["gc_trigger=operation", "gc_mode=background"]);
    says(&background, "gc_trigger = operation has no effect");
    let full = [
        "precondition.fill=1",
        "gc_stop=watermark",
        "gc_stop_blocks=4",
    ];
    let never = notices(&full);
    says(
        &never,
        "never has more free pages than the watermark of 1598",
    );
    // A threshold of no free block is met.
    let blocks = ["gc_threshold=0.1", "gc_threshold_unit=blocks"];
    assert_eq!(notices(&blocks), "");
}
