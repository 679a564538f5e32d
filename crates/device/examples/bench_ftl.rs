//! Cost of the page-level mapping: start, fill, and random writes. Prints wall time; not a test.

use destage_device::config::{EffectiveDevice, Ratio};
use destage_device::ftl::PageMap;
use destage_types::Lpn;
use std::time::Instant;

fn main() {
    for (name, fill) in [
        ("prober-512g", 0.0),
        ("req-block-128g", 1.0),
        ("default", 1.0),
    ] {
        let device = EffectiveDevice::from_preset(name, &[]).expect("presets are valid");
        let start = Instant::now();
        let mut map = PageMap::new(device.config(), 1);
        println!(
            "{name}: start {:?}, {} KiB",
            start.elapsed(),
            map.memory_bytes() >> 10
        );
        let start = Instant::now();
        let share = Ratio::from_f64(fill).expect("a share");
        let pages = map
            .fill(share, &mut |_| {})
            .expect("the logical space fits");
        let each = start.elapsed().as_nanos() / u128::from(pages.max(1));
        println!(
            "{name}: fill {pages} pages, {each} ns each, {} MiB",
            map.memory_bytes() >> 20
        );
        let (start, mut x, mut writes) = (Instant::now(), 1u64, 0u32);
        while writes < 400_000 {
            x = x
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            if map.write(Lpn((x >> 33) % map.logical_pages())).is_err() {
                break;
            }
            writes += 1;
        }
        let each = start.elapsed().as_nanos() / u128::from(writes.max(1));
        println!(
            "{name}: {writes} random writes, {each} ns, {} MiB",
            map.memory_bytes() >> 20
        );
    }
}
