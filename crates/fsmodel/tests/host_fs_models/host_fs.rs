//! Host file systems: a worked example, a slow model, and what holds whatever the options.

use std::collections::{BTreeMap, BTreeSet};

use destage_fsmodel::host_fs::{HostFs, HostFsError, apply, apply_bounded};
use destage_trace::{LoadOptions, Pairs, Source, Stored, TagSet, Trace, TraceError, load};
use destage_types::request::NO_PREV;
use destage_types::rng::SplitMix64;
use destage_types::{Nanos, Op, RequestBatch, RequestOrigin, RequestRef, Tag};

/// Words such as `W3-5`, `R2`, `T4`, `F`, and `+20ms` for a gap.
fn trace(words: &str) -> Trace {
    let mut text = String::from("arrival_ns,op,start_sector,sectors,stream,prev,atomic\n");
    let mut now = 0;
    for word in words.split_whitespace() {
        if let Some(gap) = word.strip_prefix('+') {
            now += gap.strip_suffix("ms").unwrap().parse::<u64>().unwrap() * 1_000_000;
            continue;
        }
        let (op, range) = word.split_at(1);
        let (from, to) = range.split_once('-').unwrap_or((range, range));
        let number = |n: &str| n.parse::<u64>().unwrap_or(0);
        let (start, sectors) = match op {
            "F" => (0, 0),
            _ => (8 * number(from), 8 * (number(to) - number(from) + 1)),
        };
        text += &format!("{now},{op},{start},{sectors},0,,0\n");
        now += 1_000;
    }
    load(Source::bytes("t.csv", text), &LoadOptions::default()).unwrap()
}

fn random(requests: u64, blocks: u64, seed: u64) -> String {
    let mut rng = SplitMix64::new(seed);
    let mut words = Vec::new();
    for _ in 0..requests {
        let (kind, at, len) = (rng.below(16), rng.below(blocks), 1 + rng.below(4));
        let end = (at + len - 1).min(blocks - 1);
        let op = match kind {
            0..=2 => "R",
            3 => "T",
            _ => "W",
        };
        words.push(format!("{op}{at}-{end}"));
        if kind == 9 {
            words.push("+15ms".to_owned());
        }
    }
    words.join(" ")
}

fn through(trace: &Trace, fs: &str) -> Trace {
    apply(trace.into(), &fs.parse().unwrap()).unwrap()
}

fn blocks(r: RequestRef<'_>) -> Vec<u64> {
    r.extents()
        .flat_map(|e| e.start_sector / 8..e.end() / 8)
        .collect()
}

/// `W3(-) W4(3)`: blocks with their old ones; G for cleaning, N for index blocks, M for tables.
fn written(batch: &RequestBatch) -> Vec<String> {
    batch
        .iter()
        .map(|r| {
            let letter = match (r.head.op, r.head.tag) {
                (Op::Read, Tag::Gc) => "g",
                (Op::Write, Tag::Gc) => "G",
                (Op::Write, Tag::Node) => "N",
                (Op::Write, Tag::Meta) => "M",
                (Op::Write, _) => "W",
                (Op::Read, _) => "R",
                (Op::Trim, _) => "T",
                (Op::Flush, _) => "F",
            };
            let mut prev = r.prev.iter();
            let one = |b: &u64| match prev.next() {
                Some(&NO_PREV) | None => format!("{b}"),
                Some(old) => format!("{b}({})", old / 8),
            };
            let list: Vec<String> = blocks(r).iter().map(one).collect();
            format!("{letter}{}", list.join(","))
        })
        .collect()
}

#[test]
fn a_worked_example() {
    // Units of two blocks; blocks 10, 11 and 12 fill one and a half. After the third update two
    // units are free no more, and the one with a single valid block is cleaned.
    let t = trace("W10-11 W12 R11 W10 W10 R20 W10 F");
    let out = through(&t, "lfs(segment=2,blocks=12)");
    let expected = ["W0,1", "W2", "R1", "W3(0)", "W4(3)", "R5", "W6(4)", "F"];
    assert_eq!(written(&out.requests), expected);
    let t = trace("W0 W1 W2 W3 W0 W2 W0 W2 W0 W2 W0 W2 W0");
    let out = written(&through(&t, "lfs(segment=2,blocks=14)").requests);
    // 0,1,2,3 | 4(0),5(2) | 6(4),7(5): unit 2 is free again | 8(6) ...
    assert_eq!(
        &out[..8],
        ["W0", "W1", "W2", "W3", "W4(0)", "W5(2)", "W6(4)", "W7(5)"]
    );
    assert_eq!(&out[8..], ["W4(6)", "W5(7)", "W6(4)", "W7(5)", "W4(6)"]);
}

#[test]
fn in_place_keeps_addresses_in_whole_blocks() {
    let text = "arrival_ns,op,start_sector,sectors,stream,prev,atomic\n\
                0,W,3,2,5,,0\n10,R,7,2,5,,0\n20,T,4,20,5,,0\n30,T,1,3,5,,0\n40,F,0,0,5,,0\n";
    let t = load(Source::bytes("t.csv", text), &LoadOptions::default()).unwrap();
    let out = through(&t, "inplace");
    assert_eq!(
        written(&out.requests),
        ["W0", "R0,1", "T1,2", "F"],
        "TRIM covers whole blocks"
    );
    assert_eq!(out.meta.name, "t+inplace");
    assert_eq!(out.requests.records()[1].stream, 5);
}

/// The log-structured file system written down as it is said, with lists that are searched.
fn slow(t: &Trace, unit: usize, units: usize, reserve: usize) -> Vec<String> {
    let mut owner: Vec<Option<u64>> = vec![None; unit * units];
    let mut open: Option<(usize, usize)> = None;
    let mut out = Vec::new();
    let free = |owner: &[Option<u64>], open: Option<(usize, usize)>| -> Vec<usize> {
        let empty = |u: &usize| owner[u * unit..(u + 1) * unit].iter().all(Option::is_none);
        (0..units)
            .filter(|u| empty(u) && open.is_none_or(|o| o.0 != *u))
            .collect()
    };
    let find = |owner: &[Option<u64>], id: u64| owner.iter().position(|o| *o == Some(id));
    let next = |owner: &[Option<u64>], open: &mut Option<(usize, usize)>| -> usize {
        if open.is_none_or(|(u, n)| n == (u + 1) * unit) {
            *open = None;
            let unit_free = free(owner, None).into_iter().min().unwrap();
            *open = Some((unit_free, unit_free * unit));
        }
        let (u, n) = open.unwrap();
        *open = Some((u, n + 1));
        n
    };
    for r in t.requests.iter() {
        let ids = blocks(r);
        while r.head.op != Op::Trim && free(&owner, open).len() < reserve.max(ids.len() / unit + 1)
        {
            let valid = |u: usize| owner[u * unit..(u + 1) * unit].iter().flatten().count();
            let used = (0..units).filter(|&u| valid(u) > 0 || open.is_some_and(|o| o.0 == u));
            // A full open unit counts as open until its log goes on.
            let closed = used.filter(|&u| open.is_none_or(|o| o.0 != u));
            let victim = closed.min_by_key(|&u| (valid(u), u)).unwrap();
            let moved: Vec<usize> = (victim * unit..(victim + 1) * unit)
                .filter(|&b| owner[b].is_some())
                .collect();
            let list: Vec<String> = moved.iter().map(usize::to_string).collect();
            out.push(format!("g{}", list.join(",")));
            let mut list = Vec::new();
            for old in moved {
                let id = owner[old];
                let new = next(&owner, &mut open);
                owner[new] = id;
                owner[old] = None;
                list.push(format!("{new}({old})"));
            }
            out.push(format!("G{}", list.join(",")));
        }
        let mut list = Vec::new();
        for id in ids {
            let old = find(&owner, id);
            match r.head.op {
                Op::Write => {
                    let new = next(&owner, &mut open);
                    owner[new] = Some(id);
                    old.iter().for_each(|&b| owner[b] = None);
                    list.push(old.map_or(new.to_string(), |old| format!("{new}({old})")));
                }
                Op::Read => {
                    let at = old.unwrap_or_else(|| next(&owner, &mut open));
                    owner[at] = Some(id);
                    list.push(at.to_string());
                }
                _ => old.iter().for_each(|&b| owner[b] = None),
            }
        }
        match r.head.op {
            Op::Write => out.push(format!("W{}", list.join(","))),
            Op::Read => out.push(format!("R{}", list.join(","))),
            _ => {}
        }
    }
    out
}

#[test]
fn the_emulation_is_that_of_the_slow_model() {
    for seed in 1..40 {
        let (unit, units) = (4 + seed % 5, 14 + seed % 3);
        let t = trace(&random(600, 34, seed));
        let out = through(&t, &format!("lfs(segment={unit},blocks={})", unit * units));
        let ours = written(&out.requests);
        let theirs = slow(&t, unit as usize, units as usize, 2);
        let differ = ours.iter().zip(&theirs).position(|(a, b)| a != b);
        if let Some(i) = differ {
            panic!("seed {seed}, request {i}: {} and {}", ours[i], theirs[i]);
        }
        assert_eq!(ours.len(), theirs.len());
    }
}

/// Follows what the file system said: old addresses are where blocks were, no two blocks share
/// an address, TRIM hits nothing that is in use, cleaning reads what it then moves.
fn follow(t: &Trace, out: &Trace) -> BTreeMap<Tag2, u64> {
    let mut at: BTreeMap<u64, u64> = BTreeMap::new();
    let mut data: BTreeSet<u64> = BTreeSet::new();
    let mut nodes: BTreeSet<u64> = BTreeSet::new();
    let mut count: BTreeMap<Tag2, u64> = BTreeMap::new();
    let mut input = t.requests.iter();
    let mut last = 0;
    for r in out.requests.iter() {
        assert!(r.head.arrival.0 >= last);
        last = r.head.arrival.0;
        let mine = blocks(r);
        *count
            .entry((r.head.op as u8, r.head.tag as u8))
            .or_default() += mine.len() as u64;
        match (r.head.op, r.head.tag) {
            (Op::Write, Tag::Data) | (Op::Read, Tag::Data) => {
                let source = input.by_ref().find(|s| s.head.op != Op::Trim).unwrap();
                assert_eq!(
                    (source.head.op, source.head.arrival),
                    (r.head.op, r.head.arrival)
                );
                let ids = blocks(source);
                assert_eq!(ids.len(), mine.len());
                for (i, (&id, &block)) in ids.iter().zip(&mine).enumerate() {
                    let known = at.insert(id, block);
                    if r.head.op == Op::Read {
                        assert!(known.is_none_or(|k| k == block));
                        data.insert(block);
                        continue;
                    }
                    let said = r.prev.get(i).filter(|&&p| p != NO_PREV).map(|p| p / 8);
                    if let (Some(known), Some(said)) = (known, said) {
                        assert_eq!(known, said, "the old address is where the block was");
                    }
                    said.iter().for_each(|b| {
                        data.remove(b);
                    });
                    let fresh = data.insert(block) && !nodes.contains(&block);
                    assert!(fresh, "block {block} is in use already");
                }
            }
            (Op::Write, Tag::Gc) => {
                for (&new, &old) in mine.iter().zip(r.prev) {
                    let old = old / 8;
                    if let Some(place) = at.values_mut().find(|place| **place == old) {
                        *place = new;
                    }
                    let set = if nodes.remove(&old) {
                        &mut nodes
                    } else {
                        &mut data
                    };
                    set.remove(&old);
                    assert!(set.insert(new));
                }
            }
            (Op::Write, Tag::Node) => {
                for (i, &new) in mine.iter().enumerate() {
                    let old = r.prev.get(i).filter(|&&p| p != NO_PREV);
                    old.iter().for_each(|&&old| {
                        // Cleaning may have moved it before this program knew its kind.
                        nodes.remove(&(old / 8));
                        data.remove(&(old / 8));
                    });
                    assert!(!data.contains(&new));
                    nodes.insert(new);
                }
            }
            (Op::Trim, _) => {
                let live: BTreeSet<u64> = data.union(&nodes).copied().collect();
                let dropped: Vec<&u64> = mine.iter().filter(|b| live.contains(b)).collect();
                // Blocks that the trace itself discards are unknown here.
                for block in dropped {
                    data.remove(block);
                    at.retain(|_, place| place != block);
                }
            }
            _ => {}
        }
    }
    count
}

type Tag2 = (u8, u8);

#[test]
fn every_option_keeps_the_map_right() {
    let options = [
        "lfs",
        "lfs(segment=8,blocks=200)",
        "lfs(segment=8,section=2,blocks=256)",
        "lfs(segment=8,blocks=240,ipu=0.3)",
        "lfs(segment=8,blocks=240,ipu-policy=small,ipu-blocks=2)",
        "lfs(segment=8,blocks=240,ipu-policy=util,ipu-util=0.4)",
        "f2fs(segment=8,blocks=256)",
        "f2fs(segment=8,blocks=256,clean=cost-benefit)",
        "f2fs(segment=8,blocks=256,alloc=lowest)",
        "f2fs(segment=8,blocks=256,nodes=checkpoint,checkpoint=1s)",
        "lfs(segment=8,blocks=240,clean=cost-benefit,fill=0.7)",
        "lfs(segment=8,blocks=160,ssr=on)",
        "lfs(segment=8,blocks=240,trim=sync)",
        "lfs(segment=8,blocks=240,trim=idle)",
        "f2fs(segment=8,blocks=256,trim=sync)",
    ];
    for fs in options {
        // No TRIM in the trace where the file system itself sends some: the two look alike.
        let words = random(1500, 100, 7).replace('T', "W");
        let t = trace(&words);
        let out = through(&t, fs);
        let count = follow(&t, &out);
        let has = |op: Op, tag: Tag| count.contains_key(&(op as u8, tag as u8));
        assert_eq!(has(Op::Write, Tag::Node), fs.starts_with("f2fs"), "{fs}");
        assert_eq!(has(Op::Trim, Tag::None), fs.contains("trim="), "{fs}");
        if fs != "lfs" && !fs.contains("ssr") && !fs.contains("util") {
            assert!(has(Op::Write, Tag::Gc), "{fs}");
        }
        let moved = Pairs::of((&out).into()).unwrap();
        assert!(moved.moved > 500 || fs.contains("util"), "{fs}: {moved:?}");
        let tables = fs.starts_with("f2fs");
        assert_eq!(has(Op::Write, Tag::Meta), tables, "{fs}");
        let stays = fs.contains("ipu") || tables;
        assert_eq!(moved.in_place > 0, stays, "{fs}: {moved:?}");
        assert!(out.meta.modelled);
        for head in out.requests.records() {
            let cleans = head.tag == Tag::Gc;
            let origin = [RequestOrigin::FileSystem, RequestOrigin::Cleaning][usize::from(cleans)];
            assert_eq!(head.origin, origin, "{fs}: {head:?}");
        }
        let again = through(&t, fs);
        assert_eq!(
            again.requests.records(),
            out.requests.records(),
            "the same every time"
        );
    }
}

#[test]
fn checkpoints_write_tables_in_place() {
    let t = trace("W0-3 +70000ms W0 W1 +70000ms W2");
    let out = written(&through(&t, "f2fs(segment=8,blocks=256)").requests);
    let tables: Vec<&String> = out.iter().filter(|w| w.starts_with('M')).collect();
    assert_eq!(tables.len(), 3, "two in time and one at the end: {out:?}");
    assert!(tables[0] != tables[1], "two packs take turns");
    assert_eq!(tables[0], tables[2]);
    assert!(
        tables.iter().all(|w| w.contains("(25")),
        "in place: {tables:?}"
    );
}

#[test]
fn index_blocks_wait_for_the_checkpoint() {
    let t = trace("W0-3 W0 +70000ms W1");
    let written = |fs: &str| written(&through(&t, fs).requests);
    let nodes = |fs| -> Vec<String> {
        let all = written(fs).into_iter();
        all.filter(|w| !w.starts_with('M')).collect()
    };
    assert_eq!(
        nodes("f2fs(segment=8,blocks=256,nodes=checkpoint)"),
        [
            "W16(0),17(1),18(2),19(3)",
            "W20(16)",
            "N9(8)",
            "W21(17)",
            "N10(9)"
        ]
    );
    assert_eq!(nodes("f2fs(segment=8,blocks=256,nodes=off)").len(), 3);
    let alone = "lfs(nodes=checkpoint)".parse::<HostFs>().unwrap_err();
    assert!(alone.contains("say checkpoint=60s"), "{alone}");
}

#[test]
fn trims_are_sent_when_asked_for() {
    let t = trace("W0-1 W0 W1 +15ms W0 T1");
    assert_eq!(
        written(&through(&t, "lfs(trim=sync)").requests),
        ["W0,1", "W2(0)", "T0", "W3(1)", "T1", "W4(2)", "T2", "T3"]
    );
    assert_eq!(
        written(&through(&t, "lfs(trim=idle)").requests),
        ["W0,1", "W2(0)", "W3(1)", "T0,1", "W4(2)"]
    );
    let idle = through(&t, "lfs(trim=idle)");
    assert_eq!(
        idle.requests.records()[3].arrival.0,
        2_000 + 10_000_000,
        "after 10 ms of rest"
    );
    assert_eq!(
        written(&through(&t, "lfs").requests),
        ["W0,1", "W2(0)", "W3(1)", "W4(2)"]
    );
}

#[test]
fn what_cannot_be_modelled_is_refused() {
    let t = trace(&random(400, 100, 3));
    let error = |fs: &str| apply((&t).into(), &fs.parse::<HostFs>().unwrap()).unwrap_err();
    assert!(matches!(
        error("lfs(segment=8,blocks=64)"),
        HostFsError::TooSmall { blocks: 64, .. }
    ));
    let full = error("lfs(segment=8,blocks=240,fill=0.95)");
    assert!(
        matches!(full, HostFsError::TooFull { reserve: 2, .. }),
        "{full}"
    );
    assert!(
        full.to_string().contains("more than cleaning can serve"),
        "{full}"
    );
    assert!(matches!(
        error("lfs(segment=8,blocks=120)"),
        HostFsError::TooFull { .. }
    ));
    let pairs = through(&t, "lfs");
    let twice = apply((&pairs).into(), &"lfs".parse().unwrap()).unwrap_err();
    assert!(matches!(twice, HostFsError::HasPairs), "{twice}");
}

#[test]
fn index_blocks_may_name_no_old_address() {
    let t = trace(&random(1500, 100, 7));
    let out = through(&t, "f2fs(segment=8,blocks=256,node-pairs=off)");
    let nodes = || out.requests.iter().filter(|r| r.head.tag == Tag::Node);
    assert!(nodes().count() > 500 && nodes().all(|r| r.prev.is_empty()));
    let with = through(&t, "f2fs(segment=8,blocks=256)");
    assert_eq!(
        with.requests.len(),
        out.requests.len(),
        "nothing else changes"
    );
}

/// Every request with what it carries.
fn all(stored: &Stored) -> Vec<String> {
    let mut lines = Vec::new();
    let each = stored.workload().try_each(|i, r| {
        let extents: Vec<_> = r.extents().map(|e| (e.start_sector, e.sectors)).collect();
        let (head, prev) = (r.head, r.prev);
        lines.push(format!(
            "{i} {} {:?} {:?} {:?} {extents:?} {prev:?}",
            head.arrival, head.op, head.tag, head.origin
        ));
        Ok::<(), TraceError>(())
    });
    each.unwrap();
    lines
}

#[test]
fn a_model_in_little_memory_is_the_model() {
    // A log-structured file system makes nothing of the first request: it discards what was never written.
    let t = trace(&format!("T200 +1ms {}", random(2000, 100, 3)));
    for fs in [
        "inplace",
        "lfs(segment=8,blocks=240,trim=idle)",
        "f2fs(segment=8,blocks=256)",
    ] {
        let fs: HostFs = fs.parse().unwrap();
        for tags in [None, Some("data,node".parse::<TagSet>().unwrap())] {
            let made = |memory| apply_bounded((&t).into(), &fs, tags, memory).unwrap();
            let (memory, file) = (made(u64::MAX), made(0));
            assert!(matches!(memory, Stored::Memory(_)) && matches!(file, Stored::Spooled { .. }));
            assert_eq!(memory.meta(), file.meta(), "{fs}");
            assert_eq!(all(&memory), all(&file), "{fs}");
            let (memory, file) = (memory.workload(), file.workload());
            assert_eq!(memory.span(), file.span());
            assert_eq!(memory.span().0, Nanos::ZERO, "{fs}");
            assert_eq!(file.memory(), 0);
        }
    }
}

/// Rounded outward to whole blocks, the longest request has one sector more than an extent can say.
#[test]
fn the_longest_request_is_passed_on_in_place() {
    let text = "arrival_ns,op,start_sector,sectors,stream,prev,atomic\n\
                0,W,0,4294967295,0,,0\n1,T,1,4294967295,0,,0\n";
    let trace = load(Source::bytes("t.csv", text), &LoadOptions::default()).unwrap();
    let out = through(&trace, "inplace");
    let extents = |i| -> Vec<(u64, u32)> {
        let request = out.requests.get(i);
        request
            .extents()
            .map(|e| (e.start_sector, e.sectors))
            .collect()
    };
    assert_eq!(extents(0), [(0, 4_294_967_288), (4_294_967_288, 8)]);
    assert_eq!(extents(1), [(8, 4_294_967_288)]);
}
