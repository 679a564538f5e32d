//! Where cases run: each in a temporary folder of its own, all that it writes being its output.

use super::{Case, Options};
use crate::programs::{Build, build, target};
use anyhow::{Context, Result, ensure};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

/// A program and the folders that it sees.
pub struct Lab {
    program: PathBuf,
    /// As results name it.
    version: String,
    /// Real traces.
    real: Option<PathBuf>,
    keep: PathBuf,
    temp: tempfile::TempDir,
}

impl Lab {
    /// Builds the program, if none is given, and makes the folders.
    ///
    /// # Errors
    /// The program does not build or cannot be started, or a folder cannot be made.
    pub fn new(options: &Options) -> Result<Lab> {
        let program = match &options.program {
            Some(program) => program.clone(),
            None if options.checked => build(Build::Tests)?.join("destage"),
            None => build(Build::Release)?.join("destage"),
        };
        let program = std::path::absolute(program)?;
        let output = Command::new(&program).arg("--version").output();
        let output = output.with_context(|| format!("cannot start {}", program.display()))?;
        let version = String::from_utf8(output.stdout)?;
        let version = version.trim().strip_prefix("destage ");
        let keep = options.keep.clone();
        let keep = keep.unwrap_or_else(|| target().join("records"));
        std::fs::create_dir_all(&keep).context("the folder for outputs cannot be made")?;
        let temp = tempfile::tempdir().context("cannot make a temporary folder")?;
        std::fs::create_dir(temp.path().join("made"))?;
        let real = std::env::var_os("DESTAGE_TRACES").map(std::path::absolute);
        Ok(Lab {
            version: version.context("--version is not as expected")?.to_owned(),
            real: real.transpose()?,
            program,
            keep,
            temp,
        })
    }

    /// Can the case be run here?
    pub fn has_inputs_of(&self, case: &Case) -> bool {
        let mut words = case.arguments.split_whitespace();
        self.real.is_some() || !words.any(|word| word == "real" || word.starts_with("real/"))
    }

    /// Where the output of a case is kept.
    pub fn kept(&self, case: &Case) -> PathBuf {
        self.keep.join(case.file())
    }

    /// The outputs of all cases, each with command line and status: inputs one after the other, all else on all cores.
    pub fn run_all(&self, cases: &[Case]) -> Vec<Result<Vec<u8>>> {
        let inputs = cases.iter().take_while(|case| case.input).count();
        let run = |number: usize| Some((number, self.run(number, cases.get(number)?)));
        let mut done: Vec<_> = (0..inputs).filter_map(run).collect();
        let next = AtomicUsize::new(inputs);
        let rest = || -> Vec<_> {
            std::iter::from_fn(|| run(next.fetch_add(1, Ordering::Relaxed))).collect()
        };
        std::thread::scope(|scope| {
            let cores = std::thread::available_parallelism().map_or(1, usize::from);
            let threads: Vec<_> = (0..cores).map(|_| scope.spawn(rest)).collect();
            for thread in threads {
                done.extend(thread.join().expect("a thread that does not panic"));
            }
        });
        done.sort_by_key(|(number, _)| *number);
        done.into_iter().map(|(_, output)| output).collect()
    }

    /// Runs a case and keeps its output. Its folder shows the real traces as `real`, the inputs as
    /// `made` and the repository as `checkout`, so that no output names a place of this machine.
    fn run(&self, number: usize, case: &Case) -> Result<Vec<u8>> {
        let folder = self.temp.path().join(number.to_string());
        std::fs::create_dir(&folder)?;
        let made = self.temp.path().join("made");
        let checkout = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let real = self.real.iter().map(|real| ("real", real));
        for (name, target) in real.chain([("made", &made), ("checkout", &checkout)]) {
            std::os::unix::fs::symlink(target, folder.join(name))?;
        }
        let done = Command::new(&self.program)
            .args(case.arguments.split_whitespace())
            .current_dir(&folder)
            .stdin(Stdio::null())
            .output()?;
        let message = String::from_utf8_lossy(&done.stderr);
        let fine = done.status.success() || case.messages;
        ensure!(fine, "{}", message.trim());

        let mut output = format!("destage {}\n{}\n", case.arguments, done.status).into_bytes();
        let mut add = |name: &str, content: &[u8]| {
            output.extend(format!("-- {name}\n").bytes());
            output.extend(comparable(content, &self.version));
        };
        add("standard output", &done.stdout);
        if case.messages {
            add("standard error", &done.stderr);
        }
        for file in files(&folder)? {
            let name = file.file_name().unwrap_or_default();
            add(
                &without_key(&name.to_string_lossy()),
                &std::fs::read(&file)?,
            );
            if case.input {
                std::fs::rename(&file, made.join(name))?;
            }
        }
        std::fs::remove_dir_all(&folder)?;
        std::fs::write(self.kept(case), &output).context("the output cannot be kept")?;
        Ok(output)
    }
}

/// The files that a case wrote, sorted by path; what it was shown are links.
fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        match entry.file_type()? {
            kind if kind.is_dir() => all.extend(files(&entry.path())?),
            kind if kind.is_file() => all.push(entry.path()),
            _ => (),
        }
    }
    all.sort();
    Ok(all)
}

/// The name of a log without the beginning of the key of its run, which names the program, too.
fn without_key(name: &str) -> String {
    let (stem, extension) = name.rsplit_once('.').unwrap_or((name, ""));
    let is_key = |key: &str| key.len() == 8 && key.bytes().all(|b| b.is_ascii_hexdigit());
    match stem.rsplit_once('-') {
        Some((stem, key)) if is_key(key) => format!("{stem}.{extension}"),
        _ => name.to_owned(),
    }
}

/// An output without what differs from run to run: the object `run` that ends a JSON record, the
/// columns of it that end a CSV record, and the version of the program.
fn comparable(output: &[u8], version: &str) -> Vec<u8> {
    const COLUMNS: &str = ",run.wall_s,run.cpu_s,run.threads,run.host,run.key";
    let Ok(text) = std::str::from_utf8(output) else {
        return output.to_vec();
    };
    let text = text.replace(version, "VERSION");
    let has_columns = text.lines().next().is_some_and(|l| l.ends_with(COLUMNS));
    let mut kept = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let end = if has_columns {
            line.rmatch_indices(',').nth(4).map(|(place, _)| place)
        } else {
            line.rfind(",\"run\":{\"wall_s\":")
        };
        kept.push_str(&line[..end.unwrap_or(line.len())]);
        if end.is_some() {
            kept.push('\n');
        }
    }
    kept.into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(output: &str) -> String {
        String::from_utf8(comparable(output.as_bytes(), "0.1.0+abc")).unwrap()
    }

    #[test]
    fn times_and_version_of_a_json_record_go() {
        let record = |version, run| {
            format!("{{\"version\":\"{version}\",\"evictions\":3,\"config\":[]{run}}}\n")
        };
        let run = ",\"run\":{\"wall_s\":0.1,\"cpu_s\":0.1,\"threads\":2,\"host\":\"a,b\"}";
        let kept = "{\"version\":\"VERSION\",\"evictions\":3,\"config\":[]\n";
        assert_eq!(text(&record("0.1.0+abc", run)), kept);
        assert_eq!(text(&record("0.1.0+abc", run).repeat(2)), kept.repeat(2));
        let other = text(&record("0.1.1", ""));
        assert!(other.contains("0.1.1") && other.contains("[]}"), "{other}");
    }

    #[test]
    fn times_and_version_of_a_csv_record_go() {
        let table = "scheme,version,stats,run.wall_s,run.cpu_s,run.threads,run.host,run.key\n\
                     \"cac(lru,ghosts=true)\",0.1.0+abc,{},0.25,0.5,2,box,\n";
        let kept = "scheme,version,stats\n\"cac(lru,ghosts=true)\",VERSION,{}\n";
        assert_eq!(text(table), kept);
    }

    #[test]
    fn keys_of_logs_go() {
        assert_eq!(
            without_key("e-t-lru-1MiB-0a1b2c3d.jsonl"),
            "e-t-lru-1MiB.jsonl"
        );
        assert_eq!(without_key("results.jsonl"), "results.jsonl");
        assert_eq!(without_key("t-lru-16384KiB.csv"), "t-lru-16384KiB.csv");
    }

    #[test]
    fn all_else_stays_to_the_byte() {
        for output in [
            "",
            "no end of line",
            "a,b\n1,2\n\n",
            "{\"run\":{\"name\":\"x\"},\"wall_s\":1}\n",
            "scheme,run.wall_s\nlru,1\n",
        ] {
            assert_eq!(text(output), output);
        }
        let binary = b"\x89DSTG 0.1.0+abc \xff\n";
        assert_eq!(comparable(binary, "0.1.0+abc"), binary);
    }
}
