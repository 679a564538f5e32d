//! Miss counts on public traces that several independent simulators agree on.

use destage_scheme::Expr;
use destage_scheme::registry::SCHEMES;
use std::path::PathBuf;

/// A line of the table of agreed counts: one policy with one cache on one trace.
#[derive(Clone, Debug)]
pub struct Golden {
    /// Name of the trace, without its ending.
    pub trace: String,
    /// The policy as the table calls it.
    pub policy: String,
    /// Pages of the cache.
    pub pages: u64,
    /// Requests of the trace; each reads one page.
    pub requests: u64,
    /// Reads that miss.
    pub misses: u64,
}

impl Golden {
    /// The folder that `DESTAGE_GOLDEN` names, if it is set.
    pub fn folder() -> Option<PathBuf> {
        let folder = std::env::var_os("DESTAGE_GOLDEN").map(PathBuf::from);
        if folder.is_none() {
            println!("SKIPPED: DESTAGE_GOLDEN does not name the folder of agreed miss counts");
        }
        folder
    }

    /// All lines; `None`, with a note, without the folder.
    ///
    /// # Panics
    /// The folder holds no such table.
    pub fn load() -> Option<Vec<Golden>> {
        let file = Golden::folder()?.join("golden.csv");
        let table = std::fs::read_to_string(file).expect("a readable table");
        let mut lines = table.lines();
        let header = lines.next().expect("a header");
        assert_eq!(header, "trace,policy,cache_size,unit,requests,misses");
        Some(lines.map(Golden::parse).collect())
    }

    fn parse(line: &str) -> Golden {
        let cells: Vec<&str> = line.split(',').collect();
        let [trace, policy, pages, unit, requests, misses] = cells[..] else {
            panic!("{line}: not six cells");
        };
        assert_eq!(unit, "object", "{line}");
        let number = |text: &str| text.parse::<u64>().expect("a number");
        Golden {
            trace: trace.to_owned(),
            policy: policy.to_owned(),
            pages: number(pages),
            requests: number(requests),
            misses: number(misses),
        }
    }

    /// The expression whose rules are those of the tools behind the figures: the scheme of the same
    /// name, where the tools follow its defaults; `None` if the catalogue has no such scheme.
    ///
    /// # Panics
    /// Never: the expressions are legal.
    pub fn expr(&self) -> Option<Expr> {
        let text = match self.policy.as_str() {
            "TWOQ" => "2q",
            "LIRS" => "lirs(max-nonres=inf,skip-repeat=true)",
            "OPT" => "belady(bypass=false)",
            name => {
                let plain = name.to_lowercase();
                let same = |known: &str| known.replace('-', "") == plain;
                SCHEMES.iter().find(|info| same(info.name))?.name
            }
        };
        Some(Expr::parse(text).expect("a legal expression"))
    }
}
