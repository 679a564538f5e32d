//! One load in the dialects of many programs: read right, or doubted, or refused with what to do.

use destage_trace::{Source, load};

use crate::common::overlay;

/// Requests of the load: us, kind, sector, sectors.
fn requests() -> impl Iterator<Item = (u64, char, u64, u64)> {
    (0..64).map(|i| {
        let kind = ['R', 'W', 'W', 'R', 'W'][i as usize % 5];
        (i * 250, kind, i * 7_919 % 613 * 2_056 + 8, 8 << (i % 3))
    })
}

/// Header or front, a line, and what comes out: `right`, `doubt PART` (right, with a doubt), `wrong PART` (not right,
/// with a doubt), or `error PART`. In lines, `us`, `ms`, `s`, `ns` and `100ns` are times; `op`, `word`, `bit` (1 = write)
/// and `rbit` kinds; `lba`, `off`, `kib` and `n`, `less`, `len` addresses and sizes; `i` the number of the line. `¦` is a
/// vertical line.
const CASES: &str = r#"
time_us,rw,sector,nr_sectors      | {us},{op},{lba},{n}            | right
start_ns;direction;byte_offset;length | {ns};{op};{off};{len}      | right
time_us,op,offset_kb,size_kb      | {us},{op},{kib},{k}            | right
time_us,op,lba,size               | {us},{op},{lba},{len}          | right
time_us,op,lba,size               | {us},{op},{off},{len}          | wrong offset=lba:bytes,size=size:bytes
start,end,op,offset,size          | {us},{us}9,{op},{off},{len}    | doubt taken for us
volume,time_us,op,offset,size     | vol-{v},{us},{op},{off},{len}  | right
volume,time_us,op,offset,size     | {v},{us},{op},{off},{len}      | right
time_us,is_write,offset,size      | {us},{bit},{off},{len}         | right
time_us,cmd,slba,nlb              | {us},nvme_cmd_{word},{lba},{less} | wrong size=nlb*512+512
time_us,op,offset,size            | {us},IRP_MJ_{word},{off},{len} | right
time_us,op,offset,size            | {us},REQ_OP_{word},{off},{len} | right
time_us,op,offset,size            | {us},GET,{off},{len}           | error op=COLUMN:GET=R
time_us,op,first,last             | {us},{op},{lba},{lba}          | error offset=NAME,size=NAME say which hold them
time_us,op,first_lba,last_lba     | {us},{op},{lba},{end}          | right
time_us,op,start_lba,end_lba      | {us},{op},{lba},{behind}       | right
time_us,op,start_lba,end_lba      | {us},{op},{lba},{end}          | right
time_us,op,offset,end_offset      | {us},{op},{off},{endbyte}      | right
time_us,offset,size               | {us},{off},{len}               | error op==R that all are reads
A,B,C,D                           | {us},{op},{off},{len}          | doubt header=yes
ts_ms,rw,off,sz,done_ms           | {ms},{op},{off},{len},9        | right
Report of host x\nDate: 5\ntime_us,op,offset,size | {us},{op},{off},{len} | right
sep=;\ntime_us;op;offset;size     | {us};{op};{off};{len}          | right
when,op,offset,size               | 01/25/2024 10:00:{s},{op},{off},{len} | right
when,op,offset,size               | 01/05/2024 10:00:{s},{op},{off},{len} | doubt date-dmy
when,op,offset,size               | 05.01.2024 10:00:{s},{op},{off},{len} | right
when,op,offset,size               | Jan 05 2024 10:00:{s},{op},{off},{len} | right
when,op,offset,size               | 5-Jan-2024 10:00:{s},{op},{off},{len} | right
when,op,offset,size               | 0 days 00:00:{s},{op},{off},{len} | right
date,time,op,offset,size          | 2024-01-25,10:00:{s},{op},{off},{len} | right
time_us,op,offset,size            | {us},rand{rd},{off},{len}      | error is no kind of request
time_us,op,offset,size            | {us},{WORD}_16,{off},{len}     | right
time_us,rwbs,lba,nr_sectors       | {us},{small}s,{lba},{n}        | right
time_us,op,offset,size            | {us},{call},{off}B,{k} KiB     | right
inter_arrival_us,op,offset,size   | 250,{op},{off},{len}           | wrong no column is known as time
beat,op,offset,size               | {us},{op},{off},{len}          | doubt no column is named as the time
time,op,offset,size               | {us}us,{op},{off},{len}        | right
time,op,offset,size               | {ms}ms,{op},{off},{k}K         | right
time,op,offset,size               | {us} µs,{word},{off},{k}KiB    | right
,op,offset,size                   | 2024-01-25 10:00:{s},{op},{off},{len} | doubt no column is named as the time
elapsed,op,offset,size            | 0 days 00:00:{s},{op},{off},{len} | doubt no column is named as the time
# time(us) op lba nblocks         | {us} {op} {lba} {n}            | right
#time_ms,offset,size,is_write     | {ms},{off},{len},{bit}         | right
# us\tkind\tsector\tsectors      | {us}\t{op}\t{lba}\t{n}       | right
# ns dev sector sectors op        | {ns} 0 {lba} {n} {rbit}        | right
# time device lba size op         | {ns} 0 {lba} {n} {rbit}        | right
# time(us) device lba size op     | {us} 0 {lba} {n} {rbit}        | right
# a list of requests, by me       | {ns} 0 {lba} {n} {rbit}        | right
time_us op lba_hex len_hex        | {us} {op} {lba:x} {len:x}      | right
time_us,op,lba,nsec               | {us},{op},{lba:x},{n}          | doubt hexadecimal digits
time_us,op,offset,size            | {us},{op},{off:x},{len:x}      | doubt size= have hexadecimal digits
time_us,op,lba,sectors            | {us},{op},{lba:x},{n}          | doubt hexadecimal digits
time_us,op,lba,blocks             | {us},{op},{page},{pages}       | wrong offset=lba:blocks,size=blocks:blocks
tsc,op,offset,size                | {us},{op},{off},{len}          | doubt tsc counts ticks
time_us,op,block,nblocks          | {us},{op},{page},{pages}       | doubt blocks are taken for blocks of 4096 B, and may be sectors
time_us,op,block,nblocks          | {us},{op},{lba},{n}            | doubt blocks are taken for sectors of 512 B, and may be blocks
time_us,op,lba,nblocks            | {us},{op},{lba},{n}            | right
time_us,op,page,npages            | {us},{op},{page},{pages}       | right
time_us,op,offset_mib,size_kb     | {us},{op},{mib},{k}            | right
time_us,opc,slba,nlb              | {us},{opc},{lba},{less}        | wrong size=nlb*512+512
time_us,opcode,lba,blocks         | {us},{scsi},{lba},{n}          | right
time_us;op;offset;size            | {us};{op};{off: };{len: }      | right
 time_us ¦ op ¦ offset ¦ size\n---+---+---+--- | {us} ¦ {op} ¦ {off} ¦ {len} | right
Attaching 1 probe...              | {ns} {op}S {lba} {n}           | doubt guessed from their values
                                  | 0,{lba},{len},{op},{ms}        | wrong if they are in another unit, --time-unit says so (ms
                                  | 1.28166E+17,hm,0,Read,{off},{len},1 | wrong digits behind those are lost
                                  | {us}, 80211, {bit}, {len}, 0   | wrong at one address
usecs : count distribution        | {us} -> {us} : {n} : count *** | error histogram
Device r/s rkB/s w/s wkB/s        | sda {us} {n} {us} {n}          | error iostat
                                  | 1704448800.{us6} {call}(3, "\0\1, 2) = 3"..., {len}, {off}) = {len} | right
                                  | 4711 10:00:{s} {call}(3</dev/sdb>, "\0"..., {len}, {off}) = {len} <0.01> | right
TSC Rate: 2400000                 | 0: {us}.000 b00 BDEV_IO_START id: i{i} type: {bdev} ctx: 0x7ffb offset:{lba} len: {n} | right
                                  | app: 0: {us}.000 BDEV_IO_START id: i{i} type: {bdev} ctx: 0x7f offset: {lba} len: {n} name: a | right
                                  | 47@170.{us6}:pci_nvme_rw cid 1 nsid 1 opname 'NVME_NVM_CMD_{WORD}' nlb {n} count {len} lba 0x{lba:x} | right
                                  | {ms} fio/4711 block:block_rq_issue(dev: 8, sector: {lba}, nr_sector: {n}, bytes: {len}, rwbs: "{op}S", comm: "fio") | right
                                  | [10:00:{s}] (+0.1) host block_bio_queue: { cpu_id = 1 }, { dev = 8, sector = {lba}, nr_sector = {n}, rwbs = {lttng}, tid = 1, comm = "fio" } | right
                                  | 10:00:{s} {rd}Data[A] D=0x{lba:x} B=0x{len:x} /dev/disk0s2 0.000123 W fio.4711 | right
"Time of Day","Process Name","PID","Operation","Path","Result","Detail" | "10:00:{s}0 AM","fio.exe","47","{Word}File","C:\test.bin","SUCCESS","Offset: {off, }, Length: {len, }, I/O Flags: Non-cached" | right
                                  | {off},{len},{op},{us}          | doubt guessed from their values
       time op     offset   size   | {i:<4} {s} {op} {off} {len}    | doubt 64 requests are of 64 volumes
                                  | {i};{s};{op};{off};{len}       | doubt 64 requests are of 64 volumes
                                  | {i},{s},{op},{off},{len}       | doubt as `k5cloud`, 64 requests are of 64 volumes
                                  | {us},4{v},{op},{off},{len}     | doubt taken for us
                                  | 1281{100ns},usr,0,{op},{off},{len} | doubt
                                  | 1281{100ns} usr 0 {op} {off} {len} | doubt
                                  | {i}\t{s}\t{op}\t{off}\t{len}   | doubt 64 requests are of 64 volumes
                                  | {op};{us};{lba};{n}            | doubt guessed from their values
                                  | {s} 8,0 Q {op}S {lba} {n}      | doubt guessed from their values
                                  | 8,0 {s} Q {op}S {lba} {n}      | doubt guessed from their values
                                  | {i},{s},Q,{op},{lba},{n}       | doubt guessed from their values
                                  | {lba} {n} {rbit} {us}          | doubt 0 is taken for writes
                                  | {us},{bit},{off},{len}         | error '0=R,1=W' says the other way round
                                  | {i},1281{100ns},usr,0,{op},{off},{len},7 | doubt guessed from their values
                                  | {s} {op} {lba} {len}           | wrong offset=3:sectors,size=4:bytes
                                  | {s} {op} {off} {len}           | wrong offset=3:bytes,size=4:bytes
                                  | {us},{op},{off},{len},         | doubt guessed from their values
                                  | 7,{us},{op},{off},{len}        | wrong us: 250.0 us between two requests
                                  | 3,{op},{lba},{n},{us}          | wrong offset=3:sectors,size=4:sectors
                                  | 1281{100ns},usr,0,Read,{len},{off},7 | wrong offset=6,size=5
                                  | ts={s} op={op} off={off} len={len} dev=sda | right
                                  | time_us: {us}, op: {op}, offset: {off}, size: {len} | right
                                  | {"io": {"time_us": {us}, "op": "{word}"}, "at": {"lba": {lba}, "nblocks": {n}}} | right
                                  | {"time_us": {us}, "op": {bit}, "offset": {off}, "size": {len}} | error op=COLUMN:1=R,0=W
                                  | {"run": {"page": "4KiB", "read": {us}}, "counts": {"pages": {n}, "size": {len}}} | error no known trace format
                                  | {"time_us": {us}, "op": "R", "at": {off}} | error its columns: time_us, op, at
"#;

fn line(pattern: &str, i: usize, (us, kind, lba, n): (u64, char, u64, u64)) -> String {
    let write = kind == 'W';
    let word = if write { "WRITE" } else { "READ" };
    let small = |word: &str| match pattern.contains("nvme") {
        true => word.to_lowercase(),
        false => word.to_owned(),
    };
    let of = |two: [&str; 2]| two[usize::from(write)].to_owned();
    let values = [
        ("us", us.to_string()),
        ("ms", format!("{:.3}", us as f64 / 1e3)),
        ("s", format!("{:09.6}", us as f64 / 1e6)),
        ("ns", (us * 1_000).to_string()),
        ("100ns", format!("{:014}", us * 10)),
        ("op", kind.to_string()),
        ("word", small(word)),
        ("bit", u8::from(write).to_string()),
        ("rbit", u8::from(!write).to_string()),
        ("lba", lba.to_string()),
        ("off", (lba * 512).to_string()),
        ("kib", (lba / 2).to_string()),
        ("n", n.to_string()),
        ("less", (n - 1).to_string()),
        ("k", (n / 2).to_string()),
        ("len", (n * 512).to_string()),
        ("i", (i + 1).to_string()),
        ("i:<4", format!("{i:<4}")),
        ("us6", format!("{us:06}")),
        ("end", (lba + n - 1).to_string()),
        ("behind", (lba + n).to_string()),
        ("endbyte", ((lba + n) * 512).to_string()),
        ("lba:x", format!("{lba:06x}")),
        ("off:x", format!("{:08x}", lba * 512)),
        ("len:x", format!("{:x}", n * 512)),
        ("page", (lba / 8).to_string()),
        ("pages", (n / 8).to_string()),
        ("mib", (lba as f64 / 2048.0).to_string()),
        ("off: ", thousands(lba * 512, ' ')),
        ("len: ", thousands(n * 512, ' ')),
        ("off, ", thousands(lba * 512, ',')),
        ("len, ", thousands(n * 512, ',')),
        ("opc", (2 - u8::from(write)).to_string()),
        ("bdev", (1 + u8::from(write)).to_string()),
        ("lttng", (4 - 3 * u8::from(write)).to_string()),
        ("scsi", of(["0x28", "0x2a"])),
        ("call", of(["pread64", "pwrite64"])),
        ("small", of(["r", "w"])),
        ("rd", of(["Rd", "Wr"])),
        ("Word", of(["Read", "Write"])),
        ("WORD", word.to_owned()),
        ("v", (i % 3).to_string()),
    ];
    let replace =
        |text: String, (name, value): &(&str, String)| text.replace(&format!("{{{name}}}"), value);
    values.iter().fold(pattern.to_owned(), replace) + "\n"
}

/// A number with a mark between its thousands.
fn thousands(number: u64, mark: char) -> String {
    match number / 1_000 {
        0 => number.to_string(),
        front => format!("{}{mark}{:03}", thousands(front, mark), number % 1_000),
    }
}

/// Reads a table, and says what of it is right.
fn found(text: &str) -> String {
    let trace = match load(Source::bytes("x", text.to_owned()), &overlay()) {
        Ok(trace) => trace,
        Err(error) => return format!("error {error}"),
    };
    let records = trace.requests.records().iter();
    let same = records.zip(requests()).all(|(r, (us, kind, lba, n))| {
        let op = ['R', 'W'][usize::from(r.op == destage_types::Op::Write)];
        let found = (r.arrival.0, op, r.start_sector, u64::from(r.sectors));
        found == (us * 1_000, kind, lba, n)
    });
    let doubts = [trace.meta.format_doubt, trace.meta.time_doubt];
    let doubts: Vec<String> = doubts.into_iter().flatten().collect();
    match (same, doubts.join("; ")) {
        (true, doubt) if doubt.is_empty() => "right".to_owned(),
        (true, doubt) => format!("doubt {doubt}"),
        (false, doubt) if doubt.is_empty() => format!(
            "silently wrong, as {} {:?}",
            trace.meta.format, trace.meta.mapping
        ),
        (false, doubt) => format!("wrong {doubt}"),
    }
}

#[test]
fn dialects_are_read_or_doubted_or_refused_with_help() {
    let mut faults = Vec::new();
    for case in CASES.lines().filter(|line| !line.is_empty()) {
        let parts: Vec<&str> = case.splitn(3, '|').map(str::trim).collect();
        let [header, pattern, wanted] = parts[..] else {
            panic!("{case}")
        };
        let spelled = |text: &str| {
            text.replace("\\n", "\n")
                .replace("\\t", "\t")
                .replace('¦', "|")
        };
        let mut text = spelled(header);
        text += if text.is_empty() { "" } else { "\n" };
        let lines = requests().enumerate();
        text.extend(lines.map(|(i, request)| line(&spelled(pattern), i, request)));
        // As programs of Windows write it.
        let marked = format!("\u{feff}{}", text.replace('\n', "\r\n"));
        let (kind, part) = wanted.split_once(' ').unwrap_or((wanted, ""));
        for found in [text, marked].map(|text| found(&text)) {
            if found.split(' ').next() != Some(kind) || !found.contains(part) {
                faults.push(format!("{case}\n    found: {found}"));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// Programs that make traces count the time. Beside names of hosts and disks that is no row number.
#[test]
fn counted_times_leave_an_msr_trace_one() {
    for volumes in [1, 2, 3, 7, 20] {
        for turns in [1, 4] {
            let line = |i: u64| {
                let volume = i / turns % volumes;
                format!("{i},h,{volume},Write,{},4096,7\n", i * 4096)
            };
            let text: String = (0..200).map(line).collect();
            let trace = load(Source::bytes("t.csv", text), &overlay()).unwrap();
            let found = (trace.meta.format, trace.meta.volumes.len() as u64);
            assert_eq!(found, ("msr", volumes), "{turns} in turn");
            let doubt = trace.meta.format_doubt.unwrap_or_default();
            assert!(doubt.contains("count the lines"), "{doubt}");
        }
    }
}
