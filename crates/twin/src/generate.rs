//! Twins as traces: their requests with times.

use std::convert::Infallible;
use std::io;

use super::clock::Cascade;
use super::maker::Maker;
use super::parameters::TwinParameters;
use destage_trace::{RequestPasses, Trace, TraceMeta, Volume};
use destage_types::rng::SplitMix64;
use destage_types::{HostRequest, Nanos, Op, RequestBatch, RequestFlags, RequestRef};

/// Changes the seed for the draws of FUA and preflush.
const FORCE: u64 = 0xf0a;

/// A twin that can be generated.
#[derive(Clone, Debug)]
pub struct Twin {
    /// Name of the trace.
    pub name: String,
    /// Its parameters.
    pub parameters: TwinParameters,
}

impl Twin {
    /// Facts about the requests without making them.
    pub fn meta(&self) -> TraceMeta {
        let stream = Volume {
            stream: 0,
            name: "twin_0".to_owned(),
            requests: self.parameters.requests,
            end_sector: self.parameters.space_sectors,
            start_sector: 0,
        };
        TraceMeta::generated(&self.name, self.parameters.requests, vec![stream])
    }

    /// The requests, in memory.
    pub fn generate(&self) -> Trace {
        let mut requests = RequestBatch::new();
        let made = self.each(|request| {
            requests.push(request);
            Ok::<(), Infallible>(())
        });
        made.expect("nothing can fail");
        Trace::generated(&self.name, requests)
    }

    /// Makes the requests one after the other.
    ///
    /// # Errors
    /// The first of `f`.
    pub fn each<E>(&self, mut f: impl FnMut(HostRequest) -> Result<(), E>) -> Result<(), E> {
        let p = &self.parameters;
        let mut maker = Maker::new(p);
        let mut clock = Cascade::new(p.requests, p.span, p.bias);
        // Draws of their own: the requests are the same whether their times are asked for or not.
        let mut random = SplitMix64::new(!p.seed);
        let mut force = SplitMix64::new(p.seed ^ FORCE);
        for _ in 0..p.requests {
            let (op, start, sectors) = maker.next();
            let now = Nanos(clock.next(&mut random));
            let mut request = HostRequest::new(now, op, start, sectors);
            if op == Op::Write {
                let [fua, preflush] = p.flags.map(|share| force.below(1_000_000) < share);
                request.flags = RequestFlags::FUA
                    .only_if(fua)
                    .and(RequestFlags::PREFLUSH.only_if(preflush));
            }
            f(request)?;
        }
        Ok(())
    }
}

impl RequestPasses for Twin {
    fn pass(&self, f: &mut dyn FnMut(RequestRef<'_>) -> io::Result<()>) -> io::Result<()> {
        self.each(|head| f(RequestRef::new(&head)))
    }

    fn note(&self) -> Option<&str> {
        Some("a twin: a generated likeness, not the trace")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::likeness::{LruCurve, curve_error};
    use crate::{Fitted, TwinFit};
    use destage_trace::synth::Distributions;
    use destage_types::Op;

    /// Writes of a skewed workload whose pages do not touch, a stream beside it, and a few reads.
    fn original(requests: u64) -> Vec<HostRequest> {
        let mut random = SplitMix64::new(7);
        let mut end = 1 << 26;
        (0..requests)
            .map(|i| match random.below(10) {
                0 => {
                    end += 64;
                    HostRequest::new(Nanos(i * 1000), Op::Write, end - 64, 64)
                }
                1 => HostRequest::new(Nanos(i * 1000), Op::Read, random.below(50_000) * 128, 16),
                _ => {
                    let page = random.skewed(100_000, 80);
                    HostRequest::new(Nanos(i * 1000), Op::Write, page * 64, 8)
                }
            })
            .collect()
    }

    fn fitted(requests: &[HostRequest]) -> Twin {
        twin_of(requests, |fitted| fitted.parameters)
    }

    fn calibrated(requests: &[HostRequest]) -> Twin {
        let done = |fitted: Fitted| fitted.calibrate(|_, _| Ok::<(), Infallible>(()));
        twin_of(requests, |fitted| done(fitted).unwrap().0)
    }

    fn twin_of(requests: &[HostRequest], finish: impl Fn(Fitted) -> TwinParameters) -> Twin {
        let mut fit = TwinFit::new(requests.last().unwrap().arrival);
        for r in requests {
            fit.add(r);
        }
        let parameters = finish(fit.finish().unwrap());
        Twin {
            name: "twin".to_owned(),
            parameters,
        }
    }

    fn curve(requests: &[HostRequest]) -> [f64; 7] {
        let mut curve = LruCurve::of_writes();
        requests
            .iter()
            .for_each(|r| curve.add(r.op, r.start_sector, r.sectors));
        curve.percent().unwrap()
    }

    #[test]
    fn hit_curves_come_back() {
        let original = original(100_000);
        let first = calibrated(&original);
        let made = first.generate().requests.records().to_vec();
        let off = curve_error(curve(&original), curve(&made));
        assert!(
            off <= 3.0,
            "{off} {:?} {:?}",
            curve(&original),
            curve(&made)
        );
        // The round trip: a twin of the twin.
        let again = calibrated(&made).generate().requests.records().to_vec();
        let off = curve_error(curve(&made), curve(&again));
        assert!(off <= 3.0, "{off}");
        let writes = |r: &[HostRequest]| r.iter().filter(|r| r.op == Op::Write).count();
        assert!(writes(&original).abs_diff(writes(&made)) < 1_000);
    }

    #[test]
    fn the_same_seed_gives_the_same_requests_inside_the_space() {
        let mut twin = fitted(&original(5_000));
        let one = twin.generate().requests.records().to_vec();
        assert_eq!(one, twin.generate().requests.records());
        let p = &twin.parameters;
        assert!(one.is_sorted_by_key(|r| r.arrival));
        assert!(one.last().unwrap().arrival.0 <= p.span);
        let end = |r: &HostRequest| r.start_sector + u64::from(r.sectors);
        assert!(
            one.iter()
                .all(|r| end(r) <= p.space_sectors && r.sectors > 0)
        );
        twin.parameters.seed = 2;
        assert_ne!(one, twin.generate().requests.records());
    }

    #[test]
    fn what_has_no_updates_and_what_only_goes_on_stays_so() {
        let write = |i: u64, at: u64| HostRequest::new(Nanos(i * 1000), Op::Write, at, 8);
        let fresh: Vec<_> = (0..2_000).map(|i| write(i, i * 4_096)).collect();
        let made = fitted(&fresh).generate().requests.records().to_vec();
        assert_eq!(curve(&made), [0.0; 7]);
        assert!(made.iter().all(|r| r.op == Op::Write));
        let stream: Vec<_> = (0..2_000).map(|i| write(i, i * 8)).collect();
        let made = fitted(&stream).generate().requests.records().to_vec();
        let goes_on = made
            .windows(2)
            .filter(|w| w[1].start_sector == w[0].start_sector + 8);
        // A stream that comes into the next bin of runs is drawn only when that bin is, and the bin
        // before it has no other: some dozens of requests start streams meanwhile.
        let goes_on = goes_on.count();
        assert!(goes_on > 1_800, "{goes_on}");
    }
}
