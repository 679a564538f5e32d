use super::*;
use crate::measurements::examples::random_writes;
use crate::measurements::{FioContext, read_measurements};
use crate::model::BaseDevice;
use crate::model::DriveFacts;
use destage_types::rng::SplitMix64;

/// Random writes that come as `arrivals` says, done `rate` times a second with a median of `p50` us.
fn writes(arrivals: LoadArrivals, rate: f64, p50: f64) -> DriveCell {
    random_writes(arrivals, rate, &[(0.5, p50)])
}

/// In a burst, requests wait for each other, however long the pauses are.
#[test]
fn a_drive_is_idlest_at_the_lowest_rate_not_in_rare_bursts() {
    let bursts = LoadArrivals::Bursts {
        requests: 257,
        idle_s: 1.0,
    };
    let mut cells = vec![
        writes(bursts, 257.0, 640.0),
        writes(LoadArrivals::Closed, 300.0, 5000.0),
        writes(LoadArrivals::Poisson { per_s: 2000.0 }, 2000.0, 88.0),
        writes(LoadArrivals::Poisson { per_s: 1000.0 }, 1000.0, 87.0),
    ];
    let median = |cells: &[DriveCell]| {
        let cell = idlest(cells, |cell| &cell.measured.write);
        cell.and_then(|cell| cell.measured.write.at(0.5))
    };
    assert_eq!(median(&cells), Some(87.0));
    // One request at a time does not wait.
    cells.push(writes(LoadArrivals::Closed, 500.0, 86.0));
    cells[4].load.streams[0].depth = 1;
    assert_eq!(median(&cells), Some(86.0));
    // Without any such cell, bursts are better than nothing.
    assert_eq!(median(&cells[..2]), Some(640.0));
}

/// Measured drives, each with its cells, if there is the folder.
fn measured_drives() -> Vec<Vec<DriveCell>> {
    let Some(folder) = std::env::var_os("DESTAGE_DRIVES").map(std::path::PathBuf::from) else {
        println!("SKIPPED: DESTAGE_DRIVES does not name the folder of measured drives");
        return Vec::new();
    };
    let table = folder.join("load.csv");
    let text = std::fs::read_to_string(&table).unwrap();
    let names = text
        .lines()
        .skip(1)
        .filter_map(|line| line.split(',').next());
    let names: std::collections::BTreeSet<&str> = names.collect();
    let cells = |name: &str| {
        let context = FioContext {
            drive: Some(name.to_owned()),
            ..FioContext::default()
        };
        read_measurements(std::slice::from_ref(&table), &context)
            .unwrap()
            .cells
    };
    names.into_iter().map(cells).collect()
}

/// Some of the cells, without some of their values.
fn part_of(cells: &[DriveCell], rng: &mut SplitMix64) -> Vec<DriveCell> {
    let (keep, values) = (1 + rng.below(8), 1 + rng.below(8));
    let mut part: Vec<DriveCell> = cells
        .iter()
        .filter(|_| rng.below(8) < keep)
        .cloned()
        .collect();
    part.extend(
        part.is_empty()
            .then(|| cells[rng.below(cells.len() as u64) as usize].clone()),
    );
    for cell in &mut part {
        let lose = |rng: &mut SplitMix64| rng.below(8) >= values;
        for rate in [
            &mut cell.measured.writes_per_s,
            &mut cell.measured.reads_per_s,
        ] {
            *rate = rate.filter(|_| !lose(rng));
        }
        for table in [&mut cell.measured.write, &mut cell.measured.read] {
            table.quantiles.retain(|_| !lose(rng));
        }
    }
    part
}

/// A drive of any loads and results; no two of them agree.
fn invented(rng: &mut SplitMix64) -> Vec<DriveCell> {
    let cell = |rng: &mut SplitMix64| {
        let any = |rng: &mut SplitMix64| 10f64.powf(rng.below(900) as f64 / 100.0 - 1.0);
        let per_s = any(rng);
        let arrivals = match rng.below(5) {
            0 => LoadArrivals::Closed,
            1 => LoadArrivals::Bursts {
                requests: 1 + rng.below(100),
                idle_s: 0.1,
            },
            2 => LoadArrivals::Paced { per_s },
            _ => LoadArrivals::Poisson { per_s },
        };
        let mut times = [(); 4].map(|()| any(rng));
        times.sort_by(f64::total_cmp);
        let shares = [0.1, 0.5, 0.99, 0.999];
        let quantiles: Vec<(f64, f64)> = shares.into_iter().zip(times).collect();
        let rate = [per_s, 0.9 * per_s, any(rng)][rng.below(3) as usize];
        let mut cell = random_writes(arrivals, rate, &quantiles);
        cell.measured.read = cell.measured.write.clone();
        cell.measured.reads_per_s = Some(any(rng));
        cell.load.streams[0].reads = [0.0, 0.5, 1.0][rng.below(3) as usize];
        cell
    };
    (0..1 + rng.below(12)).map(|_| cell(rng)).collect()
}

/// Whatever cells there are, each structure that they do not rule out has start values that make a device. The search sees
/// some of the cells.
#[test]
fn every_likely_structure_has_a_start() {
    let (mut rng, mut pauses) = (SplitMix64::new(1), 0);
    let drives = measured_drives();
    for case in 0..3_000 {
        let all = match drives.is_empty() || rng.below(3) == 0 {
            true => invented(&mut rng),
            false => {
                let at = rng.below(drives.len() as u64) as usize;
                part_of(&drives[at], &mut rng)
            }
        };
        let searched: Vec<DriveCell> = crate::residual::chosen(&all, 3)
            .into_iter()
            .map(|at| all[at].clone())
            .collect();
        let base = BaseDevice::Preset("enterprise-tlc-1t".to_owned());
        let model =
            DriveModel::new(base, &STRUCTURES[0], Vec::new(), DriveFacts::default()).unwrap();
        for structure in likely_structures(&all) {
            let model = model.with_structure(structure);
            let values = start_values(&model, &searched, &all).unwrap();
            let device = model.scaled(&values);
            assert!(
                device.is_ok(),
                "case {case}, {}: {device:?}, {values:?}, {all:#?}",
                structure.name
            );
            pauses += usize::from(structure.pauses());
        }
    }
    assert!(
        drives.is_empty() || pauses > 100,
        "{pauses} starts have pauses"
    );
}
