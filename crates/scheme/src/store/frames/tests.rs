use super::*;
use crate::rng::SplitMix64;
use std::collections::HashMap;

fn half(first: bool) -> SectorMask {
    SectorMask::span(if first { 0 } else { 4 }, 4)
}

#[test]
fn masks_follow_writes_fills_and_trims() {
    let mut f = Frames::new(FrameCounts::without_ghosts(2), PageSize::KIB4);
    let s = f.insert(Lpn(5), half(true), true);
    assert!(f.is_dirty(s) && !f.is_full(s));
    f.fill(s, f.full_mask());
    assert!(f.is_full(s));
    assert_eq!(f.dirty(s), half(true), "dirty sectors win over the fill");
    assert_eq!(f.trim(s, half(true)), Trimmed::Cleaned);
    assert_eq!(f.valid(s), half(false));
    f.write(s, half(true));
    assert!(f.is_full(s) && f.dirty(s) == half(true));
    f.clean(s);
    assert!(f.is_full(s) && !f.is_dirty(s));
    assert_eq!(f.trim(s, half(false)), Trimmed::Kept);
    assert_eq!(f.trim(s, half(true)), Trimmed::Emptied);
    f.remove(s);
    assert_eq!((f.used(), f.slot_of(Lpn(5))), (0, None));
}

#[test]
fn index_agrees_with_a_hash_map_over_far_addresses() {
    let mut f = Frames::new(FrameCounts::without_ghosts(64), PageSize::KIB4);
    let mut model: HashMap<u64, Slot> = HashMap::new();
    let mut rng = SplitMix64::new(1);
    for _ in 0..20_000 {
        let x = rng.next_u64();
        let lpn = ((x >> 33) % 100) * 3001 + ((x >> 20) & 1) * (1 << 30);
        match model.get(&lpn) {
            Some(&slot) if x.is_multiple_of(3) => {
                f.remove(slot);
                model.remove(&lpn);
            }
            None if f.used() < f.capacity() => {
                model.insert(lpn, f.insert(Lpn(lpn), f.full_mask(), false));
            }
            _ => {}
        }
        assert_eq!(f.slot_of(Lpn(lpn)), model.get(&lpn).copied());
        assert_eq!(f.used(), model.len());
    }
}

#[test]
fn the_index_of_pages_all_over_the_device_stays_small() {
    let mut f = Frames::new(FrameCounts::without_ghosts(3000), PageSize::KIB4);
    let far = |n: u64| Lpn(n * 1009);
    for n in 0..100_000u64 {
        f.tidy();
        if let Some(old) = n.checked_sub(3000) {
            f.remove(f.slot_of(far(old)).unwrap());
            assert_eq!(f.slot_of(far(old)), None);
        }
        let slot = f.insert(far(n), f.full_mask(), true);
        assert_eq!(f.slot_of(far(n)), Some(slot));
        assert!(f.index.chunks() <= 2 * 3001 + LEAST_CHUNKS);
    }
    for n in 97_000..100_000 {
        assert_eq!(f.lpn(f.slot_of(far(n)).unwrap()), far(n));
    }
}

#[test]
fn rekeying_keeps_masks() {
    let mut f = Frames::new(FrameCounts::without_ghosts(1), PageSize::KIB4);
    let s = f.insert(Lpn(1), half(true), true);
    f.rekey(s, Lpn(9));
    assert_eq!((f.slot_of(Lpn(1)), f.slot_of(Lpn(9))), (None, Some(s)));
    assert_eq!((f.lpn(s), f.dirty(s)), (Lpn(9), half(true)));
}
