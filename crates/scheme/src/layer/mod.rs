//! Layers around another scheme.

pub mod awb;
pub mod cac;
mod dirty_set;
pub mod eager;
pub mod ecr;
mod filter;
pub mod gcar;
mod hashes;
pub mod idle_clean;
mod ldr;
pub mod lwrs;
pub mod mbf;
pub mod multihash;
pub mod prober;
pub mod procache;
mod recency;
pub mod refcount;
mod sets;
mod sweep;
pub mod twolevel;

#[cfg(feature = "conformance")]
pub(crate) use ecr::print_chips;
pub use ldr::{LargeWrite, LargeWrites};
pub(crate) use recency::Recency;

use crate::Expr;

/// The scheme inside the layer `expr`.
///
/// # Panics
/// `expr` is no layer of an expression that was checked.
pub fn layer_below(expr: &Expr) -> &Expr {
    expr.inner().expect("a checked layer has a scheme inside")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Env;
    use crate::testing::{env, expr};
    use std::fmt::Debug;

    /// What `of` reads from `text`, without the name of its type.
    fn read<P: Debug>(of: fn(&Expr, &Env) -> P, text: &str) -> String {
        let mut env = env(10, 8, 4);
        env.seed = 77;
        let all = format!("{:?}", of(&expr(text), &env));
        all.split_once(' ').unwrap().1.to_owned()
    }

    #[test]
    fn parameters_are_read_from_expressions() {
        let awb = |text| read(awb::AwbParams::of, text);
        let procache = |text| read(procache::ProCacheParams::of, text);
        let prober = |text| read(prober::ProberOptions::of, text);
        let gcar = |text| read(gcar::GcarOptions::of, text);
        let ecr = |text| read(ecr::ChipChoice::of, text);
        for (found, wanted) in [
            (
                awb("awb(lru)"),
                "{ scope: LdrThenBase, depth: 2, partial: Wait, after: Remove, cancel_on: Any }",
            ),
            (
                awb("awb(prober(lru))"),
                "{ scope: Ldr, depth: 2, partial: Wait, after: Remove, cancel_on: Any }",
            ),
            (
                awb(
                    "awb(prober(lru),scope=ldr-then-base,depth=5,partial=write,after=keep-clean,\
                     cancel-on=write)",
                ),
                "{ scope: LdrThenBase, depth: 5, partial: Write, after: KeepClean, cancel_on: Write }",
            ),
            (
                procache("procache"),
                "{ p: 0.1, c: Bytes(8192), cmp: Gt, pv: None, size_unit: Bytes(1024), \
                 hit_rule: All, read_touch: true, seed: Seed(77), p_schedule: Constant }",
            ),
            (
                procache(
                    "procache(lru,c=4p,cmp=ge,hit-rule=any,p=0.5,p-schedule=occupancy,\
                          pv=[1.0,0.5],read-touch=false,seed=5,size-unit=1p)",
                ),
                "{ p: 0.5, c: Pages(4), cmp: Ge, pv: Some([1.0, 0.5]), size_unit: Pages(1), \
                 hit_rule: Any, read_touch: false, seed: Seed(5), p_schedule: Occupancy }",
            ),
            (
                prober("prober"),
                "{ ssp: Bytes(131072), rip: 3000, rip_cmp: Ge, asn_counts: Writes, ldr: Queue, \
                 ldr_evict: Tail, ldr_read_hit: Stay, ldr_skip_partial: false, \
                 cac_updates: Classify }",
            ),
            (
                prober(
                    "prober(lru,ssp=3p,rip=7,rip-cmp=gt,asn-counts=all,ldr=bypass,\
                        ldr-evict=head,ldr-read-hit=promote,ldr-skip-partial=true,\
                        cac-updates=exempt)",
                ),
                "{ ssp: Pages(3), rip: 7, rip_cmp: Gt, asn_counts: All, ldr: Bypass, \
                 ldr_evict: Head, ldr_read_hit: Promote, ldr_skip_partial: true, \
                 cac_updates: Exempt }",
            ),
            (gcar("gcar"), "{ protect: All, depth: None }"),
            (gcar("gcar(lru,depth=inf)"), "{ protect: All, depth: None }"),
            (
                gcar("gcar(lru,protect=dirty,depth=9)"),
                "{ protect: Dirty, depth: Some(9) }",
            ),
            (
                ecr("ecr"),
                "{ cqct: Cqct { xfer: Included, residual: Full, cqct: Equation, \
                 l_sp: Nanos(213200), page_latency: Constant, nfp: Unprogrammed, gc_state: Page, \
                 gc_residual: Remaining }, tie: Oldest, node_bytes: 13 }",
            ),
            (
                ecr(
                    "ecr(lru,xfer=excluded,residual=remaining,cqct=oracle,l-sp=150us,\
                     tie=lowest-index,nfp=mapping,page-latency=per-page,node-bytes=16,\
                     gc-state=block,gc-residual=whole)",
                ),
                "{ cqct: Cqct { xfer: Excluded, residual: Remaining, cqct: Oracle, \
                 l_sp: Nanos(150000), page_latency: PerPage, nfp: Mapping, gc_state: Block, \
                 gc_residual: Whole }, tie: LowestIndex, node_bytes: 16 }",
            ),
        ] {
            assert_eq!(found, wanted);
        }
        assert_eq!(ecr("ecr"), ecr("ecr-eps"));
    }
}
