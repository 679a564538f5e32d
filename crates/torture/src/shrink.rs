//! Makes a failing case small: fewer requests, fewer options, a plainer device, a simpler scheme.

use crate::case::Case;
use crate::requests;
use destage_scheme::Expr;

/// Checks in all; each takes some runs of the program.
const CHECKS: usize = 400;

/// A small case that still fails, as `fails` says.
pub fn shrink(case: &Case, fails: impl Fn(&Case) -> bool) -> Case {
    let mut shrinker = Shrinker {
        best: case.clone(),
        checks: 0,
        fails,
    };
    loop {
        let before = shrinker.size();
        shrinker.requests();
        shrinker.options();
        shrinker.device();
        shrinker.scheme();
        if shrinker.size() == before || shrinker.checks >= CHECKS {
            return shrinker.best;
        }
    }
}

struct Shrinker<F> {
    best: Case,
    checks: usize,
    fails: F,
}

impl<F: Fn(&Case) -> bool> Shrinker<F> {
    fn size(&self) -> usize {
        let case = &self.best;
        let sets = case.device.as_ref().map_or(0, |sets| 1 + sets.len());
        case.requests.len() + case.options.len() + sets + case.scheme.len()
    }

    /// Takes the smaller case if it fails too.
    fn try_case(&mut self, smaller: Case) -> bool {
        if self.checks >= CHECKS {
            return false;
        }
        self.checks += 1;
        let found = (self.fails)(&smaller);
        if found {
            self.best = smaller;
        }
        found
    }

    /// Pieces of falling size, from the end, as the beginning is needed most often.
    fn requests(&mut self) {
        let mut piece = self.best.requests.len().div_ceil(2);
        while piece > 0 {
            let mut end = self.best.requests.len();
            while end > 0 {
                let start = end.saturating_sub(piece);
                let mut fewer = self.best.clone();
                fewer.requests.drain(start..end);
                requests::from_zero(&mut fewer.requests);
                self.try_case(fewer);
                end = start.min(self.best.requests.len());
            }
            piece /= 2;
        }
    }

    fn options(&mut self) {
        for i in (0..self.best.options.len()).rev() {
            let mut fewer = self.best.clone();
            fewer.options.remove(i);
            self.try_case(fewer);
        }
    }

    fn device(&mut self) {
        let mut without = self.best.clone();
        without.no_device();
        if self.best.device.is_none() || self.try_case(without) {
            return;
        }
        for i in (0..self.best.device.as_ref().map_or(0, Vec::len)).rev() {
            let mut fewer = self.best.clone();
            if let Some(sets) = &mut fewer.device {
                sets.remove(i);
            }
            self.try_case(fewer);
        }
    }

    fn scheme(&mut self) {
        while let Some(simpler) = (simpler(&self.best.scheme).into_iter()).find(|scheme| {
            let mut case = self.best.clone();
            case.scheme.clone_from(scheme);
            self.try_case(case)
        }) {
            self.best.scheme = simpler;
        }
    }
}

/// Legal expressions that are simpler: LRU, without the outermost layer, without a parameter.
fn simpler(scheme: &str) -> Vec<String> {
    let mut found = Vec::new();
    if scheme != "lru" {
        found.push("lru".to_owned());
    }
    let expr = Expr::parse(scheme).ok();
    found.extend(expr.and_then(|e| e.inner().map(Expr::to_string)));
    found.extend(without_parameter(scheme));
    // Shorter every time, so that this comes to an end.
    found.retain(|text| text.len() < scheme.len() || text == "lru");
    let legal = |text: &String| Expr::parse(text).is_ok_and(|e| e.to_string() != scheme);
    found.retain(legal);
    found
}

/// The expression without each of its parameters in turn.
fn without_parameter(scheme: &str) -> Vec<String> {
    let assigned = scheme.match_indices('=').map(|(at, _)| at);
    assigned
        .map(|at| {
            let start = scheme[..at].rfind(['(', ',']).map_or(0, |i| i + 1);
            let mut depth = 0;
            let ends = |c: char| {
                depth += i32::from(c == '[') - i32::from(c == ']');
                depth == 0 && (c == ',' || c == ')')
            };
            let end = scheme[at..].find(ends).map_or(scheme.len(), |i| at + i);
            let (head, tail) = (&scheme[..start], &scheme[end..]);
            let joined = match (head.strip_suffix(','), tail.strip_prefix(',')) {
                (Some(head), _) => format!("{head}{tail}"),
                (None, Some(tail)) => format!("{head}{tail}"),
                (None, None) => format!("{head}{tail}"),
            };
            joined.replace("()", "")
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::option;
    use crate::requests::draw;
    use destage_conformance::reference::rng::SplitMix64;
    use destage_types::Op;

    #[test]
    fn parameters_go_one_by_one() {
        let all = without_parameter("cac(prober(lru,ssp=16k,x=[1,2]),y=3)");
        assert_eq!(
            all,
            [
                "cac(prober(lru,x=[1,2]),y=3)",
                "cac(prober(lru,ssp=16k),y=3)",
                "cac(prober(lru,ssp=16k,x=[1,2]))"
            ]
        );
        assert_eq!(without_parameter("bplru(block-pages=4)"), ["bplru"]);
        assert!(simpler("lru").is_empty());
        assert!(simpler("cac(arc)").contains(&"arc".to_owned()));
    }

    #[test]
    fn a_case_shrinks_to_what_fails() {
        let mut requests = draw(&mut SplitMix64::new(3), true);
        while requests.iter().filter(|r| r.host.op == Op::Write).count() < 3 {
            requests.extend(draw(&mut SplitMix64::new(4), true));
        }
        let case = Case {
            requests,
            scheme: "cac(prober(arc,ssp=16k))".to_owned(),
            frames: 9,
            page: 4096,
            device: Some(option("channels=1 op=0.5")),
            options: vec![option("--limit 50"), option("--fit")],
            seed: 1,
        };
        let fails = |case: &Case| {
            let writes = case.requests.iter().filter(|r| r.host.op == Op::Write);
            writes.count() >= 2 && case.has("--limit") && case.scheme.contains("arc")
        };
        let small = shrink(&case, fails);
        assert_eq!((small.requests.len(), &*small.scheme), (2, "arc"));
        assert_eq!(small.options, [option("--limit 50")]);
        assert!(small.device.is_none());
    }
}
