//! What documents say of the sources.

mod architecture;
mod decisions;
