//! Suffixes of output files. A file whose suffix names a format is written in that format.

use crate::failure::Failure;
use std::path::Path;

/// Suffixes by which programs know a format. Others, such as `.txt` and `.log`, promise nothing.
const KNOWN: [&str; 48] = [
    "csv", "tsv", "json", "jsonl", "ndjson", "parquet", "arrow", "feather", "xlsx", "xls", "ods",
    "html", "htm", "xhtml", "pdf", "ps", "eps", "svg", "svgz", "png", "jpg", "jpeg", "gif", "webp",
    "tif", "tiff", "bmp", "md", "tex", "docx", "odt", "xml", "yaml", "yml", "toml", "pftrace",
    "bin", "npy", "npz", "h5", "sqlite", "db", "pkl", "gz", "zst", "xz", "bz2", "zip",
];

/// The content of an output file, and its suffixes.
#[derive(Clone, Copy)]
pub struct FileKind {
    /// Words for the content.
    pub what: &'static str,
    /// Suffixes, in lower case and without a point.
    pub suffixes: &'static [&'static str],
}

/// A page of charts and tables.
pub const REPORT: FileKind = FileKind {
    what: "an HTML page",
    suffixes: &["html", "htm"],
};
/// A picture.
pub const PLOT: FileKind = FileKind {
    what: "an SVG or PNG picture",
    suffixes: &["svg", "png"],
};
/// The served requests.
pub const RECORD: FileKind = FileKind {
    what: "a trace of the format destage-bin",
    suffixes: &["bin"],
};
/// The parameters of a twin.
pub const TWIN: FileKind = FileKind {
    what: "a parameter file in TOML",
    suffixes: &["toml"],
};

/// The file that an option of `run` names as a log.
pub fn of_log(option: &str) -> FileKind {
    let (what, suffixes): (_, &[&str]) = match option {
        "log-evictions" => ("JSON lines", &["jsonl", "ndjson"]),
        "series" => ("CSV or Parquet", &["csv", "parquet"]),
        "timeline" => ("a trace for Perfetto", &["pftrace"]),
        _ => ("CSV", &["csv"]),
    };
    FileKind { what, suffixes }
}

impl FileKind {
    /// The fault of `path`, which `option` names, if its suffix says another format.
    pub fn fault(self, option: &str, path: &Path) -> Option<String> {
        let suffix = path.extension()?.to_str()?.to_ascii_lowercase();
        let is_known = KNOWN.contains(&&*suffix);
        self.refuses(&suffix, is_known)
            .then(|| self.message(option, path))
    }

    /// The same as a failure.
    ///
    /// # Errors
    /// The fault.
    pub fn check(self, option: &str, path: &Path) -> Result<(), Failure> {
        self.fault(option, path)
            .map_or(Ok(()), |fault| Err(Failure::usage(fault)))
    }

    fn refuses(self, suffix: &str, is_known: bool) -> bool {
        is_known && !self.suffixes.contains(&suffix)
    }

    fn message(self, option: &str, path: &Path) -> String {
        let allowed = self.suffixes.iter().map(|suffix| format!(".{suffix}"));
        let allowed = allowed.collect::<Vec<_>>().join(", ");
        format!(
            "{option} {}: the file will hold {}, but its suffix names another format; allowed: {allowed}, or a \
             name without a suffix",
            path.display(),
            self.what
        )
    }

    /// Makes sure that the suffix of `path`, and the one before that of a compression, says no other format
    /// than this. `is_other`: does it name another format of traces?
    ///
    /// # Errors
    /// It does.
    pub fn check_trace(self, path: &Path, is_other: impl Fn(&str) -> bool) -> Result<(), Failure> {
        let is_compressed = |path: &&Path| {
            let suffix = path.extension().and_then(|suffix| suffix.to_str());
            suffix.is_some_and(|suffix| ["zst", "gz", "xz"].contains(&suffix))
        };
        let plain = Some(path).filter(is_compressed);
        let plain = plain.map_or(path.to_owned(), |path| path.with_extension(""));
        let Some(suffix) = plain.extension().and_then(|suffix| suffix.to_str()) else {
            return Ok(());
        };
        let suffix = suffix.to_ascii_lowercase();
        if !self.refuses(&suffix, is_other(&suffix) || KNOWN.contains(&&*suffix)) {
            return Ok(());
        }
        Err(Failure::usage(format!(
            "{}; --to chooses the format; add .zst, .gz, or .xz to compress",
            self.message("--output", path)
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_suffix_says_the_format_or_nothing() {
        let wrong = |kind: FileKind, path: &str| kind.fault("--x", Path::new(path)).is_some();
        for (kind, right, others) in [
            (
                REPORT,
                &["a.html", "a.HTM", "a"][..],
                &["a.pdf", "a.md", "a.html.gz"][..],
            ),
            (
                PLOT,
                &["a.svg", "a.png", "v1.2", "a.txt"],
                &["a.jpg", "a.PDF", "a.html"],
            ),
            (RECORD, &["a.bin"], &["a.csv"]),
            (TWIN, &["a.toml"], &["a.json"]),
            (
                of_log("series"),
                &["a.csv", "a.parquet"],
                &["a.json", "a.csv.zst"],
            ),
            (
                of_log("log-requests"),
                &["a.csv", "a.log"],
                &["a.parquet", "a.jsonl"],
            ),
            (
                of_log("log-evictions"),
                &["a.jsonl", "a.ndjson"],
                &["a.csv", "a.json"],
            ),
            (of_log("timeline"), &["a.pftrace"], &["a.json", "a.gz"]),
        ] {
            right
                .iter()
                .for_each(|path| assert!(!wrong(kind, path), "{path}"));
            others
                .iter()
                .for_each(|path| assert!(wrong(kind, path), "{path}"));
        }
    }
}
