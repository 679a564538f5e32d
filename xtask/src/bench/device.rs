//! The common workload on a device, whole process: `destage run` with its reading and reporting.

use super::Bench;
use super::program::median;
use super::table::Table;
use anyhow::Result;

const DEVICE: &str = include_str!("common.toml");

/// Gap in nanoseconds, its name, goal in million requests per CPU-second.
const LOADS: &[(u64, &str, &str)] = &[(1_000_000, "1 ms", "1.7"), (50_000, "50 us", "1.2")];

/// Requests per CPU-second at two loads.
pub fn common_workload(bench: &Bench) -> Result<Vec<Table>> {
    let requests = bench.sizes.device_requests;
    let title = format!(
        "Device: common workload, {requests} requests, 128 GiB, LRU of 32 MiB, whole process"
    );
    let head = ["mean gap", "M requests/s", "goal", "CPU s", "peak MiB"];
    let mut table = Table::new(title, &head);
    let device = bench.temp.path().join("common.toml");
    std::fs::write(&device, DEVICE)?;
    for (gap, name, goal) in LOADS {
        let trace = bench.temp.path().join(format!("common-{gap}.csv"));
        let (count, gap) = (requests.to_string(), gap.to_string());
        let out = ["workload", "--requests", &count, "--gap-ns", &gap, "--out"];
        let mut args: Vec<_> = out.map(std::ffi::OsStr::new).to_vec();
        args.push(trace.as_os_str());
        bench.program.generate(&args)?;
        let run = ["run", "--scheme", "lru", "--cache", "32MiB", "--device"];
        let mut args: Vec<_> = run.map(std::ffi::OsStr::new).to_vec();
        args.extend([device.as_os_str(), trace.as_os_str()]);
        let cost = median(bench.sizes.runs, || {
            bench.program.whole_process(&args, requests)
        })?;
        table.row(vec![
            (*name).to_owned(),
            format!("{:.2}", cost.rate()),
            (*goal).to_owned(),
            format!("{:.2}", cost.cpu_s),
            format!("{:.0}", cost.extra_mib().unwrap_or_default()),
        ]);
        std::fs::remove_file(&trace)?;
    }
    Ok(vec![table])
}
