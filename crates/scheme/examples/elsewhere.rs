//! Policies of this crate, compiled as part of another one: all that they use is public, so such a file may be
//! kept anywhere. `ecr_eps` and `cflru_eps` are parts of the layer `ecr`; they and those that take several files
//! are left out.

// Nothing here calls the policies.
#![allow(dead_code)]

pub use destage_scheme::*;

#[path = "../src/policy/ad_lru.rs"]
mod ad_lru;
#[path = "../src/policy/arc.rs"]
mod arc;
#[path = "../src/policy/bpac.rs"]
mod bpac;
#[path = "../src/policy/ccf_lru.rs"]
mod ccf_lru;
#[path = "../src/policy/cflru.rs"]
mod cflru;
#[path = "../src/policy/clock.rs"]
mod clock;
#[path = "../src/policy/fab.rs"]
mod fab;
#[path = "../src/policy/fifo.rs"]
mod fifo;
#[path = "../src/policy/frd.rs"]
mod frd;
#[path = "../src/policy/frequency_sketch.rs"]
mod frequency_sketch;
#[path = "../src/policy/lb_clock.rs"]
mod lb_clock;
#[path = "../src/policy/lcr.rs"]
mod lcr;
#[path = "../src/policy/lfu.rs"]
mod lfu;
#[path = "../src/policy/logical_blocks.rs"]
mod logical_blocks;
#[path = "../src/policy/lrfu.rs"]
mod lrfu;
#[path = "../src/policy/lru.rs"]
mod lru;
#[path = "../src/policy/lru_2.rs"]
mod lru_2;
#[path = "../src/policy/lru_wsr.rs"]
mod lru_wsr;
#[path = "../src/policy/mq.rs"]
mod mq;
#[path = "../src/policy/none.rs"]
mod none;
#[path = "../src/policy/ref_first.rs"]
mod ref_first;
#[path = "../src/policy/s3_fifo.rs"]
mod s3_fifo;
#[path = "../src/policy/second_chance.rs"]
mod second_chance;
#[path = "../src/policy/sieve.rs"]
mod sieve;
#[path = "../src/policy/two_q.rs"]
mod two_q;
#[path = "../src/policy/vbbms.rs"]
mod vbbms;
#[path = "../src/policy/w_tinylfu.rs"]
mod w_tinylfu;
#[path = "../src/policy/window.rs"]
mod window;

fn main() {
    println!("{} and others", lru::INFO.name);
}
