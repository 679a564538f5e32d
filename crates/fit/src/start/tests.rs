use super::*;
use crate::measurements::examples::random_writes;

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
