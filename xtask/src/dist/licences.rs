//! The licences of what is linked into the program: checked against those that may be, and collected.

use crate::bench::output;
use crate::programs::cargo_by_hand;
use anyhow::{Context, Result, anyhow, bail, ensure};
use serde_json::Value;
use spdx::{Expression, ParseMode};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

/// The rules of `cargo xtask deny`, with the licences under which the program may be given away.
const RULES: &str = include_str!("../../../deny.toml");

/// Packages that link something of their own: the library, and where its licence stands. zstd and xz
/// come with files under the GPL that are not compiled; the texts of ring are beside its own. pyo3 means
/// Python, which loads the extension. rayon-core links nothing: it says so that it is there only once.
const LINKED: [(&str, &[&str]); 6] = [
    ("pyo3", &[]),
    ("pyo3-ffi", &[]),
    ("rayon-core", &[]),
    ("ring", &["third_party/fiat/LICENSE"]),
    ("zstd-sys", &["zstd/LICENSE"]),
    ("liblzma-sys", &["xz/COPYING", "xz/COPYING.0BSD"]),
];

/// How files with licences begin.
const NAMES: [&str; 4] = ["LICEN", "COPYING", "NOTICE", "UNLICENSE"];

/// Writes into `folder` the licences of what `package` of the workspace `source` has inside when it is
/// built for `target` with the compiler of C of `python`'s ziglang: packages, the standard library of Rust, the
/// C library, what the compiler adds, and scripts of pages.
///
/// # Errors
/// Those of [`collect`], or a licence is not where it should be.
pub fn write(
    source: &Path,
    package: &str,
    target: &str,
    python: &Path,
    folder: &Path,
) -> Result<()> {
    std::fs::create_dir_all(folder)?;
    let packages = collect(source, package, target)?;
    std::fs::write(folder.join("packages.txt"), packages)?;
    let print = ["--print", "sysroot"];
    let rust = output(Command::new("rustc").current_dir(source).args(print))?;
    let rust = Path::new(rust.trim()).join("share/doc/rust/COPYRIGHT-library.html");
    let zig = "import ziglang, os; print(os.path.dirname(ziglang.__file__))";
    let zig = output(Command::new(python).args(["-c", zig]))?;
    let zig = Path::new(zig.trim());
    let c_library = if target.ends_with("musl") {
        (zig.join("lib/libc/musl/COPYRIGHT"), "musl.txt")
    } else {
        // The library itself is that of the machine; a few functions of it are linked.
        (zig.join("lib/libc/glibc/LICENSES"), "glibc.txt")
    };
    let (echarts, uplot) = ("crates/report/vendor/echarts", "crates/live/vendor/uplot");
    for (from, to) in [
        c_library,
        (rust, "rust-standard-library.html"),
        (zig.join("LICENSE"), "zig-compiler-rt.txt"),
        (source.join(uplot).join("LICENSE"), "uplot.txt"),
        (source.join(echarts).join("NOTICE"), "echarts-notice.txt"),
        (source.join(echarts).join("LICENSE-d3"), "echarts-d3.txt"),
    ] {
        std::fs::copy(&from, folder.join(to)).with_context(|| format!("{}", from.display()))?;
    }
    Ok(())
}

/// The licences of everything from elsewhere that `package` of the workspace `source` links for
/// `target`, each text once.
///
/// # Errors
/// A package has a licence that is not allowed, or no text of it, or links a library that is not known.
fn collect(source: &Path, package: &str, target: &str) -> Result<String> {
    let metadata = metadata(source, target)?;
    let packages = linked(&metadata, package)?;
    let mut texts: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut text = String::from("destage links these packages of crates.io:\n\n");
    for package in &packages {
        let name = format!("{} {}", word(package, "name")?, word(package, "version")?);
        let licence = word(package, "license").with_context(|| format!("{name} has no licence"))?;
        ensure!(
            allowed(licence)?,
            "{name} is under {licence}, which is not allowed"
        );
        text += &format!("{name}: {licence}\n");
        for licence in files(package).with_context(|| name.clone())? {
            texts.entry(licence).or_default().insert(name.clone());
        }
    }
    for (licence, names) in texts {
        let names: Vec<String> = names.into_iter().collect();
        text += &format!(
            "\n{}\n{}\n\n{}\n",
            "=".repeat(80),
            names.join(", "),
            licence.trim_end()
        );
    }
    Ok(text)
}

fn metadata(source: &Path, target: &str) -> Result<Value> {
    let mut command = cargo_by_hand();
    command
        .current_dir(source)
        .args(["metadata", "--format-version", "1", "--locked"])
        .args(["--features", "destage-cli/full"]);
    let text = output(command.args(["--filter-platform", target]))?;
    Ok(serde_json::from_str(&text)?)
}

/// The packages that `package` needs when it runs, without procedural macros and members of the
/// workspace, by name.
fn linked<'a>(metadata: &'a Value, package: &str) -> Result<Vec<&'a Value>> {
    let list = |value: &'_ Value| value.as_array().cloned().unwrap_or_default();
    let packages = metadata["packages"].as_array().context("no packages")?;
    let by_id: BTreeMap<&str, &Value> = packages
        .iter()
        .map(|p| Ok((word(p, "id")?, p)))
        .collect::<Result<_>>()?;
    let mut needs: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for node in list(&metadata["resolve"]["nodes"]) {
        let normal = |dep: &&Value| list(&dep["dep_kinds"]).iter().any(|k| k["kind"].is_null());
        let deps = node["deps"].as_array().context("no dependencies")?;
        let deps = deps
            .iter()
            .filter(normal)
            .map(|dep| Ok(word(dep, "pkg")?.to_owned()));
        needs.insert(word(&node, "id")?.to_owned(), deps.collect::<Result<_>>()?);
    }
    let root = packages
        .iter()
        .find(|p| p["name"] == package)
        .with_context(|| format!("no package {package}"))?;
    let (mut seen, mut next) = (BTreeSet::new(), vec![word(root, "id")?.to_owned()]);
    while let Some(id) = next.pop() {
        let is_macro = list(&by_id[&*id]["targets"])
            .iter()
            .any(|t| list(&t["kind"]).contains(&"proc-macro".into()));
        if !is_macro && seen.insert(id.clone()) {
            next.extend(needs.remove(&id).unwrap_or_default());
        }
    }
    let mut all: Vec<&Value> = seen
        .iter()
        .map(|id| by_id[&**id])
        .filter(|p| !p["source"].is_null())
        .collect();
    all.sort_by_key(|p| (p["name"].to_string(), p["version"].to_string()));
    Ok(all)
}

fn word<'a>(value: &'a Value, key: &str) -> Result<&'a str> {
    value[key]
        .as_str()
        .with_context(|| format!("no {key} in the metadata of cargo"))
}

/// The texts in the folder of a package, and those of the library that it links.
fn files(package: &Value) -> Result<Vec<String>> {
    let manifest = Path::new(word(package, "manifest_path")?);
    let folder = manifest.parent().context("a manifest without a folder")?;
    let name = word(package, "name")?;
    let mut paths: Vec<_> = folder
        .read_dir()?
        .map(|entry| Ok(entry?.path()))
        .collect::<Result<_>>()?;
    paths.retain(|path| {
        let file = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .to_uppercase();
        path.is_file() && NAMES.iter().any(|name| file.starts_with(name))
    });
    ensure!(!paths.is_empty(), "no file says the licence");
    paths.sort();
    match LINKED.iter().find(|(known, _)| *known == name) {
        Some((_, more)) => paths.extend(more.iter().map(|file| folder.join(file))),
        None if package["links"].is_null() => {}
        None => bail!(
            "it links {}, whose licence is not known here",
            package["links"]
        ),
    }
    let read = |path| std::fs::read_to_string(&path).with_context(|| format!("{path:?}"));
    paths.into_iter().map(read).collect()
}

/// May what is under this SPDX expression be linked? `/` is an old way to say OR.
fn allowed(expression: &str) -> Result<bool> {
    let parsed = Expression::parse_mode(expression, ParseMode::LAX)
        .map_err(|error| anyhow!("`{expression}` is no licence expression: {}", error.reason))?;
    let rules: toml::Table = RULES.parse()?;
    let allowed = rules
        .get("licenses")
        .and_then(|l| l.get("allow")?.as_array());
    let allowed = allowed.context("deny.toml allows no licence")?;
    let is_allowed = |name: &str| allowed.iter().any(|one| one.as_str() == Some(name));
    Ok(parsed.evaluate(|licence| is_allowed(&licence.to_string())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_are_read_as_spdx_has_them() {
        for (text, wanted) in [
            ("MIT", true),
            ("AGPL-3.0-only", false),
            ("MIT/Apache-2.0", true),
            ("MIT AND AGPL-3.0-only", false),
            ("(MIT OR AGPL-3.0-only) AND Unicode-3.0", true),
            ("Apache-2.0 WITH LLVM-exception", true),
            ("MIT WITH LLVM-exception", false),
        ] {
            assert_eq!(allowed(text).unwrap(), wanted, "{text}");
        }
        for text in ["", "MIT OR", "(MIT", "of my own"] {
            assert!(allowed(text).is_err(), "{text}");
        }
    }

    /// Of this checkout: a new dependency under another licence is noticed here.
    #[test]
    fn what_is_linked_may_be_given_away() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let text = collect(&root, "destage-cli", "x86_64-unknown-linux-gnu").unwrap();
        assert!(!text.contains("\npyo3 "), "it is for Python only");
        let text = collect(&root, "destage-python", "x86_64-unknown-linux-gnu").unwrap();
        for part in [
            "\npyo3 ",
            "\nzstd-sys ",
            "Meta Platforms",
            "XZ Utils Licensing",
            "Apache License",
        ] {
            assert!(text.contains(part), "{part}");
        }
        assert!(!text.contains("\nproptest "), "it is for tests only");
        assert!(!text.contains("GNU GENERAL PUBLIC LICENSE"));
    }
}
