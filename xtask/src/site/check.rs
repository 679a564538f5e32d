//! The page in a browser without a window: its records are those of the command, and it is as fast as it should be.
//!
//! The browser opens `check.html` beside the page. Output on its console comes back on standard
//! error.

use crate::dist::does;
use crate::programs::{Build, build};
use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// Names of the browser in distributions.
const BROWSERS: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "chrome"];
/// How a line of the check begins on the console.
const SAID: &str = "check: ";
/// Makes a trace of MSR that touches 24 MiB: hot pages, a stream, and pages anywhere.
const MAKE_TRACE: &str = "trace synth --requests 12000 --writes 0.6 --part at=zipf(0.9),space=2MiB,size=4KiB:1+8KiB:1 \
                          --part at=sequential,space=24MiB,size=16KiB --part weight=2,space=24MiB,size=4KiB:1+12KiB:1 \
                          --to msr -o plain.csv";
/// A table that fits no format, and the mapping that reads it.
const TABLE: &str = "x;kind;where;much\n0,5;0;8;8\n0,75;1;16;8\n1,5;1;0;16\n2;0;0;16\n";
const TABLE_MAPPING: &str = "time=x:s,op=kind:0=R,1=W,offset=where:sectors,size=much*512,separator=semicolon,header=yes,decimal=comma";
/// Tables and their mappings, which the form of the page has to make again.
const MAPPED: [(&str, &str); 4] = [
    (
        "1 a 0 R 4096 512 9\n2 a 1 W 8192 512 9\n",
        "time=1:ms,op=4,offset=5,size=6,volume=2&3,separator=blank,header=no",
    ),
    (
        "{\"when\": 1, \"a, b\": 8, \"n\": 7}\n",
        "time=when:us,op==W,offset=\"a, b\":sectors,size=n*512+512,separator=json",
    ),
    (
        "words\nt|k|disk|lba\n1|r%9|c|8\n",
        "time=t:s,op=k:r%9=R,offset=lba:blocks,size==4096,volume=disk,separator=|,header=yes,skip=1",
    ),
    (
        "[1.5] io read 8 + 16 end\n",
        "time=t:s,op=op,offset=lba:sectors,size=n:sectors,line=\"[<t>] io <op> <lba> + <n> end\"",
    ),
];
/// Schemes on every device: pages, groups, a layer, one that cleans ahead, and a bound.
const ON_DEVICES: [&str; 6] = [
    "lru",
    "cflru",
    "req-block",
    "prober(lru)",
    "idle-clean(lru)",
    "belady",
];
/// Filled devices of this size take long to prepare, whoever does it.
const LARGE: [&str; 1] = ["prober-512g"];

/// Ends a program with this value.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Opens the page in `site`, and its check.
///
/// # Errors
/// A record differs, something takes too long, or the page says that something is wrong.
pub fn run(site: &Path) -> Result<()> {
    let Some(browser) = browser() else {
        println!(
            "SKIPPED: no browser ({}), so nobody looked at the playground",
            BROWSERS.join(", ")
        );
        return Ok(());
    };
    let destage = build(Build::Tests)?.join("destage");
    let folder = tempfile::tempdir()?;
    for file in fs::read_dir(site)? {
        let path = file?.path();
        fs::copy(
            &path,
            folder.path().join(path.file_name().unwrap_or_default()),
        )?;
    }
    fs::write(folder.path().join("check.html"), include_str!("check.html"))?;
    fs::write(folder.path().join("check.js"), include_str!("check.js"))?;
    let expected = expected(&destage, folder.path())?;
    fs::write(folder.path().join("expected.js"), expected)?;
    let (_server, url) = serve(&destage, folder.path())?;
    let profile = folder.path().join("browser");
    follow_console(&browser, &format!("{url}check.html"), &profile)
}

fn browser() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let places = folders
        .iter()
        .flat_map(|f| BROWSERS.map(|name| f.join(name)));
    places.into_iter().find(|place| place.is_file())
}

/// Options of runs: all schemes without a device and on the usual one, some schemes on every device.
fn cases(destage: &Path) -> Result<Vec<Value>> {
    let list = |what: &[&str]| -> Result<String> {
        let output = Command::new(destage).args(what).output()?;
        ensure!(output.status.success(), "destage {what:?} fails");
        Ok(String::from_utf8(output.stdout)?)
    };
    let schemes: Vec<Value> = serde_json::from_str(&list(&["schemes", "--json"])?)?;
    let schemes = schemes.iter().filter_map(|scheme| {
        let name = scheme["name"].as_str()?;
        Some(match scheme["layer"].as_bool()? {
            true => format!("{name}(lru)"),
            false => name.to_owned(),
        })
    });
    let schemes: Vec<String> = schemes.collect();
    ensure!(schemes.len() > 30, "only {} schemes", schemes.len());
    let presets = list(&["presets"])?;
    let presets = presets
        .lines()
        .skip(1)
        .filter_map(|line| line.split_whitespace().next());
    let presets = presets.filter(|name| !LARGE.contains(name));
    let mut cases = vec![
        json!({ "scheme": schemes, "cache": ["256KiB", "4MiB"] }),
        json!({ "scheme": schemes, "device": "default", "cache": "1MiB" }),
        json!({ "scheme": ["lru"], "cache": ["0.1", "1MiB"], "warmup": "10%", "read-alloc": "off" }),
        json!({ "scheme": ["lru", "arc"], "device": "default", "closed-loop": 4 }),
    ];
    cases.extend(presets.map(|device| json!({ "scheme": ON_DEVICES, "device": device })));
    Ok(cases)
}

/// Runs a command that makes a file in `folder`.
fn make(destage: &Path, folder: &Path, command: &str) -> Result<()> {
    does(
        Command::new(destage)
            .args(command.split_whitespace())
            .current_dir(folder),
    )
}

/// Trace, options, and the records of the command as a module.
fn expected(destage: &Path, folder: &Path) -> Result<String> {
    make(destage, folder, MAKE_TRACE)?;
    let mut names = vec!["plain.csv".to_owned()];
    for end in ["gz", "zst", "xz"] {
        let name = format!("packed.csv.{end}");
        let convert = format!("trace convert plain.csv --to msr -o {name}");
        make(destage, folder, &convert)?;
        names.push(name);
    }
    let mut files = Vec::new();
    for name in names {
        files.push(json!({ "name": name, "bytes": fs::read(folder.join(&name))? }));
    }
    let mut broken = fs::read_to_string(folder.join("plain.csv"))?;
    broken.push_str("128166372000000000,host,0,Wrote,0,4096,0\n");
    fs::write(folder.join("broken.csv"), &broken)?;
    let fault = Command::new(destage)
        .args(["run", "broken.csv"])
        .current_dir(folder)
        .output()?;
    let fault = String::from_utf8(fault.stderr)?;
    let fault = fault
        .trim()
        .strip_prefix("error: ")
        .context("the broken trace is read")?;
    let mut cases = cases(destage)?;
    for case in &mut cases {
        let records = records(destage, folder, "plain.csv", case)?;
        *case = json!({ "keys": case.take(), "records": records });
    }
    let broken = json!({ "name": "broken.csv", "text": broken, "fault": fault });
    fs::write(folder.join("it's a table.txt"), TABLE)?;
    let keys = json!({ "trace-columns": TABLE_MAPPING, "cache": ["256KiB"] });
    let records = records(destage, folder, "it's a table.txt", &keys)?;
    let table =
        json!({ "name": "it's a table.txt", "text": TABLE, "keys": keys, "records": records });
    Ok(format!(
        "export const FILES = {};\nexport const CASES = {};\nexport const BROKEN = {broken};\n\
         export const TABLE = {table};\nexport const MAPPED = {};\n",
        json!(files),
        json!(cases),
        json!(MAPPED),
    ))
}

/// The records of the command. Runs that are refused have none.
fn records(destage: &Path, folder: &Path, trace: &str, keys: &Value) -> Result<Vec<Value>> {
    let mut text = String::new();
    for (key, value) in keys.as_object().context("keys")? {
        // JSON arrays of texts, texts, and numbers are written like that in TOML, too.
        writeln!(text, "{key} = {value}")?;
    }
    fs::write(folder.join("case.toml"), text)?;
    let run = [
        "run",
        trace,
        "--config",
        "case.toml",
        "--format-out",
        "jsonl",
    ];
    let output = Command::new(destage)
        .args(run)
        .current_dir(folder)
        .output()?;
    let text = String::from_utf8(output.stdout)?;
    let records: Vec<Value> = text
        .lines()
        .map(serde_json::from_str)
        .collect::<Result<_, _>>()?;
    ensure!(
        !records.is_empty(),
        "{keys}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(records)
}

/// Starts `destage playground`, and gives the address that it prints.
fn serve(destage: &Path, folder: &Path) -> Result<(Ended, String)> {
    let mut command = Command::new(destage);
    command
        .arg("playground")
        .arg(folder)
        .arg("--no-open")
        .stdout(Stdio::piped());
    let mut server = command.spawn()?;
    let out = server.stdout.take().context("no output")?;
    let server = Ended(server);
    let mut url = String::new();
    BufReader::new(out).read_line(&mut url)?;
    ensure!(
        url.starts_with("http://127.0.0.1:"),
        "the server says `{url}`"
    );
    Ok((server, url.trim().to_owned()))
}

/// Follows what the page says until it is done.
fn follow_console(browser: &Path, url: &str, profile: &Path) -> Result<()> {
    let mut command = Command::new(browser);
    command.args([
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-background-networking",
        "--no-first-run",
    ]);
    command.args(["--enable-logging=stderr", "--remote-debugging-port=0"]);
    command
        .arg(format!("--user-data-dir={}", profile.display()))
        .arg(url);
    let mut child = command
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()?;
    let heard = child.stderr.take().context("no output")?;
    let _child = Ended(child);
    for line in BufReader::new(heard).lines() {
        let line = line?;
        let Some((_, said)) = line.split_once(SAID) else {
            continue;
        };
        let said = said
            .rsplit_once("\", source:")
            .map_or(said, |(said, _)| said);
        println!("{said}");
        if said.starts_with("FAILED") {
            bail!("the playground: {said}");
        }
        if said.starts_with("done") {
            return Ok(());
        }
    }
    bail!("the browser ended before the check did")
}
