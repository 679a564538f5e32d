//! The program of `cargo xtask torture`: runs random traces, schemes, devices and options through
//! the built program, and checks laws between the results. A case follows from the seed and its
//! number alone; a finding is a command line that anybody can run.

mod case;
mod compare;
mod device;
mod lab;
mod laws;
mod requests;
mod shrink;

use anyhow::{Context, Result, bail, ensure};
use case::Case;
use clap::Parser;
use destage_conformance::reference::rng::SplitMix64;
use lab::{Fault, Kind, Lab};
use laws::{LAWS, Law};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Findings of one law after which it is held against no more cases.
const ENOUGH: u64 = 5;

#[derive(Parser)]
struct Args {
    /// The program.
    #[arg(long)]
    program: PathBuf,
    /// Folder of findings.
    #[arg(long)]
    findings: PathBuf,
    /// How long.
    #[arg(long, default_value_t = 2.0)]
    minutes: f64,
    /// Decides every case [default: from the clock].
    #[arg(long)]
    seed: Option<u64>,
    /// Only laws whose name contains this.
    #[arg(long)]
    only: Option<String>,
    /// Only the case of this number.
    #[arg(long)]
    case: Option<u64>,
}

/// Counts of the cases of one law.
#[derive(Clone, Copy, Default)]
struct Tally {
    cases: u64,
    runs: u64,
    held: u64,
    findings: u64,
}

struct Campaign {
    args: Args,
    seed: u64,
    laws: Vec<&'static Law>,
    end: Instant,
    next: AtomicU64,
    tallies: Mutex<Vec<Tally>>,
}

fn main() -> ExitCode {
    match run(Args::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: Args) -> Result<()> {
    let clock = || {
        let time = SystemTime::now().duration_since(UNIX_EPOCH);
        time.map_or(1, |t| t.as_millis() as u64)
    };
    let seed = args.seed.unwrap_or_else(clock);
    println!("seed {seed}");
    let text = args.only.clone().unwrap_or_default();
    let laws: Vec<&Law> = LAWS.iter().filter(|law| law.name.contains(&text)).collect();
    if laws.is_empty() {
        bail!(
            "no law is called like that; laws: {}",
            LAWS.map(|l| l.name).join(", ")
        );
    }
    ensure!(
        args.minutes > 0.0 && args.minutes < 1e6,
        "--minutes: a number above 0"
    );
    let campaign = Campaign {
        seed,
        end: Instant::now() + Duration::from_secs_f64(args.minutes * 60.0),
        next: AtomicU64::new(args.case.unwrap_or(0)),
        tallies: Mutex::new(vec![Tally::default(); laws.len()]),
        laws,
        args,
    };
    campaign.run()?;
    campaign.report()
}

impl Campaign {
    /// Holds laws against cases on all processors until the time is over.
    fn run(&self) -> Result<()> {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let cores = if self.args.case.is_some() { 1 } else { cores };
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0..cores).map(|_| scope.spawn(|| self.work())).collect();
            let ended = threads
                .into_iter()
                .map(|t| t.join().expect("a thread that does not panic"));
            ended.collect()
        })
    }

    fn work(&self) -> Result<()> {
        while Instant::now() < self.end {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            let place = number as usize % self.laws.len();
            if self.tallies.lock().expect("a sound tally")[place].findings < ENOUGH {
                let tally = self.hold(number, self.laws[place])?;
                let all = &mut self.tallies.lock().expect("a sound tally")[place];
                all.cases += 1;
                all.runs += tally.runs;
                all.held += tally.held;
                all.findings += tally.findings;
            }
            if self.args.case.is_some() {
                break;
            }
        }
        Ok(())
    }

    /// Holds a law against the case of this number.
    fn hold(&self, number: u64, law: &Law) -> Result<Tally> {
        let rng = &mut SplitMix64::new(self.seed ^ number.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let mut case = Case::draw(rng);
        (law.adapt)(&mut case, rng);
        let (verdict, _, runs) = self.check(law, &case, None)?;
        let mut tally = Tally {
            runs,
            ..Tally::default()
        };
        match verdict {
            Ok(held) => tally.held = u64::from(held),
            Err(fault) if fault.kind == Kind::Lab => bail!("{}", fault.message),
            Err(fault) => {
                tally.findings = 1;
                self.found(number, law, &case, &fault)?;
            }
        }
        Ok(tally)
    }

    /// One check in a folder of its own: in `keep`, made anew, or in a temporary one.
    fn check(
        &self,
        law: &Law,
        case: &Case,
        keep: Option<&Path>,
    ) -> Result<(Result<bool, Fault>, Vec<String>, u64)> {
        let temporary = tempfile::tempdir().context("cannot make a temporary folder")?;
        let folder = match keep {
            None => temporary.path().to_owned(),
            Some(keep) => {
                if keep.exists() {
                    fs::remove_dir_all(keep)?;
                }
                fs::create_dir_all(keep)?;
                std::path::absolute(keep)?
            }
        };
        let lab = Lab::new(&self.args.program, &folder);
        let written = lab.write(case, "trace.csv");
        let verdict = written.and_then(|()| (law.check)(&lab, case));
        Ok((verdict, lab.commands(), lab.runs()))
    }

    /// Shrinks a finding, keeps its files and says how to see it again.
    fn found(&self, number: u64, law: &Law, case: &Case, fault: &Fault) -> Result<()> {
        let fails = |smaller: &Case| {
            let checked = self.check(law, smaller, None);
            checked.is_ok_and(|(verdict, ..)| verdict.is_err_and(|f| f.kind == fault.kind))
        };
        // Each check of an endless run takes as long as a run may.
        let small = match fault.kind {
            Kind::Endless => case.clone(),
            _ => shrink::shrink(case, fails),
        };
        let name = format!("{}-{}-{number}", law.name, self.seed);
        let folder = self.args.findings.join(&name);
        let (verdict, commands, _) = self.check(law, &small, Some(&folder))?;
        let message = match verdict {
            Err(fault) => fault.message,
            // Signals do not come at the same moment again.
            Ok(_) => format!("{}\n(not seen again with this case)", fault.message),
        };
        let commands = commands.join("\n");
        fs::write(folder.join("commands.sh"), format!("{commands}\n"))?;
        let text = format!(
            "{}: {}\n\n{message}\n\nin {}:\n{commands}\n",
            law.name,
            law.promise,
            folder.display()
        );
        fs::write(folder.join("finding.txt"), &text)?;
        println!("\nFOUND {text}");
        println!(
            "again: cargo xtask torture --seed {} --case {number}{}",
            self.seed,
            self.args
                .only
                .as_ref()
                .map_or_else(String::new, |only| format!(" --only {only}"))
        );
        if small.requests.len() <= 20 {
            println!("trace.csv:\n{}", requests::csv(&small.requests));
        }
        Ok(())
    }

    /// Prints the table.
    fn report(&self) -> Result<()> {
        let tallies = self.tallies.lock().expect("a sound tally");
        println!(
            "\n{:<14} {:>8} {:>8} {:>8} {:>8}",
            "law", "cases", "held", "runs", "findings"
        );
        let mut sum = Tally::default();
        let line = |name: &str, t: &Tally| {
            println!(
                "{name:<14} {:>8} {:>8} {:>8} {:>8}",
                t.cases, t.held, t.runs, t.findings
            );
        };
        for (law, tally) in self.laws.iter().zip(tallies.iter()) {
            line(law.name, tally);
            sum.cases += tally.cases;
            sum.held += tally.held;
            sum.runs += tally.runs;
            sum.findings += tally.findings;
        }
        line("all", &sum);
        match sum.findings {
            0 => Ok(()),
            n => bail!("{n} findings, seed {}", self.seed),
        }
    }
}
