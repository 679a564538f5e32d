//! The state of each scheme after the same requests, for the figures of the site.

use crate::drive::Config;
use crate::reference::{SlowRequest, look_ahead};
use destage_scheme::Expr;
use destage_scheme::describe::record;
use destage_scheme::info::{Role, SchemeInfo};
use destage_scheme::registry::SCHEMES;
use destage_types::{Op, StaticLayout};
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// Page frames of the cache.
const PAGES: u32 = 8;
/// Sectors of a page.
const SECTORS: u32 = 8;
/// Small writes and reads in three blocks of 64 pages, some of them twice, and more pages than fit.
const REQUESTS: &str = "W0-2 W64-65 R0 W128 W1 R300 R64 W200 W65 W3 R0 W400 W128";

/// Their tables have counters and hashes in place of pages.
const WITHOUT_PAGES: [&str; 2] = ["mbf", "multihash"];

/// The rows of `states.txt`: scheme, state, and the pages in it that are not cached.
///
/// # Panics
/// A scheme cannot be built.
pub fn states() -> String {
    let mut text = format!(
        "# Each scheme after these requests to a cache of {PAGES} pages; `cargo xtask docs` writes it.\n# {REQUESTS}\n"
    );
    for info in SCHEMES.iter().filter(|info| is_drawn(info)) {
        let params = record(info).params;
        let inside = match params.iter().any(|param| param.key == "block-pages") {
            // Blocks that a small cache has several of.
            true => "(block-pages=4)",
            false if info.role.is_layer() => "(lru)",
            false => "",
        };
        let expr = Expr::parse(&format!("{}{inside}", info.name)).expect("a registered scheme");
        let state = after(&expr, None).0;
        // A scheme that knows the future would know of the request that asks.
        let asked = pages_in(&state)
            .into_iter()
            .filter(|_| info.role != Role::Offline);
        let absent = asked.filter(|&page| {
            let (_, hit) = after(&expr, Some(page));
            !hit
        });
        let absent: Vec<String> = absent.map(|page| page.to_string()).collect();
        let _ = writeln!(text, "{}|{state}|{}", info.name, absent.join(" "));
    }
    text
}

fn is_drawn(info: &SchemeInfo) -> bool {
    info.role != Role::None && !WITHOUT_PAGES.contains(&info.name)
}

/// The state after the requests, and whether `page` is cached then.
fn after(expr: &Expr, page: Option<u64>) -> (String, bool) {
    let mut requests: Vec<SlowRequest> = REQUESTS.split(' ').map(request).collect();
    requests.extend(page.map(|page| covering(Op::Read, page, page)));
    look_ahead(&mut requests, SECTORS, "any");
    let mut config = Config::new(PAGES, SECTORS);
    config.layout = StaticLayout::flat(1, 2);
    let mut drive = config.drive(expr, &requests);
    let (known, asked) = requests.split_at(requests.len() - usize::from(page.is_some()));
    for request in known {
        drive.step(request);
    }
    let state = drive.state();
    let hit = asked
        .iter()
        .any(|request| drive.step(request).hits == [true]);
    (state, hit)
}

/// `W0-2`, or `R5`.
fn request(word: &str) -> SlowRequest {
    let (op, pages) = word.split_at(1);
    let (first, last) = pages.split_once('-').unwrap_or((pages, pages));
    let number = |text: &str| text.parse().expect("a page");
    let op = if op == "W" { Op::Write } else { Op::Read };
    covering(op, number(first), number(last))
}

fn covering(op: Op, first: u64, last: u64) -> SlowRequest {
    let sectors = (last - first + 1) as u32 * SECTORS;
    SlowRequest::new(op, first * u64::from(SECTORS), sectors)
}

/// The pages of the requests that a state names.
fn pages_in(state: &str) -> BTreeSet<u64> {
    let requests = REQUESTS.split(' ').map(request);
    let spans = requests.flat_map(|request| request.extents);
    let spp = u64::from(SECTORS);
    let asked = spans.flat_map(|(start, sectors)| start / spp..(start + u64::from(sectors)) / spp);
    let words = state.split(|c: char| !c.is_ascii_digit());
    let named: BTreeSet<u64> = words.filter_map(|word| word.parse().ok()).collect();
    asked.filter(|page| named.contains(page)).collect()
}
