//! Schemes that know the future are bounds of others, which they are only if pages enter their cache when
//! they enter that of the others.

use crate::options::{READ_ALLOC, word_of};
use destage_scheme::{ReadAlloc, Role};
use destage_sim::RunSpec;

fn is_bound(run: &RunSpec) -> bool {
    run.expr.scheme().role == Role::Offline
}

/// Gives the bounds among `runs` the read allocation of the schemes that they are compared with, unless one
/// was asked for. If these differ, it is on: a bound may pass pages by, so with it no scheme without it
/// hits more. Returns a warning about that case.
pub fn follow_read_alloc(runs: &mut [RunSpec]) -> Option<String> {
    let open = |run: &RunSpec| run.read_alloc == ReadAlloc::Scheme;
    let compared = runs.iter().filter(|run| run.is_cached() && !is_bound(run));
    let allocs: Vec<bool> = compared.map(RunSpec::resolved_read_alloc).collect();
    let on = *allocs.iter().max()?;
    let differ = allocs.contains(&!on);
    let mut names: Vec<String> = Vec::new();
    for run in runs.iter_mut().filter(|run| is_bound(run) && open(run)) {
        run.read_alloc = match on {
            true => ReadAlloc::On,
            false => ReadAlloc::Off,
        };
        for setting in run.settings.iter_mut().filter(|s| s.key == "read_alloc") {
            setting.value = word_of(READ_ALLOC, run.read_alloc).to_owned();
            setting.origin = "the schemes it bounds".to_owned();
        }
        let name = run.expr.to_string();
        if !names.contains(&name) {
            names.push(name);
        }
    }
    (differ && !names.is_empty()).then(|| {
        let bound = names.join(", ");
        format!(
            "the schemes that {bound} bounds differ in read allocation; {bound} runs with read allocation, which \
             bounds both kinds"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use destage_scheme::Expr;
    use destage_types::ByteSize;

    fn allocs(schemes: &[&str]) -> (Vec<bool>, bool) {
        let run = |s: &&str| RunSpec::cache_only(Expr::parse(s).unwrap(), ByteSize(1 << 20));
        let mut runs: Vec<RunSpec> = schemes.iter().map(run).collect();
        let said = follow_read_alloc(&mut runs).is_some();
        (
            runs.iter().map(RunSpec::resolved_read_alloc).collect(),
            said,
        )
    }

    #[test]
    fn a_bound_follows_what_it_bounds() {
        assert_eq!(allocs(&["lru", "belady"]), (vec![true, true], false));
        assert_eq!(
            allocs(&["belady", "prober(lru)"]),
            (vec![false, false], false)
        );
        assert_eq!(
            allocs(&["lru", "none", "prober(lru)", "belady"]).0,
            [true, false, false, true]
        );
        assert!(allocs(&["lru", "prober(lru)", "belady"]).1);
        // Alone, it is as it says itself.
        let own = RunSpec::cache_only(Expr::parse("belady").unwrap(), ByteSize(1 << 20));
        assert_eq!(
            allocs(&["belady"]),
            (vec![own.resolved_read_alloc()], false)
        );
    }
}
