//! Sources of real traces, for `docs/TRACES.md`.

/// A collection of traces.
struct Collection {
    name: &'static str,
    place: &'static str,
    what: &'static str,
    size: &'static str,
    terms: &'static str,
    /// The formats that read it.
    formats: &'static [&'static str],
}

const SNIA: &str = "SNIA Trace Data Files Download License";

/// Collections of real traces. Facts that neither their own pages nor their mirrors state are marked as not
/// verified.
const COLLECTIONS: &[Collection] = &[
    Collection {
        name: "MSR Cambridge",
        place: "[SNIA IOTTA 388](https://iotta.snia.org/traces/block-io/388), behind a form",
        what: "36 volumes of 13 servers, a week in 2007; cite Narayanan et al., FAST'08",
        size: "two archives of .csv.gz, 5.3 GB together",
        terms: SNIA,
        formats: &["msr"],
    },
    Collection {
        name: "SYSTOR'17",
        place: "[SNIA IOTTA 4928](https://iotta.snia.org/traces/block-io/4928), behind a form",
        what: "virtual desktops, 6 LUNs, 2,706 hourly files, February and March 2016; cite Lee et al., \
               SYSTOR'17",
        size: "not verified",
        terms: SNIA,
        formats: &["systor17"],
    },
    Collection {
        name: "YCSB on RocksDB",
        place: "[SNIA IOTTA, block I/O](https://iotta.snia.org/traces/block-io), behind a form",
        what: "one SSD below RocksDB, about ten hours in 2018; cite Yadgar et al., ACM TOS 2020",
        size: "2.07 billion records, 23 GB",
        terms: SNIA,
        formats: &["blkparse"],
    },
    Collection {
        name: "Tencent CBS",
        place: "[SNIA IOTTA 27917](https://iotta.snia.org/traces/parallel/27917), behind a form",
        what: "5,584 cloud volumes, ten days in October 2018, whole seconds; cite Zhang et al., ATC'20",
        size: "216 .tgz files, 33.7 billion requests",
        terms: "terms of the repository, not verified for this collection",
        formats: &["tencent"],
    },
    Collection {
        name: "Alibaba",
        place: "[alibaba/block-traces](https://github.com/alibaba/block-traces), a link after a survey",
        what: "1,000 cloud disks, January 2020, one file of all; cite Li et al., IISWC'20",
        size: "181 GB as .tar.gz, 751 GB unpacked",
        terms: "CC BY 4.0",
        formats: &["alibaba"],
    },
    Collection {
        name: "CloudPhysics",
        place: "[cache_dataset](https://github.com/cacheMon/cache_dataset), which also has copies of MSR, Tencent \
                and Alibaba",
        what: "106 virtual disks, a week, the originals as vscsi binaries; cite Waldspurger et al., FAST'15",
        size: "2.1 billion requests, zstd",
        terms: "CC BY 4.0, as the collection says",
        formats: &["vscsi", "oracle-general"],
    },
    Collection {
        name: "UMass",
        place: "[UMass Trace Repository](https://traces.cs.umass.edu), address not verified",
        what: "Financial1 and 2 (OLTP), WebSearch1 to 3 (nearly all reads)",
        size: "WebSearch2 has 4.6 million requests; unpack the .bz2 files first",
        terms: "not verified",
        formats: &["spc"],
    },
    Collection {
        name: "Microsoft production",
        place: "[SNIA IOTTA, block I/O](https://iotta.snia.org/traces/block-io) (149 is TPC-E), behind a form",
        what: "Windows servers, events as text; cite Kavalanekar et al., IISWC'08",
        size: "not verified",
        terms: "terms of the repository, not verified for this collection",
        formats: &["etw"],
    },
    Collection {
        name: "FIU",
        place: "[SNIA IOTTA 390](https://iotta.snia.org/traces/block-io/390) and 414, behind a form",
        what: "servers of a department with a hash of each block; cite Koller and Rangaswami, FAST'10",
        size: "not verified",
        terms: "terms of the repository, not verified for this collection",
        formats: &["fiu"],
    },
    Collection {
        name: "K5cloud",
        place: "[SNIA IOTTA 26930](https://iotta.snia.org/traces/parallel/26930), behind a form",
        what: "3,088 volumes of a cloud, seven days, one file for a volume and a day",
        size: "three .tar.gz files",
        terms: "terms of the repository, not verified for this collection",
        formats: &["k5cloud"],
    },
];

/// The section.
pub fn text() -> String {
    let mut text = String::from(
        "
## Where to get real traces

destage comes without traces. The table has terms and sizes as stated by the publishers or mirrors. Ask the publisher
before you pass a trace on. Unpack archives; the files inside are read as they are. For traces of many volumes, use
`--volumes only=NAME` or `--volumes split`. Prefer text formats: `oracle-general` and `oracle-objects` have neither
writes nor requests of several blocks.

| collection | where | content | size | terms | format |
|--|--|--|--|--|--|
",
    );
    for c in COLLECTIONS {
        let formats: Vec<String> = c.formats.iter().map(|f| format!("`{f}`")).collect();
        let formats = formats.join(", ");
        let (name, place, what, size, terms) = (c.name, c.place, c.what, c.size, c.terms);
        text += &format!("| {name} | {place} | {what} | {size} | {terms} | {formats} |\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use destage_trace::FORMATS;

    #[test]
    fn every_collection_is_read() {
        for name in COLLECTIONS.iter().flat_map(|c| c.formats) {
            assert!(FORMATS.iter().any(|f| f.name == *name), "{name}");
        }
    }
}
