//! The pages of `docs/cac` against the program: the command above a table makes the table again.
//! `DESTAGE_BLESS=1` writes the tables into the pages.
//!
//! A fenced block that begins with `destage` is run in a folder in which `traces` is that of
//! `DESTAGE_TRACES` and `papers` that of this repository. A comment behind it says what becomes of
//! the results: `<!-- columns: ... -->`, `<!-- pivot: rows=...; columns=...; cell=... -->` (of `run`
//! or `mrc`); `<!-- models -->` alone is the table of models against captures.
//! Pictures are drawn anew with the tables, but their layout is not compared.

use crate::common::{Bench, objects, root, trace};
use destage_fsmodel::host_fs::{self, HostFs};
use destage_trace::{LoadOptions, Source, load};
use destage_types::request::NO_PREV;
use destage_types::{Op, RequestBatch, Tag};
use serde_json::Value;
use std::path::{Path, PathBuf};

const CACHES: [u64; 4] = [1, 2, 4, 16];

/// The folder of traces, if the captures are there.
fn traces() -> Option<PathBuf> {
    let capture = trace("fs/ext4-prxy-fdatasync.csv.zst")?;
    capture.ancestors().nth(2).map(Path::to_owned)
}

/// A cell of the table of a run.
fn cell(record: &Value, name: &str) -> String {
    let count = |key: &str| record["counts"][key].to_string();
    // Points of a curve have no objects inside.
    let ratio = |key: &str| record["ratios"].get(key).unwrap_or(&record[key]).as_f64();
    let percent = |key: &str| match ratio(key) {
        Some(ratio) => format!("{:.2}", 100.0 * ratio),
        None => "-".to_owned(),
    };
    let mean = |of: &str| match record["latency_ns"][of]["mean"].as_f64() {
        Some(ns) => format!("{:.1}", ns / 1e3),
        None => "-".to_owned(),
    };
    match name {
        "trace" => record["trace"]["name"].as_str().unwrap().to_owned(),
        "scheme" => format!("`{}`", record["scheme"].as_str().unwrap()),
        "cache" => match record["cache_bytes"].as_u64().unwrap() {
            0 => "-".to_owned(),
            bytes if bytes.is_multiple_of(1 << 20) => format!("{} MiB", bytes >> 20),
            bytes => format!("{} KiB", bytes >> 10),
        },
        "write hit %" => percent("write_page_hit_ratio"),
        "read hit %" => percent("read_page_hit_ratio"),
        "flash writes" => count("flash_writes_host"),
        "GC copies" => count("flash_writes_gc"),
        "erases" => count("erases"),
        "remaps" => count("remaps"),
        "TRIM requests" => count("trim_requests"),
        "dropped" => count("discarded_pages"),
        "mean write us" => mean("write"),
        "mean read us" => mean("read"),
        "metadata B" => format!("{:.0}", record["meta_bytes_mean"].as_f64().unwrap()),
        _ => panic!("no column `{name}`"),
    }
}

fn table(header: &[String], rows: &[Vec<String>]) -> Vec<String> {
    let line = |cells: &[String]| format!("| {} |", cells.join(" | "));
    let mut lines = vec![line(header), format!("|{}", "--|".repeat(header.len()))];
    lines.extend(rows.iter().map(|row| line(row)));
    lines
}

fn columns(records: &[Value], names: &str) -> Vec<String> {
    let names: Vec<String> = names.split(',').map(|n| n.trim().to_owned()).collect();
    let row = |r| names.iter().map(|name| cell(r, name)).collect();
    let rows: Vec<Vec<String>> = records.iter().map(row).collect();
    table(&names, &rows)
}

fn pivot(records: &[Value], spec: &str) -> Vec<String> {
    let part = |key: &str| {
        let found = spec.split(';').find_map(|p| p.trim().strip_prefix(key));
        found
            .unwrap_or_else(|| panic!("no {key} in {spec}"))
            .to_owned()
    };
    let (keys, across, what) = (part("rows="), part("columns="), part("cell="));
    let keys: Vec<&str> = keys.split('+').collect();
    let mut header: Vec<String> = keys.iter().map(|k| (*k).to_owned()).collect();
    let mut rows: Vec<Vec<String>> = Vec::new();
    for record in records {
        let row: Vec<String> = keys.iter().map(|key| cell(record, key)).collect();
        let title = cell(record, &across);
        let at = header.iter().position(|h| *h == title).unwrap_or_else(|| {
            header.push(title);
            header.len() - 1
        });
        let found = rows.iter().position(|r| r[..keys.len()] == row[..]);
        let found = found.unwrap_or_else(|| {
            rows.push(row);
            rows.len() - 1
        });
        let row = &mut rows[found];
        row.resize(row.len().max(at + 1), "-".to_owned());
        row[at] = cell(record, &what);
    }
    let width = header.len();
    rows.iter_mut()
        .for_each(|row| row.resize(width, "-".to_owned()));
    table(&header, &rows)
}

struct Page {
    bench: Bench,
}

impl Page {
    fn new(traces: &Path) -> Page {
        let bench = Bench::new();
        let link = |to: &Path, name: &str| {
            std::os::unix::fs::symlink(to, bench.dir.path().join(name)).unwrap();
        };
        link(traces, "traces");
        link(&root().join("papers"), "papers");
        std::fs::create_dir(bench.dir.path().join("docs")).unwrap();
        Page { bench }
    }

    /// The output of a command of the page.
    fn run(&self, command: &str) -> String {
        let line = command.strip_prefix("destage ").expect(command);
        self.bench.shown(line)
    }

    fn records(&self, command: &str) -> Vec<Value> {
        objects(&self.run(&format!("{command} --format-out jsonl")))
    }

    fn made(&self, comment: &str, command: Option<&str>) -> Vec<String> {
        if comment == "models" {
            return models(self);
        }
        let command = command.unwrap_or_else(|| panic!("no command before {comment}"));
        match comment.split_once(": ") {
            Some(("columns", names)) => columns(&self.records(command), names),
            Some(("pivot", spec)) => pivot(&self.records(command), spec),
            _ => panic!("what is `{comment}`?"),
        }
    }

    /// A page with all its tables made again.
    fn again(&self, text: &str) -> String {
        let mut out: Vec<String> = Vec::new();
        let mut lines = text.lines().peekable();
        let mut command: Option<String> = None;
        while let Some(line) = lines.next() {
            out.push(line.to_owned());
            if line == "```sh" {
                let block: Vec<&str> = lines.by_ref().take_while(|l| *l != "```").collect();
                out.extend(block.iter().map(|l| (*l).to_owned()));
                out.push("```".to_owned());
                let block = block.join("\n").replace("\\\n", " ");
                let mut commands: Vec<&str> = block.lines().collect();
                // The results of the last one are a table, if a comment follows that says so.
                let wanted = lines.clone().find(|l| !l.is_empty());
                if wanted.is_some_and(|l| l.starts_with("<!-- ")) {
                    command = commands.pop().map(str::to_owned);
                }
                for command in commands {
                    self.run(command);
                }
            } else if let Some(comment) = line.strip_prefix("<!-- ") {
                let comment = comment
                    .strip_suffix(" -->")
                    .expect("comments are of one line");
                out.push(String::new());
                out.extend(self.made(comment, command.as_deref()));
                while lines
                    .peek()
                    .is_some_and(|l| l.is_empty() || l.starts_with('|'))
                {
                    lines.next();
                }
                out.push(String::new());
            }
        }
        out.join("\n") + "\n"
    }
}

/// Blocks of a stream by what is known of their old copy.
#[derive(Default)]
struct Blocks {
    moved: u64,
    in_place: u64,
    first: u64,
}

fn blocks(batch: &RequestBatch, tag: Tag) -> Blocks {
    let mut all = Blocks::default();
    // A file system that writes in place does not tag its requests: what it is given is data.
    let is = |own: Tag| own == tag || own == Tag::None && tag == Tag::Data;
    let writes = |r: &destage_types::RequestRef<'_>| r.head.op == Op::Write && is(r.head.tag);
    for request in batch.iter().filter(writes) {
        let mut prev = request.prev.iter();
        for e in request.extents() {
            for block in e.start_sector / 8..e.end().div_ceil(8) {
                match prev.next().copied().unwrap_or(NO_PREV) {
                    NO_PREV => all.first += 1,
                    old if old / 8 == block => all.in_place += 1,
                    _ => all.moved += 1,
                }
            }
        }
    }
    all
}

fn read(path: &Path) -> destage_trace::Trace {
    load(Source::Path(path.to_owned()), &LoadOptions::default()).unwrap()
}

/// Write hits of `lru` and `cac(lru)` over the data blocks, at each cache size.
fn curve(page: &Page, stream: &str) -> Vec<f64> {
    let caches = CACHES.map(|mib| format!("--cache {mib}MiB")).join(" ");
    let command =
        format!("destage run {stream} --tags data --scheme lru --scheme cac(lru) {caches}");
    let hits = |r: &Value| 100.0 * r["ratios"]["write_page_hit_ratio"].as_f64().unwrap();
    page.records(&command).iter().map(hits).collect()
}

/// The same operations on a file through real file systems and through their models.
fn models(page: &Page) -> Vec<String> {
    let pairs = [
        ("ext4-prxy-fdatasync", "inplace"),
        ("f2fs-prxy-default-fdatasync", "f2fs(ipu-policy=force)"),
        ("f2fs-prxy-lfs-fdatasync", "f2fs"),
        ("f2fs-prxy-lfs-direct", "f2fs(nodes=checkpoint)"),
    ];
    let fs = page.bench.dir.path().join("traces/fs");
    let operations = read(&fs.join("prxy-20k.ops.csv"));
    let header = ["capture", "model", "what", "captured", "modelled", "error"];
    let mut rows = Vec::new();
    for (capture, model_name) in pairs {
        let name = format!("{capture}.csv.zst");
        let captured = read(&fs.join(&name)).requests;
        let config: HostFs = model_name.parse().unwrap();
        let modelled = host_fs::apply((&operations).into(), &config)
            .unwrap()
            .requests;
        let mut row = |what: &str, captured: f64, modelled: f64, digits: usize| {
            let error = modelled - captured;
            let mut cells = vec![
                capture.to_owned(),
                format!("`{model_name}`"),
                what.to_owned(),
            ];
            cells.extend([captured, modelled].map(|x| format!("{x:.digits$}")));
            cells.push(format!("{error:+.digits$}"));
            rows.push(cells);
        };
        let of = |tag| (blocks(&captured, tag), blocks(&modelled, tag));
        let ((data, ours), (node, our_node)) = (of(Tag::Data), of(Tag::Node));
        let (meta, our_meta) = of(Tag::Meta);
        let all = |b: &Blocks| (b.moved + b.in_place + b.first) as f64;
        row("data blocks", all(&data), all(&ours), 0);
        row(
            "of them moved, with pair",
            data.moved as f64,
            ours.moved as f64,
            0,
        );
        // The journal and the tables of ext4 are not modelled, and it has no pairs.
        let placed = |b: &Blocks| (b.in_place + b.first) as f64;
        row("of them in place", placed(&data), placed(&ours), 0);
        row("node blocks", all(&node), all(&our_node), 0);
        row("meta blocks", all(&meta), all(&our_meta), 0);
        let share = |n: &Blocks, d: &Blocks, m: &Blocks| {
            100.0 * (all(n) + all(m)) / (all(n) + all(d) + all(m))
        };
        row(
            "share of node and meta blocks, %",
            share(&node, &data, &meta),
            share(&our_node, &ours, &our_meta),
            2,
        );
        let theirs = curve(page, &format!("traces/fs/{name}"));
        let model = curve(
            page,
            &format!("traces/fs/prxy-20k.ops.csv --host-fs {model_name}"),
        );
        for (i, scheme) in ["lru", "cac(lru)"].iter().enumerate() {
            let part = i * CACHES.len()..(i + 1) * CACHES.len();
            let (theirs, model) = (&theirs[part.clone()], &model[part]);
            let list = |all: &[f64]| {
                let all: Vec<String> = all.iter().map(|x| format!("{x:.2}")).collect();
                all.join(", ")
            };
            let errors = theirs.iter().zip(model).map(|(t, m)| m - t);
            let largest = errors.max_by(|a, b| a.abs().total_cmp(&b.abs())).unwrap();
            let mut cells = vec![capture.to_owned(), format!("`{model_name}`")];
            cells.push(format!("write hits %, `{scheme}`"));
            cells.extend([list(theirs), list(model), format!("{largest:+.2}")]);
            rows.push(cells);
        }
    }
    table(&header.map(str::to_owned), &rows)
}

/// The pages with tables.
fn pages() -> Vec<PathBuf> {
    let folder = std::fs::read_dir(root().join("docs/cac")).unwrap();
    let mut pages: Vec<PathBuf> = folder.map(|entry| entry.unwrap().path()).collect();
    pages.retain(|page| page.extension().is_some_and(|e| e == "md"));
    pages.sort();
    pages
}

#[test]
fn the_pages_say_what_the_program_says() {
    let Some(traces) = traces() else { return };
    let page = Page::new(&traces);
    let bless = std::env::var_os("DESTAGE_BLESS").is_some();
    let mut tables = 0;
    for path in pages() {
        let text = std::fs::read_to_string(&path).unwrap();
        let again = page.again(&text);
        tables += again.matches("\n<!-- ").count();
        if bless {
            std::fs::write(&path, &again).unwrap();
            continue;
        }
        for (made, there) in again.lines().zip(text.lines()) {
            let name = path.display();
            assert_eq!(there, made, "{name} (DESTAGE_BLESS=1 writes it anew)");
        }
        assert_eq!(again.lines().count(), text.lines().count());
    }
    assert!(tables > 10, "{tables}");
    for figure in std::fs::read_dir(page.bench.dir.path().join("docs")).unwrap() {
        let figure = figure.unwrap();
        let kept = root().join("docs").join(figure.file_name());
        if bless {
            std::fs::copy(figure.path(), &kept).unwrap();
        }
        assert!(kept.exists(), "{:?} is not there", figure.file_name());
    }
}

#[test]
fn the_page_has_every_option_of_the_models() {
    let wrong = "lfs(no=1)".parse::<HostFs>().unwrap_err();
    let (_, keys) = wrong.split_once("options: ").expect("the error lists them");
    let page = std::fs::read_to_string(root().join("docs/cac/models.md")).unwrap();
    let (_, table) = page.split_once("## Options of the models").unwrap();
    let first = |line: &str| line.split('|').nth(1).map(str::to_owned);
    let cells: Vec<String> = table.lines().filter_map(first).collect();
    for key in keys.split(", ") {
        let named = format!("`{key}`");
        assert!(
            cells.iter().any(|c| c.contains(&named)),
            "{named} is not on the page"
        );
    }
}
