//! Residuals in closed form on small tables.

use super::*;
use crate::measurements::examples::random_writes;
use crate::measurements::{DriveCell, LoadArrivals};
use crate::simulate::{ServiceTimes, SimulatedCell};
use destage_types::Op;

/// Writes alone, asked for `offered` and done `done` times a second, with a median and a 99th percentile.
fn cell(offered: f64, done: f64, p50: f64, p99: f64) -> DriveCell {
    let arrivals = LoadArrivals::Poisson { per_s: offered };
    random_writes(arrivals, done, &[(0.5, p50), (0.99, p99)])
}

/// A model with the same median for all, but a tail of 2 %.
fn model(rate: f64, p50_us: u64, tail_us: u64) -> SimulatedCell {
    let times = (0..1000).map(|i| 1000 * if i < 980 { p50_us } else { tail_us });
    SimulatedCell {
        writes_per_s: rate,
        write: ServiceTimes::of(times.collect()),
        ..SimulatedCell::default()
    }
}

#[test]
fn the_same_times_have_no_residual() {
    let cells = [
        cell(1000.0, 1000.0, 10.0, 50.0),
        cell(2000.0, 2000.0, 10.0, 60.0),
    ];
    let models = [model(1000.0, 10, 50), model(2000.0, 10, 60)];
    let entries = entries(&cells, &models);
    assert_eq!(entries.len(), 4);
    assert_eq!(residual(&entries), 0.0);
}

#[test]
fn a_loss_is_quadratic_near_zero_and_linear_far_away() {
    let entry = |ratio: f64| Entry {
        cell: 0,
        of: Compared::Quantile(Op::Write, 0.5),
        measured: 1.0,
        model: ratio,
        weight: 2.0,
        scale: 0.1,
    };
    let near = entry(libm::exp(0.001)).loss();
    assert!(
        (near / (2.0 * 0.5 * 0.01 * 0.01) - 1.0).abs() < 1e-3,
        "{near}"
    );
    let (far, farther) = (entry(libm::exp(10.0)).loss(), entry(libm::exp(20.0)).loss());
    assert!((farther / far - 2.0).abs() < 0.02, "{far} {farther}");
    assert_eq!(entry(0.5).loss(), entry(2.0).loss());
    assert_eq!(entry(0.25).factor(), 4.0);
}

#[test]
fn a_percentile_that_rises_steeply_is_compared_by_its_rate() {
    let drive = [
        cell(1000.0, 1000.0, 10.0, 20.0),
        cell(2000.0, 2000.0, 10.0, 20.0),
        cell(4000.0, 4000.0, 10.0, 2000.0),
    ];
    // The tail passes 200 us half way from 2000 to 4000 on a logarithmic axis, and in the model from 1000 to 2000.
    let models = [
        model(1000.0, 10, 20),
        model(2000.0, 10, 2000),
        model(4000.0, 10, 2000),
    ];
    let entries = entries(&drive, &models);
    let knee = entries
        .iter()
        .find(|e| matches!(e.of, Compared::Knee(..)))
        .unwrap();
    assert_eq!(knee.of, Compared::Knee(Op::Write, 0.99));
    assert!((knee.measured - 2000.0 * 2f64.sqrt()).abs() < 1e-6);
    assert!((knee.model - 1000.0 * 2f64.sqrt()).abs() < 1e-6);
    let tails = entries
        .iter()
        .filter(|e| e.of == Compared::Quantile(Op::Write, 0.99));
    assert_eq!(tails.map(|e| e.cell).collect::<Vec<_>>(), [0]);
    // Beside the rise the tail of the second cell is 100 times too long, and the rate is off by half.
    let figures = FitFigures::of(&drive, &models, &entries);
    assert_eq!((figures.near, figures.counted), (5, 6));
}

/// A median of 346 us beside 4,756 us is near only if it rises at nearly the same rate.
#[test]
fn a_far_value_beside_a_rise_needs_the_rate_of_the_rise() {
    let near = |first: f64, us: u64| {
        let drive = [
            cell(first, first, 10.0, 20.0),
            cell(2000.0, 2000.0, 4756.0, 5000.0),
        ];
        let models = [model(first, 10, 20), model(2000.0, us, 5000)];
        let entries = entries(&drive, &models);
        assert!(residual(&entries).is_finite());
        FitFigures::of(&drive, &models, &entries).near
    };
    assert_eq!(near(1000.0, 4500), 4);
    // It passes 218 us at 1,414 writes a second on the drive, and at 1,827 in the model.
    assert_eq!(near(1000.0, 346), 3);
    // At 1,949 and at 1,987.
    assert_eq!(near(1900.0, 346), 4);
}

#[test]
fn a_drive_that_falls_behind_shows_its_cliff() {
    let drive = [
        cell(1000.0, 1000.0, 10.0, 20.0),
        cell(4000.0, 3000.0, 15.0, 30.0),
    ];
    let models = [model(1000.0, 10, 20), model(3300.0, 15, 30)];
    assert_eq!(cliff(&drive), Some(3000.0));
    let entries = entries(&drive, &models);
    let rate = entries
        .iter()
        .find(|e| e.of == Compared::Rate(Op::Write))
        .unwrap();
    assert_eq!((rate.cell, rate.measured, rate.model), (1, 3000.0, 3300.0));
    let error = FitFigures::of(&drive, &models, &entries)
        .cliff_error
        .unwrap();
    assert!((error - 0.1).abs() < 1e-9, "{error}");
    assert_eq!(cliff(&drive[..1]), None);
}

/// Where no rate was too high, a closed loop in which writes wait for each other shows the cliff.
#[test]
fn a_busy_closed_loop_shows_the_cliff() {
    let closed = |done: f64, p50: f64| {
        let mut cell = cell(1.0, done, p50, 4.0 * p50);
        cell.load.streams[0].arrivals = LoadArrivals::Closed;
        cell
    };
    let mut drive = vec![
        cell(1000.0, 1000.0, 10.0, 20.0),
        closed(2500.0, 11.0),
        closed(3000.0, 80.0),
    ];
    assert_eq!((at_cliff(&drive), cliff(&drive)), (vec![2], Some(3000.0)));
    let models = [
        model(1000.0, 10, 20),
        model(2500.0, 11, 44),
        model(3300.0, 80, 320),
    ];
    let entries = entries(&drive, &models);
    let error = FitFigures::of(&drive, &models, &entries).cliff_error;
    assert!((error.unwrap() - 0.1).abs() < 1e-9, "{error:?}");
    let weight = |at: usize| {
        let mut rates = entries.iter().filter(|e| e.of == Compared::Rate(Op::Write));
        rates.find(|e| e.cell == at).unwrap().weight
    };
    assert!(
        weight(2) > weight(1),
        "the cliff counts more than another rate"
    );
    // Large writes have a rate of their own, and a rate that is too high says more.
    drive[2].load.streams[0].bytes = 131_072;
    assert_eq!(cliff(&drive), None);
    drive[2].load.streams[0].bytes = 4096;
    drive.push(cell(4000.0, 2900.0, 15.0, 30.0));
    assert_eq!((at_cliff(&drive), cliff(&drive)), (vec![3], Some(2900.0)));
}

/// Of 480 random arrivals 22 more or fewer come by chance.
#[test]
fn a_short_measurement_falls_behind_by_chance() {
    let mut drive = cell(1200.0, 1130.0, 10.0, 20.0);
    drive.load.seconds = Some(0.4);
    assert!(!falls_behind(&drive));
    drive.load.seconds = Some(40.0);
    assert!(falls_behind(&drive));
}

#[test]
fn rates_of_one_load_are_a_series_and_a_search_takes_some_of_them() {
    let mut cells: Vec<DriveCell> = (1..=20)
        .map(|i| cell(f64::from(i) * 1000.0, f64::from(i) * 1000.0, 10.0, 20.0))
        .collect();
    cells.push(cell(30_000.0, 20_000.0, 500.0, 900.0));
    cells.push(cell(40_000.0, 20_000.0, 500.0, 900.0));
    cells[3].load.streams[0].bytes = 8192;
    assert_eq!(series(&cells).len(), 2);
    let picked = chosen(&cells, 9);
    let of_series: Vec<usize> = picked.iter().copied().filter(|&at| at != 3).collect();
    assert_eq!(of_series.len(), 9);
    assert_eq!((of_series[0], of_series[7], of_series[8]), (0, 19, 20));
    assert_eq!(compared(&cells).len(), 22);
}

#[test]
fn few_observations_say_nothing_of_a_tail() {
    let times = ServiceTimes::of((1..=1000).rev().collect());
    assert_eq!(times.at(0.99), Some(0.99));
    assert_eq!(times.at(0.995), Some(0.995));
    assert_eq!(times.at(0.996), None);
    assert_eq!(times.at(0.004), None);
}
