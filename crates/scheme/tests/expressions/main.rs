//! The expression language. One program, which is linked once.

mod expression_fuzz;
mod expression_run;
mod expression_vectors;
