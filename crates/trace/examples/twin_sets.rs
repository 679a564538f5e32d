//! Generates twins of aggregates with a million requests each, and prints what came of their shares
//! of updates and of large writes: at most 0.13 and 0.15 off.
//!
//! `twin_sets papers/twins/*.toml`

use destage_trace::twin::{LikenessCount, Twin, TwinFile};
use std::convert::Infallible;
use std::path::Path;

const REQUESTS: u64 = 1_000_000;

/// What the file asks for, if it does.
fn wanted(text: &str, key: &str) -> Option<f64> {
    let file: toml::Table = text.parse().ok()?;
    file.get(key)?.as_float()
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut off = 0;
    println!(
        "| set | updates: file, twin | LWdata: file, twin | Frequent R: paper, twin | write hits at 16, 32, 64 MiB |"
    );
    println!("|--|--|--|--|--|");
    for path in std::env::args().skip(1) {
        let text = std::fs::read_to_string(&path)?;
        let parameters = TwinFile::parse(&text)?.parameters(Some(REQUESTS), None)?;
        let mut count = LikenessCount::new();
        let name = Path::new(&path).file_stem().unwrap_or_default();
        let name = name.to_string_lossy().into_owned();
        let twin = Twin { name, parameters };
        let counted = twin.each(|r| {
            count.add(r.arrival, r.op, r.start_sector, r.sectors);
            Ok::<(), Infallible>(())
        });
        counted.expect("counting cannot fail");
        let got = count.finish();
        let mut cell = |key: &str, got: Option<f64>, most: f64| {
            let (wanted, got) = (wanted(&text, key), got.unwrap_or(f64::NAN));
            let far = wanted.is_some_and(|wanted| (wanted - got).abs() > most);
            off += u32::from(far);
            let wanted = wanted.map_or("-".to_owned(), |wanted| format!("{wanted:.3}"));
            format!("{wanted}, {got:.3}{}", if far { " (off)" } else { "" })
        };
        let updates = cell("update_share", got.update_share, 0.13);
        let large = cell("lw_share", got.large_share, 0.15);
        let frequent = cell("frequent_r", got.frequent_share, 1.0);
        let curve = got.write_curve.unwrap_or([f64::NAN; 7]);
        let hits = curve[4..].iter().map(|hit| format!("{hit:.1}"));
        let hits: Vec<String> = hits.collect();
        println!(
            "| `{}` | {updates} | {large} | {frequent} | {} |",
            twin.name,
            hits.join(", ")
        );
    }
    match off {
        0 => Ok(()),
        off => Err(format!("{off} shares are off").into()),
    }
}
