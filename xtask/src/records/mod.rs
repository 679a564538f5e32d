//! `cargo xtask records`: shows that a change of structure moves no result. The command lines of
//! `records/cases.txt` give the outputs whose digests are in `records/digests.txt`, byte for byte
//! but for what belongs to a single run: its times and the version of the program.

mod lab;
mod list;

use anyhow::{Context, Result, bail};
use lab::Lab;
use list::Case;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Which outputs are compared, and with what.
#[derive(clap::Args)]
pub struct Options {
    /// Record the present digests; the commit says why they differ.
    #[arg(long, conflicts_with = "against")]
    accept: bool,
    /// Run only the cases whose line in the list contains this.
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
    /// Program that runs the cases [default: built from this checkout, optimised, as only then
    /// compositions have static types].
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
    /// Run the cases with the program of the tests, which is built anyway there and checks itself.
    #[arg(long, conflicts_with = "program")]
    checked: bool,
    /// Folder for the outputs, a file for each case [default: `records` in the target folder].
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
    /// Compare with outputs that were kept in this folder instead of with digests.
    #[arg(long, value_name = "DIR")]
    against: Option<PathBuf>,
}

/// The message about a case without a digest.
const NEW: &str = "is not recorded";

/// Differences that are shown; the rest is counted.
const SHOWN: usize = 20;

/// Runs the cases and compares, or records with `accept`.
///
/// # Errors
/// An output differs or is not recorded, a case fails that must not, or something cannot be
/// started, read or written.
pub fn run(options: &Options) -> Result<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("records");
    let all = list::parse(&read(&folder.join("cases.txt"))?)?;
    let mut recorded = Recorded::read(&folder.join("digests.txt"))?;
    let mut cases = all.clone();
    if let Some(text) = &options.only {
        cases.retain(|case| case.input || case.line.contains(text));
    }
    let wanted = cases.len();
    let lab = Lab::new(options)?;
    cases.retain(|case| lab.has_inputs_of(case));
    let skipped = wanted - cases.len();
    if skipped > 0 {
        println!("SKIPPED: DESTAGE_TRACES is not set, so {skipped} cases do not run");
    }
    let outputs = lab.run_all(&cases);
    let (mut different, mut new) = (0, 0);
    for (case, output) in cases.iter().zip(&outputs) {
        let difference = match (output, &options.against) {
            (Err(error), _) => Some(format!("fails, where no message is recorded: {error:#}")),
            (Ok(output), Some(folder)) => difference(&folder.join(case.file()), output)?,
            (Ok(output), None) if options.accept => recorded.accept(case, output),
            (Ok(output), None) => recorded.difference(case, output),
        };
        let Some(difference) = difference else {
            continue;
        };
        different += 1;
        new += usize::from(difference == NEW);
        if different <= SHOWN || output.is_err() {
            println!("DIFFERENT: destage {}\n    {difference}", case.arguments);
            println!("    output: {}", lab.kept(case).display());
        }
    }
    if different > SHOWN {
        println!("... and {} more", different - SHOWN);
    }
    let equal = cases.len() - different;
    println!("{equal} equal, {different} different, {skipped} skipped");
    if options.accept && outputs.iter().all(Result::is_ok) {
        return recorded.write(&all);
    }
    if different > 0 && new == different {
        bail!("{new} cases are new: `--accept` records them");
    }
    if different > 0 {
        bail!(
            "results have moved: `--keep DIR` with the program before the change keeps its outputs, \
             `--against DIR` then shows what moved; if that is meant, `--accept` records it, in a \
             commit that says why"
        );
    }
    Ok(())
}

fn read(path: &Path) -> Result<String> {
    std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}

/// The first place where an output differs from one that was kept.
fn difference(kept: &Path, output: &[u8]) -> Result<Option<String>> {
    if !kept.exists() {
        return Ok(Some(format!("there is no {}", kept.display())));
    }
    let before = std::fs::read(kept)?;
    if before == output {
        return Ok(None);
    }
    let equal = before
        .iter()
        .zip(output)
        .take_while(|(a, b)| a == b)
        .count();
    let line = output[..equal].split(|&b| b == b'\n').count();
    // Records are long lines: a little of what is equal shows the name of what differs.
    let excerpt = |text: &[u8]| {
        let start = equal.saturating_sub(60);
        let end = text.len().min(equal + 60);
        String::from_utf8_lossy(&text[start..end]).replace('\n', " ")
    };
    Ok(Some(format!(
        "line {line} of {}\n    - {}\n    + {}",
        kept.display(),
        excerpt(&before),
        excerpt(output)
    )))
}

/// The digests that are in the checkout, by the line of their case.
struct Recorded {
    path: PathBuf,
    digests: BTreeMap<String, String>,
}

impl Recorded {
    fn read(path: &Path) -> Result<Recorded> {
        let text = read(path)?;
        let pairs = text.lines().filter_map(|line| line.split_once(' '));
        Ok(Recorded {
            path: path.to_owned(),
            digests: pairs.map(|(d, line)| (line.into(), d.into())).collect(),
        })
    }

    fn difference(&self, case: &Case, output: &[u8]) -> Option<String> {
        match self.digests.get(&case.line) {
            Some(recorded) if *recorded == digest(output) => None,
            Some(_) => Some("differs from what is recorded".to_owned()),
            None => Some(NEW.to_owned()),
        }
    }

    fn accept(&mut self, case: &Case, output: &[u8]) -> Option<String> {
        let difference = self.difference(case, output)?;
        self.digests.insert(case.line.clone(), digest(output));
        Some(difference + " until now")
    }

    /// Writes the digests of the cases that the list has.
    fn write(mut self, all: &[Case]) -> Result<()> {
        let mut text = String::new();
        for case in all {
            if let Some(digest) = self.digests.remove(&case.line) {
                text.push_str(&format!("{digest} {}\n", case.line));
            }
        }
        std::fs::write(&self.path, text).context("the digests cannot be written")
    }
}

/// Enough of the hash to tell outputs apart.
fn digest(output: &[u8]) -> String {
    let hash = Sha256::digest(output);
    hash[..8].iter().map(|byte| format!("{byte:02x}")).collect()
}
