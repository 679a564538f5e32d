//! `cargo xtask records`: shows that a change of structure moves no result. Some hundred command
//! lines (`records/cases.txt`) give the outputs whose digests are in `records/digests.txt`, byte
//! for byte but for what belongs to a single run: its times and the version of the program.

use anyhow::{Context, Result, bail, ensure};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Which outputs are compared, and with what.
#[derive(clap::Args)]
pub struct Options {
    /// Record the present digests; the commit says why they differ.
    #[arg(long)]
    accept: bool,
    /// Run only the cases whose line contains this.
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
    /// Program that runs the cases [default: this checkout, optimised].
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
    /// Folder for the outputs [default: `records` in the target folder].
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
    /// Compare with outputs that were kept in this folder instead of with digests.
    #[arg(long, value_name = "DIR")]
    against: Option<PathBuf>,
}

/// Differences that are shown; the rest is counted.
const SHOWN: usize = 20;

/// A command line whose outputs are recorded.
#[derive(Clone, Debug, PartialEq)]
struct Case {
    /// As in the list, one choice made of each `{a|b}`: what names the case.
    line: String,
    /// What is run.
    arguments: String,
    /// Its files are inputs of other cases, so it runs before them.
    input: bool,
    /// Standard error is recorded, and the case may fail.
    messages: bool,
}

impl Case {
    fn is_on_real_trace(&self) -> bool {
        self.arguments.contains("real/")
    }

    /// The line as the name of a file.
    fn file(&self) -> String {
        let plain = |c: char| match c {
            c if c.is_ascii_alphanumeric() || "._=()$-".contains(c) => c,
            _ => '_',
        };
        self.line.chars().map(plain).collect()
    }
}

/// Runs the cases and compares, or records with `accept`.
///
/// # Errors
/// An output differs or is not recorded, a case fails that must not, or something cannot be
/// started, read or written.
pub fn run(options: &Options) -> Result<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("records");
    let mut cases = parse(&read(&folder.join("cases.txt"))?)?;
    let only = options.only.as_deref().unwrap_or("");
    cases.retain(|case| case.input || case.line.contains(only));
    let listed = cases.len();
    let real = std::env::var_os("DESTAGE_TRACES");
    cases.retain(|case| real.is_some() || !case.is_on_real_trace());
    let skipped = listed - cases.len();
    if skipped > 0 {
        println!(
            "SKIPPED: DESTAGE_TRACES is not set, so {skipped} cases on real traces do not run"
        );
    }
    let lab = Lab::new(options, real.map(PathBuf::from))?;
    let outputs = lab.run_all(&cases)?;
    let recorded = Recorded::read(&folder.join("digests.txt"))?;
    let failed = outputs.iter().filter(|output| output.is_err()).count();
    if options.accept && failed == 0 {
        let outputs: Vec<_> = outputs.into_iter().flatten().collect();
        return recorded.accept(&cases, &outputs, options.only.is_none() && skipped == 0);
    }
    let mut different = 0;
    for (case, output) in cases.iter().zip(&outputs) {
        let difference = match (output, &options.against) {
            (Err(error), _) => Some(format!("fails, where no message is recorded: {error:#}")),
            (Ok(output), Some(folder)) => difference(&folder.join(case.file()), output)?,
            (Ok(output), None) => recorded.difference(case, output),
        };
        let Some(difference) = difference else {
            continue;
        };
        different += 1;
        if different <= SHOWN {
            println!("DIFFERENT: destage {}\n    {difference}", case.arguments);
            println!("    output: {}", lab.keep.join(case.file()).display());
        }
    }
    if different > SHOWN {
        println!("... and {} more", different - SHOWN);
    }
    let equal = cases.len() - different;
    println!("{equal} equal, {different} different, {skipped} skipped");
    if different > 0 {
        bail!(
            "results have moved; keep the outputs of the commit before with `cargo xtask records \
             --keep DIR`, and compare with `--against DIR`; if they are meant to move, `--accept` \
             records them in a commit that says why"
        );
    }
    Ok(())
}

/// Where cases run.
struct Lab {
    program: PathBuf,
    /// As results name it.
    version: String,
    real: Option<PathBuf>,
    keep: PathBuf,
    temp: tempfile::TempDir,
}

impl Lab {
    fn new(options: &Options, real: Option<PathBuf>) -> Result<Lab> {
        let program = match &options.program {
            Some(program) => program.clone(),
            None => build()?,
        };
        let program = program
            .canonicalize()
            .with_context(|| format!("no program {}", program.display()))?;
        let output = Command::new(&program).arg("--version").output();
        let output = output.with_context(|| format!("cannot start {}", program.display()))?;
        let version = String::from_utf8_lossy(&output.stdout);
        let version = version.trim().strip_prefix("destage ");
        let version = version.context("--version is not as expected")?.to_owned();
        let keep = options.keep.clone();
        let keep = keep.unwrap_or_else(|| crate::bench::target().join("records"));
        std::fs::create_dir_all(&keep)?;
        let temp = tempfile::tempdir().context("cannot make a temporary folder")?;
        std::fs::create_dir(temp.path().join("made"))?;
        let real = real.map(|folder| folder.canonicalize().context("no folder DESTAGE_TRACES"));
        Ok(Lab {
            program,
            version,
            real: real.transpose()?,
            keep,
            temp,
        })
    }

    /// The outputs of the cases in their order: inputs one after the other, all else on all cores.
    fn run_all(&self, cases: &[Case]) -> Result<Vec<Result<Vec<u8>>>> {
        let inputs = cases.iter().take_while(|case| case.input).count();
        let mut outputs = Vec::new();
        for (number, case) in cases[..inputs].iter().enumerate() {
            outputs.push(self.run(number, case));
        }
        let next = AtomicUsize::new(inputs);
        let work = || {
            let mut done = Vec::new();
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                let Some(case) = cases.get(number) else {
                    return done;
                };
                done.push((number, self.run(number, case)));
            }
        };
        let cores = std::thread::available_parallelism()?.get();
        let mut done: Vec<_> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..cores).map(|_| scope.spawn(work)).collect();
            let results = threads.into_iter().map(|t| t.join().expect("no panic"));
            results.flatten().collect()
        });
        done.sort_by_key(|(number, _)| *number);
        outputs.extend(done.into_iter().map(|(_, output)| output));
        Ok(outputs)
    }

    /// Runs one case in a folder of its own, which sees the real traces as `real`, inputs as `made`
    /// and the checkout as `checkout`, so that no message or setting names a place of this machine.
    fn run(&self, number: usize, case: &Case) -> Result<Vec<u8>> {
        let folder = self.temp.path().join(number.to_string());
        let made = self.temp.path().join("made");
        let checkout = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        std::fs::create_dir(&folder)?;
        let real = self.real.iter().map(|real| (real, "real"));
        for (target, name) in real.chain([(&made, "made"), (&checkout, "checkout")]) {
            std::os::unix::fs::symlink(target, folder.join(name))?;
        }
        let output = Command::new(&self.program)
            .args(case.arguments.split_whitespace())
            .current_dir(&folder)
            .stdin(std::process::Stdio::null())
            .output()?;
        let message = String::from_utf8_lossy(&output.stderr);
        if !case.messages && !output.status.success() {
            bail!("{}", message.trim());
        }
        let mut text = format!("destage {}\n{}\n", case.arguments, output.status).into_bytes();
        text.extend(stable(&output.stdout, &self.version));
        if case.messages {
            text.extend(b"-- standard error\n");
            text.extend(stable(&output.stderr, &self.version));
        }
        for file in files(&folder)? {
            let name = file.file_name().unwrap_or_default();
            let content = std::fs::read(&file)?;
            text.extend(format!("-- {}\n", name.to_string_lossy()).bytes());
            text.extend(stable(&content, &self.version));
            if case.input {
                std::fs::rename(&file, made.join(name))?;
            }
        }
        std::fs::write(self.keep.join(case.file()), &text)?;
        std::fs::remove_dir_all(&folder)?;
        Ok(text)
    }
}

fn build() -> Result<PathBuf> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let build = "build --quiet -p destage-cli --profile count";
    let status = Command::new(cargo).args(build.split(' ')).status();
    ensure!(
        status.context("cannot start cargo")?.success(),
        "destage does not build"
    );
    Ok(crate::bench::target().join("count").join("destage"))
}

fn read(path: &Path) -> Result<String> {
    std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}

/// What a case wrote, sorted by path.
fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        match entry.file_type()? {
            kind if kind.is_dir() => files.extend(self::files(&entry.path())?),
            kind if kind.is_file() => files.push(entry.path()),
            _ => (),
        }
    }
    files.sort();
    Ok(files)
}

/// An output without what differs from run to run: the object `run` at the end of a JSON record,
/// the columns of it at the end of a CSV record, and the version of the program.
fn stable(output: &[u8], version: &str) -> Vec<u8> {
    const COLUMNS: &str = ",run.wall_s,run.cpu_s,run.threads,run.host";
    let Ok(text) = std::str::from_utf8(output) else {
        return output.to_vec();
    };
    let text = text.replace(version, "VERSION");
    let columns = text.lines().next().is_some_and(|l| l.ends_with(COLUMNS));
    let mut kept = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let run = match columns {
            true => line
                .rmatch_indices(',')
                .nth(COLUMNS.matches(',').count() - 1),
            false => line.rmatch_indices(",\"run\":{\"wall_s\":").next(),
        };
        match run {
            Some((start, _)) => kept.extend([&line[..start], "\n"]),
            None => kept.push_str(line),
        }
    }
    kept.into_bytes()
}

/// The first place where an output differs from one that was kept.
fn difference(kept: &Path, output: &[u8]) -> Result<Option<String>> {
    if !kept.exists() {
        return Ok(Some(format!("{} does not exist", kept.display())));
    }
    let before = std::fs::read(kept)?;
    if before == output {
        return Ok(None);
    }
    let lines = before
        .split(|&b| b == b'\n')
        .zip(output.split(|&b| b == b'\n'));
    let equal = lines.take_while(|(before, now)| before == now).count();
    let line = |text: &[u8]| {
        let line = text.split(|&b| b == b'\n').nth(equal).unwrap_or(b"(end)");
        let column = differing_column(&before, output, equal);
        let part = &line[column.min(line.len())..line.len().min(column + 120)];
        String::from_utf8_lossy(part).into_owned()
    };
    let mut text = format!("line {} of {}:", equal + 1, kept.display());
    write!(text, "\n    - {}\n    + {}", line(&before), line(output))?;
    Ok(Some(text))
}

/// Where line `number` of two texts begins to differ, and a little before that.
fn differing_column(a: &[u8], b: &[u8], number: usize) -> usize {
    let line = |text| <[u8]>::split(text, |&b| b == b'\n').nth(number);
    let pairs = line(a).unwrap_or(b"").iter().zip(line(b).unwrap_or(b""));
    pairs.take_while(|(a, b)| a == b).count().saturating_sub(40)
}

/// The digests that are in the checkout, by the line of their case.
struct Recorded {
    path: PathBuf,
    digests: BTreeMap<String, String>,
}

impl Recorded {
    fn read(path: &Path) -> Result<Recorded> {
        let text = if path.exists() {
            read(path)?
        } else {
            String::new()
        };
        let pair = |line: &str| {
            line.split_once(' ')
                .map(|(d, l)| (l.to_owned(), d.to_owned()))
        };
        Ok(Recorded {
            path: path.to_owned(),
            digests: text.lines().filter_map(pair).collect(),
        })
    }

    fn difference(&self, case: &Case, output: &[u8]) -> Option<String> {
        match self.digests.get(&case.line) {
            None => Some("not recorded yet: `--accept` does it".to_owned()),
            Some(recorded) if *recorded == digest(output) => None,
            Some(_) => Some("not the output that is recorded".to_owned()),
        }
    }

    /// Digests of cases that are gone are dropped if `all` cases ran.
    fn accept(mut self, cases: &[Case], outputs: &[Vec<u8>], all: bool) -> Result<()> {
        let before = std::mem::take(&mut self.digests);
        let now = cases.iter().zip(outputs);
        let now: BTreeMap<_, _> = now.map(|(c, o)| (c.line.clone(), digest(o))).collect();
        let moved = now.iter().filter(|(line, d)| before.get(*line) != Some(d));
        println!("{} digests are new, of {}", moved.count(), now.len());
        if !all {
            self.digests = before;
        }
        self.digests.extend(now);
        let lines = self
            .digests
            .iter()
            .map(|(line, digest)| format!("{digest} {line}\n"));
        std::fs::write(&self.path, lines.collect::<String>())?;
        Ok(())
    }
}

fn digest(output: &[u8]) -> String {
    let hash = Sha256::digest(output);
    hash[..8].iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// The cases of the list; its head says how it is written.
fn parse(text: &str) -> Result<Vec<Case>> {
    let mut lines: Vec<String> = Vec::new();
    for line in text
        .lines()
        .filter(|l| !l.trim().is_empty() && !l.starts_with('#'))
    {
        match lines.last_mut() {
            Some(before) if line.starts_with(' ') => {
                // Lists may be broken behind a bar.
                let gap = if before.ends_with('|') { "" } else { " " };
                before.extend([gap, line.trim()]);
            }
            _ => lines.push(line.to_owned()),
        }
    }
    let mut names = BTreeMap::new();
    let mut section = String::new();
    let mut cases: Vec<Case> = Vec::new();
    for line in lines {
        if let Some(header) = line.strip_prefix('[').and_then(|l| l.strip_suffix(']')) {
            section = header.to_owned();
        } else if let Some((name, value)) = line.split_once(" = ") {
            names.insert(name.to_owned(), substitute(value, &names)?);
        } else {
            for line in choices(&line, &names)? {
                cases.push(Case {
                    arguments: substitute(&line, &names)?,
                    input: section == "inputs",
                    messages: section.ends_with("with messages"),
                    line,
                });
            }
        }
    }
    let mut seen = std::collections::BTreeSet::new();
    for case in &cases {
        let file = case.file();
        ensure!(
            file.len() <= 200,
            "give parts of this line a name: {}",
            case.line
        );
        ensure!(
            seen.insert(file),
            "two cases are too much alike: {}",
            case.line
        );
    }
    Ok(cases)
}

/// One line for each choice of each `{a|b}`, where the name of a list stands for its choices.
fn choices(line: &str, names: &BTreeMap<String, String>) -> Result<Vec<String>> {
    let Some((before, rest)) = line.split_once('{') else {
        return Ok(vec![line.to_owned()]);
    };
    let (list, after) = rest.split_once('}').context("a brace is not closed")?;
    let tails = choices(after, names)?;
    let mut lines = Vec::new();
    for choice in list.split('|').map(str::trim) {
        let named = choice.strip_prefix('$').and_then(|name| names.get(name));
        let choices = named.filter(|value| value.contains('|'));
        for choice in choices.map_or(choice, String::as_str).split('|') {
            let choice = choice.trim();
            lines.extend(tails.iter().map(|tail| format!("{before}{choice}{tail}")));
        }
    }
    Ok(lines)
}

/// Puts the values of names in the place of `$name`.
fn substitute(text: &str, names: &BTreeMap<String, String>) -> Result<String> {
    let mut parts = text.split('$');
    let mut done = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find(|c: char| !c.is_ascii_alphanumeric() && c != '-');
        let (name, rest) = part.split_at(end.unwrap_or(part.len()));
        let value = names
            .get(name)
            .with_context(|| format!("no name ${name}: {text}"))?;
        done.extend([value, rest]);
    }
    Ok(done)
}
