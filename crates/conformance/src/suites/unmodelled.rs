//! Laws that hold for every scheme and need no slow model of it: two runs that must do the same, side by side.

use super::Case;
use super::contract::Shape;
use crate::drive::Choice;
use crate::reference::{Profile, Row, SlowRequest, swarm};
use destage_scheme::info::Role;
use destage_scheme::{Expr, SchemeInfo};
use destage_types::Op;

/// Pages between an address and the one that takes its place: a multiple of all units in which schemes and
/// chips count, blocks of 3 and 7 pages among them.
const FAR: u64 = (3 * 7) << 16;

/// Runs two cases of the same requests side by side, which must do the same for each and be in the same state
/// after it.
fn in_step(one: &Case, two: &Case) -> Result<(), String> {
    let requests = one.prepared();
    let start = |case: &Case| (case.config.drive(&case.expr, &requests), case.script());
    let mut runs = [start(one), start(two)];
    for (i, request) in requests.iter().enumerate() {
        let [a, b] = runs.each_mut().map(|(drive, script)| {
            script.step();
            script.apply(drive.chips());
            let row = drive.step(request);
            (row, drive.state(), drive.measures().metadata_bytes)
        });
        if a != b {
            return Err(format!("request {i} {request:?}:\n  {a:?}\n  {b:?}"));
        }
    }
    Ok(())
}

/// A layer outside may evict the first of the next victims without asking for the victim; nothing that the
/// scheme does later may differ by that.
pub(super) fn the_next_victim_may_leave_unasked(shape: &Shape) {
    for (i, expr) in shape.variants(8).iter().enumerate() {
        let case = Case::random(expr, 3300 + i as u64, 300);
        case.must(|case| {
            let mut unasked = case.clone();
            unasked.config.choice = Choice::Unasked;
            in_step(case, &unasked)
        });
    }
}

/// A slot is a name: what the scheme kept of the page that was there before must not concern the next one. So
/// a run in which no slot is used twice does the same.
pub(super) fn slots_used_before_are_as_new(shape: &Shape) {
    for (i, expr) in shape.variants(8).iter().enumerate() {
        let case = Case::random(expr, 4700 + i as u64, 300);
        case.must(|case| {
            let mut fresh = case.clone();
            let spp = case.config.page.sectors();
            let accesses = case.requests.iter().map(|r| r.accesses(spp).len());
            fresh.config.fresh_slots = accesses.sum::<usize>() as u32 + 1;
            in_step(case, &fresh)
        });
    }
}

/// The row with each page `x` as `page(x)`. Pages that leave or are written together are put in order, which
/// may be another one under other addresses.
fn renumbered(row: Row, page: impl Fn(u64) -> u64) -> Row {
    let pages = |list: Vec<u64>| {
        let mut list: Vec<u64> = list.into_iter().map(&page).collect();
        list.sort_unstable();
        list
    };
    let evictions = row.evictions.into_iter().map(|mut unit| {
        unit.flush = pages(unit.flush);
        unit.drop = pages(unit.drop);
        unit
    });
    Row {
        result: String::new(),
        evicted: String::new(),
        hits: row.hits,
        evictions: evictions.collect(),
        discards: pages(row.discards),
        remaps: Vec::new(),
        programs: pages(row.programs),
        reads: pages(row.reads),
    }
}

/// The row of each request, with the pages renumbered by `page`.
fn outcomes(rows: Vec<Row>, page: impl Fn(u64) -> u64) -> Vec<Row> {
    let rows = rows.into_iter();
    rows.map(|row| renumbered(row, &page)).collect()
}

fn equal(one: &[Row], two: &[Row]) -> Result<(), String> {
    match one.iter().zip(two).position(|(a, b)| a != b) {
        Some(i) => Err(format!("request {i}:\n  {:?}\n  {:?}", one[i], two[i])),
        None => Ok(()),
    }
}

/// Is it a page policy that asks to which logical block a page belongs?
fn chooses_by_block(info: &SchemeInfo) -> bool {
    info.role == Role::PagePolicy && info.param("block-pages").is_some()
}

/// After a TRIM of everything nothing is remembered of any page: they may as well be other pages from then on.
/// That does not hold of an admission layer, which counts the accesses to an address, whatever becomes of its
/// data, nor of a page policy that remembers blocks.
pub(super) fn trimmed_pages_are_new(shape: &Shape) {
    let mut infos = shape.expr.chain().map(Expr::scheme);
    if infos.any(|info| info.hashes || info.role == Role::Admission || chooses_by_block(info)) {
        return;
    }
    for (i, expr) in shape.variants(8).iter().enumerate() {
        let mut case = Case::random(expr, 6100 + i as u64, 360);
        let spp = case.config.page.sectors();
        let ends = case.requests.iter().flat_map(|r| &r.extents);
        let sectors = ends.map(|e| e.0 + u64::from(e.1)).max().unwrap_or(0);
        let all = SlowRequest::pages(Op::Trim, spp, 0, sectors.div_ceil(spp.into()).max(1) - 1);
        for at in [240, 120] {
            let arrival = case.requests[at].arrival;
            case.requests.insert(at, all.clone().at(arrival));
        }
        case.must(|case| {
            let moved = after_each(&case.requests, &all, FAR * u64::from(spp));
            let same = outcomes(case.run().1, |page| page % FAR);
            equal(
                &same,
                &outcomes(case.with(&moved).run().1, |page| page % FAR),
            )
        });
    }
}

/// The requests, with the addresses behind each that is like `all` moved by so many sectors more.
fn after_each(requests: &[SlowRequest], all: &SlowRequest, sectors: u64) -> Vec<SlowRequest> {
    let mut shift = 0;
    let moved = requests.iter().map(|request| {
        let mut moved = request.clone();
        moved.extents.iter_mut().for_each(|e| e.0 += shift);
        moved.prev.iter_mut().flatten().for_each(|p| *p += shift);
        if (request.op, &request.extents) == (all.op, &all.extents) {
            shift += sectors;
        }
        moved
    });
    moved.collect()
}

/// A page that is renamed stays the page that it was: a run in which it had one name all the time does the same.
/// That holds where a scheme looks at no address: page policies, alone or below a victim filter.
pub(super) fn renamed_pages_are_the_same(shape: &Shape) {
    let looks_at_addresses = shape.expr.chain().any(|layer| {
        let info = layer.scheme();
        let orders_pages = matches!(info.role, Role::PagePolicy | Role::VictimFilter);
        let by_address = chooses_by_block(info) || info.param("group").is_some();
        info.hashes || by_address || !orders_pages
    });
    let Ok(_) = Expr::parse(&format!("cac({})", shape.expr)) else {
        return;
    };
    if looks_at_addresses {
        return;
    }
    for (i, expr) in shape.variants(8).iter().enumerate() {
        let mapped = Expr::parse(&format!("cac({expr})")).expect("as without parameters");
        let mut case = Case::random(&mapped, 7900 + i as u64, 0);
        let spp = case.config.page.sectors();
        let profile = Profile::new(400, spp).pages(40).whole_pages().with_forced();
        let requests = swarm(7900 + i as u64, profile).into_iter();
        case.requests = requests.map(|r| first_page(r, spp)).collect();
        case.must(|case| {
            let renamed = outcomes(case.with(&renaming(&case.requests, spp)).run().1, |x| {
                x % FAR
            });
            let mut plain = case.clone();
            plain.expr = expr.clone();
            equal(&renamed, &outcomes(plain.run().1, |x| x % FAR))
        });
    }
}

/// The request with the first of its pages alone.
fn first_page(mut request: SlowRequest, spp: u32) -> SlowRequest {
    request.extents.truncate(1);
    request.extents.iter_mut().for_each(|e| e.1 = spp);
    request
}

/// The requests of single pages, where now and then a write gives its page a name that was never used.
fn renaming(requests: &[SlowRequest], spp: u32) -> Vec<SlowRequest> {
    let spp = u64::from(spp);
    let mut names = std::collections::BTreeMap::new();
    let renamed = requests.iter().enumerate().map(|(i, request)| {
        let mut request = request.clone();
        if let Some(extent) = request.extents.first_mut() {
            let (old, page) = (extent.0, extent.0 / spp);
            let name = names.entry(page).or_insert(page);
            extent.0 = *name * spp + old % spp;
            if request.op == Op::Write && (i as u64 + page).is_multiple_of(3) {
                request.prev = vec![Some(*name * spp)];
                *name += FAR;
                extent.0 = *name * spp;
            }
        }
        request
    });
    renamed.collect()
}
