//! Collection without a reserve against the independent simulator of the SSD-iq paper.

use super::*;
use crate::reference::rng::SplitMix64;

/// Draws ranks with probability 1/rank^exponent; each rank is a page.
struct Zipf {
    below: Vec<f64>,
    pages: Vec<u32>,
}

impl Zipf {
    fn new(count: usize, exponent: f64, rng: &mut SplitMix64) -> Zipf {
        let mut sum = 0.0;
        let weight = |rank: usize| (rank as f64).powf(-exponent);
        let below = (1..=count).map(|rank| {
            sum += weight(rank);
            sum
        });
        let below = below.collect();
        let mut pages: Vec<u32> = (0..count as u32).collect();
        for i in (1..count).rev() {
            pages.swap(i, rng.below(i as u64 + 1) as usize);
        }
        Zipf { below, pages }
    }

    fn draw(&self, rng: &mut SplitMix64) -> usize {
        let all = self.below.last().expect("there are pages");
        let draw = rng.real() * all;
        let rank = self.below.partition_point(|&sum| sum <= draw);
        self.pages[rank.min(self.pages.len() - 1)] as usize
    }
}

/// Sequential fill, one capacity of the pattern, then ten overwrites that count.
fn measure(rule: CollectionRule, blocks: usize, n: usize, buffer: usize, exponent: f64) -> f64 {
    let logical = blocks * n / 8 * 7;
    let mut rng = SplitMix64::new(5);
    let zipf = Zipf::new(logical, exponent, &mut rng);
    let mut model = RegionModel::new(rule, blocks, n, logical, buffer).expect("it fits");
    for page in 0..logical {
        model.write(page);
    }
    for _ in 0..blocks * n {
        model.write(zipf.draw(&mut rng));
    }
    model.start_counting();
    for _ in 0..10 * logical {
        model.write(zipf.draw(&mut rng));
    }
    model.write_amplification()
}

#[test]
fn uniform_writes_in_place_meet_the_known_write_amplification() {
    // The table has 4.1798 for blocks of 2,048 places; the emptiest of smaller blocks is emptier.
    let measured = measure(CollectionRule::InPlace, 512, 512, 0, 0.0);
    assert!((measured / 4.1798 - 1.0).abs() < 0.02, "{measured}");
}

#[test]
#[ignore = "minutes: cargo test --release -p destage-conformance --lib zipf -- --ignored --nocapture"]
fn zipf_writes_meet_the_known_write_amplification() {
    let known = [(0.5, 4.3802), (0.8, 4.8778), (0.9, 4.6603), (1.0, 3.9399)];
    for (exponent, table) in known {
        let measured = measure(CollectionRule::InPlace, 2_048, 2_048, 734, exponent);
        let off = 100.0 * (measured / table - 1.0);
        println!("{exponent}: {measured:.4}, table {table:.4}, {off:+.2} %");
        assert!(off.abs() < 1.0, "{exponent}: {measured} {table}");
    }
}

#[test]
fn two_regions_write_less_than_one_where_writes_are_skewed() {
    let one = measure(CollectionRule::InPlace, 256, 128, 6, 1.0);
    let two = measure(CollectionRule::TwoRegion, 256, 128, 6, 1.0);
    assert!(two < one, "{two} {one}");
}

#[test]
fn a_block_is_packed_and_the_host_fills_its_rest() {
    let mut model = RegionModel::new(CollectionRule::InPlace, 4, 4, 8, 0).expect("it fits");
    // Three blocks: 0 to 7, then 0 to 3 again; the first block is empty.
    (0..8)
        .chain(0..4)
        .chain(4..7)
        .for_each(|page| model.write(page));
    assert_eq!(model.programmed, 15);
    // One more fills the last block; the next finds a block with nothing valid.
    model.write(0);
    model.write(1);
    assert_eq!((model.programmed, model.host), (17, 17));
}

#[test]
fn hits_in_the_write_buffer_cost_nothing() {
    let mut model = RegionModel::new(CollectionRule::InPlace, 4, 4, 8, 2).expect("it fits");
    [0, 1, 0, 1, 0, 2, 0]
        .into_iter()
        .for_each(|page| model.write(page));
    // Page 1 was used longest ago when page 2 came.
    assert_eq!((model.host, model.programmed), (7, 1));
}
