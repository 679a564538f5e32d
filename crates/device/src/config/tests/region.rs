//! A cache in a region of the flash.

use super::*;

#[test]
fn the_cache_may_be_in_a_region_of_flash() {
    assert_eq!(preset("default").config().cache_region, None);
    let emulator = preset("procache-emu");
    let region = emulator.config().cache_region.unwrap();
    assert_eq!(region.size, ByteSize(1 << 30));
    let times = |c: &DeviceConfig| {
        [c.t_read.mean(), c.t_program.mean(), c.t_erase.times(1)].map(|t| t.0 / 1_000)
    };
    assert_eq!(times(emulator.config()), [66, 1_000, 5_000]);
    assert_eq!(
        [region.t_read, region.t_program].map(|t| t.0 / 1_000_000),
        [20, 200]
    );
    assert!(region.evict_read && emulator.config().t_dram == Picos(0));
    let uniform = preset("procache-emu-uniform");
    assert_eq!(times(uniform.config()), [20, 200, 1_500]);
    assert_eq!(uniform.config().cache_region, Some(region));
    // One field, and none at all.
    let set = |list: &[&str]| {
        let device = EffectiveDevice::from_preset("procache-emu", &sets(list)).unwrap();
        (device.toml_text(), device.into_config().cache_region)
    };
    let (_, slower) = set(&[
        "cache_region.t_program=0.5ms",
        "cache_region.evict_read=off",
    ]);
    let wanted = CacheRegion {
        t_program: Picos(500_000_000),
        evict_read: false,
        ..region
    };
    assert_eq!(slower, Some(wanted));
    for none in ["cache_region=off", "cache_region=false"] {
        let (text, region) = set(&[none, "allocation=dynamic"]);
        assert_eq!(region, None);
        assert!(text.contains("# cache_region: none"), "{text}");
    }
}

#[test]
fn faults_of_a_region() {
    let whole = "cache_region={size=\"1GiB\",t_read=\"1us\",t_program=\"2us\"}";
    let cases = r#"
        cache_region=slc                        | false or a table
        cache_region.size=1GiB                  | `cache_region.t_read` is not given
        cache_region={size="1GiB",t_read="1us"} | `cache_region.t_program` is not given
        cache_region.siez=1GiB                  | did you mean `size`
        cache_region.size=1GB                   | did you mean `1GiB`
        cache_region.t_read=20                  | a time needs a unit
        cache_region.evict_read=maybe           | true or false
    "#;
    for (set, part) in rows(cases) {
        says(&faults("default", &[set]).join("\n"), part);
    }
    let found = faults("default", &[whole, "allocation=dynamic"]);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].starts_with("`cache_region`") && found[0].contains("gives addresses no chip"));
    let found = faults("default", &[whole, "pe_cycles=3000"]);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].starts_with("`pe_cycles`") && found[0].contains("cache_region = false"));
}
