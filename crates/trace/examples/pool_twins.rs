//! Writes the pool that twins of aggregates are drawn from: means over traces, shares only.
//!
//! `pool_twins TRACE...` > `crates/trace/src/twin/pool.toml`

use destage_trace::twin::{TwinFit, TwinPool};
use destage_trace::{LoadOptions, Source, load};
use destage_types::{Nanos, Op};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut pool = TwinPool::new();
    println!(
        "# What twins of aggregates are drawn from: means over traces, each with the same vote,"
    );
    println!("# in millionths; distances are stretched to a footprint of 2^18 written pages. No");
    println!(
        "# addresses, sizes of files, times or other contents of a trace are in it. Written by"
    );
    println!("# `cargo run --release -p destage-trace --example pool_twins TRACE...` of:");
    for path in std::env::args_os().skip(1) {
        let trace = load(Source::from_arg(path), &LoadOptions::default())?;
        let records = trace.requests.records();
        let mut fit = TwinFit::new(records.last().map_or(Nanos::ZERO, |r| r.arrival));
        for r in records
            .iter()
            .filter(|r| matches!(r.op, Op::Read | Op::Write))
        {
            fit.add(r.arrival, r.op, r.start_sector, r.sectors);
        }
        let fitted = fit.finish()?;
        let requests = fitted.parameters.requests;
        println!("#   {}, {requests} requests", trace.meta.name);
        pool.add(&fitted);
    }
    print!("\n{}", pool.to_toml());
    Ok(())
}
