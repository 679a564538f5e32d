//! Captures of file systems: pairs of addresses, and memory for lists of them.

use crate::common::read;
use destage_trace::{LoadOptions, Pairs, Source, open};
use destage_types::RequestBatch;
use destage_types::request::NO_PREV;

const HEAD: &str = "time_us,op,lba_sector,sectors,prev_lba_sector,fs,tag,req\n";

#[test]
fn pairs_are_counted() {
    let rows =
        "100,W,800,16,1600,f2fs,data,7\n100,W,816,8,,f2fs,data,7\n100,W,4000,8,4000,f2fs,data,7\n";
    let trace = read("", format!("{HEAD}{rows}")).unwrap();
    let pairs = Pairs::of((&trace).into()).unwrap();
    assert_eq!((pairs.moved, pairs.in_place, pairs.unknown), (2, 1, 1));
}

/// A few lines cannot ask for any amount of memory.
#[test]
fn lists_of_old_addresses_are_bounded() {
    // Nothing is named, so that nothing is kept for each block.
    let long = format!("{HEAD}1,W,0,4294967288,,f2fs,data,1\n1,W,4294967288,8,,f2fs,data,1\n");
    let requests = read("fs-capture", &long).unwrap().requests;
    assert_eq!((requests.len(), requests.memory() < 100), (1, true));
    let gib = 1u64 << 21;
    let whole = format!(
        "{HEAD}1,W,0,{},,f2fs,data,1\n1,W,{gib},8,8,f2fs,data,1\n",
        gib - 8
    );
    let whole = read("fs-capture", &whole).unwrap().requests;
    assert_eq!(whole.get(0).prev.len(), 1 << 18);
    assert_eq!(whole.get(0).prev[(1 << 18) - 2..], [NO_PREV, 8]);
    for rows in [
        format!("1,W,0,{},0,f2fs,data,1\n", gib + 8),
        format!("1,W,0,{gib},,f2fs,data,1\n1,W,{gib},8,8,f2fs,data,1\n"),
    ] {
        let error = read("fs-capture", &(HEAD.to_owned() + &rows))
            .unwrap_err()
            .to_string();
        assert!(error.contains("longer than 1 GiB"), "{error}");
    }
}

/// Requests of 2 MiB of old addresses each do not wait for thousands of others.
#[test]
fn batches_end_where_their_lists_are_long() {
    let rows: String = (0..20)
        .map(|i| format!("{i},W,0,2097152,0,f2fs,data,{i}\n"))
        .collect();
    let source = Source::bytes("c.csv", HEAD.to_owned() + &rows);
    let mut reader = open(source, &LoadOptions::default()).unwrap();
    let (mut batch, mut requests) = (RequestBatch::new(), 0);
    while reader.next_batch(&mut batch).unwrap() > 0 {
        assert!(batch.memory() < 9 << 20, "{}", batch.memory());
        requests += batch.len();
        batch.clear();
    }
    assert_eq!(requests, 20);
}
