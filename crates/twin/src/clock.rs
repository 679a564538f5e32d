//! Times of a twin: a cascade of halvings (b-model, Wang et al., ICDE 2002), and its bias.

use destage_types::rng::SplitMix64;

/// Halvings of the span.
const LEVELS: u32 = 20;
const MILLION: u64 = 1_000_000;

struct Cell {
    requests: u64,
    start: u64,
    length: u64,
    level: u32,
}

/// Times from 0 to the span, nondecreasing, with as much state as there are levels.
pub struct Cascade {
    bias: u64,
    cells: Vec<Cell>,
    /// The cell that times come from, and how many have come.
    current: Option<(Cell, u64)>,
}

impl Cascade {
    /// `bias` in millionths.
    pub fn new(requests: u64, span: u64, bias: u64) -> Cascade {
        let whole = Cell {
            requests,
            start: 0,
            length: span,
            level: 0,
        };
        Cascade {
            bias,
            cells: vec![whole],
            current: None,
        }
    }

    /// The next time.
    ///
    /// # Panics
    /// If all requests have had theirs.
    pub fn next(&mut self, random: &mut SplitMix64) -> u64 {
        loop {
            if let Some((cell, done)) = self.current.as_mut().filter(|c| c.1 < c.0.requests) {
                // Uniform in the n-th part of the cell: in order without keeping any.
                let steps = u128::from(cell.length) * u128::from(*done);
                let first = (steps / u128::from(cell.requests)) as u64;
                *done += 1;
                let part = cell.length / cell.requests;
                return cell.start + first + random.below(part + 1).min(cell.length - first);
            }
            let cell = self
                .cells
                .pop()
                .expect("a time is asked for once a request");
            if cell.requests <= 1 || cell.level == LEVELS || cell.length < 2 {
                self.current = Some((cell, 0));
                continue;
            }
            let share = match random.below(2) {
                0 => self.bias,
                _ => MILLION - self.bias,
            };
            let product = u128::from(cell.requests) * u128::from(share);
            let early = (product + u128::from(random.below(MILLION))) / u128::from(MILLION);
            let (early, half, level) = (early as u64, cell.length / 2, cell.level + 1);
            let late = cell.requests - early;
            let rest = cell.length - half;
            let second = Cell {
                requests: late,
                start: cell.start + half,
                length: rest,
                level,
            };
            self.cells.push(second);
            self.cells.push(Cell {
                requests: early,
                start: cell.start,
                length: half,
                level,
            });
        }
    }
}

/// Requests in equal cells of the span, from which the bias follows.
pub struct BiasCount {
    cells: Vec<u64>,
    span: u64,
}

impl BiasCount {
    pub fn new(span: u64) -> BiasCount {
        let seconds = span as f64 / 1e9;
        let levels = if seconds < 4.0 {
            10
        } else {
            (libm::round(libm::log2(seconds)) as u32).clamp(3, 12)
        };
        BiasCount {
            cells: vec![0; 1 << levels],
            span,
        }
    }

    pub fn add(&mut self, time: u64) {
        let n = self.cells.len();
        let cell = u128::from(time) * n as u128 / (u128::from(self.span) + 1);
        self.cells[cell as usize] += 1;
    }

    /// The bias in millionths.
    pub fn bias(&self) -> u64 {
        let n = self.cells.len() as f64;
        let mean = self.cells.iter().sum::<u64>() as f64 / n;
        if mean == 0.0 {
            return MILLION / 2;
        }
        let square = |&c: &u64| (c as f64 - mean) * (c as f64 - mean);
        let variance = self.cells.iter().map(square).sum::<f64>() / n;
        let cv2 = ((variance - mean) / (mean * mean)).max(0.0);
        let g = libm::pow(1.0 + cv2, 1.0 / libm::log2(n)) / 2.0;
        let bias = (1.0 + libm::sqrt((2.0 * g - 1.0).max(0.0))) / 2.0;
        libm::round(bias.min(0.97) * 1e6) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_request_has_a_time_in_order_and_the_bias_comes_back() {
        for bias in [500_000, 700_000, 900_000] {
            let (n, span) = (200_000, 1_000_000_000_000);
            let mut random = SplitMix64::new(5);
            let mut cascade = Cascade::new(n, span, bias);
            let mut count = BiasCount::new(span);
            let mut before = 0;
            for _ in 0..n {
                let time = cascade.next(&mut random);
                assert!(before <= time && time <= span);
                before = time;
                count.add(time);
            }
            assert!(
                count.bias().abs_diff(bias) < 40_000,
                "{bias} {}",
                count.bias()
            );
        }
        let mut cascade = Cascade::new(3, 0, 700_000);
        let mut random = SplitMix64::new(1);
        assert_eq!([0; 3].map(|_: u64| cascade.next(&mut random)), [0, 0, 0]);
    }
}
