//! Raw captures against the CSV captures made from them by another program; they are looked for
//! in the folder `fs` of `DESTAGE_TRACES`.

use std::path::PathBuf;

use destage_fsmodel::ftrace::{Import, ImportOptions, import};
use destage_trace::{LoadOptions, Source, TagSet, load};
use destage_types::request::NO_PREV;
use destage_types::{Op, RequestBatch};

fn file(name: &str) -> Option<Source> {
    let Some(dir) = std::env::var_os("DESTAGE_TRACES") else {
        eprintln!("SKIPPED: DESTAGE_TRACES is not set");
        return None;
    };
    let path = PathBuf::from(dir).join("fs").join(name);
    if !path.exists() {
        eprintln!("SKIPPED: {} is not there", path.display());
        return None;
    }
    Some(Source::Path(path))
}

fn raw(name: &str, seeds: Vec<(u64, Source)>) -> Option<Import> {
    let source = file(&format!("raw/{name}.ftrace.zst"))?;
    let options = ImportOptions {
        strict: true,
        seeds,
        ..ImportOptions::default()
    };
    Some(import(vec![source], options).unwrap())
}

fn csv(name: &str, tags: Option<TagSet>) -> RequestBatch {
    let source = file(&format!("{name}.csv.zst")).expect("beside the raw capture");
    let options = LoadOptions {
        tags,
        ..LoadOptions::default()
    };
    load(source, &options).unwrap().requests
}

/// Time, operation, block and old address of every block but flushes.
fn blocks(batch: &RequestBatch) -> Vec<(u64, Op, u64, u64)> {
    let mut rows = Vec::new();
    for request in batch.iter().filter(|r| r.head.op != Op::Flush) {
        let mut prev = request.prev.iter();
        for e in request.extents() {
            for block in e.start_sector / 8..e.end().div_ceil(8) {
                let old = prev.next().copied().unwrap_or(NO_PREV);
                rows.push((request.head.arrival.0, request.head.op, block, old));
            }
        }
    }
    rows
}

/// The two lists are equal; a message of all of them would help nobody.
#[track_caller]
fn agree(what: &str, ours: &[(u64, Op, u64, u64)], theirs: &[(u64, Op, u64, u64)]) {
    let differ = ours.iter().zip(theirs).position(|(a, b)| a != b);
    if let Some(i) = differ {
        panic!("{what}: block {i}: {:?} and {:?}", ours[i], theirs[i]);
    }
    assert_eq!(ours.len(), theirs.len(), "{what}");
}

#[track_caller]
fn same(name: &str, seeds: Vec<(u64, Source)>) -> Option<Import> {
    let imported = raw(name, seeds)?;
    let all = "data,node,meta,gc,none,discard".parse::<TagSet>().unwrap();
    agree(
        name,
        &blocks(&all.choose(&imported.requests)),
        &blocks(&csv(name, Some(all))),
    );
    for kind in ["data", "node", "meta", "gc"] {
        let tags = kind.parse::<TagSet>().unwrap();
        let ours = blocks(&tags.choose(&imported.requests));
        let source = file(&format!("{name}.csv.zst"))?;
        let options = LoadOptions {
            tags: Some(tags),
            ..LoadOptions::default()
        };
        // A capture may hold no block of a kind, which is no trace at all.
        let theirs = load(source, &options).map_or(Vec::new(), |t| blocks(&t.requests));
        agree(&format!("{name}: {kind}"), &ours, &theirs);
    }
    assert_eq!(imported.report.checks.map(|c| c.contradicted), [0; 3]);
    Some(imported)
}

#[test]
fn f2fs_with_fdatasync() {
    if let Some(Import { report, .. }) = same("f2fs-prxy-lfs-fdatasync", Vec::new()) {
        assert_eq!(
            (report.data.moved, report.node.moved, report.meta.in_place),
            (24_312, 19_726, 94)
        );
        assert_eq!((report.unmatched, report.unissued, report.lost), (0, 0, 0));
        assert_eq!(report.checks[0].agreed, 22_697);
    }
}

#[test]
fn f2fs_that_cleans() {
    if let Some(Import { report, .. }) = same("f2fs-gc-lfs", Vec::new()) {
        assert_eq!(
            (report.gc.moved, report.gc_runs.1, report.split),
            (26_842, 227, 12)
        );
        assert_eq!((report.requests[2], report.unmatched), (5_617, 0));
    }
}

#[test]
fn f2fs_with_atomic_writes() {
    if let Some(Import { report, requests }) = same("f2fs-atomic-lfs", Vec::new()) {
        assert_eq!(
            (report.atomic, report.data.moved, report.data.first),
            (800, 800, 0)
        );
        let atomic = requests.records().iter().filter(|r| r.is_atomic()).count();
        assert_eq!(
            atomic, 201,
            "a transaction of four blocks is one request; one fell apart"
        );
    }
}

#[test]
fn f2fs_with_direct_writes_and_a_seed() {
    // The file was written at once on an empty volume: block i is at 0x2000 + i, but for the
    // first segment, which is at 0x40a00.
    let seed = "0: 0.. 511: 264704.. 265215: 512:\n1: 512.. 63743: 8704.. 71935: 63232:\n";
    let seed = seed.to_owned();
    let seeds = vec![(4, Source::bytes("fiemap.txt", seed))];
    if let Some(Import { report, .. }) = same("f2fs-prxy-lfs-direct", seeds) {
        assert_eq!((report.data.moved, report.direct_unknown), (24_312, 0));
        assert_eq!((report.requests[0], report.seeded), (336, 63_744));
    }
}

#[test]
fn ext4_with_discards() {
    if let Some(Import { report, .. }) = same("ext4-prxy-discard", Vec::new()) {
        assert!(!report.f2fs);
        assert_eq!((report.requests[1], report.requests[2]), (19_680, 18));
    }
}

#[test]
fn another_kernel() {
    if let Some(Import { report, requests }) = raw("tcg612-f2fs-atomic", Vec::new()) {
        assert_eq!(
            (report.atomic, report.unmatched, report.unissued),
            (200, 0, 0)
        );
        assert_eq!(
            requests.records().iter().filter(|r| r.is_atomic()).count(),
            50
        );
    }
}
