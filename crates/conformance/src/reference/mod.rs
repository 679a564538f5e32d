//! Models that are too simple to be wrong and too slow to be used: quadratic, without caches of
//! anything that can be computed. Written from the rules, not from the code they judge.

pub mod nand;
