//! Traces of several volumes.

use crate::common::{limited, read, read_with, says, told, with};
use destage_trace::{LoadOptions, Source, Trace, TraceError, Volumes, load, open, split};
use destage_types::{Nanos, RequestBatch};

/// Volumes 7 (up to 1 MiB + 512 B), 3 and 9, times in s.
const TENCENT: &str =
    "10,0,8,1,7\n10,2048,1,1,7\n11,0,8,0,3\n12,5,8,1,9\n13,2040,8,1,3\n14,0,1,0,7\n";

fn starts(trace: &Trace) -> Vec<u64> {
    let records = trace.requests.records().iter();
    records.map(|r| r.start_sector).collect()
}

fn only(name: &str) -> LoadOptions {
    with(format!("only={name}").parse().unwrap())
}

fn stream(source: Source, options: &LoadOptions) -> Result<Trace, TraceError> {
    let mut reader = open(source, options)?;
    let mut requests = RequestBatch::new();
    while reader.next_batch(&mut requests)? > 0 {}
    let meta = reader.finish()?;
    Ok(Trace { requests, meta })
}

#[test]
fn stacked_volumes_have_ranges_of_their_own() {
    let trace = read("", TENCENT).unwrap();
    let mib = 2_048;
    let places = [0, mib, 2 * mib, 3 * mib + 5, 2 * mib + 2_040, 0];
    assert_eq!(starts(&trace), places);
    let volumes = trace.meta.volumes.iter();
    let volumes = volumes.map(|v| (v.stream, &*v.name, v.requests, v.end_sector, v.start_sector));
    let expected = [
        (7, "7", 3, 2_049, 0),
        (3, "3", 2, 2_048, 2 * mib),
        (9, "9", 1, 13, 3 * mib),
    ];
    assert_eq!(volumes.collect::<Vec<_>>(), expected);
    // The ranges are those of the requests that are read.
    let trace = read_with("", TENCENT, &limited(4)).unwrap();
    assert_eq!(starts(&trace), [0, mib, 2 * mib, 2 * mib + mib + 5]);
    assert_eq!(trace.meta.volumes[1].end_sector, 8);
}

#[test]
fn one_volume_keeps_its_addresses_and_flushes_have_none() {
    let trace = read("", "10,70000,8,1,7\n10,5,1,1,7\n").unwrap();
    assert_eq!(starts(&trace), [70_000, 5]);
    let text = "fio version 3 iolog\n0 a write 0 4096\n1 b write 0 4096\n2 b sync 0 0\n";
    assert_eq!(starts(&read("", text).unwrap()), [0, 2_048, 0]);
}

#[test]
fn overlaid_volumes_share_addresses() {
    let trace = read_with("", TENCENT, &with(Volumes::Overlay)).unwrap();
    assert_eq!(starts(&trace), [0, 2_048, 0, 5, 2_040, 0]);
    assert!(trace.meta.volumes.iter().all(|v| v.start_sector == 0));
}

#[test]
fn one_volume_is_read_alone() {
    let trace = read_with("", TENCENT, &only("3")).unwrap();
    assert_eq!(told(&trace), "0 R 0 8 3, 2000000000 W 2040 8 3");
    let [volume] = &trace.meta.volumes[..] else {
        panic!("{:?}", trace.meta.volumes)
    };
    assert_eq!(
        (trace.meta.requests, volume.stream, volume.requests),
        (2, 3, 2)
    );
    // The limit counts the requests of the volume.
    let limited = LoadOptions {
        limit: Some(2),
        ..only("7")
    };
    let trace = read_with("", TENCENT, &limited).unwrap();
    assert_eq!(starts(&trace), [0, 2_048]);
    let message = read_with("", TENCENT, &only("4")).unwrap_err().to_string();
    says(&message, "no volume `4`; its volumes: 7, 3, 9");
    let msr = "0,hm,1,Write,0,512,0\n100,usr,0,Read,512,512,0\n";
    assert_eq!(starts(&read_with("", msr, &only("usr_0")).unwrap()), [1]);
    let untimed = "fio version 2 iolog\na read 0 512\nb read 0 512\nb read 512 512\n";
    let trace = read_with("", untimed, &only("b")).unwrap();
    assert_eq!(trace.requests.records()[1].arrival, Nanos(1_000));
}

#[test]
fn splitting_is_reading_each_volume_alone() {
    let untimed = "fio version 2 iolog\na read 0 512\nb read 0 512\nb sync\na read 9 9\n";
    for text in [TENCENT, untimed] {
        for volumes in [Volumes::Stack, Volumes::Overlay] {
            let whole = read_with("", text, &with(volumes)).unwrap();
            let parts = split(&whole);
            assert_eq!(parts.len(), whole.meta.volumes.len());
            for (part, volume) in parts.iter().zip(&whole.meta.volumes) {
                let alone = read_with("", text, &only(&volume.name)).unwrap();
                assert_eq!(part.requests.records(), alone.requests.records());
                assert_eq!(part.meta.volumes, alone.meta.volumes);
                assert_eq!(part.meta.requests, alone.meta.requests);
                assert_eq!(part.meta.name, format!("trace:{}", volume.name));
            }
        }
    }
}

#[test]
fn a_file_is_read_again_for_its_volumes_and_a_stream_is_refused() {
    // Volume 2 comes up in the middle of the second batch.
    let line = |i: u64| {
        let volume = 1 + u64::from(i % 5_000 > 4_000 && i > 9_000);
        format!("{},{},8,1,{volume}\n", i / 100, i * 8)
    };
    let text: String = (0..20_000).map(line).collect();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace.csv.zst");
    std::fs::write(&path, crate::common::zst(text.as_bytes())).unwrap();
    for limit in [None, Some(12_345)] {
        let options = LoadOptions {
            limit,
            ..LoadOptions::default()
        };
        let loaded = load(Source::from_arg(&path), &options).unwrap();
        let streamed = stream(Source::from_arg(&path), &options).unwrap();
        assert_eq!(loaded.requests.records(), streamed.requests.records());
        assert_eq!(loaded.meta, streamed.meta);
        assert!(loaded.meta.volumes[1].start_sector > 0);
    }
    let bytes = || Source::bytes("x", text.clone());
    let message = stream(bytes(), &LoadOptions::default());
    let message = message.unwrap_err().to_string();
    says(&message, "cannot be stacked");
    says(&message, "overlay");
    assert!(stream(bytes(), &with(Volumes::Overlay)).is_ok());
    assert!(load(bytes(), &LoadOptions::default()).is_ok());
}

#[test]
fn volumes_that_are_too_long_together_are_refused() {
    let text = "1,549755813880,8,1,1\n1,0,1,1,2\n";
    let message = read("", text).unwrap_err().to_string();
    says(&message, "together they are longer than 256 TiB");
    assert!(read_with("", text, &with(Volumes::Overlay)).is_ok());
}

#[test]
fn streams_of_the_own_csv_share_one_device() {
    let text = "arrival_ns,op,start_sector,sectors,stream,prev,atomic\n\
                0,W,8,8,1,,0\n5,W,8,8,2,,0\n";
    let trace = read("", text).unwrap();
    assert_eq!(starts(&trace), [8, 8]);
    assert_eq!(trace.meta.volumes.len(), 2);
    assert_eq!(starts(&read_with("", text, &only("2")).unwrap()), [8]);
}

#[test]
fn the_option_has_a_text_form() {
    for text in ["stack", "overlay", "only=hm_0", "only=a=b"] {
        assert_eq!(text.parse::<Volumes>().unwrap().to_string(), text);
    }
    for bad in ["", "only", "only=", "split", "stack=1"] {
        let message = bad.parse::<Volumes>().unwrap_err();
        says(&message, "stack, only=VOLUME, overlay");
    }
}
