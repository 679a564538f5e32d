//! The examples at the end of every `--help`, which a test runs. `hm_0.csv.gz` is any trace; other files
//! are what an example above makes.

/// First commands, shown where the command line says nothing.
pub const FIRST_STEPS: &str = "\
    To compare schemes on a built-in workload:  destage demo\n\
    To compare schemes on your trace:           destage run TRACE --scheme lru,arc\n\
    To see all commands:                        destage --help";

/// Commands, one a line, as they end a help.
macro_rules! examples {
    ($($(#[$doc:meta])* $name:ident: $($line:literal),+;)+) => {
        $($(#[$doc])* pub const $name: &str = concat!("Examples:" $(, "\n  ", $line)+);)+
    };
}

examples! {
    /// Of the program.
    ROOT:
        "destage demo",
        "destage trace info hm_0.csv.gz",
        "destage run hm_0.csv.gz --scheme lru,req-block --cache 16MiB,64MiB";
    /// Of `run`.
    RUN:
        "destage run hm_0.csv.gz --scheme lru,req-block --cache 16MiB,64MiB",
        "destage run hm_0.csv.gz --scheme all --cache 10% --sort page-hit",
        "destage run hm_0.csv.gz --scheme 'prober(lru)' --device default --set t_read=75us --details",
        "destage run hm_0.csv.gz --device default --closed-loop 8 --warmup 10%",
        "destage run hm_0.csv.gz --device default --timeline hm_0.pftrace --timeline-from 1s --timeline-to 2s",
        "destage run hm_0.csv.gz --scheme lru --scheme arc --out results --report results/report.html";
    /// Of `sweep`.
    SWEEP:
        "printf '%s\\n' 'trace = \"hm_0.csv.gz\"' 'scheme = [\"lru\", \"arc\"]' 'cache = \"1MiB\"' 'seed = [1, 2]' > sweep.toml",
        "destage sweep sweep.toml --out swept --plan",
        "destage sweep sweep.toml --out swept --shard 1/2",
        "destage sweep sweep.toml --out swept --shard 2/2",
        "destage sweep --out swept --merge --format-out csv";
    /// Of `mrc`.
    MRC:
        "destage mrc hm_0.csv.gz --scheme lru --scheme arc --plot curves.svg",
        "destage mrc hm_0.csv.gz --sample-rate 0.1 --format-out csv";
    /// Of `waf`.
    WAF:
        "destage waf --fill 0.875",
        "destage waf --zipf 0.8,1 --streams in-place,two-region --buffer 100 --report waf.html",
        "destage waf --zones 0.2:0.8+0.8:0.2 --fill 0.8,0.9 --format-out csv";
    /// Of `advise`.
    ADVISE:
        "destage advise hm_0.csv.gz --device enterprise-tlc-1t",
        "destage advise demo --device qlc-2t --set cache=4MiB";
    /// Of `demo`.
    DEMO:
        "destage demo",
        "destage demo --report demo.html";
    /// Of `report`.
    REPORT:
        "destage run hm_0.csv.gz --scheme lru,arc --cache 1MiB,4MiB,16MiB --format-out jsonl > results.jsonl",
        "destage report results.jsonl -o report.html";
    /// Of `repro`.
    REPRO:
        "destage repro req-block rb-fig9 --traces .",
        "destage repro req-block rb-fig9 --traces . --out again --report rb-fig9.html";
    /// Of `serve`.
    SERVE:
        "destage serve --scheme lru --cache 16MiB --socket ssd.sock",
        "destage serve --tcp 127.0.0.1:10809 --backing disk.img --power-cut-after 10s",
        "destage serve --socket ssd.sock --control ssd.ctl";
    /// Of `ctl`.
    CTL:
        "destage ctl --control ssd.ctl stats",
        "destage ctl --control ssd.ctl scheme 'req-block' --cache 32MiB",
        "destage ctl --control ssd.ctl snapshot disk.img";
    /// Of `lab`.
    LAB:
        "destage lab --kernel linux-exact --fs f2fs --scheme 'prober(lirs)' -- cp -r /usr/include .",
        "destage lab --kernel linux-exact --record cp.bin -- sh -c 'cp -r /usr/include . && sync'";
    /// Of `playground`.
    PLAYGROUND:
        "destage playground target/site/playground --no-open";
    /// Of `watch`.
    WATCH:
        "destage watch --story why-lru-waits --export why-lru-waits.html",
        "destage watch hm_0.csv.gz --request 1000 --export scenes.json",
        "destage watch hm_0.csv.gz --scheme lru,req-block --device classroom-128m --addresses wrap --from 1s --to 1.1s --no-open";
    /// Of `schemes`.
    SCHEMES:
        "destage schemes",
        "destage schemes req-block";
    /// Of `presets`.
    PRESETS:
        "destage presets",
        "destage presets req-block-128g",
        "destage presets default --set t_read=75us > mine.toml";
    /// Of `fit-device`.
    FIT_DEVICE:
        "printf '%s\\n' drive,target_writes_per_s,writes_per_s,reads_per_s,other_threads,write_us_p50,read_us_p50 x,10000,10000,5050,6,11,64 > x.csv",
        "destage fit-device x.csv --free t_command,t_read --evaluations 10 -o x.toml",
        "destage presets x.toml";
    /// Of `probe`.
    PROBE:
        "destage probe -o probe",
        "destage probe | less";
    /// Of `trace`.
    TRACE:
        "destage trace info hm_0.csv.gz",
        "destage trace synth hot-cold -o hot-cold.csv",
        "destage trace convert hm_0.csv.gz -o hm_0.bin --to destage-bin";
    /// Of `trace info`.
    TRACE_INFO:
        "destage trace info hm_0.csv.gz",
        "destage trace info hm_0.csv.gz --json",
        "destage trace info hm_0.csv.gz --report hm_0.html";
    /// Of `trace convert`.
    TRACE_CONVERT:
        "destage trace convert hm_0.csv.gz -o hm_0.bin --to destage-bin",
        "destage trace convert hm_0.csv.gz -o hm_0.oracleGeneral.zst --to oracle-general",
        "destage trace convert hm_0.csv.gz -o hm_0.trace --to mqsim",
        "destage trace convert hm_0.csv.gz --limit 1000 --to fio > hm_0.fio";
    /// Of `trace import-ftrace`.
    TRACE_IMPORT:
        "destage trace import-ftrace capture.ftrace -o capture.csv";
    /// Of `trace synth`.
    TRACE_SYNTH:
        "destage trace synth --list",
        "destage trace synth hot-cold --requests 50000 -o hot-cold.csv",
        "destage trace synth --part 'at=zipf(0.9),space=64MiB,writes=0.7' -o zipf.csv",
        "destage trace synth --part rate=20000 --part rate=10000,writes=0.5 -o load.csv";
    /// Of `trace fit`.
    TRACE_FIT:
        "destage trace fit hm_0.csv.gz -o hm_0.toml",
        "destage trace synth --like hm_0.toml -o twin.csv",
        "destage trace compare hm_0.csv.gz twin.csv";
    /// Of `trace compare`.
    TRACE_COMPARE:
        "destage trace compare hm_0.csv.gz twin.csv";
    /// Of `trace head`.
    TRACE_HEAD:
        "destage trace head hm_0.csv.gz -n 3";
    /// Of `completions`.
    COMPLETIONS:
        "destage completions bash > destage.bash";
    /// Of `man`.
    MAN:
        "destage man man1";
}
