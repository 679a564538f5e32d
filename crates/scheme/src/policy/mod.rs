//! Policies: what is cached, and what leaves next.

pub mod ad_lru;
pub mod arc;
pub mod belady;
pub mod best_of;
pub mod bpac;
pub mod bplru;
pub mod ccf_lru;
pub mod cflru;
pub mod cflru_eps;
pub mod clock;
pub mod co_active;
pub mod ecr_eps;
pub mod fab;
pub mod fifo;
pub mod frd;
mod frequency_sketch;
mod future;
pub mod lb_clock;
pub mod lcr;
pub mod lfu;
pub mod lirs;
mod logical_blocks;
pub mod lrfu;
pub mod lru;
pub mod lru_2;
pub mod lru_wsr;
pub mod mq;
pub mod none;
pub mod pud_lru;
pub mod ref_first;
pub mod req_block;
pub mod s3_fifo;
mod second_chance;
pub mod sieve;
pub mod two_q;
pub mod vbbms;
pub mod w_tinylfu;
mod window;

pub use future::{Future, FutureBuilder, FutureTooLong, NextOf};

#[cfg(test)]
mod tests {
    use crate::testing::evictions;

    #[test]
    fn who_leaves_first() {
        for (policy, first, second) in [
            ("fifo", "1", "1 2"),
            ("lru", "2", "2 3"),
            ("lfu", "2", "2 3"),
            ("clock", "2", "2 3"),
            ("arc", "2", "2 3"),
            ("2q(kin=1)", "1", "1 2"),
            ("lirs(hir=1)", "3", "3 4"),
            ("cflru(x=1)", "2", "2 3"),
            ("cflru-eps", "2", "2 3"),
        ] {
            assert_eq!(evictions(policy, 3, "W1 W2 W3 R1 W4"), first, "{policy}");
            assert_eq!(
                evictions(policy, 3, "W1 W2 W3 R1 W4 W5"),
                second,
                "{policy}"
            );
        }
    }
}
