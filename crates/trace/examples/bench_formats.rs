//! Writes generated requests in memory as each format that is written, reads them again, and
//! prints requests per CPU second.
//!
//! `bench_formats [REQUESTS]`, default 5 million.

use cpu_time::ThreadTime;
use destage_trace::{
    LoadOptions, Source, open, write_bin, write_csv, write_fio, write_msr, write_ssdsim,
};
use destage_types::{HostRequest, Nanos, Op, RequestBatch};

/// Times that grow, mixed kinds, sectors of 6 to 10 digits.
fn requests(count: u64) -> RequestBatch {
    let mut batch = RequestBatch::new();
    let (mut state, mut time) = (1u64, 0);
    for i in 0..count {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let random = state >> 20;
        time += if i > 0 { random % 10_000 * 1_000 } else { 0 };
        let op = [Op::Read, Op::Write][usize::from(random & 256 == 0)];
        let start = (random >> 9) % (1 << (18 + random % 15));
        batch.push(HostRequest::new(Nanos(time), op, start, 1 << (random % 8)));
    }
    batch
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let count = std::env::args().nth(1);
    let count: u64 = count.map_or(Ok(5_000_000), |n| n.parse())?;
    let batch = requests(count);
    let (mut bin, mut csv) = (Vec::new(), Vec::new());
    let (mut msr, mut ssdsim, mut fio) = (Vec::new(), Vec::new(), Vec::new());
    write_bin(&batch, &[], true, &mut bin)?;
    write_csv(&batch, &mut csv)?;
    write_msr(&batch, &[], &mut msr)?;
    write_ssdsim(&batch, &[], &mut ssdsim)?;
    write_fio(&batch, &[], &mut fio)?;
    let traces = [
        ("destage-bin", bin),
        ("destage", csv),
        ("msr", msr),
        ("ssdsim", ssdsim),
        ("fio", fio),
    ];
    for (format, bytes) in traces {
        let (len, options) = (bytes.len(), LoadOptions::default());
        let options = LoadOptions {
            hash: false,
            ..options
        };
        let start = ThreadTime::now();
        let mut reader = open(Source::bytes(format, bytes), &options)?;
        let (mut out, mut sectors) = (RequestBatch::new(), 0u64);
        while reader.next_batch(&mut out)? > 0 {
            sectors += out
                .records()
                .iter()
                .map(|r| u64::from(r.sectors))
                .sum::<u64>();
            out.clear();
        }
        let meta = reader.finish()?;
        let seconds = start.elapsed().as_secs_f64();
        assert_eq!((meta.format, meta.requests), (format, count));
        println!(
            "{format}: {:.1} M requests/s, {:.0} MB/s of CPU time ({sectors} sectors)",
            count as f64 / seconds / 1e6,
            len as f64 / seconds / 1e6,
        );
    }
    Ok(())
}
