//! Running the real binary in a folder of its own.

use assert_cmd::Command;
use assert_cmd::cargo::cargo_bin_cmd;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use tempfile::TempDir;

/// Does `cargo xtask full` run the tests? Long tests run only then; a shorter form of each runs always.
pub fn is_full() -> bool {
    std::env::var_os("DESTAGE_FULL").is_some()
}

/// The columns of the own CSV.
pub const HEAD: &str = "arrival_ns,op,start_sector,sectors,stream,prev,atomic\n";

/// The outcome of a command.
pub struct Done {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Done {
    /// The command succeeded.
    #[track_caller]
    pub fn ok(self) -> Done {
        assert_eq!(self.code, 0, "stderr: {}", self.stderr);
        self
    }

    /// The command ended with `code`, said all of `parts` on standard error, and gave no result.
    #[track_caller]
    pub fn fails(self, code: i32, parts: &[&str]) -> Done {
        assert_eq!(self.code, code, "stderr: {}", self.stderr);
        // Warnings may stand before it.
        let error = self.stderr.lines().any(|l| l.starts_with("error: "));
        assert!(error, "{}", self.stderr);
        parts.iter().for_each(|part| self.says(part));
        assert_eq!(self.stdout, "", "nothing but results on standard output");
        self
    }

    /// `part` is on standard error.
    #[track_caller]
    pub fn says(&self, part: impl AsRef<str>) {
        contains(&self.stderr, part.as_ref());
    }

    /// `part` is on standard output.
    #[track_caller]
    pub fn shows(&self, part: impl AsRef<str>) {
        contains(&self.stdout, part.as_ref());
    }

    /// The objects on standard output, one a line.
    #[track_caller]
    pub fn records(&self) -> Vec<Value> {
        objects(&self.stdout)
    }
}

/// `text` has `part` in it.
#[track_caller]
pub fn contains(text: &str, part: &str) {
    assert!(text.contains(part), "no `{part}` in: {text}");
}

/// The JSON objects of `text`, one a line.
#[track_caller]
pub fn objects(text: &str) -> Vec<Value> {
    let lines = text.lines();
    lines.map(|l| serde_json::from_str(l).expect(l)).collect()
}

/// The words of a command; what stands between single quotes is one.
pub fn words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quoted) = (Vec::new(), String::new(), false);
    for c in line.chars() {
        match c {
            '\'' => quoted = !quoted,
            c if c.is_whitespace() && !quoted => {
                words.extend((!word.is_empty()).then(|| std::mem::take(&mut word)));
            }
            c => word.push(c),
        }
    }
    words.extend((!word.is_empty()).then_some(word));
    words
}

/// A folder in which commands run.
pub struct Bench {
    pub dir: TempDir,
}

impl Bench {
    pub fn new() -> Bench {
        let dir = TempDir::new().unwrap();
        Bench { dir }
    }

    /// A folder with the trace `t.csv`.
    pub fn with(trace: impl AsRef<[u8]>) -> Bench {
        let bench = Bench::new();
        bench.file("t.csv", trace);
        bench
    }

    /// The path of a file of the folder.
    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Writes a file and gives its path.
    pub fn file(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.dir.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    }

    /// Names of the files in a folder, without hidden ones and without the keys in names of logs, sorted.
    pub fn names(&self, folder: &str) -> Vec<String> {
        let entries = std::fs::read_dir(self.dir.path().join(folder)).unwrap();
        let names = entries.map(|e| e.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<_> = names
            .filter(|n| !n.starts_with('.'))
            .map(without_key)
            .collect();
        names.sort();
        names
    }

    /// The log of one of several runs, whose name ends in the key of its run.
    pub fn log(&self, folder: &str, name: &str) -> String {
        let entries = std::fs::read_dir(self.dir.path().join(folder)).unwrap();
        let mut paths = entries.map(|entry| entry.unwrap().path());
        let is = |path: &PathBuf| without_key(path.file_name().unwrap().to_str().unwrap()) == name;
        let path = paths.find(is).unwrap_or_else(|| panic!("no {name}"));
        std::fs::read_to_string(path).unwrap()
    }

    pub fn read(&self, name: impl AsRef<Path>) -> String {
        std::fs::read_to_string(self.dir.path().join(name)).unwrap()
    }

    pub fn command(&self, line: impl AsRef<str>) -> Command {
        let mut command = cargo_bin_cmd!("destage");
        command.args(words(line.as_ref()));
        command.current_dir(self.dir.path());
        command
    }

    /// Runs `destage LINE`.
    pub fn destage(&self, line: impl AsRef<str>) -> Done {
        self.with_stdin(line, "")
    }

    pub fn with_stdin(&self, line: impl AsRef<str>, stdin: &str) -> Done {
        let output = self.command(line).write_stdin(stdin).output().unwrap();
        Done {
            code: output.status.code().expect("not killed by a signal"),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Standard output of a command that succeeds.
    #[track_caller]
    pub fn shown(&self, line: impl AsRef<str>) -> String {
        self.destage(line).ok().stdout
    }

    /// The records of a command that writes some.
    #[track_caller]
    pub fn records(&self, line: impl AsRef<str>) -> Vec<Value> {
        let line = format!("{} --format-out jsonl", line.as_ref());
        self.destage(line).ok().records()
    }

    /// The first of them.
    #[track_caller]
    pub fn record(&self, line: impl AsRef<str>) -> Value {
        self.records(line).remove(0)
    }

    /// The JSON that a command prints as a whole.
    #[track_caller]
    pub fn json(&self, line: impl AsRef<str>) -> Value {
        serde_json::from_str(&self.shown(line)).unwrap()
    }

    /// Every command of a table ends with exit code 2 and says what stands behind it, between bars; a
    /// line that begins with a bar goes on with the one above it.
    #[track_caller]
    pub fn refuses(&self, table: &str) {
        for row in rows(table) {
            let (line, parts) = cells(&row);
            self.destage(line).fails(2, &parts);
        }
    }

    /// Every text of a table is refused by `command` in the same way when its file `name` has that text, whose
    /// lines stand between semicolons.
    #[track_caller]
    pub fn refuses_texts(&self, command: &str, name: &str, table: &str) {
        for row in rows(table) {
            let (text, parts) = cells(&row);
            self.file(name, text.replace("; ", "\n"));
            self.destage(command).fails(2, &parts);
        }
    }
}

/// The rows of a table, each in one line.
pub fn rows(table: &str) -> Vec<String> {
    let mut rows: Vec<String> = Vec::new();
    for line in table.lines().map(str::trim).filter(|line| !line.is_empty()) {
        match (line.starts_with('|'), rows.last_mut()) {
            (true, Some(row)) => *row += line,
            _ => rows.push(line.to_owned()),
        }
    }
    rows
}

/// The cell before the first bar of a row, and the cells between the later bars.
#[track_caller]
fn cells(row: &str) -> (&str, Vec<&str>) {
    let (first, parts) = row.split_once('|').expect(row);
    (first.trim(), parts.split('|').map(str::trim).collect())
}

/// A trace of 4 KiB requests: one line per `W3` (write page 3) or `R3`.
pub fn csv(requests: &str) -> String {
    let mut text = String::from(HEAD);
    for (i, word) in requests.split_whitespace().enumerate() {
        let (op, page) = word.split_at(1);
        let start = 8 * page.parse::<u64>().unwrap();
        text += &format!("{},{op},{start},8,0,,0\n", 1000 * i);
    }
    text
}

/// Reads and writes over some hundred pages, a few of them often.
pub fn mixed(requests: u64) -> String {
    let mut words = Vec::new();
    let mut x = 1u64;
    for _ in 0..requests {
        x = x
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let op = if x >> 62 == 0 { 'R' } else { 'W' };
        let page = if (x >> 40) % 10 < 7 {
            (x >> 33) % 20
        } else {
            (x >> 33) % 400
        };
        words.push(format!("{op}{page}"));
    }
    csv(&words.join(" "))
}

/// A counter of a record.
pub fn counted(record: &Value, key: &str) -> u64 {
    record["counts"][key].as_u64().expect(key)
}

/// A setting of a record: its value and where it comes from.
pub fn setting<'a>(record: &'a Value, key: &str) -> (&'a str, &'a str) {
    let mut all = record["config"].as_array().unwrap().iter();
    let found = all.find(|setting| setting["key"] == key).expect(key);
    let text = |part: &str| found[part].as_str().unwrap();
    (text("value"), text("origin"))
}

/// A record without what may differ between two executions of the same run.
pub fn without_cost(mut record: Value) -> Value {
    let cost = record.as_object_mut().unwrap().remove("run");
    assert!(cost.is_some(), "every record says what it cost");
    record
}

/// `--scheme` for each of `schemes`.
pub fn options(schemes: &[impl AsRef<str>]) -> String {
    let option = |s: &_| format!(" --scheme {}", AsRef::<str>::as_ref(s));
    schemes.iter().map(option).collect()
}

/// All schemes as `destage schemes` knows them.
pub fn schemes() -> &'static [Value] {
    static ALL: OnceLock<Vec<Value>> = OnceLock::new();
    ALL.get_or_init(|| serde_json::from_value(Bench::new().json("schemes --json")).unwrap())
}

/// The names of all schemes; as an expression, that of a layer stands over lru.
pub fn scheme_names() -> Vec<&'static str> {
    schemes()
        .iter()
        .map(|s| s["name"].as_str().unwrap())
        .collect()
}

/// Records of all schemes on a device, which several tests look at.
pub fn all_schemes() -> &'static [Value] {
    static RECORDS: OnceLock<Vec<Value>> = OnceLock::new();
    let line = "run demo --limit 10000 --device req-block-128g --read-alloc off --cache 1MiB,4MiB --scheme all";
    RECORDS.get_or_init(|| Bench::new().records(line))
}

/// A file in the folder of traces that `DESTAGE_TRACES` names, if it is there.
pub fn trace(name: &str) -> Option<PathBuf> {
    let Some(dir) = std::env::var_os("DESTAGE_TRACES") else {
        eprintln!("SKIPPED: DESTAGE_TRACES is not set");
        return None;
    };
    let path = PathBuf::from(dir).join(name);
    if !path.exists() {
        eprintln!("SKIPPED: {} is not there", path.display());
        return None;
    }
    Some(path)
}

/// The root of the workspace.
pub fn root() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.canonicalize().unwrap()
}

/// `a-1f2e3d4c.csv` as `a.csv`.
fn without_key(name: impl AsRef<str>) -> String {
    let name = name.as_ref();
    let (stem, extension) = name.rsplit_once('.').unwrap_or((name, ""));
    let is_key = |key: &str| key.len() == 8 && key.bytes().all(|b| b.is_ascii_hexdigit());
    match stem.rsplit_once('-') {
        Some((stem, key)) if is_key(key) => format!("{stem}.{extension}"),
        _ => name.to_owned(),
    }
}

/// Own CSV as people write it: without the comments that say whether it is whole, which must be there.
pub fn unframed(csv: &str) -> String {
    let lines: Vec<&str> = csv.lines().collect();
    let ["# destage csv 2", all @ .., last] = &lines[..] else {
        panic!("{csv}");
    };
    assert!(last.starts_with("# requests: "), "{csv}");
    all.join("\n") + "\n"
}
